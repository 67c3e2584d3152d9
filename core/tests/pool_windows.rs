//! Every window between a call and its driver call: while one thread is there, another one does what it likes.
//!
//! A call reads the facts, calls the driver and publishes what it knows, and others may come in between. Two threads run
//! small programs here under every order of their locks and driver calls. Each malloc is judged by an own happens-before
//! over what really reached the device; the simulated device looks for accesses that meet; all invariants are checked
//! after every call, and at the end nothing may be in transit, pinned or lost.
#![cfg(feature = "sim")]

mod pool_windows_support;

use pool_windows_support::explore::{Program, Tally, explore};
use pool_windows_support::programs::{AFTER, BEFORE, CALLS, SETTINGS, WINDOWS};
use weir::trace::Source;

/// How often the threads of a program may interrupt each other. Without
/// optimisation an order takes ten times as long.
const INTERRUPTIONS: u32 = if cfg!(debug_assertions) { 2 } else { 3 };

fn explored(program: Program<'_>, interruptions: u32) -> Tally {
    let mut tally = Tally::default();
    for setting in SETTINGS {
        match explore(program, setting, interruptions) {
            Ok(more) => tally.add(more),
            Err(what) => panic!("{what}"),
        }
    }
    tally
}

#[test]
fn no_window_lets_memory_out_too_early() {
    let mut all = Tally::default();
    for (name, program) in WINDOWS {
        let tally = explored(program, INTERRUPTIONS);
        println!("{:8} orders: {name}", tally.runs);
        all.add(tally);
    }
    // The programs would show nothing if no memory were reused.
    for source in [Source::SameStream, Source::Settled, Source::Event, Source::Internal, Source::Grow] {
        assert!(all.sources[source as usize] > 0, "no malloc by {source:?}");
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes minutes; `cargo xtask ci` runs it with optimisation")]
fn any_two_calls_may_meet() {
    let mut all = Tally::default();
    for (i, a) in CALLS.into_iter().enumerate() {
        for b in &CALLS[i..] {
            let program = Program { before: BEFORE, threads: [&[a], std::slice::from_ref(b)], after: AFTER };
            all.add(explored(program, INTERRUPTIONS));
        }
    }
    println!("{} orders", all.runs);
}
