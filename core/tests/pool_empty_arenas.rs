//! A runtime some of whose arenas have no slot: what would need one is refused, and nothing is corrupt.
#![cfg(feature = "sim")]

mod pool_support;

use pool_support::DEVICE;
use weir::driver::Driver;
use weir::id::{EventId, PoolId, StreamId};
use weir::policy::{Attribute, Capture, Destroy, PoolConfig, UseUntil};
use weir::sim::{DeviceConfig, Sim, SimStorage};
use weir::trace::NullSink;
use weir::units::{Bytes, DevicePtr};
use weir::{Arenas, Local, Storage, StreamConfig};

/// Calls every function of a runtime in these arenas, mallocs before what makes room for them and after, and looks for
/// corruption after each. Returns how many calls were refused.
fn call_everything(arenas: Arenas<'static>) -> usize {
    let space: &'static mut SimStorage<1, 4, 16, 2, 16, 64, 256> = Box::leak(Box::default());
    let sim = Sim::new(space.arenas(), &[DeviceConfig::new(Bytes::mib(16))], 1).expect("the storage is large enough");
    let native = sim.create_stream(DEVICE).expect("a stream is left");
    let rt = Local::new(arenas, sim, NullSink);
    let mut refused = 0;
    let mut look = |what: &str, refusal: bool| {
        rt.verify().unwrap_or_else(|violation| panic!("{what}: {violation:?}"));
        refused += usize::from(refusal);
    };
    macro_rules! call {
        ($function:ident($($argument:expr),*)) => {{
            let answer = rt.$function($($argument),*);
            look(stringify!($function), answer.is_err());
            answer
        }};
    }
    // Ids of slot 0, where there is none.
    let first = 1 << 32;
    let stream = call!(create_stream(StreamConfig::new(DEVICE, native))).unwrap_or(StreamId::from_raw(first));
    let event = call!(create_event()).unwrap_or(EventId::from_raw(first));
    let pool = call!(create_pool(PoolConfig::new(DEVICE))).unwrap_or(PoolId::from_raw(first));
    let _ = (call!(query(event)), call!(synchronize_event(event)), call!(wait(stream, event)));
    let label = call!(label("all"));
    let block = call!(malloc_async(pool, Bytes(1), stream)).unwrap_or(DevicePtr(1 << 40));
    let _ = call!(malloc_labelled(pool, Bytes(1), stream, label.unwrap_or_default()));
    let _ = (call!(record_use(block, stream, UseUntil::Free)), call!(free_async(block, stream)));
    let _ = (call!(record(event, stream)), call!(query(event)), call!(wait(stream, event)));
    let _ = (call!(malloc_async(pool, Bytes::mib(4), stream)), call!(try_malloc_async(pool, Bytes(1), stream)));
    let _ = (call!(synchronize_stream(stream)), call!(synchronize_event(event)), call!(synchronize_device(DEVICE)));
    let _ = (call!(trim_to(pool, Bytes::ZERO)), call!(stats(pool)), call!(pending(pool, stream, |_| {})));
    let _ = (call!(set_attribute(pool, Attribute::ReleaseThreshold, 1)), call!(default_pool(DEVICE)));
    let _ = (call!(mark("here")), call!(reset_event(event)), call!(synchronize_event(event)));
    let _ = (call!(set_capture(stream, Capture::Active)), call!(set_capture(stream, Capture::None)));
    let _ = (call!(destroy_event(event)), call!(destroy_stream(stream)));
    let _ = (call!(destroy_pool(pool, Destroy::WithLiveBlocks)), call!(synchronize_device(DEVICE)));
    assert_eq!(rt.driver().violation(), None);
    assert!(rt.driver().properties(DEVICE).is_ok());
    refused
}

/// Storage of these capacities, kept for ever.
macro_rules! arenas {
    ($($capacity:literal),*) => {{
        let space: &'static mut Storage<$($capacity),*> = Box::leak(Box::default());
        space.arenas()
    }};
}

#[test]
fn no_call_goes_astray_in_an_arena_without_slots() {
    assert_eq!(call_everything(arenas!(2, 2, 2, 2, 16, 8, 2, 2)), 0, "with room for all, none is refused");
    // Streams, events, markers, pools, blocks, granules, labels, pages of the log; then all of them.
    assert!(call_everything(arenas!(0, 2, 2, 2, 16, 8, 2, 2)) > 0);
    assert!(call_everything(arenas!(2, 0, 2, 2, 16, 8, 2, 2)) > 0);
    assert_eq!(call_everything(arenas!(2, 2, 0, 2, 16, 8, 2, 2)), 0, "markers are for reuse only");
    assert!(call_everything(arenas!(2, 2, 2, 0, 16, 8, 2, 2)) > 0);
    assert!(call_everything(arenas!(2, 2, 2, 2, 0, 8, 2, 2)) > 0);
    assert!(call_everything(arenas!(2, 2, 2, 2, 16, 0, 2, 2)) > 0);
    assert!(call_everything(arenas!(2, 2, 2, 2, 16, 8, 0, 2)) > 0);
    assert_eq!(call_everything(arenas!(2, 2, 2, 2, 16, 8, 2, 0)), 0, "without pages there is no log");
    assert!(call_everything(arenas!(0, 0, 0, 0, 0, 0, 0, 0)) > 0);
}
