//! Pairs per second on several threads, and what a thread feels of another one that grows.
//!
//! Pools follow events only: switches 2 and 3 lay markers behind frees where there are several streams, which are driver
//! calls and not what is measured.

use crate::idle::{DEVICE, Idle};
use crate::pool::text;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use weir::driver::NativeStream;
use weir::id::{PoolId, StreamId};
use weir::policy::{PoolConfig, Reuse};
use weir::trace::NullSink;
use weir::units::Bytes;
use weir::{Arenas, Capacities, Lock, Runtime, Shared, State, StreamConfig};
use weir_ffi::arenas::HeapArenas;
use weir_ffi::lock::Parking;

/// What a thread allocates and frees.
const BLOCK: Bytes = Bytes::mib(1);

/// Pairs between two looks at whether time is up.
const BATCH: u64 = 64;

/// What the other thread grows by, again and again.
const GROWTH: Bytes = Bytes::gib(1);

/// Numbers of threads.
pub const THREADS: [usize; 4] = [1, 2, 4, 8];

/// What threads have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Nothing: each has a runtime of its own.
    Nothing,
    /// The runtime; each has a pool of its own.
    Runtime,
    /// One pool.
    Pool,
}

/// How a thread waits for the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// It parks, as in hosted programs.
    Parking,
    /// It spins, as in firmware.
    Spinning,
}

type Rt<L> = Runtime<'static, Idle, NullSink, L>;

/// Pairs per second of `threads` threads together, each on a stream of its own.
///
/// # Errors
/// The runtime refused something.
pub fn rate(threads: usize, share: Share, waits: Waits, time: Duration) -> Result<f64, String> {
    match waits {
        Waits::Parking => pairs(threads, share, time, parking),
        Waits::Spinning => pairs(threads, share, time, |arenas| Shared::new(arenas, Idle::default(), NullSink)),
    }
}

fn parking(arenas: Arenas<'static>) -> Rt<Parking<State<'static>>> {
    Runtime::new(arenas, Idle::default(), NullSink)
}

/// Arenas that stay for the rest of the program.
fn arenas() -> Arenas<'static> {
    let some = Capacities { events: 16, markers: 16, blocks: 4096, granules: 2048, pages: 0, ..Capacities::default() };
    Box::leak(Box::new(HeapArenas::new(some))).lend()
}

/// What one thread works on.
struct Place<'r, L> {
    runtime: &'r Rt<L>,
    pool: PoolId,
    stream: StreamId,
}

impl<L: Lock<State<'static>>> Place<'_, L> {
    fn pair(&self) -> Result<(), String> {
        let block = self.runtime.malloc_async(self.pool, BLOCK, self.stream).map_err(text)?;
        self.runtime.free_async(block, self.stream).map_err(text)
    }
}

fn pool<L: Lock<State<'static>>>(runtime: &Rt<L>) -> Result<PoolId, String> {
    let config = PoolConfig { limit: Bytes::gib(2), reuse: Reuse::EVENT, ..PoolConfig::new(DEVICE) };
    runtime.create_pool(config).map_err(text)
}

fn stream<L: Lock<State<'static>>>(runtime: &Rt<L>, number: usize) -> Result<StreamId, String> {
    runtime.create_stream(StreamConfig::new(DEVICE, NativeStream(number as u64 + 1))).map_err(text)
}

fn pairs<L: Lock<State<'static>> + Sync>(
    threads: usize,
    share: Share,
    time: Duration,
    make: impl Fn(Arenas<'static>) -> Rt<L>,
) -> Result<f64, String> {
    let runtimes: Vec<Rt<L>> = match share {
        Share::Nothing => (0..threads).map(|_| make(arenas())).collect(),
        Share::Runtime | Share::Pool => vec![make(arenas())],
    };
    let mut common = None;
    let mut places = Vec::new();
    for number in 0..threads {
        let runtime = runtimes.get(number).or(runtimes.first()).ok_or("no runtime")?;
        let pool = match (share, common) {
            (Share::Pool, Some(pool)) => pool,
            _ => pool(runtime)?,
        };
        common = Some(pool);
        let place = Place { runtime, pool, stream: stream(runtime, number)? };
        place.pair()?;
        places.push(place);
    }
    let (over, begin) = (AtomicBool::new(false), Barrier::new(threads + 1));
    let work = |place: Place<'_, L>| {
        begin.wait();
        let mut done = 0;
        while !over.load(Ordering::Relaxed) {
            for _ in 0..BATCH {
                place.pair()?;
            }
            done += BATCH;
        }
        Ok(done)
    };
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = places.into_iter().map(|place| scope.spawn(move || work(place))).collect();
        begin.wait();
        let begun = Instant::now();
        std::thread::sleep(time);
        over.store(true, Ordering::Relaxed);
        let mut done = 0;
        for thread in threads {
            let worked: Result<u64, String> = thread.join().map_err(|_| "a thread panicked")?;
            done += worked?;
        }
        Ok(done as f64 / begun.elapsed().as_secs_f64())
    })
}

