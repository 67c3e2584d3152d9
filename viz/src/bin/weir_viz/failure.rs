//! What went wrong, as the window shows it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use weir_viz::source::SourceError;

/// Something that did not work. What was on the screen before is there yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// What did not.
    pub(crate) heading: String,
    /// Why, and what to do.
    pub(crate) lines: Vec<String>,
}

impl Failure {
    /// This cannot be shown, for this reason.
    pub(crate) fn to_show(name: &str, why: impl ToString) -> Self {
        Self { heading: format!("Cannot show {name}"), lines: vec![why.to_string()] }
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        Self { heading: format!("Cannot show {}", error.name), lines: vec![error.what, error.advice] }
    }
}

/// Whether what the command line names could be read: the program's exit status says it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome(Arc<AtomicBool>);

impl Outcome {
    /// It could not.
    pub(crate) fn unreadable(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it could not.
    pub(crate) fn is_unreadable(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
