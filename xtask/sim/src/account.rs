//! The pools' sums, counted again from what the program holds and what exists on the devices.

use crate::failure::{Failure, Kind};
use crate::world::{Done, World, refusal};
use weir::PoolStats;
use weir::id::{DeviceId, PoolId};

impl World<'_> {
    pub(crate) fn stats(&self, pool: PoolId) -> Result<PoolStats, Failure> {
        self.rt.stats(pool).map_err(|error| refusal("stats", error))
    }

    /// After every step: used is what is live; used <= reserved <= limit; every granule is counted once.
    pub(crate) fn count(&self) -> Done {
        let mut reserved_on = [0; crate::op::DEVICES];
        for (place, pool) in self.pools.iter().enumerate() {
            let Some(pool) = pool else { continue };
            let PoolStats { used, reserved, live_blocks, .. } = self.stats(pool.id)?;
            let (used, reserved) = (used.get(), reserved.get());
            let mine = self.blocks.iter().flatten().filter(|block| usize::from(block.pool) == place);
            let (count, live) = mine.fold((0, 0), |(count, bytes), block| (count + 1, bytes + block.given.get()));
            let mapped = self.oracle().mapped_in(pool.base);
            reserved_on[pool.device.0 as usize] += reserved;
            if (used, live_blocks) != (live, count) || used > reserved || mapped > reserved || reserved > pool.limit {
                let text = format!(
                    "p{place} says {used} bytes are used in {live_blocks} blocks and {reserved} reserved; {live} are live \
                     in {count} blocks, {mapped} are mapped, and the limit is {}",
                    pool.limit
                );
                return Err(Failure::new(Kind::Account, text));
            }
        }
        // What destroyed pools still hold is not told by anybody.
        let dying = self.oracle().pools.iter().any(|pool| pool.dying);
        for device in 0..self.devices {
            let device = DeviceId(u32::from(device));
            let (reserved, created) = (reserved_on[device.0 as usize], self.sim().created(device).get());
            if reserved > created || (reserved < created && !dying) {
                let text = format!("the pools of device {device} reserve {reserved} bytes, and {created} exist there");
                return Err(Failure::new(Kind::Account, text));
            }
        }
        Ok(())
    }
}
