//! The log of a real runtime on the simulated device.

use std::cell::RefCell;
use std::rc::Rc;
use weir::id::{DeviceId, StreamId};
use weir::policy::{PoolConfig, Reuse};
use weir::sim::{DeviceConfig, Sim, SimStorage};
use weir::trace::{SinkError, WriterSink};
use weir::units::{Bytes, MIB};
use weir::{Local, Storage, StreamConfig};

const DEVICE: DeviceId = DeviceId(0);

type Write = Box<dyn FnMut(&[u8]) -> Result<(), SinkError>>;

/// 4 MiB on stream 0, freed there; 3 MiB on stream 1, which does not come after that; then more than there is. At last
/// everything is complete.
pub(crate) fn bytes() -> Vec<u8> {
    let sim = Sim::new(
        Box::leak(Box::new(SimStorage::<1, 8, 128, 64, 32, 4000, 20000>::new())).arenas(),
        &[DeviceConfig::new(Bytes::mib(64))],
        1,
    );
    let log = Rc::new(RefCell::new(Vec::new()));
    let kept = Rc::clone(&log);
    let write: Write = Box::new(move |page| {
        kept.borrow_mut().extend_from_slice(page);
        Ok(())
    });
    let storage = Box::leak(Box::new(Storage::<8, 8, 16, 4, 2000, 64, 8, 4>::new()));
    let rt = Local::new(storage.arenas(), sim.expect("storage is large enough"), WriterSink(write));
    let mut config = PoolConfig::new(DEVICE);
    (config.limit, config.reuse) = (Bytes::mib(8), Reuse::empty());
    let pool = rt.create_pool(config).expect("a pool");
    let streams = [0, 1].map(|_| {
        let native = rt.driver().create_stream(DEVICE).expect("a stream");
        rt.create_stream(StreamConfig::new(DEVICE, native)).expect("a slot")
    });
    let malloc = |size: u64, on: StreamId| rt.malloc_async(pool, Bytes(size), on);
    let first = malloc(4 * MIB, streams[0]).expect("memory");
    rt.free_async(first, streams[0]).expect("freed");
    malloc(3 * MIB, streams[1]).expect("memory");
    assert!(malloc(6 * MIB, streams[1]).is_err());
    rt.synchronize_device(DEVICE).expect("complete");
    rt.flush();
    log.borrow().clone()
}
