//! A: the eight attributes.

use crate::Verdict::{AtAclrt, Differs, Nothing, Same};
use crate::pool_support::{Bench, MIB};
use crate::{Row, gib_device};
use weir::driver::DriverCall;
use weir::error::{BadId, PoolError};
use weir::id::PoolId;
use weir::policy::{Attribute, Destroy, Reuse};
use weir::units::GIB;

/// Why attributes never come from a driver.
const NO_DRIVER_ATTRIBUTES: &str =
    "weir's driver has no attributes: the pool keeps the only set, so host and device never disagree";

pub(crate) const ROWS: &[Row] = &[
    Row { id: "A1", says: "the threshold of a new pool is 0", verdict: Same(a_new_threshold) },
    Row { id: "A2", says: "10 GB pool: a threshold of 2 GB is set", verdict: Same(a_threshold_is_set) },
    Row { id: "A3", says: "set the threshold of 0xDEADBEEF: refused", verdict: Same(set_of_no_pool) },
    Row { id: "A4", says: "get the threshold of 0xDEADBEEF: refused", verdict: Same(get_of_no_pool) },
    Row { id: "A5", says: "set the event switch of a pool that is not found: refused", verdict: Same(set_of_ended) },
    Row { id: "A6", says: "get the event switch of a pool that is not found: refused", verdict: Same(get_of_ended) },
    Row { id: "A7", says: "each of the three switches is set to 1", verdict: Same(switches_on) },
    Row { id: "A8", says: "the event switch, set to 1, reads 1", verdict: Same(a_switch_reads_what_was_set) },
    Row { id: "A9", says: "the other two read as they were", verdict: Same(other_switches_stay) },
    Row { id: "A10", says: "each of the three switches is set to 0", verdict: Same(switches_off) },
    Row {
        id: "A11",
        says: "RESERVED_HIGH is set to 0",
        verdict: Differs(reset_reserved_high, "the mark then stands at the current value; at 0 it would be below it"),
    },
    Row { id: "A12", says: "RESERVED_HIGH is set to 100: refused", verdict: Same(reserved_high_to_100) },
    Row {
        id: "A13",
        says: "USED_HIGH is set to 0",
        verdict: Differs(reset_used_high, "the mark then stands at the current value; at 0 it would be below it"),
    },
    Row { id: "A14", says: "USED_HIGH is set to 1: refused", verdict: Same(used_high_to_1) },
    Row { id: "A15", says: "RESERVED_CURRENT and USED_CURRENT are set: refused", verdict: Same(current_is_read_only) },
    Row { id: "A16", says: "USED_CURRENT is set: a property that cannot be set", verdict: Same(used_is_read_only) },
    Row { id: "A17", says: "get attribute 0xFF: refused", verdict: Same(no_such_number) },
    Row { id: "A18", says: "set attribute 0xFF: refused", verdict: Same(no_such_number) },
    Row { id: "A19", says: "each of the eight is read", verdict: Same(all_are_read) },
    Row {
        id: "A20",
        says: "a pool imported from another process: no attribute can be set",
        verdict: Nothing("pools are not shared between processes; CANN never sets the flag either"),
    },
    Row {
        id: "A21",
        says: "a driver with attributes is given the threshold, once",
        verdict: Differs(the_driver_is_not_asked, NO_DRIVER_ATTRIBUTES),
    },
    Row {
        id: "A22",
        says: "a driver with attributes is asked for the threshold, once",
        verdict: Differs(the_driver_is_not_asked, NO_DRIVER_ATTRIBUTES),
    },
    Row {
        id: "A23",
        says: "names of attributes in messages",
        verdict: Differs(
            messages_say_the_number,
            "messages name an attribute by the number that both vendors document",
        ),
    },
    Row {
        id: "A24",
        says: "the public calls reach the threshold",
        verdict: AtAclrt("about the calls in C; the core's own are rows A1 and A2"),
    },
];

const SWITCHES: [Attribute; 3] = [
    Attribute::ReuseFollowEventDependencies,
    Attribute::ReuseAllowOpportunistic,
    Attribute::ReuseAllowInternalDependencies,
];

fn bench() -> (Bench, PoolId) {
    let b = gib_device(16);
    let pool = b.pool(10 * GIB, Reuse::empty());
    (b, pool)
}

fn get(b: &Bench, pool: PoolId, attribute: Attribute) -> u64 {
    b.rt.attribute(pool, attribute).unwrap()
}

fn a_new_threshold() {
    let (b, pool) = bench();
    assert_eq!(get(&b, pool, Attribute::ReleaseThreshold), 0);
}

fn a_threshold_is_set() {
    let (b, pool) = bench();
    b.rt.set_attribute(pool, Attribute::ReleaseThreshold, 2 * GIB).unwrap();
    assert_eq!(get(&b, pool, Attribute::ReleaseThreshold), 2 * GIB);
}

const GARBAGE: PoolId = PoolId::from_raw(0xdead_beef);

fn set_of_no_pool() {
    let (b, _) = bench();
    let refused = Err(PoolError::BadId(BadId::UnknownPool(GARBAGE)));
    assert_eq!(b.rt.set_attribute(GARBAGE, Attribute::ReleaseThreshold, 0), refused);
}

