//! The example programs run and say what they should.

use std::process::Command;

fn output(program: &str) -> String {
    let out = Command::new(program).output().expect("the program starts");
    assert!(out.status.success(), "{program}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("text")
}

#[test]
fn two_streams_reuse_along_the_event() {
    let out = output(env!("CARGO_BIN_EXE_two_streams"));
    assert!(out.contains("1 mapped new memory, 99 reused along the event, at most 4194304 B held"), "{out}");
}

#[test]
fn static_storage_prints_its_log() {
    let out = output(env!("CARGO_BIN_EXE_static_storage"));
    for part in ["malloc ", "name=weights", "source=grow", "free ", "mark ", "unmapped ", "stream_synchronized "] {
        assert!(out.contains(part), "{part} is missing in:\n{out}");
    }
}
