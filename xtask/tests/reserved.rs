//! What a log says of mapped memory adds up to what the core counts, whatever the driver refuses.

use weir::trace::Record;
use weir_viz::model::{EventIx, Model, Payload};
use weir_viz::source;

/// Each statement of reserved and used bytes in a log, beside what the records before it come to; how many there are.
fn agree(seed: u64, model: &Model) -> u64 {
    let mut stated = 0;
    for at in (0..model.events.len()).map(EventIx::next_of) {
        let Payload::Other(record) = model.events.payload(at) else { continue };
        let (pool, used, reserved) = match record {
            Record::OutOfMemory { pool, used, reserved, .. } => (pool, Some(used), reserved),
            Record::Trimmed { pool, reached, .. } => (pool, None, reached),
            _ => continue,
        };
        let of = model.pools.iter().find(|known| known.id == pool).expect("is defined");
        let said = format!("seed {seed}, record {}, {record:?}", model.events.number(at));
        assert_eq!(of.reserved.after(at), reserved.0, "{said}");
        assert_eq!(used.map_or(of.used.after(at), |used| used.0), of.used.after(at), "{said}");
        stated += 1;
    }
    stated
}

#[test]
fn whatever_the_driver_refuses() {
    let log = std::env::temp_dir().join(format!("weir-reserved-{}.log", std::process::id()));
    let (mut stated, mut apart) = (0, 0);
    for seed in 1..=40 {
        let plan = weir_sim_run::Plan {
            seed,
            steps: 2_000,
            streams: None,
            faults: [60, 200, 0, 20][seed as usize % 4],
            judge: weir_sim_run::Judge::Simulation,
            log: Some(log.clone()),
        };
        assert!(weir_sim_run::run(&plan).is_ok(), "seed {seed}");
        let model = source::open(&log).expect("a log").model;
        stated += agree(seed, &model);
        let records = (0..model.events.len()).map(|at| model.events.payload(EventIx::next_of(at)));
        apart += records.filter(|payload| matches!(payload, Payload::Other(Record::Undestroyed { .. }))).count();
    }
    std::fs::remove_file(log).expect("it is there");
    assert!(stated > 1_000 && apart > 100, "{stated} statements, {apart} granules");
}
