//! What each call may look at, as a function of the capacities: every scene of the search for the worst call, in steps.

use weir_bench::worst::{Size, scenes};

/// Streams of every scene.
const STREAMS: u64 = 64;

/// The steps that `weir::Runtime` states, in an arena of so many blocks. `None`: it states none.
fn most(verb: &str, blocks: u64) -> Option<u64> {
    let levels = u64::from(blocks.ilog2());
    match verb {
        "malloc" => Some(100 + 6 * (STREAMS + 64) * (20 + 2 * levels)),
        "free" => Some(64 + 4 * levels),
        "use" | "record" | "wait" => Some(100 + 6 * STREAMS),
        "refused_free" => Some(100 + blocks),
        // A malloc that was not served by one block.
        _ => None,
    }
}

#[test]
fn no_call_takes_more_steps_than_is_stated() {
    for scene in scenes() {
        for factor in [1, 4] {
            let size = Size::LEAST.times(factor);
            let measured =
                scene.measure(size, weir::sim::steps).unwrap_or_else(|error| panic!("{}: {error}", scene.name));
            assert!(measured.iter().any(|(verb, steps)| *verb != "aside" && *steps > 0), "{}: no steps", scene.name);
            for (verb, steps) in measured {
                let most = most(verb, size.blocks() as u64);
                assert!(
                    most.is_none_or(|most| steps <= most),
                    "{} of {} blocks: a {verb} of {steps} steps, {most:?} are stated",
                    scene.name,
                    size.blocks()
                );
            }
        }
    }
}
