//! `libweir.a` for bare metal.

use crate::cross::Compiler;
use crate::failure::Failure;
use crate::project;
use std::path::PathBuf;

/// What the compiler writes beside the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notes {
    /// Nothing.
    None,
    /// How much stack each function takes. A build of its own: the compiler calls that an experiment.
    Stack,
}

/// Builds the C interface for a target without an operating system.
pub(crate) fn build(target: &str, compiler: &Compiler, notes: Notes) -> Result<PathBuf, Failure> {
    let words = ["rustc", "--package", "weir-ffi", "--lib", "--profile", "firmware", "--no-default-features"];
    // A microcontroller has less room than time.
    let features = if target.starts_with("thumb") { "panic-handler,compact" } else { "panic-handler" };
    let words = words.into_iter().chain(["--features", features, "--crate-type", "staticlib"]);
    let mut command = compiler.cargo(target, words);
    if notes == Notes::Stack {
        let variable = format!("CARGO_TARGET_{}_RUSTFLAGS", target.to_ascii_uppercase().replace('-', "_"));
        command.env("RUSTC_BOOTSTRAP", "1").env(variable, "-Zemit-stack-sizes");
        command.arg("--target-dir").arg(project::output("stack"));
    }
    let files = project::built(&mut command)?;
    let archive = files.into_iter().find(|file| file.extension().is_some_and(|extension| extension == "a"));
    archive.ok_or_else(|| Failure::Failed("cargo built the C interface but named no archive".into()))
}