/// How long mallocs took, sorted.
#[derive(Clone, Debug, Default)]
pub struct Times(Vec<Duration>);

impl Times {
    /// The time that this share of the mallocs did not exceed.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Duration {
        let last = self.0.len().saturating_sub(1);
        self.0.get((last as f64 * share).round() as usize).copied().unwrap_or_default()
    }
}

/// Mallocs of one thread: alone, and while another one grows by a gibibyte again and again, in a pool of its own or in
/// the same one.
///
/// # Errors
/// The runtime refused something.
pub fn beside_growth(share: Share, growths: usize) -> Result<[Times; 2], String> {
    let runtime = parking(arenas());
    let mine = Place { runtime: &runtime, pool: pool(&runtime)?, stream: stream(&runtime, 0)? };
    let other = match share {
        Share::Pool => mine.pool,
        Share::Nothing | Share::Runtime => pool(&runtime)?,
    };
    let busy = Place { runtime: &runtime, pool: other, stream: stream(&runtime, 1)? };
    mine.pair()?;
    let mut alone = (0..100_000).map(|_| timed(&mine)).collect::<Result<Vec<_>, _>>()?;
    let (over, mut beside) = (AtomicBool::new(false), Vec::new());
    std::thread::scope(|scope| {
        let grower = scope.spawn(|| {
            let outcome = (0..growths).try_for_each(|_| grow(&busy));
            over.store(true, Ordering::Release);
            outcome
        });
        loop {
            beside.push(timed(&mine)?);
            if over.load(Ordering::Acquire) {
                break;
            }
        }
        grower.join().map_err(|_| "the thread that grows panicked".to_owned())?
    })?;
    alone.sort_unstable();
    beside.sort_unstable();
    Ok([Times(alone), Times(beside)])
}

/// How long a malloc took; its block is freed again.
fn timed<L: Lock<State<'static>>>(place: &Place<'_, L>) -> Result<Duration, String> {
    let begun = Instant::now();
    let block = place.runtime.malloc_async(place.pool, BLOCK, place.stream).map_err(text)?;
    let took = begun.elapsed();
    place.runtime.free_async(block, place.stream).map_err(text)?;
    Ok(took)
}

/// Grows and gives it back.
fn grow<L: Lock<State<'static>>>(place: &Place<'_, L>) -> Result<(), String> {
    let block = place.runtime.malloc_async(place.pool, GROWTH, place.stream).map_err(text)?;
    place.runtime.free_async(block, place.stream).map_err(text)?;
    place.runtime.synchronize_stream(place.stream).map_err(text)?;
    place.runtime.trim_to(place.pool, Bytes::ZERO).map(|_| ()).map_err(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_work_whatever_they_share() {
        for share in [Share::Nothing, Share::Runtime, Share::Pool] {
            for waits in [Waits::Parking, Waits::Spinning] {
                let rate = rate(2, share, waits, Duration::from_millis(5)).expect("nothing is refused");
                assert!(rate > 0.0, "{share:?} {waits:?}");
            }
        }
    }

    #[test]
    fn quantiles_are_measured_values() {
        let times = Times((0..=1000).map(Duration::from_micros).collect());
        assert_eq!(times.quantile(0.5), Duration::from_micros(500));
        assert_eq!(times.quantile(0.999), Duration::from_micros(999));
        assert_eq!(Times::default().quantile(0.5), Duration::ZERO);
        let [alone, beside] = beside_growth(Share::Pool, 1).expect("nothing is refused");
        assert!(alone.quantile(1.0) > Duration::ZERO && !beside.0.is_empty());
    }
}
