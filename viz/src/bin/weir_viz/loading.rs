//! A log that is being read, beside the window.

use crate::failure::Failure;
use eframe::egui::{Context, ProgressBar, Ui};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use weir_viz::cli::Picture;
use weir_viz::source::{self, Opened, SourceError};
use weir_viz::watch::Watch;

/// A log that was read.
pub(crate) struct Loaded {
    pub(crate) opened: Opened,
    pub(crate) bytes: Vec<u8>,
}

impl Loaded {
    fn of(file: &Path, picture: &Picture) -> Result<Self, SourceError> {
        let bytes = source::load_part(file, &picture.part)?;
        Ok(Self { opened: source::read_file(file, &bytes)?, bytes })
    }
}

/// What is to be done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It is shown in place of what is.
    Open,
    /// It is shown beside what is.
    Beside,
    /// It is what is shown already, read anew.
    Reload,
}

impl Purpose {
    /// What a window that asks for the file is called.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Open | Self::Reload => "Open a log",
            Self::Beside => "Open a log beside this one",
        }
    }
}

type Answer = Result<Box<Loaded>, SourceError>;

/// Reading under way. Ends when it is dropped.
pub(crate) struct Loading {
    pub(crate) file: PathBuf,
    pub(crate) picture: Picture,
    pub(crate) purpose: Purpose,
    watch: Watch,
    answer: Receiver<Answer>,
}

impl Drop for Loading {
    fn drop(&mut self) {
        self.watch.stop();
    }
}

impl Loading {
    /// Begins to read, and wakes the window as it goes on.
    pub(crate) fn start(file: PathBuf, picture: Picture, purpose: Purpose, context: &Context) -> Result<Self, Failure> {
        let (send, answer) = channel();
        let (wake, end) = (context.clone(), context.clone());
        let watch = Watch::new(move || wake.request_repaint());
        let (watched, log, how) = (watch.clone(), file.clone(), picture.clone());
        let run = move || {
            if let Some(loaded) = watched.over(|| Loaded::of(&log, &how)) {
                // Nobody waits any more if the window was closed.
                let _ = send.send(loaded.map(Box::new));
            }
            drop(send);
            end.request_repaint();
        };
        match std::thread::Builder::new().name("load".to_owned()).spawn(run) {
            Ok(_) => Ok(Self { file, picture, purpose, watch, answer }),
            Err(error) => Err(Failure::to_show(&file.display().to_string(), error)),
        }
    }

    /// What was read, once it is.
    pub(crate) fn take(&self) -> Option<Answer> {
        match self.answer.try_recv() {
            Ok(answer) => Some(answer),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(SourceError {
                name: self.file.display().to_string(),
                what: "reading it ended without an answer".to_owned(),
                advice: "Open it again; `cargo xtask check` on it may say more.".to_owned(),
            })),
        }
    }

    /// Waits until it is read.
    #[cfg(test)]
    pub(crate) fn wait(&mut self) {
        let (again, kept) = channel();
        let _ = self.answer.recv().map(|answer| again.send(answer));
        self.answer = kept;
    }

    /// How far it is, and a button to stop it. Answers whether that was pressed.
    pub(crate) fn show(&self, ui: &mut Ui) -> bool {
        ui.label(format!("Reading {}", self.file.display()));
        ui.horizontal(|ui| {
            let (part, words) = self.far();
            ui.add(ProgressBar::new(part).desired_width(260.0).text(words));
            ui.button("Stop (Esc)").clicked()
        })
        .inner
    }

    fn far(&self) -> (f32, String) {
        match self.watch.progress() {
            None => (0.0, "opening ...".to_owned()),
            Some(progress) => match progress.total.filter(|total| *total > 0) {
                Some(total) => {
                    let part = progress.done as f32 / total as f32;
                    (part, format!("{} {:.0} %", progress.what, part * 100.0))
                }
                None => (0.0, format!("{} {} records", progress.what, progress.done)),
            },
        }
    }
}
