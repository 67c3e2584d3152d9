//! Faults that are planted in the pool fail the suite, on the stand-in.
#![cfg(all(target_os = "linux", feature = "plant"))]

mod support;

use support::{LARGE_GRANULES, program, run, standin};
use weir::plant::Plant;

/// Of those that let memory out early or unmap it too soon. Not here: those that show only where a stream ends and another
/// one comes in its place, or an event is recorded twice, while work waits; the programs of `cargo xtask sim` do that.
const FOUND: [&str; 9] = [
    "free-on-allocator",
    "stale-event",
    "remainder-without-points",
    "release-pending",
    "double-map",
    "lost-undo",
    "lost-use",
    "marker-covers-all",
    "pending-is-complete",
];

#[test]
fn planted_faults_fail_the_suite() {
    for name in FOUND {
        assert!(Plant::named(name).is_some(), "{name}");
        let arguments = ["--only", "cases,corpus,storms", "--seconds", "0", "--plant", name];
        let (code, out, err) = run(&mut program(standin(), LARGE_GRANULES, &arguments));
        assert_eq!(code, Some(1), "{name}: {out}{err}");
        assert!(err.contains("FAILED "), "{name}: {err}");
    }
}
