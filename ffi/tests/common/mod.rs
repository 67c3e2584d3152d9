//! Compiling and running C in tests.
#![allow(dead_code, reason = "each test file uses a part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The languages that the headers must be good for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Language {
    C11,
    Cpp17,
}

/// A file of this package.
pub(crate) fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A place for what a test makes.
pub(crate) fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// The compiler with the project's flags: every warning is an error.
pub(crate) fn compiler(language: Language) -> Command {
    let (variable, usual, standard) = match language {
        Language::C11 => ("CC", "gcc", "-std=c11"),
        Language::Cpp17 => ("CXX", "g++", "-std=c++17"),
    };
    let mut command = Command::new(std::env::var_os(variable).unwrap_or(usual.into()));
    command.args([standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-g"]);
    command.arg("-I").arg(file("include"));
    if matches!(language, Language::Cpp17) {
        command.args(["-x", "c++"]);
    }
    command
}

/// Runs a command that must succeed and say nothing on stderr.
pub(crate) fn quietly(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}; the tests need gcc and g++"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{command:?}: {}\n{said}", output.status);
    output
}

/// Builds both libraries as they are now, and answers the folder that holds them under their installed names.
pub(crate) fn libraries(test: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let target = own.ancestors().nth(3).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", "weir-archive", "--package", "weir-shared", "--target-dir"]);
    cargo.arg(target).current_dir(file(".."));
    assert!(cargo.status().unwrap().success(), "{cargo:?}");
    let folder = scratch(&format!("lib_{test}"));
    std::fs::create_dir_all(&folder).unwrap();
    for (built, name) in [("libweir_archive.a", "libweir.a"), ("libweir_shared.so", "libweir.so")] {
        // Each test may be a process of its own: whoever links meanwhile must find a whole file.
        let whole = folder.join(format!("{name}.{}", std::process::id()));
        std::fs::copy(target.join("debug").join(built), &whole).unwrap();
        std::fs::rename(&whole, folder.join(name)).unwrap();
    }
    folder
}

/// Builds a library that stands in front of a vendor's, as it is now, and puts it into a folder under its installed name.
pub(crate) fn in_front(package: &str, folder: &Path) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let target = own.ancestors().nth(3).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", package, "--target-dir"]).arg(target).current_dir(file(".."));
    assert!(cargo.status().unwrap().success(), "{cargo:?}");
    let name = format!("lib{}.so", package.replace('-', "_"));
    std::fs::create_dir_all(folder).unwrap();
    let (whole, made) = (folder.join(format!("{}.new", std::process::id())), folder.join(&name));
    // Each test may be a process of its own: whoever loads it meanwhile must find a whole file.
    std::fs::copy(target.join("debug").join(&name), &whole).unwrap();
    std::fs::rename(&whole, &made).unwrap();
    made
}

/// Compiles sources into a program that is linked with one of the libraries.
pub(crate) fn program(language: Language, sources: &[&Path], libraries: &Path, library: &str, name: &str) -> PathBuf {
    let made = scratch(name);
    let mut command = compiler(language);
    command.arg("-I").arg(file("tests/c")).args(sources).args(["-x", "none", "-L"]).arg(libraries);
    command.arg(format!("-l:{library}")).arg("-Wl,-rpath").arg(libraries).arg("-o").arg(&made);
    quietly(&mut command);
    made
}

/// What a program prints that must succeed.
pub(crate) fn says(command: &mut Command) -> String {
    String::from_utf8(quietly(command).stdout).unwrap()
}
