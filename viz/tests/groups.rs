//! Who holds how much: the groups of a pool against a recount of every record.

mod common;

use common::{Random, labelled};
use std::collections::BTreeMap;
use weir::trace::{Record, Stamped};
use weir_viz::model::{By, Death, EventIx, LifeIx, MOST_GROUPS, Model, PoolIx, total};

fn name(model: &Model, life: LifeIx, by: By) -> String {
    let life = model.life(life);
    match by {
        By::Label => model.name(life.name).to_owned(),
        By::Stream => format!("stream {}", model.stream(life.stream).id),
        By::Size => {
            let classes = [(12, "4 KiB"), (16, "64 KiB"), (20, "1 MiB"), (24, "16 MiB"), (28, "256 MiB")];
            let class = classes.iter().find(|(bits, _)| life.given.0 <= 1 << bits);
            class.map_or("larger".to_owned(), |(_, name)| format!("up to {name}"))
        }
    }
}

/// What each name holds once each record has taken effect, by adding and subtracting.
fn recount(model: &Model, by: By) -> Vec<BTreeMap<String, u64>> {
    let mut after = Vec::new();
    for event in (0..model.events.len() as u32).map(EventIx) {
        let mut held: BTreeMap<String, u64> = BTreeMap::new();
        for at in (0..model.lives.len() as u32).map(LifeIx) {
            let life = model.life(at);
            if life.since() <= event && life.died().is_none_or(|died| died > event) {
                *held.entry(name(model, at, by)).or_default() += life.given.0;
            }
        }
        after.push(held);
    }
    after
}

fn holds(held: &[u64], group: usize, names: &BTreeMap<String, u64>, told: &[String]) {
    let want = match told.get(group).filter(|_| group < MOST_GROUPS) {
        Some(name) => names.get(name).copied().unwrap_or(0),
        None => names.iter().filter(|(name, _)| !told[..MOST_GROUPS].contains(name)).map(|(_, bytes)| bytes).sum(),
    };
    assert_eq!(held[group], want, "{}", told[group]);
}

#[test]
fn groups_hold_what_a_recount_says_at_every_record() {
    for (seed, labels, by) in [(1, 3, By::Label), (2, 12, By::Label), (3, 5, By::Stream), (4, 5, By::Size)] {
        let model = Model::of(labelled(seed, labels));
        let groups = model.groups(PoolIx(0), by);
        let told: Vec<String> = groups.all().iter().map(|group| group.name.clone()).collect();
        let after = recount(&model, by);
        for (event, names) in after.iter().enumerate() {
            let held = groups.before(&model, EventIx(event as u32 + 1));
            (0..told.len()).for_each(|group| holds(&held, group, names, &told));
            assert_eq!(total(&held), names.values().sum::<u64>());
        }
    }
}

#[test]
fn the_largest_are_told_apart_and_the_others_are_one() {
    let model = Model::of(labelled(2, 12));
    let groups = model.groups(PoolIx(0), By::Label).all();
    assert_eq!(groups.len(), MOST_GROUPS + 1);
    let mut peaks: BTreeMap<String, u64> = BTreeMap::new();
    for names in recount(&model, By::Label) {
        for (name, bytes) in names {
            let peak = peaks.entry(name).or_default();
            *peak = (*peak).max(bytes);
        }
    }
    let mut order: Vec<(u64, String)> = peaks.into_iter().map(|(name, peak)| (peak, name)).collect();
    order.sort_by_key(|(peak, _)| std::cmp::Reverse(*peak));
    for (group, (peak, name)) in groups.iter().zip(&order).take(MOST_GROUPS) {
        assert_eq!((&group.name, group.peak), (name, *peak));
    }
    assert_eq!((groups[MOST_GROUPS].name.as_str(), groups[MOST_GROUPS].key()), ("4 others", None));
}

/// The first and the last records of a range are looked at one by one, those between in stretches.
#[test]
fn a_range_has_its_highest_moment_and_each_groups_highest() {
    let model = Model::of(labelled(5, 9));
    let groups = model.groups(PoolIx(0), By::Label);
    let every: Vec<_> = (0..=model.events.len() as u32).map(|at| groups.before(&model, EventIx(at))).collect();
    let mut random = Random(7);
    for _ in 0..400 {
        let ends = [0, 0].map(|_| random.below(every.len() as u64) as usize);
        let (from, to) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        let span = groups.span(&model, EventIx(from as u32), EventIx(to as u32));
        let highest = every[from..=to].iter().map(total).max().unwrap();
        assert_eq!(total(&span.top), highest, "{from}..{to}");
        assert!(every[from..=to].contains(&span.top), "together at one moment");
        for group in 0..groups.all().len() {
            let most = every[from..=to].iter().map(|held| held[group]).max().unwrap();
            assert_eq!(span.most[group], most, "{from}..{to}");
        }
    }
}

/// Frees whose mallocs are missing, and a pool that is destroyed: no record of the block tells of either.
#[test]
fn what_no_record_tells_of_counts_too() {
    let whole = labelled(6, 4);
    let length = whole.len();
    let mut cut: Vec<Stamped<'static>> = whole.into_iter().take(length - 40).skip(120).collect();
    let last = *cut.last().unwrap();
    let pool = common::POOL;
    cut.push(Stamped {
        number: last.number + 1,
        time: last.time,
        record: Record::PoolDestroyed { pool, leaked: weir::units::Bytes(1) },
    });
    let model = Model::of(cut);
    assert!(model.lives.iter().any(|life| life.born().is_none()));
    assert!(model.lives.iter().any(|life| matches!(life.death, Death::Destroyed(_))));
    let groups = model.groups(PoolIx(0), By::Stream);
    let used = &model.pool(PoolIx(0)).used;
    for event in (0..=model.events.len() as u32).map(EventIx) {
        // The curve is nowhere above what is mapped; of the cut log that is not all known.
        assert!(total(&groups.before(&model, event)) >= used.before(event), "{event:?}");
    }
    assert_eq!(total(&groups.before(&model, model.events.end())), 0, "destroyed");
}
