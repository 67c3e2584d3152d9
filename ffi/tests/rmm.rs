//! `weir_rmm.hpp` with the released headers and library of RAPIDS RMM, which are never committed: they come as packages
//! of Python's, and where they cannot be had the test says so.
#![cfg(target_os = "linux")]

mod common;
mod vendor_support;

use common::{Language, compiler, file, libraries, quietly, says, scratch};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use vendor_support::build;
use weir_ffi::vendor::Vendor;

/// A folder with the packages, as `pip install --target` makes it.
const VARIABLE: &str = "WEIR_RMM_PACKAGES";
/// The last is what RMM's library needs of its own.
const PACKAGES: [&str; 4] =
    ["librmm-cu13==26.10.*", "nvidia-cuda-runtime==13.*", "nvidia-cuda-crt==13.*", "rapids-logger"];
const HEADERS: [&str; 3] = ["librmm/include", "librmm/include/rapids", "nvidia/cu13/include"];
const LIBRARIES: [&str; 2] = ["librmm/lib64", "rapids_logger/lib64"];

fn is_whole(folder: &Path) -> bool {
    HEADERS.iter().chain(&LIBRARIES).all(|part| folder.join(part).is_dir())
}

/// The packages: named, fetched before, or fetched now.
fn packages() -> Result<PathBuf, String> {
    if let Some(folder) = std::env::var_os(VARIABLE).map(PathBuf::from) {
        let lacks = || format!("{VARIABLE} names {folder:?}, which lacks RMM's packages");
        return if is_whole(&folder) { Ok(folder) } else { Err(lacks()) };
    }
    let folder = scratch("rmm_packages");
    if is_whole(&folder) {
        return Ok(folder);
    }
    let half = scratch(&format!("rmm_packages.{}", std::process::id()));
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"]);
    pip.args(["--retries", "1", "--timeout", "20", "--target"]).arg(&half).args(PACKAGES);
    let output = pip.output().map_err(|error| format!("python3 does not start: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("pip: {}", said.trim().lines().next_back().unwrap_or("no reason is given")));
    }
    if !is_whole(&half) {
        return Err("pip installed packages of another shape".to_owned());
    }
    std::fs::rename(&half, &folder).map_err(|error| format!("{folder:?}: {error}"))?;
    Ok(folder)
}

/// Compiles a program as one of RMM's users does.
fn program(source: &str, packages: &Path, libraries: &Path, name: &str) -> PathBuf {
    let made = scratch(name);
    let mut command = compiler(Language::Cpp17);
    command.arg("-pthread").arg("-I").arg(file("tests/c"));
    for part in HEADERS {
        command.arg("-isystem").arg(packages.join(part));
    }
    command.arg(file(source)).args(["-x", "none"]);
    let folders = LIBRARIES.map(|part| packages.join(part));
    for folder in folders.iter().map(PathBuf::as_path).chain([libraries]) {
        command.arg("-L").arg(folder).arg("-Wl,-rpath").arg(folder);
    }
    quietly(command.args(["-l:libweir.so", "-lrmm", "-lrapids_logger", "-ldl", "-o"]).arg(&made));
    made
}

#[test]
fn the_header_alone_compiles_as_cpp_without_a_warning() {
    let source = scratch("weir_rmm.cpp");
    std::fs::write(&source, "#include \"weir_rmm.hpp\"\n#include \"weir_rmm.hpp\"\n").unwrap();
    quietly(compiler(Language::Cpp17).args(["-c", "-o", "/dev/null"]).arg(source));
}

#[test]
fn rmm_allocates_from_weir_in_cpp_as_from_its_own_resources() {
    let packages = match packages() {
        Ok(packages) => packages,
        Err(why) => {
            // Past the harness, which would keep it to itself.
            let _ = writeln!(std::io::stderr(), "skipped: weir_rmm.hpp was not tried with RMM: {why}");
            return;
        }
    };
    let libraries = libraries("rmm");
    let standin = build(Vendor::Cuda, "for_rmm", &[]);
    let test = program("tests/c/rmm_test.cpp", &packages, &libraries, "rmm_test");
    assert_eq!(says(Command::new(test).arg(&standin).env(Vendor::Cuda.variable(), &standin)), "ok\n");
    let example = program("../examples/cpp/rmm_resource.cpp", &packages, &libraries, "rmm_resource");
    let said = says(Command::new(example).env(Vendor::Cuda.variable(), &standin));
    assert!(said.starts_with("the same memory again: yes\n"), "{said}");
    assert!(said.contains("1073741824 B were asked for, and the pool's limit is 67108864 B"), "{said}");
    assert!(said.ends_with("RMM counted 4194304 bytes at most; weir held 4194304\n"), "{said}");
}
