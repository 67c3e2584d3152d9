//! A few sums of a log as it grows.

use crate::scene::ticks::bytes;
use foldhash::HashMap;
use std::fmt;
use weir::id::{AllocId, DeviceId, PoolId};
use weir::trace::{Record, Stamped, Verb};
use weir::units::{Bytes, MIB, Nanos};

/// What a log adds up to so far. O(1) a record, but for a pool's end: O(live blocks); the memory is that of these.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Records, definitions not counted.
    pub records: u64,
    /// The last record's time since the first.
    pub elapsed: Nanos,
    /// Successful mallocs.
    pub mallocs: u64,
    /// Frees.
    pub frees: u64,
    /// Bytes in live blocks, of all pools.
    pub used: Bytes,
    /// The most of that.
    pub peak_used: Bytes,
    /// Mapped bytes, of all pools.
    pub reserved: Bytes,
    /// The most of that.
    pub peak_reserved: Bytes,
    /// Refused mallocs.
    pub refused: u64,
    begun: Option<Nanos>,
    /// Live blocks: the pool, and its bytes.
    live: HashMap<AllocId, (PoolId, u64)>,
    /// Granules that a pool holds beside what is mapped.
    undestroyed: HashMap<PoolId, u32>,
    granules: HashMap<DeviceId, u64>,
    device: HashMap<PoolId, DeviceId>,
}

impl Figures {
    /// Takes the next record.
    pub fn push(&mut self, stamped: &Stamped<'_>) {
        if !stamped.record.is_definition() {
            self.records += 1;
            let begun = *self.begun.get_or_insert(stamped.time);
            self.elapsed = Nanos(stamped.time.0.saturating_sub(begun.0));
        }
        match stamped.record {
            Record::DeviceDef { device, properties } => {
                self.granules.insert(device, properties.granularity.0);
            }
            Record::PoolDef { pool, config, .. } => {
                self.device.insert(pool, config.device);
            }
            Record::Malloc { id, pool, given, .. } => {
                self.mallocs += 1;
                self.live.insert(id, (pool, given.0));
                self.used = Bytes(self.used.0.saturating_add(given.0));
            }
            Record::Free { id, .. } => {
                self.frees += 1;
                // One from before the log, or a double free, takes nothing away.
                let given = self.live.remove(&id).map_or(0, |block| block.1);
                self.used = Bytes(self.used.0.saturating_sub(given));
            }
            Record::Mapped { pool, granules, .. } | Record::MappedInOrder { pool, granules, .. } => {
                self.reserved = Bytes(self.reserved.0.saturating_add(self.bytes(pool, granules)));
            }
            Record::Unmapped { pool, granules, .. } | Record::UnmappedInOrder { pool, granules, .. } => {
                self.reserved = Bytes(self.reserved.0.saturating_sub(self.bytes(pool, granules)));
            }
            Record::Undestroyed { pool, granules } => {
                let before = self.undestroyed.insert(pool, granules).unwrap_or(0);
                let held = self.reserved.0.saturating_add(self.bytes(pool, granules));
                self.reserved = Bytes(held.saturating_sub(self.bytes(pool, before)));
            }
            Record::PoolDestroyed { pool, .. } => {
                let ended = self.live.extract_if(|_, block| block.0 == pool).map(|(_, block)| block.1).sum();
                self.used = Bytes(self.used.0.saturating_sub(ended));
            }
            Record::OutOfMemory { .. } | Record::Refused { verb: Verb::Malloc, .. } => self.refused += 1,
            _ => {}
        }
        self.peak_used = self.peak_used.max(self.used);
        self.peak_reserved = self.peak_reserved.max(self.reserved);
    }

    fn bytes(&self, pool: PoolId, granules: u32) -> u64 {
        let granule = self.device.get(&pool).and_then(|device| self.granules.get(device));
        u64::from(granules).saturating_mul(granule.copied().unwrap_or(2 * MIB))
    }
}

impl fmt::Display for Figures {
    /// One line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { records, mallocs, frees, refused, .. } = self;
        let [used, peak_used, reserved, peak_reserved] =
            [self.used, self.peak_used, self.reserved, self.peak_reserved].map(|amount| bytes(amount.0));
        let seconds = self.elapsed.0 as f64 / 1e9;
        write!(
            f,
            "{seconds:.3} s  {records} records  used {used} (peak {peak_used})  reserved {reserved} (peak {peak_reserved})  \
             {mallocs} mallocs  {frees} frees  {refused} refused"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source;

    const LOG: &str = "\
weir-log version=1
number=0 time=0 record=malloc pool=0 stream=0 seq=1 id=1 asked=512 given=512 offset=0 source=grow label=0 points=- epoch=0
number=1 time=1 record=malloc pool=1 stream=0 seq=2 id=2 asked=512 given=1024 offset=0 source=grow label=0 points=- epoch=0
number=2 time=2 record=refused verb=malloc pool=0 stream=0 size=0 reason=zero_size
number=3 time=3 record=pool_destroyed pool=1 leaked=1024
";

    #[test]
    fn what_ends_with_its_pool_is_live_no_more_and_every_refused_malloc_counts() {
        let opened = source::read("log", LOG.as_bytes()).expect("a log");
        let mut figures = Figures::default();
        (0..opened.model.events.len())
            .for_each(|at| figures.push(&opened.model.record(crate::model::EventIx::next_of(at))));
        assert_eq!((figures.used, figures.peak_used, figures.refused), (Bytes(512), Bytes(1536), 1));
    }
}
