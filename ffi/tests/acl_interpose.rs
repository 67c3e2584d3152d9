//! `libweir_acl.so` in front of a vendor's library, preloaded and linked: what it sees, what it believes, and what it
//! hands on. The vendor's library is the stand-in.
#![cfg(target_os = "linux")]

mod acl_support;
mod common;

use acl_support::{library, standin};
use common::{Language, compiler, file, quietly, says};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles the program against the stand-in, and whatever `front` says before it.
fn made(folder: &Path, name: &str, front: &[&str]) -> PathBuf {
    let made = folder.join(name);
    let mut command = compiler(Language::C11);
    command.arg("-I").arg(file("tests/c")).arg(file("tests/c/acl_interpose.c")).arg("-L").arg(folder).args(front);
    command.args(["-lascendcl", "-ldl", "-pthread", "-Wl,-rpath"]).arg(folder).arg("-o").arg(&made);
    quietly(&mut command);
    made
}

/// Every case that the program has.
fn cases(program: &mut Command) -> Vec<String> {
    says(program).lines().map(str::to_owned).collect()
}

fn each_case(program: impl Fn() -> Command) {
    let cases = cases(&mut program());
    assert!(cases.len() > 30, "{cases:?}");
    for case in cases {
        let output = program().arg(&case).output().unwrap();
        let (said, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && said == "ok\n" && wrong.is_empty(), "{case}: {}\n{wrong}", output.status);
    }
}

#[test]
fn every_case_holds_where_the_library_is_preloaded() {
    let folder = standin("preloaded");
    let library = library(&folder);
    let program = made(&folder, "preloaded", &[]);
    each_case(|| {
        let mut command = Command::new(&program);
        command.env("LD_PRELOAD", &library).env_remove("WEIR_LOG").env_remove("WEIR_ACL_LIBRARY");
        command
    });
}

#[test]
fn every_case_holds_where_the_library_is_linked_in_front() {
    let folder = standin("in_front");
    library(&folder);
    let program = made(&folder, "in_front", &["-lweir_acl"]);
    each_case(|| {
        let mut command = Command::new(&program);
        command.env_remove("WEIR_LOG").env_remove("WEIR_ACL_LIBRARY");
        command
    });
}
