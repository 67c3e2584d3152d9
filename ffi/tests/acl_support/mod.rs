//! `libweir_acl.so` and a vendor's library for it, built for tests.
#![allow(dead_code, reason = "each test file uses a part")]

use crate::common::{Language, compiler, file, quietly, scratch};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds `libweir_acl.so` as it is now, and puts it into a folder under its installed name.
pub(crate) fn library(folder: &Path) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let target = own.ancestors().nth(3).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", "weir-acl", "--target-dir"]).arg(target).current_dir(file(".."));
    assert!(cargo.status().unwrap().success(), "{cargo:?}");
    std::fs::create_dir_all(folder).unwrap();
    let (whole, made) = (folder.join(format!("{}.new", std::process::id())), folder.join("libweir_acl.so"));
    // Each test may be a process of its own: whoever loads it meanwhile must find a whole file.
    std::fs::copy(target.join("debug/libweir_acl.so"), &whole).unwrap();
    std::fs::rename(&whole, &made).unwrap();
    made
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