fn get_of_no_pool() {
    let (b, _) = bench();
    let refused = Err(PoolError::BadId(BadId::UnknownPool(GARBAGE)));
    assert_eq!(b.rt.attribute(GARBAGE, Attribute::ReleaseThreshold), refused);
}

/// A pool that has ended, and the error that names it.
fn ended() -> (Bench, PoolId, PoolError) {
    let (b, pool) = bench();
    b.rt.destroy_pool(pool, Destroy::IfEmpty).unwrap();
    (b, pool, PoolError::BadId(BadId::StalePool(pool)))
}

fn set_of_ended() {
    let (b, pool, stale) = ended();
    assert_eq!(b.rt.set_attribute(pool, SWITCHES[0], 1), Err(stale));
}

fn get_of_ended() {
    let (b, pool, stale) = ended();
    assert_eq!(b.rt.attribute(pool, SWITCHES[0]), Err(stale));
}

fn set_switches(to: u64) {
    let b = gib_device(16);
    let pool = b.pool(GIB, if to == 0 { Reuse::all() } else { Reuse::empty() });
    for switch in SWITCHES {
        assert_eq!(get(&b, pool, switch), 1 - to);
        b.rt.set_attribute(pool, switch, to).unwrap();
        assert_eq!(get(&b, pool, switch), to);
    }
}

fn switches_on() {
    set_switches(1);
}

fn switches_off() {
    set_switches(0);
}

fn a_switch_reads_what_was_set() {
    let (b, pool) = bench();
    b.rt.set_attribute(pool, SWITCHES[0], 1).unwrap();
    assert_eq!(get(&b, pool, SWITCHES[0]), 1);
}

fn other_switches_stay() {
    let (b, pool) = bench();
    b.rt.set_attribute(pool, SWITCHES[0], 1).unwrap();
    assert_eq!(SWITCHES[1..].iter().map(|&switch| get(&b, pool, switch)).collect::<Vec<_>>(), [0, 0]);
}

/// A high mark above the current value, reset.
fn reset(high: Attribute, current: Attribute) {
    let (b, pool) = bench();
    let s = b.stream();
    let kept = b.malloc(pool, 100 * MIB, s);
    let freed = b.malloc(pool, 200 * MIB, s);
    b.free(freed, s);
    b.rt.synchronize_stream(s).unwrap();
    assert!(get(&b, pool, high) > get(&b, pool, current));
    b.rt.set_attribute(pool, high, 0).unwrap();
    assert_eq!(get(&b, pool, high), get(&b, pool, current));
    assert!(get(&b, pool, high) >= 100 * MIB);
    b.free(kept, s);
    assert!(get(&b, pool, high) >= 100 * MIB, "it is a high mark again");
}

fn reset_reserved_high() {
    reset(Attribute::ReservedMemHigh, Attribute::ReservedMemCurrent);
}

fn reset_used_high() {
    reset(Attribute::UsedMemHigh, Attribute::UsedMemCurrent);
}

fn only_reset(attribute: Attribute, value: u64) {
    let (b, pool) = bench();
    assert_eq!(b.rt.set_attribute(pool, attribute, value), Err(PoolError::OnlyReset { attribute, value }));
    assert_eq!(get(&b, pool, attribute), 0);
}

fn reserved_high_to_100() {
    only_reset(Attribute::ReservedMemHigh, 100);
}

fn used_high_to_1() {
    only_reset(Attribute::UsedMemHigh, 1);
}

fn read_only(attribute: Attribute) {
    let (b, pool) = bench();
    for value in [0, 1, u64::MAX] {
        assert_eq!(b.rt.set_attribute(pool, attribute, value), Err(PoolError::ReadOnly(attribute)));
    }
}

fn current_is_read_only() {
    read_only(Attribute::ReservedMemCurrent);
    read_only(Attribute::UsedMemCurrent);
}

fn used_is_read_only() {
    read_only(Attribute::UsedMemCurrent);
}

/// Both calls take an [`Attribute`]: a number that is none never gets as far.
fn no_such_number() {
    assert!((1..=8).all(|number| Attribute::from_number(number).is_some_and(|found| found as u32 == number)));
    assert!([0, 9, 0xff, u32::MAX].iter().all(|&number| Attribute::from_number(number).is_none()));
}

fn all_are_read() {
    let (b, pool) = bench();
    let values: Vec<_> = (1..=8).filter_map(Attribute::from_number).map(|a| get(&b, pool, a)).collect();
    assert_eq!(values, [0; 8]);
}

fn the_driver_is_not_asked() {
    let (b, pool) = bench();
    let calls = || DriverCall::ALL.map(|call| b.sim().calls(call));
    let before = calls();
    b.rt.set_attribute(pool, Attribute::ReleaseThreshold, 2 * MIB).unwrap();
    assert_eq!(get(&b, pool, Attribute::ReleaseThreshold), 2 * MIB);
    assert_eq!(calls(), before);
}

fn messages_say_the_number() {
    for attribute in [Attribute::ReservedMemCurrent, Attribute::UsedMemCurrent] {
        let text = PoolError::ReadOnly(attribute).to_string();
        assert!(text.contains(&format!("attribute {}", attribute as u32)), "{text}");
    }
}
