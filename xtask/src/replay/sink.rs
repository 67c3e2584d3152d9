//! Where the event log of a replay goes: a file, or nowhere. It has its name when it is whole; what a replay that fails
//! wrote until then is kept, too, for it shows what happened.

use crate::failure::Failure;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use weir::trace::{Sink, SinkError};
use weir_viz::output::Partial;

/// A file, or nothing.
pub(crate) struct LogSink {
    file: Option<(BufWriter<File>, Partial)>,
    path: PathBuf,
    /// The first error: the runtime only counts what is lost.
    error: Option<std::io::Error>,
}

impl LogSink {
    /// Creates the file, in a folder that is there.
    pub(crate) fn new(path: Option<&Path>) -> Result<Self, Failure> {
        let file = path.map(create).transpose()?.map(|(partial, file)| (BufWriter::new(file), partial));
        Ok(Self { file, path: path.map(Path::to_path_buf).unwrap_or_default(), error: None })
    }

    /// Writes what is left.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        let kept = match (self.error.take(), self.file.take()) {
            (Some(error), _) => Err(error),
            (None, Some((mut file, partial))) => file.flush().and_then(|()| partial.keep()),
            (None, None) => Ok(()),
        };
        kept.map_err(|error| Failure::file("write the event log", &self.path, error))
    }
}

impl Drop for LogSink {
    fn drop(&mut self) {
        // The replay's own failure is what is told.
        let _ = self.finish();
    }
}

fn create(path: &Path) -> Result<(Partial, File), Failure> {
    Partial::create(path).map_err(|error| {
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
        let Some((file, _)) = &mut self.file else {
            return Ok(());
        };
        file.write_all(page).map_err(|error| {
            self.error.get_or_insert(error);
            SinkError
        })
    }
}
