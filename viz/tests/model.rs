//! The model against a recount: every byte's owner, every live allocation, every mapped granule, kept the slow way.

mod common;

use common::{GRANULE, POOL, Random, Tape};
use std::collections::{BTreeMap, BTreeSet};
use weir::driver::{DriverCall, DriverError, DriverErrorKind};
use weir::error::Point;
use weir::id::{AllocId, LabelId};
use weir::trace::{Points, Record, Source, Stamped, UnmapReason};
use weir::units::{Bytes, Nanos, Seq};
use weir_viz::model::{Axis, Birth, Death, EventIx, Kind, LifeIx, Model, PoolIx};

/// Cells of the toy address range; four to a granule.
const CELLS: usize = 256;
const CELL: u64 = GRANULE / 4;

/// The slow way.
#[derive(Clone, Default)]
struct Plain {
    live: BTreeMap<u64, (usize, usize)>,
    mapped: BTreeSet<usize>,
    owner: BTreeMap<usize, u64>,
}

impl Plain {
    fn used(&self) -> u64 {
        self.live.values().map(|l| l.1 as u64 * CELL).sum()
    }

    fn reserved(&self) -> u64 {
        self.mapped.len() as u64 * GRANULE
    }

    fn room(&self, random: &mut Random) -> Option<(usize, usize)> {
        let (at, length) = (random.below(CELLS as u64) as usize, 1 + random.below(9) as usize);
        let taken = |cell: usize| self.live.values().any(|l| (l.0..l.0 + l.1).contains(&cell));
        let mapped = |cell: usize| self.mapped.contains(&(cell / 4));
        let fits = at + length <= CELLS && (at..at + length).all(|c| mapped(c) && !taken(c));
        fits.then_some((at, length))
    }

    fn is_free(&self, granule: usize) -> bool {
        let cells = granule * 4..granule * 4 + 4;
        self.live.values().all(|l| l.0 + l.1 <= cells.start || l.0 >= cells.end)
    }
}

/// What the model should say after each record, and which lives each malloc's bytes came from.
struct Expected {
    after: Vec<Plain>,
    from: BTreeMap<u64, BTreeMap<u64, u64>>,
}

/// A random, consistent log: the records after the beginning, and what they mean.
fn random_log(seed: u64, steps: usize, ends_empty: bool) -> (Tape, Expected) {
    let mut random = Random(seed);
    let mut tape = Tape::begin(1 << 40, 0, 3);
    let mut plain = Plain::default();
    let mut expected = Expected {
        after: vec![plain.clone(); tape.records.iter().filter(|r| Kind::of(&r.record).is_some()).count()],
        from: BTreeMap::new(),
    };
    let mut next = 1;
    for step in 0.. {
        let empties = ends_empty && step >= steps;
        if step >= steps && (!empties || (plain.live.is_empty() && plain.mapped.is_empty())) {
            break;
        }
        tape.time += random.below(5);
        let what = if empties { 6 + random.below(4) } else { random.below(10) };
        let before = tape.records.len();
        match what {
            0..5 => malloc(&mut plain, &mut tape, &mut random, &mut next, &mut expected.from),
            5 => map(&mut plain, &mut tape, &mut random),
            6..9 => free(&mut plain, &mut tape, &mut random),
            _ => unmap(&mut plain, &mut tape, &mut random),
        }
        expected.after.extend(vec![plain.clone(); tape.records.len() - before]);
    }
    (tape, expected)
}

fn malloc(
    plain: &mut Plain,
    tape: &mut Tape,
    random: &mut Random,
    next: &mut u64,
    from: &mut BTreeMap<u64, BTreeMap<u64, u64>>,
) {
    let Some((at, length)) = plain.room(random) else {
        return;
    };
    let id = *next;
    *next += 1;
    let mut sources: BTreeMap<u64, u64> = BTreeMap::new();
    for cell in at..at + length {
        if let Some(owner) = plain.owner.insert(cell, id) {
            *sources.entry(owner).or_default() += CELL;
        }
    }
    let source = Source::ALL[random.below(6) as usize];
    tape.malloc(id, random.below(3), at as u64 * CELL, length as u64 * CELL, source);
    plain.live.insert(id, (at, length));
    from.insert(id, sources);
}

