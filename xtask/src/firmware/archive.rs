//! `libweir.a` for bare metal.

use crate::cross::Compiler;
use crate::failure::Failure;
use crate::project;
use std::path::PathBuf;

/// Builds the C interface for a target without an operating system.
pub(crate) fn build(target: &str, compiler: &Compiler) -> Result<PathBuf, Failure> {
    let words = ["rustc", "--package", "weir-ffi", "--lib", "--profile", "firmware", "--no-default-features"];
    let words = words.into_iter().chain(["--features", "panic-handler", "--crate-type", "staticlib"]);
    let files = project::built(&mut compiler.cargo(target, words))?;
    let archive = files.into_iter().find(|file| file.extension().is_some_and(|extension| extension == "a"));
    archive.ok_or_else(|| Failure::Failed("cargo built the C interface but named no archive".into()))
}
