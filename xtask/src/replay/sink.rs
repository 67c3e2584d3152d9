//! Where the event log of a replay goes: a file, or nowhere.

use crate::failure::Failure;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use weir::trace::{Sink, SinkError};

/// A file, or nothing.
pub(crate) struct LogSink {
    file: Option<BufWriter<File>>,
    path: PathBuf,
    /// The first error: the runtime only counts what is lost.
    error: Option<std::io::Error>,
}

impl LogSink {
    /// Creates the file, in a folder that is there.
    pub(crate) fn new(path: Option<&Path>) -> Result<Self, Failure> {
        let file = path.map(create).transpose()?.map(BufWriter::new);
        Ok(Self { file, path: path.map(Path::to_path_buf).unwrap_or_default(), error: None })
    }

    /// Writes what is left.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        let error = match (self.error.take(), &mut self.file) {
            (Some(error), _) => Some(error),
            (None, Some(file)) => file.flush().err(),
            (None, None) => None,
        };
        match error {
            Some(error) => Err(Failure::file("write the event log", &self.path, error)),
            None => Ok(()),
        }
    }
}

fn create(path: &Path) -> Result<File, Failure> {
    File::create(path).map_err(|error| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        match folder {
            Some(folder) => {
                let missing = format!("there is no folder {}; create it first", folder.display());
                Failure::file("write the event log", path, missing)
            }
            None => Failure::file("write the event log", path, error),
        }
    })
}

impl Sink for LogSink {
    fn page(&mut self, page: &[u8]) -> Result<(), SinkError> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        file.write_all(page).map_err(|error| {
            self.error.get_or_insert(error);
            SinkError
        })
    }
}
