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

/// Opt-level `s` copies functions that are marked for it as far as quick code does; with these, only where the copy is
/// smaller than the call. A fifth of the code.
const CALL_RATHER_THAN_COPY: [&str; 2] = ["-Cllvm-args=-inline-threshold=5", "-Cllvm-args=-inlinehint-threshold=5"];

/// Builds the C interface for a target without an operating system.
pub(crate) fn build(target: &str, compiler: &Compiler, notes: Notes) -> Result<PathBuf, Failure> {
    let words = ["rustc", "--package", "weir-ffi", "--lib", "--profile", "firmware", "--no-default-features"];
    // A microcontroller has less room than time.
    let small = target.starts_with("thumb");
    let features = if small { "panic-handler,compact" } else { "panic-handler" };
    let words = words.into_iter().chain(["--features", features, "--crate-type", "staticlib"]);
    let mut command = compiler.cargo(target, words);
    let mut flags = if small { CALL_RATHER_THAN_COPY.to_vec() } else { Vec::new() };
    if notes == Notes::Stack {
        flags.push("-Zemit-stack-sizes");
        command.env("RUSTC_BOOTSTRAP", "1").arg("--target-dir").arg(project::output("stack"));
    }
    let variable = format!("CARGO_TARGET_{}_RUSTFLAGS", target.to_ascii_uppercase().replace('-', "_"));
    command.env(variable, flags.join(" "));
    let files = project::built(&mut command)?;
    let archive = files.into_iter().find(|file| file.extension().is_some_and(|extension| extension == "a"));
    archive.ok_or_else(|| Failure::Failed("cargo built the C interface but named no archive".into()))
}
