//! Files that are written as a whole or not at all.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Has a file written under a second name, so that there is never half of it. A link is followed, and what is no file, as
/// a device or a pipe is none, is written to as it is.
///
/// # Errors
/// What could not be written, and why; nothing is left of a file then, and an old one is as it was.
pub fn whole<T>(out: &Path, write: impl FnOnce(File) -> io::Result<T>) -> Result<T, (PathBuf, io::Error)> {
    if out.metadata().is_ok_and(|there| !there.is_file()) {
        return File::options().write(true).open(out).and_then(write).map_err(|error| (out.to_owned(), error));
    }
    let target = out.canonicalize().unwrap_or_else(|_| out.to_owned());
    let mut name = target.file_name().unwrap_or(OsStr::new("out")).to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let partial = target.with_file_name(name);
    let written = File::create(&partial).and_then(write);
    written.and_then(|done| std::fs::rename(&partial, &target).map(|()| done)).map_err(|error| {
        let left = std::fs::remove_file(&partial).err().filter(|left| left.kind() != ErrorKind::NotFound);
        (if left.is_some() { partial } else { out.to_owned() }, error)
    })
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
    fn a_failure_leaves_the_old_file_and_nothing_else() {
        let folder = std::env::temp_dir().join(format!("weir-output-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let out = folder.join("file");
        bytes(&out, b"old").expect("is written");
        let full = whole(&out, |mut file| {
            file.write_all(b"half")?;
            Err::<(), _>(io::Error::from(ErrorKind::StorageFull))
        });
        assert_eq!(full.map_err(|(path, error)| (path, error.kind())), Err((out.clone(), ErrorKind::StorageFull)));
        assert_eq!(std::fs::read(&out).expect("is there"), b"old");
        assert_eq!(std::fs::read_dir(&folder).expect("is there").count(), 1);
        std::fs::remove_dir_all(&folder).expect("is removed");
    }
}
