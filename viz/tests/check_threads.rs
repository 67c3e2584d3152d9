//! The detector on the log of several threads that share streams, events and a pool that is too small: what is logged when a
//! driver call is over, and what other threads log meanwhile, contradicts nothing.

use std::sync::{Arc, Barrier, Mutex};
use weir::driver::{Driver, Pressure, Relief};
use weir::id::{DeviceId, EventId, PoolId, StreamId};
use weir::policy::{Destroy, PoolConfig};
use weir::sim::{DeviceConfig, Progress, Sim, SimStorage};
use weir::trace::{SinkError, WriterSink};
use weir::units::{Bytes, MIB};
use weir::{Shared, Storage, StreamConfig};
use weir_viz::check::{self, Fault, Told};

const DEVICE: DeviceId = DeviceId(0);

/// The simulated device, at each of whose calls another thread may go on.
struct Late(Sim<'static>);

impl Driver for Late {
    weir::hand_on! { self => { std::thread::yield_now(); &self.0 } }
    fn pressure(&self, pressure: Pressure) -> Relief {
        self.0.pressure(pressure)
    }
}

type Write = Box<dyn FnMut(&[u8]) -> Result<(), SinkError> + Send>;
type Runtime = Shared<'static, Late, WriterSink<Write>>;

/// What the threads share.
struct Common {
    rt: Runtime,
    pool: PoolId,
    streams: [StreamId; 2],
    events: [EventId; 3],
}

fn work(common: &Common, seed: u64, start: &Barrier) {
    let Common { rt, pool, streams, events } = common;
    let mut state = seed;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut live = Vec::new();
    start.wait();
    for _ in 0..1_500 {
        let (stream, event) = (streams[draw(2) as usize], events[draw(3) as usize]);
        match draw(20) {
            0..8 if live.len() < 8 => {
                let size = [700, 5_000, MIB, 3 * MIB][draw(4) as usize];
                live.extend(rt.malloc_async(*pool, Bytes(size), stream).map(|ptr| (ptr, stream)));
            }
            0..14 => {
                if let Some((ptr, stream)) = live.pop() {
                    rt.free_async(ptr, stream).expect("is live");
                }
            }
            14 | 15 => drop(rt.record(event, stream)),
            16 | 17 => drop(rt.wait(stream, event)),
            18 => drop(rt.synchronize_event(event)),
            _ if draw(2) == 0 => drop(rt.trim_to(*pool, Bytes::mib(2))),
            _ => drop(rt.synchronize_stream(stream)),
        }
    }
    live.into_iter().for_each(|(ptr, stream)| rt.free_async(ptr, stream).expect("is live"));
}

/// A log, and how many of its records are lost.
fn log(round: u64) -> (Vec<u8>, u64) {
    let space = Box::leak(Box::new(SimStorage::<1, 16, 700, 32, 60, 4_000, 20_000>::new()));
    let sim = Sim::new(space.arenas(), &[DeviceConfig::new(Bytes::mib(64))], 1).expect("is large enough");
    sim.set_progress(Progress::Immediate);
    let log = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&log);
    let write: Write = Box::new(move |page| {
        kept.lock().expect("no panic").extend_from_slice(page);
        Ok(())
    });
    let space = Box::leak(Box::new(Storage::<16, 16, 32, 4, 2_000, 600, 16, 64>::new()));
    let rt: Runtime = Shared::new(space.arenas(), Late(sim), WriterSink(write));
    let pool = rt.create_pool(PoolConfig { limit: Bytes::mib(24), ..PoolConfig::new(DEVICE) }).expect("a pool");
    let streams = [0, 1].map(|_| {
        let native = rt.driver().0.create_stream(DEVICE).expect("a stream");
        rt.create_stream(StreamConfig::new(DEVICE, native)).expect("a slot")
    });
    let events = [0, 1, 2].map(|_| rt.create_event().expect("an event"));
    let (common, start) = (&Common { rt, pool, streams, events }, &Barrier::new(4));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || work(common, round * 4 + thread, start));
        }
    });
    common.rt.destroy_pool(pool, Destroy::IfEmpty).expect("all is freed");
    common.rt.synchronize_device(DEVICE).expect("all is done");
    common.rt.flush();
    let bytes = log.lock().expect("no panic").clone();
    (bytes, common.rt.counters().records_lost)
}

#[test]
fn what_threads_log_contradicts_nothing() {
    let said_by_the_log = [Fault::NotThere, Fault::OutOfStep, Fault::WrongFigures, Fault::NotHeld];
    let mut whole = 0;
    for round in 0..12 {
        // What is lent to a runtime is made on the stack here.
        let made = std::thread::Builder::new().stack_size(64 << 20).spawn(move || log(round)).expect("a thread");
        let (bytes, lost) = made.join().expect("no panic");
        whole += u64::from(lost == 0);
        let report = check::read("threads", &bytes, Told::Accept).expect("a log");
        let wrong = said_by_the_log.iter().any(|fault| report.by_fault.contains_key(fault));
        assert!(!wrong, "round {round}: {report}");
        assert!(report.mallocs > 1_000, "round {round}: {} mallocs", report.mallocs);
    }
    assert!(whole > 6, "{whole} of 12 logs are whole");
}