fn free(plain: &mut Plain, tape: &mut Tape, random: &mut Random) {
    let ids: Vec<u64> = plain.live.keys().copied().collect();
    let Some(id) = ids.get(random.below(ids.len() as u64) as usize) else {
        return;
    };
    let (at, length) = plain.live.remove(id).unwrap();
    tape.free(*id, random.below(3), at as u64 * CELL, length as u64 * CELL);
}

fn map(plain: &mut Plain, tape: &mut Tape, random: &mut Random) {
    let (at, count) = (random.below(60) as usize, 1 + random.below(4) as usize);
    if (at..at + count).any(|g| plain.mapped.contains(&g)) {
        return;
    }
    plain.mapped.extend(at..at + count);
    tape.map(at as u64 * GRANULE, count as u32);
}

fn unmap(plain: &mut Plain, tape: &mut Tape, random: &mut Random) {
    let (at, count) = (random.below(64) as usize, 1 + random.below(3) as usize);
    if !(at..at + count).all(|g| plain.mapped.contains(&g) && plain.is_free(g)) {
        return;
    }
    for granule in at..at + count {
        plain.mapped.remove(&granule);
        (granule * 4..granule * 4 + 4).for_each(|cell| {
            plain.owner.remove(&cell);
        });
    }
    tape.unmap(at as u64 * GRANULE, count as u32, UnmapReason::Trim);
}

fn life_by_id(model: &Model) -> BTreeMap<u64, LifeIx> {
    model.lives.iter().enumerate().map(|(i, l)| (l.id.0, LifeIx(i as u32))).collect()
}

#[test]
fn every_state_equals_a_recount() {
    for seed in 0..12 {
        let (tape, expected) = random_log(seed, 900, false);
        let model = Model::of(tape.records.iter().copied());
        assert_eq!(model.events.len(), expected.after.len());
        assert!(model.oddities.is_empty(), "{:?}", model.oddities);
        for (i, plain) in expected.after.iter().enumerate() {
            let event = EventIx(i as u32);
            let state = model.state(PoolIx(0), event);
            assert_eq!((state.used, state.reserved, state.live), (plain.used(), plain.reserved(), plain.live.len()));
            let live: BTreeSet<u64> = model.lives.iter().filter(|l| l.live_after(event)).map(|l| l.id.0).collect();
            assert_eq!(live, plain.live.keys().copied().collect(), "seed {seed}, record {i}");
        }
    }
}

#[test]
fn memory_comes_from_the_latest_owners_of_its_bytes() {
    let mut links = 0;
    for seed in 20..32 {
        let (tape, expected) = random_log(seed, 1500, false);
        let model = Model::of(tape.records.iter().copied());
        let by_id = life_by_id(&model);
        let mut later: BTreeMap<u64, BTreeMap<u64, u64>> = BTreeMap::new();
        for (id, sources) in &expected.from {
            let got = model.came_from(by_id[id]).iter().map(|l| (model.life(l.life).id.0, l.bytes));
            assert_eq!(got.collect::<BTreeMap<_, _>>(), *sources, "allocation {id}, seed {seed}");
            for (owner, bytes) in sources {
                later.entry(*owner).or_default().insert(*id, *bytes);
            }
            links += sources.len();
        }
        for (id, life) in &by_id {
            let got = model.went_to(*life).iter().map(|l| (model.life(l.life).id.0, l.bytes));
            let want = later.get(id).cloned().unwrap_or_default();
            assert_eq!(got.collect::<BTreeMap<_, _>>(), want, "allocation {id}, seed {seed}");
        }
    }
    assert!(links > 1000, "only {links} links were compared");
}

#[test]
fn mapped_runs_cover_exactly_what_is_mapped() {
    for seed in 40..48 {
        let (tape, expected) = random_log(seed, 500, false);
        let model = Model::of(tape.records.iter().copied());
        for (i, plain) in expected.after.iter().enumerate() {
            let event = EventIx(i as u32);
            let on = |r: &&weir_viz::model::Run| r.since <= event && r.unmapped.is_none_or(|u| u > event);
            let mut seen = BTreeSet::new();
            for run in model.pools[0].runs.iter().filter(on) {
                for granule in run.start / GRANULE..run.end / GRANULE {
                    assert!(seen.insert(granule as usize), "granule {granule} is in two runs at record {i}");
                }
            }
            assert_eq!(seen, plain.mapped, "record {i}, seed {seed}");
        }
    }
}

