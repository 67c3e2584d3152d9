//! What the environment says.

use super::bindings as acl;
use super::codes::Refusal;
use crate::capi::life::usual_total;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use weir::trace::{SinkError, WriterSink};
use weir::units::Bytes;

/// Where the log goes: a file, or nowhere.
pub(super) type LogSink = WriterSink<Box<dyn FnMut(&[u8]) -> Result<(), SinkError> + Send>>;

/// A refusal that also goes to the standard error stream: a program that does not look at what `aclInit` returns would
/// not tell anybody.
fn announce(refusal: Refusal) -> Refusal {
    eprintln!("weir: {}", refusal.text);
    refusal
}

/// Physical memory of the device, as `WEIR_HOST_BYTES` says.
pub(super) fn total() -> Result<Bytes, Refusal> {
    usual_total().map_err(|failure| announce(Refusal::new(acl::ACL_ERROR_INVALID_PARAM, failure.text)))
}

/// A total that the device cannot be made with.
pub(super) fn bad_total(total: Bytes, why: impl core::fmt::Display) -> Refusal {
    let text = format!("a device of {total} (WEIR_HOST_BYTES) cannot be made: {why}");
    announce(Refusal::new(acl::ACL_ERROR_INVALID_PARAM, text))
}

/// Pages of the log that may wait for the file.
const PAGES: usize = 64;

/// The log that `WEIR_LOG` names, and how many of its pages may wait.
pub(super) fn log() -> Result<(LogSink, usize), Refusal> {
    match std::env::var_os("WEIR_LOG") {
        Some(path) if !path.is_empty() => Ok((WriterSink(Box::new(to_file(&path)?)), PAGES)),
        _ => Ok((WriterSink(Box::new(|_| Ok(()))), 0)),
    }
}

fn to_file(path: &OsStr) -> Result<impl FnMut(&[u8]) -> Result<(), SinkError> + Send + use<>, Refusal> {
    let mut file = File::create(path).map_err(|error| {
        let text = format!("WEIR_LOG is {path:?}: expected a file that can be written, but {error}");
        announce(Refusal::new(acl::ACL_ERROR_INVALID_FILE, text))
    })?;
    Ok(move |page: &[u8]| file.write_all(page).map_err(|_| SinkError))
}
