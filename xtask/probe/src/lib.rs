//! What the pool's calls link to: one exported function for each call of the interface, over a driver and a sink that the
//! compiler cannot see through. `cargo xtask ci` links them as firmware would and looks for panics.
//!
//! Not an example: answers go to [`black_box`], so that no error's way out is optimised away.

#![cfg_attr(feature = "image", no_std)]

mod board;

use board::{Board, Wire};
use core::hint::black_box;
use core::mem::MaybeUninit;
use weir::driver::{Completion, NativeStream};
use weir::error::OrderError;
use weir::id::{DeviceId, EventId, LabelId, PoolId, StreamId};
use weir::policy::{Attribute, Destroy, PoolConfig, StreamKind, UseUntil};
use weir::units::{Bytes, DevicePtr};
use weir::{Capture, Local, Shared, Storage, StreamConfig};

/// What several threads use.
pub type Threads = Shared<'static, Board, Wire>;
/// What one thread uses.
pub type Thread = Local<'static, Board, Wire>;
/// Storage of a firmware's size.
pub type Static = Storage<8, 16, 32, 2, 1024, 256, 32, 4>;

#[cfg(feature = "image")]
#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    // The check looks for this handler in the image, so what it does never matters.
    loop {
        core::hint::spin_loop();
    }
}

/// Exports functions that make one call each and keep its answer.
macro_rules! probe {
    ($($name:ident($rt:ident: $pool:ty $(, $argument:ident: $kind:ty)*) => $call:expr;)+) => {
        $(
            /// The call of this name.
            #[unsafe(no_mangle)]
            pub extern "C" fn $name($rt: &$pool $(, $argument: $kind)*) {
                black_box(&$call);
            }
        )+
    };
}

