//! A log that grows, against the same log read as a whole.

mod common;

use common::training;
use std::time::{Duration, Instant};
use weir::trace::text;
use weir_viz::check::{self, Told};
use weir_viz::follow::{Figures, Live, Tail};
use weir_viz::source;

fn log() -> Vec<u8> {
    let mut lines = format!("{}\n", text::HEADER);
    for stamped in training(1, 2, 12) {
        text::write(&stamped, &mut lines).unwrap();
        lines.push('\n');
    }
    // One of the blocks is used after its free.
    let last = lines.lines().last().and_then(|line| text::parse(line).ok()).unwrap();
    let number = last.number + 1;
    lines += &format!("number={number} time=9999999999 record=use pool=0 stream=0 seq=999999 id=1 until=now\n");
    lines.into_bytes()
}

#[test]
fn what_has_grown_is_what_is_read_at_once() {
    let log = log();
    let whole = source::read("a.log", &log).unwrap();
    let found = check::read("a.log", &log, Told::Accept).unwrap();
    let mut live = Live::new("a.log");
    let mut models = 0;
    for piece in log.chunks(777) {
        live.take(piece).unwrap();
        // Every model on the way is one that can be looked at.
        let opened = live.opened();
        assert_eq!(opened.model.events.len() as u64, live.records());
        models += 1;
    }
    assert!(models > 20);
    live.finish();
    let grown = live.opened();
    assert_eq!(grown.damages, whole.damages);
    let (one, other) = (&grown.model, &whole.model);
    assert_eq!(one.events.len(), other.events.len());
    assert_eq!((&one.marks, &one.streams), (&other.marks, &other.streams));
    assert_eq!(format!("{:?}", one.lives), format!("{:?}", other.lives));
    for (a, b) in one.pools.iter().zip(&other.pools) {
        assert!(a.used.steps().eq(b.used.steps()) && a.reserved.steps().eq(b.reserved.steps()));
        assert_eq!((&a.lives, &a.runs), (&b.lives, &b.runs));
    }
    assert_eq!(one.findings.total(), found.total());
    assert!(found.total() > 0);
}

#[test]
fn a_model_is_made_a_tenth_of_the_time_at_most() {
    let log = log();
    let (half, rest) = log.split_at(log.len() / 2);
    let mut live = Live::new("a.log");
    live.take(half).unwrap();
    let begun = Instant::now();
    assert!(live.is_due(begun));
    let _ = live.opened();
    assert!(!live.is_due(Instant::now()), "there is nothing new");
    live.take(rest).unwrap();
    assert!(!live.is_due(begun), "it is too soon");
    assert!(live.is_due(Instant::now() + Duration::from_secs(3600)));
}

#[test]
fn sums_are_those_of_the_model() {
    let log = log();
    let model = source::read("a.log", &log).unwrap().model;
    let (mut tail, mut figures) = (Tail::default(), Figures::default());
    tail.take(&log, |read| figures.push(&read.unwrap())).unwrap();
    let sum = |of: fn(&weir_viz::model::Pool) -> u64| model.pools.iter().map(of).sum::<u64>();
    assert_eq!(figures.records, model.events.len() as u64);
    assert_eq!(figures.mallocs, model.lives.len() as u64);
    assert_eq!(figures.used.0, sum(|pool| pool.used.last()));
    assert_eq!(figures.reserved.0, sum(|pool| pool.reserved.last()));
    assert_eq!(model.pools.len(), 1);
    assert_eq!(figures.peak_used.0, sum(|pool| pool.used.peak().0));
    assert_eq!(figures.peak_reserved.0, sum(|pool| pool.reserved.peak().0));
    assert!(figures.to_string().contains(&format!("{} records", figures.records)));
}
