//! Files that are written as a whole or not at all.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The second names of all files that this process is writing.
static PARTIAL: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn partial() -> MutexGuard<'static, Vec<PathBuf>> {
    PARTIAL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that is being written under a second name, beside the one that it is to have. Dropped, it is taken away again.
#[derive(Debug)]
pub struct Partial {
    /// Both names; `None`: what is no file, as a device or a pipe is none, is written to as it is.
    names: Option<(PathBuf, PathBuf)>,
}

impl Partial {
    /// Begins a file. A link is followed.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create(out: &Path) -> io::Result<(Self, File)> {
        if out.metadata().is_ok_and(|there| !there.is_file()) {
            return Ok((Self { names: None }, File::options().write(true).open(out)?));
        }
        if out.as_os_str() == "-" {
            let what = "`-` stands for the standard input; name a file, as ./- is one, or /dev/stdout";
            return Err(io::Error::new(ErrorKind::InvalidInput, what));
        }
        let target = out.canonicalize().unwrap_or_else(|_| out.to_owned());
        let mut name = target.file_name().unwrap_or(OsStr::new("out")).to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let second = target.with_file_name(name);
        let mut partial = partial();
        let file = File::create(&second)?;
        partial.push(second.clone());
        Ok((Self { names: Some((second, target)) }, file))
    }

    /// Gives it its name: all of it is written.
    ///
    /// # Errors
    /// It cannot be renamed; it is taken away then.
    pub fn keep(mut self) -> io::Result<()> {
        let Some((second, target)) = &self.names else { return Ok(()) };
        std::fs::rename(second, target)?;
        partial().retain(|known| known != second);
        self.names = None;
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if let Some((second, _)) = &self.names {
            partial().retain(|known| known != second);
            let _ = std::fs::remove_file(second);
        }
    }
}

/// Takes away what is half written, and lets no other file begin: for a process that ends at once.
pub fn abandon() {
    let mut partial = partial();
    for second in partial.drain(..) {
        let _ = std::fs::remove_file(second);
    }
    std::mem::forget(partial);
}

/// Whether two names are one file, by way of links or not. A file that is not there yet is no other.
#[must_use]
pub fn is_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// The file to write is the log that is read.
#[derive(Debug)]
pub struct IsLog(PathBuf);

impl fmt::Display for IsLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: that is the log itself; name another file", self.0.display())
    }
}

impl std::error::Error for IsLog {}

/// A log is not written over, by way of a link neither.
///
/// # Errors
/// The two names are one file.
pub fn spare(log: &Path, out: &Path) -> Result<(), IsLog> {
    if is_same(log, out) { Err(IsLog(out.to_owned())) } else { Ok(()) }
}

/// Has a file written under a second name, so that there is never half of it. A link is followed, and what is no file, as
/// a device or a pipe is none, is written to as it is.
///
/// # Errors
/// What could not be written, and why; nothing is left of a file then, and an old one is as it was.
pub fn whole<T>(out: &Path, write: impl FnOnce(File) -> io::Result<T>) -> Result<T, (PathBuf, io::Error)> {
    let written = Partial::create(out).and_then(|(partial, file)| {
        let written = write(file)?;
        partial.keep()?;
        Ok(written)
    });
    written.map_err(|error| (out.to_owned(), error))
}

/// [`whole`], of these bytes.
///
/// # Errors
/// As `whole`.
pub fn bytes(out: &Path, bytes: &[u8]) -> Result<(), (PathBuf, io::Error)> {
    whole(out, |mut file| file.write_all(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dash_is_no_file_to_write() {
        let (path, error) = bytes(Path::new("-"), b"bytes").expect_err("no file");
        assert_eq!((path.as_path(), error.kind()), (Path::new("-"), ErrorKind::InvalidInput));
        assert!(!Path::new("-").exists());
    }

    #[test]
    fn a_failure_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let out = folder.path().join("file");
        bytes(&out, b"old").expect("is written");
        let full = whole(&out, |mut file| {
            file.write_all(b"half")?;
            Err::<(), _>(io::Error::from(ErrorKind::StorageFull))
        });
        assert_eq!(full.map_err(|(path, error)| (path, error.kind())), Err((out.clone(), ErrorKind::StorageFull)));
        assert_eq!(std::fs::read(&out).expect("is there"), b"old");
        let (half, _) = Partial::create(&out).expect("is begun");
        assert_eq!(std::fs::read_dir(folder.path()).expect("is there").count(), 2);
        drop(half);
        assert_eq!(std::fs::read_dir(folder.path()).expect("is there").count(), 1);
    }
}