/// A log whose beginning is lost still ends with the right numbers, if in the end everything goes back.
#[test]
fn a_log_without_its_beginning_is_right_where_it_can_be() {
    for seed in 60..72 {
        let (tape, expected) = random_log(seed, 900, true);
        let events: Vec<_> = tape.records.iter().filter(|r| Kind::of(&r.record).is_some()).collect();
        for cut in [20, events.len() / 4, events.len() / 2] {
            let definitions = tape.records.iter().filter(|r| Kind::of(&r.record).is_none());
            let records = definitions.chain(events[cut..].iter().copied());
            let model = Model::of(records.copied());
            for i in cut..events.len() {
                let state = model.state(PoolIx(0), EventIx((i - cut) as u32));
                let plain = &expected.after[i];
                assert_eq!((state.used, state.reserved), (plain.used(), plain.reserved()), "seed {seed}, cut {cut}");
                assert_eq!(state.live, plain.live.len());
            }
            let before = model.lives.iter().filter(|l| matches!(l.birth, Birth::NotRecorded(_))).count();
            assert_eq!(before, expected.after[cut - 1].live.len());
        }
    }
}

/// Whatever is missing, every record is in the list, no two live allocations overlap, and nothing panics.
#[test]
fn holes_in_a_log_leave_a_sound_model() {
    for seed in 80..110 {
        let (tape, _) = random_log(seed, 900, false);
        let mut random = Random(seed);
        let kept: Vec<Stamped<'_>> = tape.records.iter().copied().filter(|_| random.below(5) > 0).collect();
        let model = Model::of(kept.iter().copied());
        assert_eq!(model.events.len(), kept.iter().filter(|r| Kind::of(&r.record).is_some()).count());
        assert!(model.oddities.is_empty(), "what is missing explains it all: {:?}", model.oddities);
        for i in (0..model.events.len()).step_by(7) {
            let event = EventIx(i as u32);
            let state = model.state(PoolIx(0), event);
            assert!(state.used <= state.reserved, "seed {seed}, record {i}: {state:?}");
            let mut live: Vec<(u64, u64)> =
                model.lives.iter().filter(|l| l.live_after(event)).map(|l| (l.offset.0, l.end())).collect();
            live.sort_unstable();
            let recorded = |l: &&weir_viz::model::Life| l.born().is_some() && l.live_after(event);
            let mut sure: Vec<_> = model.lives.iter().filter(recorded).map(|l| (l.offset.0, l.end())).collect();
            sure.sort_unstable();
            assert!(sure.windows(2).all(|p| p[0].1 <= p[1].0), "seed {seed}, record {i}");
        }
    }
}

/// What an undoing could not unmap stays mapped; what is unmapped and could not be destroyed stays reserved until it goes.
#[test]
fn what_the_driver_refuses_to_take_back_stays_reserved() {
    let mut tape = Tape::begin(1 << 40, 0, 1);
    let failed = |call| Record::DriverFailed { error: DriverError { call, code: -1, kind: DriverErrorKind::Failed } };
    let last = |tape: &Tape| EventIx(tape.records.last().map_or(0, |last| last.number) as u32);
    tape.map(4 * GRANULE, 3);
    let mapped = last(&tape);
    tape.push(failed(DriverCall::Unmap));
    tape.unmap(6 * GRANULE, 1, UnmapReason::Undo);
    tape.push(Record::Quarantined { pool: POOL, granules: 2 });
    let undone = last(&tape);
    tape.push(failed(DriverCall::Destroy));
    tape.unmap(4 * GRANULE, 1, UnmapReason::Trim);
    tape.push(Record::Quarantined { pool: POOL, granules: 1 });
    tape.push(Record::Undestroyed { pool: POOL, granules: 1 });
    let kept = last(&tape);
    tape.push(Record::Undestroyed { pool: POOL, granules: 0 });
    let gone = last(&tape);
    tape.unmap(5 * GRANULE, 1, UnmapReason::Trim);
    let model = Model::of(tape.records.iter().copied());
    assert!(model.oddities.is_empty(), "{:?}", model.oddities);
    let reserved = |record| model.state(PoolIx(0), record).reserved / GRANULE;
    assert_eq!([mapped, undone, kept, gone, last(&tape)].map(reserved), [3, 2, 2, 1, 0]);
}

#[test]
fn records_come_back_as_they_were() {
    let (tape, _) = random_log(5, 300, false);
    let model = Model::of(tape.records.iter().copied());
    let events = tape.records.iter().filter(|r| Kind::of(&r.record).is_some());
    for (i, stamped) in events.enumerate() {
        assert_eq!(model.record(EventIx(i as u32)), *stamped);
    }
}

