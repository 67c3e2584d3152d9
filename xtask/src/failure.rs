//! Why a command ended without success, and the exit status that says so.

use std::fmt;
use std::process::ExitCode;

/// How a command fails.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something went wrong; exit status 1.
    Failed(String),
    /// An input cannot be read or understood; exit status 2, as for a wrong command line.
    Unreadable(String),
    /// A program that was run has already said why; its exit status.
    Said(u8),
}

impl Failure {
    /// The exit status of the process.
    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Failed(_) => 1,
            Self::Unreadable(_) => 2,
            Self::Said(code) => *code,
        })
    }

    /// A failure about a file: `cannot write target/x: permission denied`.
    pub(crate) fn file(verb: &str, path: &std::path::Path, error: impl fmt::Display) -> Self {
        Self::Failed(format!("cannot {verb} {}: {error}", path.display()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(text) | Self::Unreadable(text) => f.write_str(text),
            Self::Said(code) => write!(f, "exit status {code}"),
        }
    }
}
