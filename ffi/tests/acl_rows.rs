//! The rows of `core/tests/cann_rows` that can be asked through the public calls of CANN's interface, from C and C++.
//!
//! `cargo test -p weir-ffi --test acl_rows -- --nocapture` prints one line a row.
#![cfg(target_os = "linux")]

mod common;

use common::{Language, file, libraries, program, says};
use std::collections::BTreeSet;
use std::process::Command;

/// How many rows of each letter there are.
const SECTIONS: [(&str, usize); 7] = [("C", 22), ("A", 24), ("M", 15), ("R", 12), ("T", 20), ("L", 5), ("K", 3)];

/// Rows that no public call can ask, and why.
const NOT_ASKED: [(&str, &str); 14] = [
    ("C10", "a driver that fails: the core's row"),
    ("C11", "a driver that fails: the core's row"),
    ("C12", "a driver that fails: the core's row"),
    ("C17", "an object inside CANN's runtime"),
    ("A20", "no pool comes from another process"),
    ("A21", "the driver has no attributes"),
    ("A22", "the driver has no attributes"),
    ("A23", "a function inside CANN's runtime"),
    ("M9", "a free queues nothing that could fail: the core's row"),
    ("R11", "a callback inside CANN's runtime"),
    ("R12", "a callback inside CANN's runtime"),
    ("K1", "a kernel inside CANN"),
    ("K2", "a kernel inside CANN"),
    ("K3", "a kernel inside CANN"),
];

/// Every row but those.
fn asked() -> BTreeSet<String> {
    let all = SECTIONS.iter().flat_map(|(letter, count)| (1..=*count).map(move |n| format!("{letter}{n}")));
    all.filter(|id| NOT_ASKED.iter().all(|(not, _)| not != id)).collect()
}

#[test]
fn every_row_that_can_be_asked_holds() {
    assert_eq!(asked().len(), 101 - NOT_ASKED.len());
    let libraries = libraries("acl_rows");
    for (language, library) in [(Language::C11, "libweir.a"), (Language::Cpp17, "libweir.so")] {
        let mut ids = Vec::new();
        for part in ["acl_rows_pools", "acl_rows_memory", "acl_rows_reuse"] {
            let source = file(&format!("tests/c/{part}.c"));
            let made = program(language, &[&source], &libraries, library, &format!("{part}_{language:?}"));
            let output = says(Command::new(made).env_remove("WEIR_LOG"));
            let rows = output.strip_suffix("ok\n").unwrap_or_else(|| panic!("{part} does not end: {output}"));
            println!("{language:?}\n{rows}");
            ids.extend(rows.lines().filter_map(|row| row.split(' ').next()).map(str::to_owned));
        }
        assert_eq!(ids.len(), asked().len(), "each once");
        assert_eq!(ids.into_iter().collect::<BTreeSet<_>>(), asked());
    }
    NOT_ASKED.iter().for_each(|(id, why)| println!("not asked {id}: {why}"));
}
