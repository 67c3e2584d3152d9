//! `weir_torch.h` as PyTorch and torch_npu call it: from a library that is opened at run time, by the functions' names.
#![cfg(target_os = "linux")]

mod common;
mod vendor_support;

use common::{Language, compiler, file, libraries, quietly, says, scratch};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use vendor_support::build;
use weir::trace::{Reader, Record};
use weir_ffi::vendor::Vendor;

const VARIABLES: [&str; 10] = [
    "WEIR_TORCH_DRIVER",
    "WEIR_TORCH_LIMIT",
    "WEIR_TORCH_THRESHOLD",
    "WEIR_TORCH_REUSE",
    "WEIR_TORCH_LOG",
    "WEIR_HOST_BYTES",
    "WEIR_CUDA_LIBRARY",
    "WEIR_HIP_LIBRARY",
    "WEIR_ACL_LIBRARY",
    "WEIR_LOG",
];

/// Compiles a program that knows nothing of weir's library but its header.
fn program(source: &str, name: &str) -> PathBuf {
    let made = scratch(name);
    let mut command = compiler(Language::C11);
    command.arg("-pthread").arg("-I").arg(file("tests/c")).arg(file(&format!("tests/c/{source}")));
    quietly(command.arg("-o").arg(&made).arg("-ldl"));
    made
}

fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| libraries("torch").join("libweir.so"))
}

/// A command without what the tests' own environment may have set.
fn bare(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg(library());
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    command
}

/// One case of `torch_host.c`, on the host driver.
fn on_host(case: &str) -> Command {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let mut command = bare(PROGRAM.get_or_init(|| program("torch_host.c", "torch_host")));
    command.arg(case).env("WEIR_TORCH_DRIVER", "host");
    command
}

/// What it says on the standard error stream where all goes as it should.
fn complaints(command: &mut Command) -> Vec<String> {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert!(status.success() && stdout == b"ok\n", "{command:?}: {status}\n{said}");
    let lines: Vec<_> = said.lines().map(str::to_owned).collect();
    assert!(lines.iter().all(|line| line.starts_with("weir: weir_torch_")), "{said}");
    lines
}

#[test]
fn devices_have_pools_of_their_own_and_empty_caches_give_memory_back() {
    // Growing comes before waiting, and nothing is asked: what a stream gets does not depend on time.
    assert_eq!(says(on_host("devices").env("WEIR_TORCH_REUSE", "event,internal")), "ok\n");
}

#[test]
fn a_recorded_stream_keeps_memory_from_being_reused_under_it() {
    let said = complaints(&mut on_host("record"));
    assert_eq!(said.len(), 2, "{said:?}");
}

#[test]
fn beyond_the_limit_there_is_null_and_a_line_that_says_why() {
    let said = complaints(on_host("limits").env("WEIR_TORCH_LIMIT", "8MiB"));
    assert!(said[0].starts_with("weir: weir_torch_malloc(16777216 bytes, device 0, stream 0x0): "), "{said:?}");
    assert_eq!(said.len(), 7, "{said:?}");
}

#[test]
fn threads_that_all_come_first_share_one_runtime_a_device() {
    for round in 0..3 {
        assert_eq!(says(&mut on_host("threads")), "ok\n", "round {round}");
    }
}

#[test]
fn a_reset_begins_anew_where_nothing_is_live() {
    let said = complaints(&mut on_host("reset"));
    assert_eq!(said.len(), 2, "{said:?}");
}

#[test]
fn a_pressure_callback_may_call_in_again() {
    let said = complaints(on_host("pressure").env("WEIR_TORCH_LIMIT", "8MiB"));
    // Two refusals within it, and one after it.
    assert_eq!(said.len(), 3, "{said:?}");
}

#[test]
fn a_reset_while_other_threads_allocate_takes_nothing_from_them() {
    assert_eq!(says(&mut on_host("meanwhile")), "ok\n");
}