#[test]
fn senseless_numbers_do_no_harm() {
    let mut tape = Tape::begin(1 << 40, u64::MAX, 1);
    let huge = Bytes(u64::MAX);
    for id in [1, u64::MAX] {
        tape.malloc(id, 9, u64::MAX - 3, u64::MAX, Source::Internal);
        tape.malloc(id, 9, 0, u64::MAX, Source::Grow);
        tape.map(u64::MAX, u32::MAX);
        tape.unmap(7, u32::MAX, UnmapReason::Undo);
        tape.free(id, 1, u64::MAX, u64::MAX);
        tape.free(id, 1, 0, u64::MAX);
        tape.malloc(id, 0, 12, 0, Source::Event);
    }
    tape.push(Record::OutOfMemory {
        pool: POOL,
        stream: common::stream(0),
        requested: huge,
        used: huge,
        reserved: huge,
        limit: huge,
        largest_usable: huge,
        pending: huge,
    });
    tape.time = u64::MAX;
    tape.push(Record::PoolDestroyed { pool: POOL, leaked: huge });
    tape.records.last_mut().unwrap().number = u64::MAX;
    let model = Model::of(tape.records.iter().copied());
    assert_eq!(model.events.kind(EventIx(model.events.len() as u32 - 1)), Kind::PoolDestroyed);
    let mut view = weir_viz::scene::View::whole(&model, weir_viz::scene::Size { w: 800.0, h: 600.0 });
    for page in weir_viz::scene::Page::ALL {
        view.page = *page;
        let _ = weir_viz::scene::build(&model, &view);
    }
}

#[test]
fn a_log_that_begins_again_continues_on_the_axis() {
    let (first, _) = random_log(3, 50, false);
    let (second, _) = random_log(4, 50, false);
    let both = first.records.iter().chain(&second.records);
    let model = Model::of(both.copied());
    let positions: Vec<u64> =
        (0..model.events.len()).map(|i| model.events.position(Axis::Record, EventIx(i as u32))).collect();
    assert!(positions.windows(2).all(|p| p[0] < p[1]), "{positions:?}");
    assert_eq!(model.pools.len(), 2, "the second run's pool is another one");
    assert!(model.oddities[0].what.contains("begins again"));
    let restart = model.oddities[0].event;
    let first_pool = PoolIx(0);
    assert_eq!(model.state(first_pool, restart).live, 0);
    assert!(model.pool(first_pool).lives.iter().all(|l| model.life(*l).died().is_some()));
}

#[test]
fn a_free_that_is_missing_is_named() {
    let mut tape = Tape::begin(1 << 40, 0, 1);
    tape.map(0, 1);
    tape.malloc(1, 0, 0, 1024, Source::Grow);
    tape.malloc(2, 0, 512, 1024, Source::SameStream);
    let model = Model::of(tape.records.iter().copied());
    let last = EventIx(model.events.len() as u32 - 1);
    assert_eq!(model.lives[0].death, Death::NotRecorded(last));
    assert_eq!(model.oddities.len(), 1);
    assert!(model.oddities[0].what.contains("allocation 1"), "{}", model.oddities[0].what);
    assert_eq!(model.state(PoolIx(0), last).used, 1024);
}

#[test]
fn names_points_and_labels_are_kept() {
    let mut tape = Tape::begin(1 << 40, 0, 1);
    tape.push(Record::LabelDef { label: LabelId(4), name: "conv1" });
    let point = |n| Point { stream: common::stream(n), seq: Seq(n + 10) };
    let points = Points { list: [Some(point(0)), Some(point(1)), None], epoch: 9 };
    let malloc = Record::Malloc {
        pool: POOL,
        stream: common::stream(0),
        seq: Seq(3),
        id: AllocId(17),
        asked: Bytes(500),
        given: Bytes(512),
        offset: Bytes(0),
        source: Source::Internal,
        label: LabelId(4),
        points,
    };
    tape.push(malloc);
    tape.push(Record::Mark { label: LabelId::NONE, name: "step 1" });
    tape.push(Record::Mark { label: LabelId(4), name: "" });
    let model = Model::of(tape.records.iter().copied());
    let life = model.life_of_id(17).unwrap();
    assert_eq!(model.name(model.life(life).name), "conv1");
    assert_eq!((model.waited_for(life).points, model.waited_for(life).epoch), (&[point(0), point(1)][..], 9));
    let marks: Vec<&str> = model.marks.iter().map(|m| model.name(m.name)).collect();
    assert_eq!(marks, ["step 1", "conv1"]);
    let malloc_at = EventIx(model.events.len() as u32 - 3);
    assert_eq!(model.record(malloc_at).record, malloc);
    assert_eq!(model.record(malloc_at).time, Nanos(0));
}

