//! Where the log of a runtime goes.

use super::failure::Failure;
use crate::bindings::{weir_log_fn, weir_status};
use core::ffi::c_void;
use std::fs::File;
use std::io::Write;
use weir::trace::{Sink, SinkError};

/// A function of the program's that gets pages.
struct Callback {
    function: unsafe extern "C" fn(*mut c_void, *const u8, usize),
    user: *mut c_void,
}

// SAFETY: the header says that all callbacks may be called from any thread; `user` is only handed to the function.
unsafe impl Send for Callback {}

/// A file, a function, both, or nothing.
#[derive(Default)]
pub(crate) struct LogSink {
    file: Option<File>,
    callback: Option<Callback>,
}

impl LogSink {
    pub(super) fn set_file(&mut self, path: &str) -> Result<(), Failure> {
        let refused = |e| Failure::new(weir_status::WEIR_SYSTEM, format!("the log file {path:?} cannot be made: {e}"));
        self.file = Some(File::create(path).map_err(refused)?);
        Ok(())
    }

    pub(super) fn set_function(&mut self, function: weir_log_fn, user: *mut c_void) {
        self.callback = function.map(|function| Callback { function, user });
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.file.is_none() && self.callback.is_none()
    }
}

impl Sink for LogSink {
    fn page(&mut self, page: &[u8]) -> Result<(), SinkError> {
        if let Some(Callback { function, user }) = self.callback {
            // SAFETY: the program's function, with a page that outlives the call.
            unsafe { function(user, page.as_ptr(), page.len()) };
        }
        match &mut self.file {
            Some(file) => file.write_all(page).map_err(|_| SinkError),
            None => Ok(()),
        }
    }
}
