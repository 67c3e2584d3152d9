//! What the tests of CANN's own allocator assert, row by row, of weir.
//!
//! The rows and their ids are those of a study of CANN's public sources (`hicann/runtime`, `tests/ut`: C pool creation,
//! A attributes, M malloc and free, R reuse, T trim, L look-up, K device kernel). Each states in a line what is asked;
//! its verdict says whether weir does the same, does something else on purpose, has the question only at its aclrt layer
//! (null handles, return codes: `ffi/tests/acl_rows.rs`), or has nothing that it could be asked of.
//!
//! `cargo test -p weir --features sim --test cann_rows -- --nocapture` prints one line a row.
#![cfg(feature = "sim")]

mod attributes;
mod lookup;
mod memory;
#[path = "../pool_support/mod.rs"]
mod pool_support;
mod pools;
mod reuse;
mod trim;

use pool_support::Bench;
use std::collections::BTreeSet;
use weir::error::MallocError;
use weir::id::PoolId;
use weir::sim::DeviceConfig;
use weir::units::Bytes;

/// One row of the checklist.
pub(crate) struct Row {
    id: &'static str,
    /// What is asked, and what CANN answers.
    says: &'static str,
    verdict: Verdict,
}

/// What weir does about it.
pub(crate) enum Verdict {
    /// The same.
    Same(fn()),
    /// Something else on purpose: what, and why.
    Differs(fn(), &'static str),
    /// The core has no such notion; the aclrt layer answers, and its own table asks it.
    AtAclrt(&'static str),
    /// Nothing of it exists in weir: why.
    Nothing(&'static str),
}

/// How many rows of each letter there are.
const SECTIONS: [(&str, &[Row], usize); 7] = [
    ("C", pools::ROWS, 22),
    ("A", attributes::ROWS, 24),
    ("M", memory::ROWS, 15),
    ("R", reuse::ROWS, 12),
    ("T", trim::ROWS, 20),
    ("L", lookup::ROWS, 5),
    ("K", lookup::KERNEL_ROWS, 3),
];

/// One device of this much memory in granules of this size.
pub(crate) fn device(total: Bytes, granularity: Bytes) -> Bench {
    let mut config = DeviceConfig::new(total);
    config.properties.granularity = granularity;
    Bench::on(1, &[config])
}

/// A device of so many GiB; its granules are large, so that the whole of it can be mapped.
pub(crate) fn gib_device(gib: u64) -> Bench {
    device(Bytes::gib(gib), Bytes::mib(64))
}

/// What a pool may hold at most, as a refusal says it.
pub(crate) fn limit(b: &Bench, pool: PoolId) -> Bytes {
    let stream = b.stream();
    match b.try_malloc(pool, 1 << 62, stream) {
        Err(MallocError::AboveLimit { limit, .. }) => limit,
        other => panic!("more than any device has: {other:?}"),
    }
}

/// Runs a row and prints its line. Answers whether it holds.
fn holds(row: &Row) -> bool {
    let (word, check, why) = match row.verdict {
        Verdict::Same(check) => ("same", Some(check), ""),
        Verdict::Differs(check, why) => ("differs", Some(check), why),
        Verdict::AtAclrt(why) => ("at aclrt", None, why),
        Verdict::Nothing(why) => ("nothing", None, why),
    };
    let held = check.is_none_or(|check| std::panic::catch_unwind(check).is_ok());
    let (id, says) = (row.id, row.says);
    let reason = if why.is_empty() { String::new() } else { format!(" | {why}") };
    println!("{id:<4}{:<7}{word:<9}{says}{reason}", if held { "" } else { "FAILS" });
    held
}

#[test]
fn every_row_holds() {
    let rows = SECTIONS.iter().flat_map(|(_, rows, _)| rows.iter());
    let failed: Vec<_> = rows.filter(|row| !holds(row)).map(|row| row.id).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn all_101_ids_are_there_once() {
    let ids: Vec<_> = SECTIONS.iter().flat_map(|(_, rows, _)| rows.iter().map(|row| row.id.to_owned())).collect();
    let wanted: BTreeSet<_> =
        SECTIONS.iter().flat_map(|(letter, _, count)| (1..=*count).map(move |n| format!("{letter}{n}"))).collect();
    assert_eq!((ids.len(), wanted.len()), (101, 101));
    assert_eq!(ids.into_iter().collect::<BTreeSet<_>>(), wanted);
}

#[test]
fn whatever_is_not_the_same_says_why() {
    for row in SECTIONS.iter().flat_map(|(_, rows, _)| rows.iter()) {
        let (Verdict::Differs(_, why) | Verdict::AtAclrt(why) | Verdict::Nothing(why)) = row.verdict else { continue };
        assert!(why.len() > 20, "{}: {why}", row.id);
    }
}
