//! As firmware does it: storage in a `static`, no allocation by the pool, a log ring that is dumped at the end.
//!
//! The device is the simulated one, whose storage is static too.

use spin::{Mutex, MutexGuard};
use weir::id::DeviceId;
use weir::policy::PoolConfig;
use weir::sim::{DeviceConfig, Progress, Sim, SimStorage};
use weir::trace::{Reader, RingSink, text};
use weir::units::Bytes;
use weir::{Local, Storage, StreamConfig};

/// 4 streams, 4 events, 8 markers, 1 pool, 64 blocks, 32 granules, 8 labels, 2 pages of log.
static STORAGE: Mutex<Storage<4, 4, 8, 1, 64, 32, 8, 2>> = Mutex::new(Storage::new());
static DEVICE: Mutex<SimStorage<1, 1, 32, 4, 12, 64, 256>> = Mutex::new(SimStorage::new());

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Leaking the guard lends the storage for ever, without unsafe code.
    let device = MutexGuard::leak(DEVICE.lock());
    let storage = MutexGuard::leak(STORAGE.lock());
    let sim = Sim::new(device.arenas(), &[DeviceConfig::new(Bytes::mib(64))], 1)?;
    sim.set_progress(Progress::Immediate);
    let stream = sim.create_stream(DeviceId(0))?;

    let mut pages = [weir::trace::Page::EMPTY; 4];
    let rt = Local::new(storage.arenas(), sim, RingSink::new(&mut pages));
    let pool = rt.create_pool(PoolConfig::new(DeviceId(0)))?;
    let stream = rt.create_stream(StreamConfig::new(DeviceId(0), stream))?;
    let weights = rt.label("weights")?;
    for step in 0..3 {
        rt.mark("step")?;
        let block = rt.malloc_labelled(pool, Bytes::kib(640 << step), stream, weights)?;
        rt.free_async(block, stream)?;
    }
    rt.synchronize_stream(stream)?;
    rt.verify().map_err(|violation| violation.what)?;

    rt.with_sink(|ring| {
        let dump: Vec<u8> = ring.pages().flatten().copied().collect();
        for record in Reader::new(&dump) {
            let mut line = String::new();
            if let Ok(record) = record
                && text::write(&record, &mut line).is_ok()
            {
                println!("{line}");
            }
        }
    });
    Ok(())
}
