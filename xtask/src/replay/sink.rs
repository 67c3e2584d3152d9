//! Where the event log of a replay goes: a file, or nowhere.

use crate::failure::Failure;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use weir::trace::{Sink, SinkError};

/// A file, or nothing.
pub(crate) struct LogSink {
    file: Option<BufWriter<File>>,
    /// The first error: the runtime only counts what is lost.
    error: Option<std::io::Error>,
}

impl LogSink {
    /// Creates the file and the folders above it.
    pub(crate) fn new(path: Option<&Path>) -> Result<Self, Failure> {
        let file = path.map(create).transpose()?.map(BufWriter::new);
        Ok(Self { file, error: None })
    }

    /// Writes what is left.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        let error = match (self.error.take(), &mut self.file) {
            (Some(error), _) => Some(error),
            (None, Some(file)) => file.flush().err(),
            (None, None) => None,
        };
        match error {
            Some(error) => Err(Failure::Failed(format!("cannot write the event log: {error}"))),
            None => Ok(()),
        }
    }
}

fn create(path: &Path) -> Result<File, Failure> {
    let create = || {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        File::create(path)
    };
    create().map_err(|error| Failure::file("write", path, error))
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
