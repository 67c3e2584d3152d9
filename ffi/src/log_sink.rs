//! Where the log of a runtime goes.

use crate::limits;
use core::ffi::c_void;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use weir::trace::{Sink, SinkError};

/// A function of the program's that gets pages.
pub(crate) type PageFunction = unsafe extern "C" fn(*mut c_void, *const u8, usize);

struct Callback {
    function: PageFunction,
    user: *mut c_void,
}

// SAFETY: the header says that all callbacks may be called from any thread; `user` is only handed to the function.
unsafe impl Send for Callback {}

/// A file that the log is written to.
struct LogFile {
    path: PathBuf,
    file: File,
    /// The first error, as the system put it.
    failed: Option<io::Error>,
}

impl LogFile {
    fn write(&mut self, page: &[u8]) -> Result<(), SinkError> {
        let written = limits::check_growth(&self.file, page.len() as u64).and_then(|()| self.file.write_all(page));
        written.map_err(|error| {
            self.failed.get_or_insert(error);
            SinkError
        })
    }
}

/// A file, a function, both, or nothing.
#[derive(Default)]
pub(crate) struct LogSink {
    file: Option<LogFile>,
    callback: Option<Callback>,
}

impl LogSink {
    /// Makes the file anew.
    pub(crate) fn set_file(&mut self, path: &Path) -> io::Result<()> {
        self.file = Some(LogFile { path: path.to_owned(), file: File::create(path)?, failed: None });
        Ok(())
    }

    pub(crate) fn set_function(&mut self, function: Option<PageFunction>, user: *mut c_void) {
        self.callback = function.map(|function| Callback { function, user });
    }

    pub(crate) fn is_nothing(&self) -> bool {
        self.file.is_none() && self.callback.is_none()
    }

    /// What is wrong with a log that lacks this many records; `None` where it is whole, or where there is none.
    pub(crate) fn complaint(&self, lost: u64) -> Option<String> {
        if self.is_nothing() {
            return None;
        }
        let failed = self.file.as_ref().and_then(|file| Some((&file.path, file.failed.as_ref()?)));
        match (failed, lost) {
            (Some((path, error)), _) => Some(format!("{lost} records of the log are lost: writing {path:?}: {error}")),
            (None, 0) => None,
            (None, _) => Some(format!("{lost} records of the log are lost: more pages must be able to wait for it")),
        }
    }
}

impl Sink for LogSink {
    fn page(&mut self, page: &[u8]) -> Result<(), SinkError> {
        if let Some(Callback { function, user }) = self.callback {
            // SAFETY: the program's function, with a page that outlives the call.
            unsafe { function(user, page.as_ptr(), page.len()) };
        }
        self.file.as_mut().map_or(Ok(()), |file| file.write(page))
    }
}

/// The log's file for a device: `{device}` and `{pid}` are replaced, else devices above 0 append their number.
pub(crate) fn place(path: &OsStr, device: u32) -> PathBuf {
    let (number, process) = (device.to_string(), std::process::id().to_string());
    let (bytes, had_device) = replace(path.as_bytes(), b"{device}", number.as_bytes());
    let (mut bytes, _) = replace(&bytes, b"{pid}", process.as_bytes());
    if device != 0 && !had_device {
        bytes.push(b'.');
        bytes.extend_from_slice(number.as_bytes());
    }
    PathBuf::from(OsStr::from_bytes(&bytes))
}

/// A text with every `from` replaced, and whether there was one.
fn replace(text: &[u8], from: &[u8], to: &[u8]) -> (Vec<u8>, bool) {
    let (mut rest, mut out, mut any) = (text, Vec::with_capacity(text.len()), false);
    while let Some((first, behind)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(from) {
            out.extend_from_slice(to);
            (rest, any) = (after, true);
        } else {
            out.push(*first);
            rest = behind;
        }
    }
    (out, any)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_device_has_a_file_of_its_own() {
        let file = |path: &str, device| place(OsStr::new(path), device).into_os_string().into_string().unwrap();
        assert_eq!((file("a.log", 0), file("a.log", 3)), ("a.log".to_owned(), "a.log.3".to_owned()));
        assert_eq!(file("{device}/{device}.log", 12), "12/12.log");
        assert_eq!(file("w{pid}.log", 1), format!("w{}.log.1", std::process::id()));
    }
}
