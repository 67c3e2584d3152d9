//! What the environment says.

use super::bindings as acl;
use super::codes::Refusal;
use crate::capi::create::usual_total;
use crate::environment::variable;
use crate::log_sink::{LogSink, place};
use weir::units::Bytes;

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
pub(crate) fn log() -> Result<(LogSink, usize), Refusal> {
    let mut sink = LogSink::default();
    let path = variable("WEIR_LOG").filter(|path| !path.is_empty());
    let Some(path) = path.map(|path| place(&path, 0)) else { return Ok((sink, 0)) };
    sink.set_file(&path).map_err(|error| {
        let text = format!("WEIR_LOG is {path:?}: expected a file that can be written, but {error}");
        announce(Refusal::new(acl::ACL_ERROR_INVALID_FILE, text))
    })?;
    Ok((sink, PAGES))
}

/// A log that is not whole at the end.
pub(crate) fn bad_log(text: String) -> Refusal {
    announce(Refusal::new(acl::ACL_ERROR_INVALID_FILE, text))
}
