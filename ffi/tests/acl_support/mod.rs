//! `libweir_acl.so` and a vendor's library for it, built for tests.
#![allow(dead_code, reason = "each test file uses a part")]

use crate::common::{Language, compiler, file, in_front, quietly, scratch};
use std::path::{Path, PathBuf};

/// Builds `libweir_acl.so` as it is now, and puts it into a folder under its installed name.
pub(crate) fn library(folder: &Path) -> PathBuf {
    in_front("weir-acl", folder)
}

/// A folder of this test's own that has the stand-in under the name of the vendor's library.
pub(crate) fn standin(test: &str) -> PathBuf {
    let folder = scratch(&format!("acl_{test}"));
    std::fs::create_dir_all(&folder).unwrap();
    let mut command = compiler(Language::C11);
    command.args(["-O1", "-shared", "-fPIC", "-pthread", "-Wl,-soname,libascendcl.so"]);
    command.args(["standin.c", "standin_acl.c"].map(|name| file("tests/c").join(name)));
    quietly(command.arg("-o").arg(folder.join("libascendcl.so")));
    folder
}
