//! What the environment says.

use std::ffi::OsString;

/// A variable of the environment. A process that runs with more rights than who started it (set-user-ID, capabilities)
/// has none: they would decide which library it loads and which file it writes.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    // SAFETY: reads a number that the system gave the process.
    let has_more_rights = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    if has_more_rights { None } else { std::env::var_os(name) }
}
