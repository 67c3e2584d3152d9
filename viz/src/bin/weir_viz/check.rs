//! The check of the log, beside the window.

use eframe::egui::Context;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use weir_viz::check::{self, Report, Told};
use weir_viz::progress::Progress;

/// How far the check is.
pub(crate) enum Check {
    /// It waits for the window, with the log's bytes.
    Due(Vec<u8>),
    /// It runs; what it finds will come here.
    Running(Running),
    /// It is over, and what it found was taken.
    Done,
    /// It ended without an answer.
    Failed(String),
}

/// A check under way. Ends when it is dropped.
pub(crate) struct Running {
    progress: Progress,
    answer: Receiver<Report>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.progress.stop();
    }
}

impl Check {
    /// Begins, and wakes the window when it is over. Does nothing if it was begun before.
    pub(crate) fn start(&mut self, name: &str, context: &Context) {
        let Self::Due(bytes) = self else {
            return;
        };
        let (bytes, name, context) = (std::mem::take(bytes), name.to_owned(), context.clone());
        let (send, answer) = channel();
        let progress = Progress::default();
        let seen = progress.clone();
        let run = move || {
            // The window could read the log, so that it is one. Nobody waits any more if the window was closed.
            if let Ok(report) = check::read_with(&name, &bytes, Told::Accept, &seen) {
                let _ = send.send(report);
            }
            drop(send);
            context.request_repaint();
        };
        *self = match std::thread::Builder::new().name("check".to_owned()).spawn(run) {
            Ok(_) => Self::Running(Running { progress, answer }),
            Err(error) => Self::Failed(error.to_string()),
        };
    }

    /// Waits until it is over; what was found is there to be taken.
    #[cfg(test)]
    pub(crate) fn wait(&mut self) {
        if let Self::Running(running) = self {
            let (again, kept) = channel();
            let _ = running.answer.recv().map(|report| again.send(report));
            running.answer = kept;
        }
    }

    /// What was found, once.
    pub(crate) fn take(&mut self) -> Option<Report> {
        let Self::Running(running) = self else {
            return None;
        };
        let (next, report) = match running.answer.try_recv() {
            Ok(report) => (Self::Done, Some(report)),
            Err(TryRecvError::Disconnected) => (Self::Failed("it gave no answer".to_owned()), None),
            Err(TryRecvError::Empty) => return None,
        };
        *self = next;
        report
    }

    /// Whether nothing more comes of it.
    pub(crate) const fn is_over(&self) -> bool {
        matches!(self, Self::Done | Self::Failed(_))
    }

    /// How it stands, in words.
    pub(crate) fn words(&self, findings: u64) -> String {
        match (self, findings) {
            (Self::Due(_) | Self::Running(_), _) => "checking ...".to_owned(),
            (Self::Failed(why), _) => format!("not checked: {why}"),
            (Self::Done, 0) => "checked: nothing found".to_owned(),
            (Self::Done, n) => format!("checked: {n} found"),
        }
    }
}