/// A destroyed pool's memory goes back when its work is complete, and says so then.
#[test]
fn a_destroyed_pools_memory_is_there_until_it_is_unmapped() {
    for leaks in [false, true] {
        let mut tape = Tape::begin(1 << 40, 0, 1);
        tape.map(0, 4);
        tape.malloc(1, 0, 0, 4 * GRANULE, Source::Grow);
        if !leaks {
            tape.free(1, 0, 0, 4 * GRANULE);
        }
        let leaked = Bytes(if leaks { 4 * GRANULE } else { 0 });
        tape.push(Record::PoolDestroyed { pool: POOL, leaked });
        tape.push(Record::StreamSynchronized { stream: common::stream(0), seq: Seq(9) });
        tape.unmap(0, 1, UnmapReason::Destroy);
        tape.unmap(GRANULE, 3, UnmapReason::Destroy);
        let model = Model::of(tape.records.iter().copied());
        assert!(model.oddities.is_empty(), "{:?}", model.oddities);
        let last = model.events.len() as u32 - 1;
        let states: Vec<_> = (last - 3..=last).map(|e| model.state(PoolIx(0), EventIx(e))).collect();
        assert_eq!(states.iter().map(|s| s.used).collect::<Vec<_>>(), [0; 4]);
        let reserved: Vec<u64> = states.iter().map(|s| s.reserved / GRANULE).collect();
        assert_eq!(reserved, [4, 4, 3, 0]);
        let ends: Vec<_> = model.pools[0].runs.iter().map(|r| (r.start / GRANULE, r.unmapped)).collect();
        assert_eq!(ends, [(0, Some(EventIx(last - 1))), (1, Some(EventIx(last)))]);
        assert_eq!(matches!(model.lives[0].death, Death::Destroyed(_)), leaks);
    }
}

/// A page in the middle is lost: what the rest tells of it is right, and what it cannot tell is not made up.
#[test]
fn what_is_after_missing_records_is_right() {
    let (mut exact, mut explained) = (0, 0);
    for seed in 120..150 {
        let (tape, expected) = random_log(seed, 900, true);
        let events: Vec<Stamped<'_>> = tape.records.iter().copied().filter(|r| Kind::of(&r.record).is_some()).collect();
        let mut random = Random(seed);
        let from = 50 + random.below(events.len() as u64 / 2) as usize;
        let to = from + 1 + random.below(events.len() as u64 / 4) as usize;
        let definitions = tape.records.iter().copied().filter(|r| Kind::of(&r.record).is_none());
        let kept = definitions.chain(events[..from].iter().chain(&events[to..]).copied());
        let model = Model::of(kept);
        assert!(model.oddities.is_empty(), "{:?}", model.oddities);
        let gap = EventIx(from as u32);
        assert_eq!(model.gaps, [weir_viz::model::Gap { event: gap, records: (to - from) as u64 }]);
        // Memory that was unmapped there and never used again cannot be noticed.
        let noticed = model.pools[0].reserved.last() == 0;
        for i in (0..from).chain(to..events.len()) {
            let event = EventIx(if i < from { i } else { i - (to - from) } as u32);
            let (state, plain) = (model.state(PoolIx(0), event), &expected.after[i]);
            assert!(state.used <= state.reserved);
            if i < from || noticed {
                assert_eq!((state.used, state.reserved), (plain.used(), plain.reserved()), "seed {seed}, record {i}");
            } else {
                assert!(state.used >= plain.used() && state.reserved >= plain.reserved(), "seed {seed}, record {i}");
            }
        }
        exact += usize::from(noticed);
        explained += model.lives.iter().filter(|l| l.death == Death::NotRecorded(gap)).count();
        for life in model.lives.iter().filter(|l| matches!(l.birth, Birth::NotRecorded(_))) {
            assert_eq!(life.birth, Birth::NotRecorded(gap), "not from the log's beginning on");
        }
        for run in model.pools[0].runs.iter().filter(|r| r.mapped.is_none()) {
            assert_eq!(run.since, gap);
        }
    }
    assert!(exact > 5 && explained > 20, "{exact} {explained}");
}
