//! `libweir_cuda.so` preloaded in front of CUDA's runtime and driver: what it sees, what it believes, and what it hands
//! on. Both are stand-ins.
#![cfg(target_os = "linux")]

mod common;
mod cuda_support;

use common::says;
use cuda_support::{CUDA, library, plain, program, standins};

fn each_case(source: &str, least: usize) {
    let folder = standins(source);
    let library = library(&folder);
    let made = program(&folder, source, &[&format!("{source}.c")], &CUDA);
    let preloaded = || {
        let mut command = plain(&made);
        command.env("LD_PRELOAD", &library);
        command
    };
    let cases: Vec<String> = says(&mut preloaded()).lines().map(str::to_owned).collect();
    assert!(cases.len() >= least, "{cases:?}");
    for case in cases {
        let output = preloaded().arg(&case).output().unwrap();
        let (said, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && said == "ok\n" && wrong.is_empty(), "{case}: {}\n{wrong}", output.status);
    }
}

#[test]
fn order_is_learnt_as_cuda_documents_it() {
    each_case("cuda_order", 34);
}

#[test]
fn pools_are_as_cuda_documents_them() {
    each_case("cuda_pools", 20);
}

#[test]
fn random_programs_read_what_they_wrote() {
    each_case("cuda_random", 2);
}
