//! From file to file.

use super::{Format, write};
use crate::output;
use crate::part::Part;
use crate::progress::{Counted, Progress, Unit};
use crate::source::{self, SourceError};
use std::fmt;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// Why nothing was written.
#[derive(Debug)]
pub enum ExportError {
    /// The log.
    Source(SourceError),
    /// The file to write is the log itself.
    Same(output::IsLog),
    /// The file to write.
    Write(PathBuf, io::Error),
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => error.fmt(f),
            Self::Same(error) => error.fmt(f),
            Self::Write(path, error) => write!(f, "cannot write {}: {error}", path.display()),
        }
    }
}

impl std::error::Error for ExportError {}

/// Writes the log at `log`, or a part of it, to `out`. Answers what was damaged, and what a reader of the file should know.
///
/// # Errors
/// The log cannot be read, or the file not be written, or it was stopped; nothing is left of it then.
pub fn file(
    log: &Path,
    part: &Part,
    format: Format,
    out: &Path,
    progress: &Progress,
) -> Result<Vec<String>, ExportError> {
    output::spare(log, out).map_err(ExportError::Same)?;
    let bytes = source::load_part(log, part, progress).map_err(ExportError::Source)?;
    let opened = source::read_file(log, &bytes, progress).map_err(ExportError::Source)?;
    let mut told = opened.summary();
    let written = output::whole(out, |file| {
        let file = Counted::new(file, progress.begin("writing", Unit::Bytes, None));
        write(format, &opened, &bytes, &mut BufWriter::new(file))
    });
    told.extend(written.map_err(|(path, error)| ExportError::Write(path, error))?);
    Ok(told)
}
