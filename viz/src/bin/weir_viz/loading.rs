//! A log that is being read, beside the window.

use crate::asking::AT_ONCE;
use crate::failure::Failure;
use eframe::egui::{Context, ProgressBar, Ui};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;
use weir_viz::cli::{self, Picture};
use weir_viz::progress::{Progress, Seen};
use weir_viz::source::{self, Opened, SourceError};

/// Between two looks how far it is.
const LOOK: Duration = Duration::from_millis(100);

/// A log that was read.
pub(crate) struct Loaded {
    pub(crate) opened: Opened,
    pub(crate) bytes: Vec<u8>,
}

impl Loaded {
    /// Reads a log, as far as the first picture needs it. Of a long log, the rest is worked out beside that.
    pub(crate) fn of(file: &Path, picture: &Picture, progress: &Progress) -> Result<Self, SourceError> {
        let bytes = source::load_part(file, &picture.part, progress)?;
        let opened = source::read_file(file, &bytes, progress)?;
        // What is wrong with the view is said once it is shown.
        let _ = cli::view(&opened, picture).map(|view| view.prepare(&opened.model));
        if opened.model.events.len() <= AT_ONCE {
            opened.model.prepare();
        }
        Ok(Self { opened, bytes })
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
    progress: Progress,
    answer: Receiver<Answer>,
}

impl Drop for Loading {
    fn drop(&mut self) {
        self.progress.stop();
    }
}

impl Loading {
    /// Begins to read, and wakes the window as it goes on.
    pub(crate) fn start(file: PathBuf, picture: Picture, purpose: Purpose, context: &Context) -> Result<Self, Failure> {
        let (send, answer) = channel();
        let (progress, end) = (Progress::default(), context.clone());
        let (seen, log, how) = (progress.clone(), file.clone(), picture.clone());
        let run = move || {
            // Nobody waits any more if it was stopped, or the window closed.
            let _ = send.send(Loaded::of(&log, &how, &seen).map(Box::new));
            drop(send);
            end.request_repaint();
        };
        match std::thread::Builder::new().name("load".to_owned()).spawn(run) {
            Ok(_) => Ok(Self { file, picture, purpose, progress, answer }),
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
        ui.ctx().request_repaint_after(LOOK);
        ui.label(format!("Reading {}", self.file.display()));
        ui.horizontal(|ui| {
            let (part, words) = self.far();
            ui.add(ProgressBar::new(part).desired_width(260.0).text(words));
            ui.button("Stop (Esc)").clicked()
        })
        .inner
    }

    /// The part that is done, and words.
    fn far(&self) -> (f32, String) {
        let seen = self.progress.seen();
        let part = seen.iter().find_map(|task| task.total.filter(|total| *total > 0).map(|total| (task.done, total)));
        let words: Vec<String> = seen.iter().map(Seen::words).collect();
        let words = if words.is_empty() { "opening ...".to_owned() } else { words.join(", ") };
        (part.map_or(0.0, |(done, total)| done as f32 / total as f32), words)
    }
}
