//! How much the labels' peaks grew.

use crate::model::{EventIx, Kind, Model, Payload, PoolIx};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The most bytes that were live at once under a label, in both logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelGrowth {
    /// The label; empty for blocks without one.
    pub label: String,
    /// Its peak in the first log and in the second.
    pub peak: [u64; 2],
}

impl LabelGrowth {
    /// By how much the peak grew.
    #[must_use]
    pub fn grown(&self) -> i128 {
        i128::from(self.peak[1]) - i128::from(self.peak[0])
    }
}

/// All labels whose peaks differ, those that grew most first.
pub(super) fn growth(models: [&Model; 2], pools: [Option<PoolIx>; 2]) -> Vec<LabelGrowth> {
    let mut peaks: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for (side, (model, pool)) in models.into_iter().zip(pools).enumerate() {
        for (name, peak) in pool.map_or(Vec::new(), |pool| peaks_of(model, pool)) {
            peaks.entry(name).or_default()[side] = peak;
        }
    }
    let mut grown: Vec<LabelGrowth> =
        peaks.into_iter().map(|(label, peak)| LabelGrowth { label, peak }).filter(|g| g.grown() != 0).collect();
    grown.sort_by_key(|growth| Reverse(growth.grown()));
    grown
}

fn peaks_of(model: &Model, pool: PoolIx) -> Vec<(String, u64)> {
    // By number of the name: now, and at most.
    let mut bytes: Vec<(u64, u64)> = vec![(0, 0); model.name_count()];
    for at in (0..model.events.len()).map(EventIx::next_of) {
        let Payload::Life(life) = model.events.payload(at) else { continue };
        let life = model.life(life);
        let Some((now, most)) = bytes.get_mut(life.name.at()).filter(|_| life.pool == pool) else { continue };
        *now = match model.events.kind(at) {
            Kind::Malloc => now.saturating_add(life.given.0),
            _ if life.born().is_some() => now.saturating_sub(life.given.0),
            _ => *now,
        };
        *most = (*most).max(*now);
    }
    let named =
        |(name, (_, most)): (usize, (u64, u64))| (model.name(crate::model::NameIx::next_of(name)).to_owned(), most);
    bytes.into_iter().enumerate().filter(|(_, (_, most))| *most > 0).map(named).collect()
}