#[test]
fn a_child_of_a_fork_may_begin_but_not_go_on() {
    // With a log, so that the child's end is tried as well.
    let path = scratch("torch_fork.log");
    let said = complaints(on_host("fork").env("WEIR_TORCH_LOG", &path));
    assert_eq!(said.len(), 4, "{said:?}");
    let bytes = std::fs::read(&path).unwrap();
    let mallocs = Reader::new(&bytes).filter(|r| matches!(r.as_ref().unwrap().record, Record::Malloc { .. })).count();
    assert_eq!(mallocs, 1, "the parent's, written at its end");
}

#[test]
fn each_device_writes_a_log_that_is_whole_at_the_end_of_the_process() {
    let path = scratch("torch.log");
    assert_eq!(says(on_host("log").env("WEIR_TORCH_LOG", &path)), "ok\n");
    for (file, mallocs) in [(path.clone(), 1), (path.with_extension("log.1"), 2)] {
        let bytes = std::fs::read(&file).unwrap();
        let records: Vec<_> = Reader::new(&bytes).map(|found| found.unwrap().record).collect();
        let count = |kind: fn(&Record<'_>) -> bool| records.iter().filter(|r| kind(r)).count();
        assert_eq!(count(|r| matches!(r, Record::Malloc { .. })), mallocs, "{file:?}");
        assert_eq!(count(|r| matches!(r, Record::Free { .. })), 1, "{file:?}");
        assert_eq!(count(|r| matches!(r, Record::StreamCreated { .. })), 2, "{file:?}");
        assert_eq!(count(|r| matches!(r, Record::Lost { .. })), 0, "{file:?}");
    }
}

/// A run with one variable set: null, and one line.
fn refused(variable: &str, value: &str) -> String {
    let Output { stdout, stderr, status } = on_host("one").env(variable, value).output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert!(status.success() && stdout == b"null\nok\n", "{variable}={value}: {status} {said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    let line = said.strip_prefix("weir: weir_torch_malloc(1048576 bytes, device 0, stream 0x0): ");
    line.unwrap_or_else(|| panic!("{said}")).trim_end().to_owned()
}

#[test]
fn a_setting_that_is_not_understood_is_named() {
    for (variable, values) in [
        ("WEIR_TORCH_DRIVER", ["", "rocm", "host,cuda"]),
        ("WEIR_TORCH_LIMIT", ["", "0", "8 parsecs"]),
        ("WEIR_TORCH_THRESHOLD", ["", "-1", "much"]),
        ("WEIR_TORCH_REUSE", ["", "events", "event,,internal"]),
        ("WEIR_HOST_BYTES", ["", "0", "lots"]),
    ] {
        for value in values {
            let said = refused(variable, value);
            assert!(said.starts_with(&format!("{variable} is {value:?}: expected ")), "{said}");
        }
    }
    // More than the device has: 64 GiB where nothing else is said.
    let said = refused("WEIR_TORCH_LIMIT", "65GiB");
    assert!(said.starts_with("WEIR_TORCH_LIMIT is 69793218560 B: ") && said.contains("68719476736 B"), "{said}");
    assert!(refused("WEIR_TORCH_LOG", "/nowhere/at/all").starts_with("WEIR_TORCH_LOG: the file \"/nowhere/at/all\""));
    // A vendor whose library is not there, and nothing that tells which driver is meant.
    let said = refused("WEIR_TORCH_DRIVER", "acl");
    assert!(said.contains("libascendcl.so") && said.contains("WEIR_ACL_LIBRARY"), "{said}");
    let output = on_host("one").env_remove("WEIR_TORCH_DRIVER").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.stdout == b"null\nok\n" && said.contains("set WEIR_TORCH_DRIVER to"), "{said}");
}

#[test]
fn each_vendors_devices_work_as_the_frameworks_use_them() {
    let program = program("torch_standin.c", "torch_standin");
    for vendor in Vendor::ALL {
        let standin = build(vendor, "for_torch", &[]);
        let mut command = bare(&program);
        command.arg(&standin).arg(vendor.name().to_lowercase()).env(vendor.variable(), &standin);
        complaints(&mut command);
    }
}
