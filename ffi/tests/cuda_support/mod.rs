//! `libweir_cuda.so` and the vendor's libraries for it, built for tests.
#![allow(dead_code, reason = "each test file uses a part")]

use crate::common::{Language, compiler, file, in_front, quietly, scratch};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds `libweir_cuda.so` as it is now, and puts it into a folder under its installed name.
pub(crate) fn library(folder: &Path) -> PathBuf {
    in_front("weir-cuda", folder)
}

fn sources(command: &mut Command, names: &[&str]) {
    command.arg("-I").arg(file("tests/c")).args(names.iter().map(|name| file("tests/c").join(name)));
}

/// A folder of this test's own that has the stand-ins under the names of the vendor's libraries.
pub(crate) fn standins(test: &str) -> PathBuf {
    let folder = scratch(&format!("cuda_{test}"));
    std::fs::create_dir_all(&folder).unwrap();
    shared(&folder, "libcuda.so.1", &["standin.c", "standin_cuda_programs.c"], &[]);
    shared(&folder, "libcudart.so.12", &["standin_cudart.c"], &[]);
    folder
}

/// Compiles a shared library.
pub(crate) fn shared(folder: &Path, name: &str, from: &[&str], options: &[&str]) -> PathBuf {
    let made = folder.join(name);
    let mut command = compiler(Language::C11);
    command.args(["-O1", "-shared", "-fPIC", "-pthread"]).arg(format!("-Wl,-soname,{name}"));
    sources(&mut command, from);
    quietly(command.arg("-L").arg(folder).args(options).arg("-Wl,-rpath").arg(folder).arg("-o").arg(&made));
    made
}

/// Compiles a program; `options` say what it is linked with.
pub(crate) fn program(folder: &Path, name: &str, from: &[&str], options: &[&str]) -> PathBuf {
    let made = folder.join(name);
    let mut command = compiler(Language::C11);
    sources(&mut command, from);
    command.arg("-L").arg(folder).args(options).args(["-ldl", "-pthread", "-Wl,-rpath"]).arg(folder);
    quietly(command.arg("-o").arg(&made));
    made
}

/// What CUDA programs are linked with, whether they name a function of both or not.
pub(crate) const CUDA: [&str; 3] = ["-Wl,--no-as-needed", "-l:libcudart.so.12", "-l:libcuda.so.1"];

/// A command without the variables that the library reads.
pub(crate) fn plain(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_remove("WEIR_LOG").env_remove("WEIR_CUDA_LIBRARY").env_remove("LD_PRELOAD");
    command
}
