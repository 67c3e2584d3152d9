//! `latency`: how long a malloc and a free take on a stream's own memory, alone and while another thread grows the pool.

use crate::failure::Failure;
use clap::{ArgMatches, Command};

pub(crate) fn parser() -> Command {
    Command::new("latency")
        .about("Measure malloc and free on a stream's own memory, alone and while another thread grows by 1 GiB")
        .after_help(
            "Example:\n  cargo xtask latency\n\n\
             Runs on the host driver. Whoever needs no driver call waits for none, so the ratio stays near 1 where there \
             is a core for each thread.",
        )
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn run(_: &ArgMatches) -> Result<(), Failure> {
    Err(Failure::Failed("the host driver, whose growth is measured, needs Linux".into()))
}

#[cfg(target_os = "linux")]
pub(crate) fn run(_: &ArgMatches) -> Result<(), Failure> {
    measure::run().map_err(|error| Failure::Failed(error.to_string()))
}

#[cfg(target_os = "linux")]
mod measure {
    use std::error::Error;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};
    use weir::id::{DeviceId, PoolId, StreamId};
    use weir::policy::{PoolConfig, Reuse, StreamKind};
    use weir::trace::NullSink;
    use weir::units::Bytes;
    use weir::{Capacities, Runtime, State, StreamConfig};
    use weir_ffi::host::{HostConfig, HostDriver};
    use weir_ffi::lock::Parking;
    use weir_heap::HeapArenas;

    const DEVICE: DeviceId = DeviceId(0);
    /// What the other thread grows by, again and again.
    const GROWTH: Bytes = Bytes::gib(1);
    const GROWTHS: u32 = 20;
    const BLOCK: Bytes = Bytes::mib(1);
    const PAIRS_ALONE: usize = 200_000;

    type Hosted<'a> = Runtime<'a, HostDriver, NullSink, Parking<State<'a>>>;

    pub(super) fn run() -> Result<(), Box<dyn Error>> {
        let mut arenas = HeapArenas::new(Capacities::default());
        let driver = HostDriver::new(HostConfig::with_total(Bytes::gib(4)))?;
        let runtime: Hosted<'_> = Runtime::new(arenas.lend(), driver, NullSink);
        // Switches 2 and 3 lay markers behind frees: driver calls, which are not what is measured.
        let config = PoolConfig { reuse: Reuse::EVENT, ..PoolConfig::new(DEVICE) };
        let (mine, others) = (runtime.create_pool(config)?, runtime.create_pool(config)?);
        let [stream, busy] = [stream(&runtime)?, stream(&runtime)?];
        pair(&runtime, mine, stream)?;

        let alone = (0..PAIRS_ALONE).map(|_| pair(&runtime, mine, stream)).collect::<Result<Vec<_>, _>>()?;
        let (over, mut beside) = (AtomicBool::new(false), Vec::new());
        let growing = std::thread::scope(|scope| {
            let grower = scope.spawn(|| {
                let took = grow(&runtime, others, busy).map_err(|error| error.to_string());
                over.store(true, Ordering::Release);
                took
            });
            while !over.load(Ordering::Acquire) {
                beside.push(pair(&runtime, mine, stream)?);
            }
            grower.join().map_err(|_| "the thread that grows panicked")?.map_err(Box::<dyn Error>::from)
        })?;
        say!("growing by {} GiB: {:.1} ms each, {GROWTHS} times", GROWTH.0 >> 30, growing.as_secs_f64() * 1e3);
        report(alone, beside);
        Ok(())
    }

    fn stream(runtime: &Hosted<'_>) -> Result<StreamId, Box<dyn Error>> {
        let native = runtime.driver().create_stream(DEVICE, StreamKind::NonBlocking)?;
        Ok(runtime.create_stream(StreamConfig::new(DEVICE, native))?)
    }

    /// One malloc and its free.
    fn pair(runtime: &Hosted<'_>, pool: PoolId, stream: StreamId) -> Result<Duration, Box<dyn Error>> {
        let begun = Instant::now();
        let ptr = runtime.malloc_async(pool, BLOCK, stream)?;
        runtime.free_async(ptr, stream)?;
        Ok(begun.elapsed())
    }

    /// Grows and gives back; how long a growth took.
    fn grow(runtime: &Hosted<'_>, pool: PoolId, stream: StreamId) -> Result<Duration, Box<dyn Error>> {
        let mut took = Duration::ZERO;
        for _ in 0..GROWTHS {
            let begun = Instant::now();
            let ptr = runtime.malloc_async(pool, GROWTH, stream)?;
            took += begun.elapsed();
            runtime.free_async(ptr, stream)?;
            runtime.synchronize_stream(stream)?;
        }
        Ok(took / GROWTHS)
    }

    fn report(mut alone: Vec<Duration>, mut beside: Vec<Duration>) {
        alone.sort_unstable();
        beside.sort_unstable();
        say!("malloc and free of 1 MiB: {} pairs alone, {} while another thread grows", alone.len(), beside.len());
        say!("{:>8} {:>12} {:>12} {:>8}", "", "alone, us", "beside, us", "ratio");
        for (name, share) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)] {
            let [a, b] = [&alone, &beside].map(|sorted| quantile(sorted, share).as_secs_f64() * 1e6);
            say!("{name:>8} {a:>12.2} {b:>12.2} {:>8.2}", b / a);
        }
    }

    fn quantile(sorted: &[Duration], share: f64) -> Duration {
        let last = sorted.len().saturating_sub(1);
        sorted.get((last as f64 * share).round() as usize).copied().unwrap_or_default()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn quantiles_are_measured_values() {
            let sorted: Vec<Duration> = (0..=1000).map(Duration::from_micros).collect();
            assert_eq!(quantile(&sorted, 0.5), Duration::from_micros(500));
            assert_eq!(quantile(&sorted, 0.999), Duration::from_micros(999));
            assert_eq!(quantile(&sorted, 1.0), Duration::from_micros(1000));
            assert_eq!(quantile(&[], 0.5), Duration::ZERO);
        }
    }
}
