//! Making a runtime in storage that firmware lends.

use super::arguments::{check_size, input, output};
use super::driver::AnyDriver;
use super::failure::{Failure, guard};
use super::instance::{Claim, Inner, Instance, Known, PageSink};
use super::life::capacities;
use super::pressure::Hook;
use crate::bindings::{WEIR_RUNTIME_BYTES, weir_config, weir_driver_ops, weir_runtime, weir_status as s};
use crate::table::TableDriver;
use core::ffi::{c_int, c_void};
use core::mem::{align_of, size_of};
use core::ptr::NonNull;
use weir::slots::{ClockRows, Empty, Singles, bins_for, heads_for, words_for};
use weir::trace::LogStamps;
use weir::units::Seq;
use weir::{Arenas, Capacities};

// What the header's macro counts for a runtime beside its arenas.
const _: () =
    assert!(size_of::<Instance>() + size_of::<Inner>() + size_of::<Singles>() + 512 <= WEIR_RUNTIME_BYTES as usize);

/// Storage that nobody else uses, given out from its beginning.
struct Carver {
    at: NonNull<u8>,
    left: usize,
}

impl Carver {
    /// Room for so many `T`; `None` where too little is left.
    fn room<T>(&mut self, count: usize) -> Option<NonNull<T>> {
        let gap = self.at.align_offset(align_of::<T>());
        let taken = count.checked_mul(size_of::<T>())?.checked_add(gap)?;
        self.left = self.left.checked_sub(taken)?;
        // SAFETY: inside the storage: `taken` bytes were left, and the gap is among them.
        let room = unsafe { self.at.add(gap) };
        // SAFETY: as above; at most one byte behind the end.
        self.at = unsafe { self.at.add(taken) };
        Some(room.cast())
    }

    /// Untouched slots.
    fn slots<T: Empty>(&mut self, count: usize) -> Option<&'static mut [T]> {
        let room = self.room::<T>(count)?;
        for index in 0..count {
            // SAFETY: one of the `count` places that were given out.
            let place = unsafe { room.add(index) };
            // SAFETY: inside the storage, aligned, and nobody else's.
            unsafe { place.write(T::EMPTY) };
        }
        // SAFETY: all were written, and the program promised that the storage is the runtime's until its end.
        Some(unsafe { core::slice::from_raw_parts_mut(room.as_ptr(), count) })
    }

    fn clocks(&mut self, rows: usize, width: usize) -> Option<ClockRows<'static>> {
        Some(ClockRows { entries: self.slots::<Seq>(rows.checked_mul(width)?)?, present: self.slots(rows)? })
    }

    fn arenas(&mut self, c: Capacities) -> Option<Arenas<'static>> {
        let (kinds, heads) = (bins_for(c.pools, c.streams), heads_for(c.blocks));
        Some(Arenas {
            streams: self.slots(c.streams)?,
            clocks: self.clocks(c.streams, c.streams)?,
            events: self.slots(c.events)?,
            event_clocks: self.clocks(c.events.checked_mul(2)?, c.streams)?,
            markers: self.slots(c.markers)?,
            marker_clocks: self.clocks(c.markers, c.streams)?,
            snapshots: self.clocks(Arenas::SNAPSHOT_ROWS, c.streams)?,
            pools: self.slots(c.pools)?,
            bins: self.slots(kinds)?,
            homes: self.slots(Arenas::HOMES.checked_mul(c.pools)?.checked_mul(c.streams)?)?,
            heads: self.slots(kinds.checked_mul(heads)?)?,
            words: self.slots(kinds.checked_mul(words_for(heads))?)?,
            blocks: self.slots(c.blocks)?,
            block_lookup: self.slots(c.blocks.checked_mul(2)?)?,
            granules: self.slots(c.granules)?,
            granule_lookup: self.slots(c.granules.checked_mul(2)?)?,
            names: self.slots(c.labels)?,
            pages: self.slots(c.pages)?,
            stamps: LogStamps {
                streams: self.slots(c.streams)?,
                pools: self.slots(c.pools)?,
                labels: self.slots(c.labels)?,
            },
            singles: self.slots::<Singles>(1)?.first_mut()?,
        })
    }
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_create_static(
    storage: *mut c_void,
    bytes: usize,
    config: *const weir_config,
    ops: *const weir_driver_ops,
    runtime: *mut weir_runtime,
) -> c_int {
    guard(|| {
        // SAFETY: the header asks for a place for a handle, or null.
        let runtime = unsafe { output(runtime, "runtime") }?;
        // SAFETY: the header asks for a table, or null.
        let ops = unsafe { input(ops, "ops") }?;
        // SAFETY: the header asks for a struct, or null.
        let config = unsafe { input(config, "config") }?;
        check_size::<weir_config>(config.size, "weir_config")?;
        if !config.log_path.is_null() {
            return Err(Failure::invalid("there are no files"));
        }
        let sink = PageSink { function: config.log_fn, user: config.log_user };
        let wanted = capacities(config)?;
        let pages = if config.log_fn.is_some() { wanted.pages } else { 0 };
        let at = NonNull::new(storage.cast()).ok_or(Failure::invalid("`storage` is null"))?;
        let mut carver = Carver { at, left: bytes };
        let small = || Failure::new(s::WEIR_CAPACITY, "`storage` is smaller than WEIR_STORAGE_BYTES");
        let places = (carver.room(1).ok_or_else(small)?, carver.room(1).ok_or_else(small)?);
        let (pools, streams) = (wanted.pools, wanted.streams);
        let known = Known::new(carver.slots(pools).ok_or_else(small)?, carver.slots(streams).ok_or_else(small)?);
        let arenas = carver.arenas(Capacities { pages, ..wanted }).ok_or_else(small)?;
        // SAFETY: the program promises that its functions do what the header says.
        let table = unsafe { TableDriver::new(ops) }.map_err(|_| Failure::new(s::WEIR_BAD_DRIVER, ""))?;
        let claim = Claim::take()?;
        let handle = claim.handle;
        let driver = AnyDriver { table, pressure: Hook::new(handle) };
        // SAFETY: there is room for one of each, and the program promised that the storage is the runtime's.
        unsafe { claim.open(places, (arenas, driver, sink), known) };
        runtime.write(handle);
        Ok(())
    })
}
