//! Where the project is, and how its parts are built.

use crate::failure::Failure;
use crate::step;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The root of the checkout that this binary was built from.
pub(crate) fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    here.parent().map_or_else(|| here.clone(), Path::to_path_buf)
}

/// Where commands leave what they make: always `target` in the checkout, as the documentation says.
pub(crate) fn output(name: &str) -> PathBuf {
    root().join("target").join(name)
}

/// The path as a person would type it here.
pub(crate) fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}

/// Copies a file to its place, by way of a second name, so that nobody sees half a file.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let folder = to.parent().unwrap_or(to);
    std::fs::create_dir_all(folder).map_err(|error| Failure::file("create", folder, error))?;
    let half = to.with_extension(format!("{}.new", std::process::id()));
    std::fs::copy(from, &half).map_err(|error| Failure::file("write", &half, error))?;
    std::fs::rename(&half, to).map_err(|error| Failure::file("write", to, error))
}

/// A cargo command that runs in the root.
pub(crate) fn cargo<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    in_root(command, arguments)
}

/// The same with the nightly toolchain.
pub(crate) fn nightly<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo"]);
    in_root(command, arguments)
}

fn in_root<S: AsRef<OsStr>>(mut command: Command, arguments: impl IntoIterator<Item = S>) -> Command {
    command.args(arguments).current_dir(root());
    // What cargo tells the package that it runs is about this package, not about the one to be built.
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")) {
            command.env_remove(name);
        }
    }
    command
}

/// The program `name` in PATH.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|candidate| candidate.is_file())
}

/// The first line that a program prints, or nothing if it cannot be run.
pub(crate) fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    if !output.status.success() {
        return None;
    }
    String::from_utf8(output.stdout).ok()?.lines().next().map(str::to_owned)
}

/// Runs a cargo build and returns the files that it made or found fresh.
pub(crate) fn built(command: &mut Command) -> Result<Vec<PathBuf>, Failure> {
    command.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let output = command.output().map_err(|error| Failure::Failed(format!("cannot run cargo: {error}")))?;
    if !output.status.success() {
        return Err(Failure::Failed(format!("building failed; repeat it with: {}", step::typed(command))));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    Ok(messages.lines().flat_map(files).collect())
}

/// The files that one of cargo's messages names.
fn files(message: &str) -> Vec<PathBuf> {
    let value: serde_json::Value = serde_json::from_str(message).unwrap_or_default();
    let files = value["filenames"].as_array().cloned().unwrap_or_default();
    files.iter().filter_map(|file| file.as_str().map(PathBuf::from)).collect()
}
