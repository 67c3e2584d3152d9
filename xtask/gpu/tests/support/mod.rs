//! The stand-in for CUDA's driver (`ffi/tests/c`), compiled, and the program on it.
#![allow(dead_code, reason = "each test file uses a part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Compiles sources of `ffi/tests/c` into a library.
pub(crate) fn library(name: &str, sources: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ffi/tests/c");
    // Each test may be a process of its own: whoever loads meanwhile must find a whole file.
    let whole = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.{}", std::process::id()));
    let mut command = Command::new(std::env::var_os("CC").unwrap_or("gcc".into()));
    command.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2", "-shared", "-fPIC", "-pthread"]);
    // Of two functions of one name the first is taken.
    command.arg("-Wl,-z,muldefs");
    command.args(sources.iter().map(|source| folder.join(source))).arg("-o").arg(&whole);
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; the tests need gcc"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    let path = whole.with_extension("so");
    std::fs::rename(&whole, &path).expect("can be renamed");
    path
}

pub(crate) fn standin() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| library("libstandin", &["standin_kernels.c", "standin.c", "standin_cuda.c"]))
}

pub(crate) const LARGE_GRANULES: &str = "2097152";
/// So that many programs write little.
pub(crate) const SMALL_GRANULES: &str = "65536";

pub(crate) fn program(library: &Path, granule: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir-gpu"));
    command.args(arguments).env("WEIR_CUDA_LIBRARY", library).env("STANDIN_GRANULE", granule);
    command.env("RUST_BACKTRACE", "0");
    command
}

pub(crate) fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().expect("starts");
    let text = |bytes| String::from_utf8(bytes).expect("is text");
    (status.code(), text(stdout), text(stderr))
}
