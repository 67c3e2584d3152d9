//! How long a file may become: beyond it the system does not refuse, it ends the process.

use std::fs::File;
use std::io;

/// An error where a file of `bytes` bytes would be longer than this process may make one (`ulimit -f`).
pub(crate) fn check_file_size(bytes: u64) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: a place for the answer that outlives the call.
    let outcome = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
    if outcome != 0 || limit.rlim_cur == libc::RLIM_INFINITY || bytes <= limit.rlim_cur {
        return Ok(());
    }
    let most = limit.rlim_cur;
    let text = format!("a file of {bytes} bytes is needed, and the limit of this process is {most} (ulimit -f)");
    Err(io::Error::new(io::ErrorKind::FileTooLarge, text))
}

/// The same for a file that is about to grow by `more` bytes; what is no file on a disk has no such limit.
pub(crate) fn check_growth(file: &File, more: u64) -> io::Result<()> {
    let found = file.metadata()?;
    if found.is_file() { check_file_size(found.len().saturating_add(more)) } else { Ok(()) }
}
