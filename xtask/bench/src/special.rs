//! What only weir does: reuse along events, order between streams, and the log.

use crate::calls::{counted_malloc, counted_record, counted_wait};
use crate::churn::{Churn, Pair, room};
use crate::idle::Idle;
use crate::pool::{Pool, Setting, Weir};
use crate::profile;
use crate::random::Random;
use weir::trace::{NullSink, Sink, SinkError, Source, records_in};

/// A measurement: a name, and what does it and says of how many calls, or records, that was.
pub struct Special {
    /// The name on the command line.
    pub name: &'static str,
    /// Does it with this much effort: [`FULL`], or less in tests.
    pub run: fn(usize) -> Result<usize, String>,
}

/// As much effort as figures need that are compared.
pub const FULL: usize = 100;

/// All of them.
pub const ALL: [Special; 5] = [
    Special { name: "malloc_event", run: malloc_event },
    Special { name: "record", run: record },
    Special { name: "wait", run: wait },
    Special { name: "logged", run: logged },
    Special { name: "unlogged", run: unlogged },
];

/// Streams that exist.
const STREAMS: usize = 64;

/// Streams that take part beside the first: numbers 1 to 8, each with the event of its number.
const ACTIVE: usize = 8;

fn pool(blocks: usize, bytes: u64) -> Result<Pool, String> {
    let pool = Pool::new(Setting::new(blocks, bytes).streams(STREAMS, 2 * ACTIVE), NullSink)?;
    pool.grow(bytes)?;
    Ok(pool)
}

/// The first stream allocates from what the others freed before events that it waited for. As many blocks again were
/// freed by the same streams after that, which it must not have.
fn malloc_event(effort: usize) -> Result<usize, String> {
    let old = 10 * effort;
    let (blocks, mallocs) = (4 * old, old / 2);
    let pool = pool(blocks, room(blocks + mallocs))?;
    let mut random = Random::new(7);
    let all = (0..blocks).map(|_| pool.malloc(random.size(), 0)).collect::<Result<Vec<_>, _>>()?;
    // Every second block stays, so that none of the free ones is another's neighbour.
    let free: Vec<_> = all.iter().skip(1).step_by(2).enumerate().map(|(n, block)| (1 + n % ACTIVE, *block)).collect();
    let (before, after) = free.split_at(old);
    before.iter().try_for_each(|(stream, block)| pool.free(*block, *stream))?;
    for stream in 1..=ACTIVE {
        pool.record(stream, stream)?;
        pool.wait(0, stream)?;
    }
    after.iter().try_for_each(|(stream, block)| pool.free(*block, *stream))?;
    let first = pool.stream(0)?;
    profile::begin();
    for _ in 0..mallocs {
        counted_malloc(&pool, random.size(), first)?;
    }
    let stats = pool.runtime.stats(pool.pool).map_err(crate::pool::text)?;
    let by_events = stats.by_source.get(Source::Event as usize).copied().unwrap_or(0);
    if (by_events as usize) < mallocs * 9 / 10 {
        return Err(format!("only {by_events} of {mallocs} mallocs took what an event released"));
    }
    Ok(mallocs)
}

/// The first stream comes after eight others, and records.
fn record(effort: usize) -> Result<usize, String> {
    let pool = pool(64, 64 << 20)?;
    let (event, first) = (pool.event(0)?, pool.stream(0)?);
    let turn = |n: usize| {
        let stream = 1 + n % ACTIVE;
        pool.record(stream, stream)?;
        pool.wait(0, stream)
    };
    (0..ACTIVE).try_for_each(turn)?;
    profile::begin();
    for n in 0..10 * effort {
        turn(n)?;
        counted_record(&pool, event, first)?;
    }
    Ok(10 * effort)
}

/// The first stream waits for events of others, each of which comes after all eight.
fn wait(effort: usize) -> Result<usize, String> {
    let pool = pool(64, 64 << 20)?;
    let first = pool.stream(0)?;
    let turn = |n: usize| {
        let (stream, next) = (1 + n % ACTIVE, 1 + (n + 1) % ACTIVE);
        pool.wait(stream, next)?;
        pool.record(stream, stream)?;
        pool.event(stream)
    };
    // Each knows of all others after two turns.
    for n in 0..2 * ACTIVE {
        turn(n)?;
    }
    profile::begin();
    for n in 0..10 * effort {
        let event = turn(n)?;
        counted_wait(&pool, first, event)?;
    }
    Ok(10 * effort)
}

/// A sink that counts records.
#[derive(Default)]
struct Counting(u64);

impl Sink for Counting {
    fn page(&mut self, page: &[u8]) -> Result<(), SinkError> {
        self.0 += records_in(page);
        Ok(())
    }
}

/// Nanoseconds from one look at the clock to the next.
const TICK: u64 = 137;

/// Churn with a log. What the same churn takes without one is [`unlogged`].
fn logged(effort: usize) -> Result<usize, String> {
    churn(16, effort)
}

fn unlogged(effort: usize) -> Result<usize, String> {
    churn(0, effort)
}

/// How many records were written, or how many pairs were done where there is no log.
fn churn(pages: usize, effort: usize) -> Result<usize, String> {
    let (live, pairs) = (10 * effort, 200 * effort);
    let bytes = room(live);
    let mut setting = Setting::new(2 * live, bytes);
    setting.capacities.pages = pages;
    setting.device = Idle::ticking(TICK);
    let pool = Pool::new(setting, Counting::default())?;
    pool.grow(bytes)?;
    let mut churn = Churn::new(Weir::new(pool)?, live, 1)?;
    churn.warm(pairs)?;
    let plan: Vec<Pair> = churn.plan(pairs);
    let written = |churn: &Churn<Weir<Counting>>| churn.allocator().pool.runtime.with_sink(|sink| sink.0);
    let before = written(&churn);
    profile::begin();
    churn.count(&plan)?;
    let records = (written(&churn) - before) as usize;
    Ok(if pages == 0 { pairs } else { records })
}
