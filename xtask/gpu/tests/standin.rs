//! The whole program on the stand-in for CUDA's driver (`ffi/tests/c`), whose kernels are done in C, as late as they may.
#![cfg(target_os = "linux")]

mod support;

use serde_json::Value;
use std::path::Path;
use std::process::Command;
use support::{LARGE_GRANULES, SMALL_GRANULES, library, program, run, standin};

/// The last line of a run in which everything was right: how many checks there were.
fn checks(out: &str) -> u64 {
    let last = out.lines().last().expect("says something");
    let checks = last.strip_suffix(" checks, 0 failed").unwrap_or_else(|| panic!("{out}"));
    checks.parse().expect("is a number")
}

fn right(arguments: &[&str], granule: &str) -> String {
    let (code, out, err) = run(&mut program(standin(), granule, arguments));
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    out
}

#[test]
fn cases_corpus_and_storms_are_right() {
    let out = right(&["--only", "cases,corpus,storms", "--seconds", "0", "--seed", "7"], LARGE_GRANULES);
    assert!(checks(&out) > 5_000, "{out}");
    for line in ["device   stand-in, ", "cases        15 programs", "storms        6 programs", "mallocs by source: "] {
        assert!(out.contains(line), "{out}");
    }
}

#[test]
fn every_driver_call_of_the_corpus_fails() {
    let out = right(&["--only", "faults"], SMALL_GRANULES);
    assert!(checks(&out) > 5_000, "{out}");
}

fn measured(command: &mut Command) -> Value {
    let (code, out, err) = run(command);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    serde_json::from_str(&out).expect("one object")
}

#[test]
fn both_are_measured() {
    let object = measured(&mut program(standin(), LARGE_GRANULES, &["--only", "measure", "--json"]));
    let rows = object["measured"]["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2 + 2 + 3, "{object}");
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key} of {row}"));
        assert!(number("weir") > 0.0 && number("cuda_malloc_async") > 0.0 && number("ratio") > 0.0, "{row}");
        if row["unit"] == "bytes" {
            assert!(number("weir") >= number("live") && number("cuda_malloc_async") >= number("live"), "{row}");
        }
    }
    assert_eq!(object["measured"]["left_out"], Value::Null);
}

#[test]
fn without_the_vendors_pools_weir_is_measured_alone() {
    let mut command = program(standin(), LARGE_GRANULES, &["--only", "measure", "--json"]);
    let object = measured(command.env("STANDIN_NO_POOLS", "1"));
    let rows = object["measured"]["rows"].as_array().expect("rows");
    assert!(rows.iter().all(|row| row["cuda_malloc_async"].is_null() && row["weir"].as_f64() > Some(0.0)), "{object}");
    let reason = object["measured"]["left_out"].as_str().expect("a reason");
    assert!(reason.contains("cuMemPoolCreate: 801"), "{reason}");
}

/// A device that writes something else now and then.
#[test]
fn wrong_bytes_fail() {
    let mut command = program(standin(), LARGE_GRANULES, &["--only", "corpus"]);
    let (code, out, err) = run(command.env("STANDIN_SPOIL", "10"));
    assert_eq!(code, Some(1), "{out}");
    assert!(err.contains("words are not its own"), "{err}");
    assert!(!out.trim_end().ends_with(" 0 failed"), "{out}");
}

/// A device on which streams do not wait for events.
#[test]
fn a_lack_of_order_fails() {
    let mut command = program(standin(), LARGE_GRANULES, &["--only", "cases"]);
    let (code, out, err) = run(command.env("STANDIN_NO_WAITS", "1"));
    assert_eq!(code, Some(1), "{out}");
    assert!(err.contains("words are not its own"), "{err}");
}

#[test]
fn without_a_gpu_the_status_is_77() {
    let mut usual = program(standin(), LARGE_GRANULES, &["--only", "cases"]);
    let (code, out, err) = run(usual.env_remove("WEIR_CUDA_LIBRARY"));
    // A machine that has the driver has a device, too, or says that it has none.
    if code != Some(0) {
        assert_eq!((code, out.as_str()), (Some(77), ""), "{err}");
        assert!(err.starts_with("weir-gpu: no GPU: ") && err.contains("libcuda.so.1"), "{err}");
    }
    let (code, out, err) = run(program(standin(), LARGE_GRANULES, &[]).env("STANDIN_NONE", "1"));
    assert_eq!((code, out.as_str()), (Some(77), ""), "{err}");
    assert!(err.contains("no device"), "{err}");
}

#[test]
fn a_library_that_does_not_do_is_an_error() {
    let (code, _, err) = run(&mut program(Path::new("libweir_has_no_such.so"), LARGE_GRANULES, &[]));
    assert_eq!(code, Some(1));
    assert!(err.contains("libweir_has_no_such.so"), "{err}");
    let (code, _, err) = run(&mut program(Path::new("./here.so"), LARGE_GRANULES, &[]));
    assert_eq!(code, Some(1));
    assert!(err.contains("WEIR_CUDA_LIBRARY") && err.contains("absolute path"), "{err}");
    let old = library("libold", &["standin.c", "standin_cuda.c"]);
    let (code, _, err) = run(&mut program(&old, LARGE_GRANULES, &[]));
    assert_eq!(code, Some(1));
    assert!(err.contains("cuDeviceGetName"), "{err}");
}

/// It is to run on machines that have nothing but a driver.
#[test]
fn the_program_needs_the_c_library_alone() {
    let output = Command::new("readelf").arg("--dynamic").arg(env!("CARGO_BIN_EXE_weir-gpu")).output();
    let text = String::from_utf8(output.expect("binutils came with gcc").stdout).expect("is text");
    let needed = text.lines().filter(|line| line.contains("(NEEDED)")).filter_map(|line| line.split(['[', ']']).nth(1));
    let needed: Vec<&str> = needed.collect();
    let is_c = |name: &&str| ["libc.so", "libm.so", "ld-linux"].iter().any(|begin| name.starts_with(begin));
    assert!(!needed.is_empty() && needed.iter().all(is_c), "{needed:?}");
}
