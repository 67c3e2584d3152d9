//! From file to file.

use super::{Format, write};
use crate::part::Part;
use crate::source::{self, SourceError};
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind};
use std::path::{Path, PathBuf};

/// Why nothing was written.
#[derive(Debug)]
pub enum ExportError {
    /// The log.
    Source(SourceError),
    /// The file to write is the log itself.
    Same(PathBuf),
    /// The file to write.
    Write(PathBuf, io::Error),
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => error.fmt(f),
            Self::Same(path) => write!(f, "{}: that is the log itself; name another file", path.display()),
            Self::Write(path, error) => write!(f, "cannot write {}: {error}", path.display()),
        }
    }
}

impl std::error::Error for ExportError {}

/// Writes the log at `log`, or a part of it, to `out`. Answers what was damaged, and what a reader of the file should know.
///
/// # Errors
/// The log cannot be read, or the file not be written; nothing is left of it then.
pub fn file(log: &Path, part: &Part, format: Format, out: &Path) -> Result<Vec<String>, ExportError> {
    if matches!((log.canonicalize(), out.canonicalize()), (Ok(log), Ok(out)) if log == out) {
        return Err(ExportError::Same(out.to_owned()));
    }
    let bytes = source::load_part(log, part).map_err(ExportError::Source)?;
    let opened = source::read_file(log, &bytes).map_err(ExportError::Source)?;
    let mut told = opened.summary();
    told.extend(place(out, |file| write(format, &opened, &bytes, &mut BufWriter::new(file)))?);
    Ok(told)
}

/// Has a file written under a second name, so that there is never half of it. A link is followed, and what is no file, as
/// a device or a pipe is none, is written to as it is.
fn place<T>(out: &Path, write: impl FnOnce(File) -> io::Result<T>) -> Result<T, ExportError> {
    let failed = |path: &Path, error| Err(ExportError::Write(path.to_owned(), error));
    if out.metadata().is_ok_and(|there| !there.is_file()) {
        return File::options().write(true).open(out).and_then(write).or_else(|error| failed(out, error));
    }
    let target = out.canonicalize().unwrap_or_else(|_| out.to_owned());
    let mut name = target.file_name().unwrap_or(OsStr::new("out")).to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let partial = target.with_file_name(name);
    let written = File::create(&partial).and_then(write);
    written.and_then(|done| std::fs::rename(&partial, &target).map(|()| done)).or_else(|error| {
        let left = std::fs::remove_file(&partial).err().filter(|left| left.kind() != ErrorKind::NotFound);
        failed(if left.is_some() { &partial } else { out }, error)
    })
}
