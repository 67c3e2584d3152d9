//! Faults that are planted in the pool are found by small programs, each in the families that can show it.
#![cfg(feature = "plant")]

use std::process::{Command, Output};

fn explore(family: &str, depth: usize, plant: &str) -> (Option<i32>, String) {
    let Output { status, stdout, .. } = Command::new(env!("CARGO_BIN_EXE_weir-explore"))
        .args(["--family", family, "--depth", &depth.to_string(), "--plant", plant])
        .output()
        .expect("the program can be run");
    (status.code(), String::from_utf8_lossy(&stdout).into_owned())
}

/// The plant, the family, and the length of the shortest programs that show it.
const FOUND: [(&str, &str, usize); 8] = [
    ("lost-undo", "faults", 1),
    ("double-map", "plain", 1),
    ("reserved-twice", "plain", 1),
    ("release-pending", "plain", 3),
    ("pending-is-complete", "plain", 3),
    ("free-on-allocator", "plain", 4),
    ("remainder-without-points", "plain", 4),
    ("reused-stream-id", "streams", 4),
];

#[test]
fn plants_are_found_by_the_shortest_programs_that_can_show_them() {
    for (plant, family, depth) in FOUND {
        let (code, text) = explore(family, depth, plant);
        assert!(code == Some(1) && text.contains("WRONG"), "{plant}: {text}");
        if depth > 1 {
            let (code, text) = explore(family, depth - 1, plant);
            assert_eq!(code, Some(0), "{plant}: {text}");
        }
    }
}

#[test]
fn what_only_streams_or_faults_can_show_the_plain_family_does_not() {
    for plant in ["lost-undo", "reused-stream-id"] {
        let (code, text) = explore("plain", 4, plant);
        assert_eq!(code, Some(0), "{plant}: {text}");
    }
}