probe! {
    probe_create_pool(rt: Threads, config: &PoolConfig) => rt.create_pool(*config);
    probe_destroy_pool(rt: Threads, pool: u64, how: &Destroy) => rt.destroy_pool(PoolId::from_raw(pool), *how);
    probe_default_pool(rt: Threads, device: u32) => rt.default_pool(DeviceId(device));
    probe_attribute(rt: Threads, pool: u64, which: &Attribute) => rt.attribute(PoolId::from_raw(pool), *which);
    probe_set_attribute(rt: Threads, pool: u64, which: &Attribute, value: u64) =>
        rt.set_attribute(PoolId::from_raw(pool), *which, value);
    probe_create_stream(rt: Threads, native: u64, kind: &StreamKind) => rt.create_stream(StreamConfig {
        device: DeviceId(0),
        native: NativeStream(native),
        kind: *kind,
        context: 0,
    });
    probe_destroy_stream(rt: Threads, stream: u64) => rt.destroy_stream(StreamId::from_raw(stream));
    probe_create_event(rt: Threads) => rt.create_event();
    probe_destroy_event(rt: Threads, event: u64) => rt.destroy_event(EventId::from_raw(event));
    probe_reset_event(rt: Threads, event: u64) => rt.reset_event(EventId::from_raw(event));
    probe_native_stream(rt: Threads, stream: u64) => rt.native_stream(StreamId::from_raw(stream));
    probe_set_capture(rt: Threads, stream: u64, capture: &Capture) =>
        rt.set_capture(StreamId::from_raw(stream), *capture);
    probe_record_with(rt: Threads, event: u64, stream: u64) =>
        rt.record_with::<OrderError>(EventId::from_raw(event), StreamId::from_raw(stream), || black_box(Ok(())));
    probe_wait_with(rt: Threads, stream: u64, event: u64) =>
        rt.wait_with::<OrderError>(StreamId::from_raw(stream), EventId::from_raw(event), |_| black_box(Ok(())));
    probe_query_with(rt: Threads, event: u64) =>
        rt.query_with::<OrderError>(EventId::from_raw(event), |_| black_box(Ok(Completion::Pending)));
    probe_synchronize_stream_with(rt: Threads, stream: u64) =>
        rt.synchronize_stream_with::<OrderError>(StreamId::from_raw(stream), || black_box(Ok(())));
    probe_record(rt: Threads, event: u64, stream: u64) =>
        rt.record(EventId::from_raw(event), StreamId::from_raw(stream));
    probe_wait(rt: Threads, stream: u64, event: u64) => rt.wait(StreamId::from_raw(stream), EventId::from_raw(event));
    probe_query(rt: Threads, event: u64) => rt.query(EventId::from_raw(event));
    probe_synchronize_stream(rt: Threads, stream: u64) => rt.synchronize_stream(StreamId::from_raw(stream));
    probe_synchronize_event(rt: Threads, event: u64) => rt.synchronize_event(EventId::from_raw(event));
    probe_synchronize_device(rt: Threads, device: u32) => rt.synchronize_device(DeviceId(device));
    probe_malloc_async(rt: Threads, pool: u64, size: u64, stream: u64) =>
        rt.malloc_async(PoolId::from_raw(pool), Bytes(size), StreamId::from_raw(stream));
    probe_malloc_labelled(rt: Threads, pool: u64, size: u64, stream: u64, label: u32) =>
        rt.malloc_labelled(PoolId::from_raw(pool), Bytes(size), StreamId::from_raw(stream), LabelId(label));
    probe_malloc_with(rt: Threads, pool: u64, size: u64, stream: u64, label: u32) =>
        rt.malloc_with(PoolId::from_raw(pool), Bytes(size), StreamId::from_raw(stream), LabelId(label), |error| { black_box(error); });
    probe_free_async(rt: Threads, ptr: u64, stream: u64) => rt.free_async(DevicePtr(ptr), StreamId::from_raw(stream));
    probe_free_to(rt: Threads, pool: u64, ptr: u64, stream: u64) =>
        rt.free_to(PoolId::from_raw(pool), DevicePtr(ptr), StreamId::from_raw(stream));
    probe_record_use(rt: Threads, ptr: u64, stream: u64, until: &UseUntil) =>
        rt.record_use(DevicePtr(ptr), StreamId::from_raw(stream), *until);
    probe_trim_to(rt: Threads, pool: u64, keep: u64) => rt.trim_to(PoolId::from_raw(pool), Bytes(keep));
    probe_label(rt: Threads, name: &&'static str) => rt.label(name);
    probe_mark(rt: Threads, name: &&'static str) => rt.mark(name);
    probe_stats(rt: Threads, pool: u64) => rt.stats(PoolId::from_raw(pool));
    probe_counters(rt: Threads) => rt.counters();
    probe_pending(rt: Threads, pool: u64, stream: u64) =>
        rt.pending(PoolId::from_raw(pool), StreamId::from_raw(stream), |on| { black_box(on); });
    probe_candidates(rt: Threads, pool: u64, size: u64, stream: u64) =>
        rt.candidates(PoolId::from_raw(pool), Bytes(size), StreamId::from_raw(stream), |found| { black_box(found); });
    probe_verify(rt: Threads) => rt.verify();
    probe_block_at(rt: Threads, ptr: u64) => rt.block_at(DevicePtr(ptr));
    probe_driver(rt: Threads) => rt.driver();
    probe_flush(rt: Threads) => rt.flush();
    probe_with_sink(rt: Threads) => rt.with_sink(|sink| *sink);
    probe_try_malloc_async(rt: Threads, pool: u64, size: u64, stream: u64) =>
        rt.try_malloc_async(PoolId::from_raw(pool), Bytes(size), StreamId::from_raw(stream));
    probe_try_malloc_with(rt: Threads, pool: u64, size: u64, stream: u64) =>
        rt.try_malloc_with(PoolId::from_raw(pool), Bytes(size), StreamId::from_raw(stream), |error| { black_box(error); });
    probe_try_free_async(rt: Threads, ptr: u64, stream: u64) =>
        rt.try_free_async(DevicePtr(ptr), StreamId::from_raw(stream));
    probe_local_malloc_async(rt: Thread, pool: u64, size: u64, stream: u64) =>
        rt.malloc_async(PoolId::from_raw(pool), Bytes(size), StreamId::from_raw(stream));
    probe_local_free_async(rt: Thread, ptr: u64, stream: u64) =>
        rt.free_async(DevicePtr(ptr), StreamId::from_raw(stream));
    probe_local_synchronize_device(rt: Thread, device: u32) => rt.synchronize_device(DeviceId(device));
}

/// Making a runtime over static storage.
#[unsafe(no_mangle)]
pub extern "C" fn probe_new(storage: &'static mut Static, into: &mut MaybeUninit<Threads>) {
    into.write(Shared::new(storage.arenas(), Board, Wire));
}

/// The same where it stays.
#[unsafe(no_mangle)]
pub extern "C" fn probe_new_in(storage: &'static mut Static, into: &mut MaybeUninit<Threads>) {
    Threads::new_in(into, storage.arenas(), Board, Wire);
}

/// The fault that the check must find: an index that nobody has checked.
#[cfg(feature = "planted")]
#[unsafe(no_mangle)]
pub extern "C" fn probe_planted(table: &[u64; 16], index: usize) -> u64 {
    table[index]
}
