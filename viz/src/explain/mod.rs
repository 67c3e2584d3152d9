//! Why a malloc got what it got: the candidates that the core saw, why each was passed over, and what little would have
//! changed it.
//!
//! The core recomputes the decision: a runtime is [rebuilt](crate::rebuild) from the log up to the call, asked what it
//! sees, and then makes the call; what it decides is held against what is logged.

mod reason;
mod target;
mod text;
mod untried;
mod verdict;

pub use target::{ExplainError, What, target};
pub use text::{lines, text};
pub use untried::Untried;
pub use verdict::{Kind, Verdict};

use crate::model::{EventIx, Model, Payload};
use crate::progress::{Progress, Unit};
use crate::rebuild::{self, Difference, Looks, NotRecorded, Rebuild};
use crate::scene;
use reason::Reasons;
use weir::error::Point;
use weir::id::{PoolId, StreamId};
use weir::trace::{Record, Source};
use weir::units::Bytes;
use weir::{Arenas, Candidate, Capacities, Outlook};
use weir_heap::HeapArenas;

/// No runtime has more: a log that says so is damaged.
const MOST_STREAMS: usize = 1 << 16;
const MOST_POOLS: usize = 512;
const MOST_BLOCKS: usize = 1 << 24;

/// The call that is explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its record.
    pub event: EventIx,
    /// The allocation's id; `None`: it was refused.
    pub alloc: Option<u64>,
    /// Its pool.
    pub pool: PoolId,
    /// The stream that asked.
    pub stream: StreamId,
    /// Bytes asked for; rounded up where the call was refused for want of memory.
    pub asked: Bytes,
    /// What it got: offset from the pool's base, and size.
    pub got: Option<(Bytes, Bytes)>,
    /// What it relied on.
    pub source: Option<Source>,
}

/// A free block and why it was passed over, or that it was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reasoned {
    /// From the pool's base.
    pub offset: Bytes,
    /// Its size.
    pub size: Bytes,
    /// Whether it is what was taken, or a part of that.
    pub taken: bool,
    /// In words.
    pub reason: String,
}

/// An explained decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The call.
    pub call: Call,
    /// What the core found before it asked or called the driver.
    pub outlook: Outlook,
    /// The free blocks: what was taken first, then those large enough from the closest size on, then the others from the
    /// largest on.
    pub candidates: Vec<Reasoned>,
    /// What the call did on its way: records and their meaning.
    pub steps: Vec<(u64, String)>,
    /// Why nothing cheaper was there, in bytes.
    pub verdict: Verdict,
    /// The least change that would have allowed reuse at no cost, or the call at all.
    pub change: Option<String>,
    /// How many records up to and with the call the core writes again as they are logged.
    pub agreed: u64,
}

/// Explains a decision, in a runtime of the capacities that the log states; see [`bytes`] for what that takes. O(n) in the
/// records up to the call, once or twice: where the log's program looked at its runtime in between, frees were carried out
/// earlier than its calls tell.
///
/// # Errors
/// The log does not hold what it takes, or the core's decisions part from it before or at the call. A call that was refused
/// before anything was looked for is [`ExplainError::Refused`], which says why.
pub fn explain(model: &Model, event: EventIx, progress: &Progress) -> Result<Explanation, ExplainError> {
    if let Some(untried) = Untried::of(model, event).filter(|untried| !untried.is_whole()) {
        return Err(ExplainError::Refused(Box::new(untried)));
    }
    let capacities = rebuild::capacities(model, event)?;
    possible(&capacities)?;
    let mut arenas = HeapArenas::new(capacities);
    match explain_once(model, event, progress, arenas.lend(), Looks::Never) {
        Err(ExplainError::Parted(_)) => explain_once(model, event, progress, arenas.lend(), Looks::Always),
        explained => explained,
    }
}

/// How many bytes of memory an explanation takes beside the model.
///
/// # Errors
/// The log's beginning is not there, or states capacities that no runtime has.
pub fn bytes(model: &Model, event: EventIx) -> Result<u64, ExplainError> {
    possible(&rebuild::capacities(model, event)?)
}

/// How many bytes a runtime of these capacities takes; an error where there is none.
fn possible(capacities: &Capacities) -> Result<u64, ExplainError> {
    let Capacities { streams, pools, blocks, .. } = *capacities;
    let known = streams <= MOST_STREAMS && pools <= MOST_POOLS && blocks < MOST_BLOCKS;
    let bytes = if known { HeapArenas::bytes(*capacities) } else { None };
    bytes.and_then(|bytes| u64::try_from(bytes).ok()).ok_or_else(|| {
        let words = format!("no runtime has {streams} streams, {pools} pools and {blocks} blocks; the log is damaged");
        ExplainError::NotRecorded(NotRecorded(words))
    })
}

fn explain_once(
    model: &Model,
    event: EventIx,
    progress: &Progress,
    arenas: Arenas<'_>,
    looks: Looks,
) -> Result<Explanation, ExplainError> {
    let call = call(model, event).ok_or(ExplainError::NoCall(model.events.number(event)))?;
    let parted = |difference: &Difference| ExplainError::Parted(difference.clone());
    let mut rebuild = Rebuild::new(model, arenas, event, looks)?;
    let task = progress.begin("recomputing", Unit::Records, Some(u64::from(event.0)));
    rebuild.follow_before(event, &task)?;
    drop(task);
    if let Some(difference) = rebuild.difference() {
        return Err(parted(difference));
    }
    let mut seen: Vec<Candidate> = Vec::new();
    let outlook = rebuild.candidates(call.pool, call.asked, call.stream, |candidate| seen.push(candidate));
    rebuild.run_through(event);
    if let Some(difference) = rebuild.difference() {
        return Err(parted(difference));
    }
    let agreed = rebuild.agreed();
    let outlook = outlook.map_err(|error| match Untried::of(model, event) {
        Some(untried) => {
            ExplainError::Refused(Box::new(Untried { why: error.to_string(), agreed: Some(agreed), ..untried }))
        }
        None => ExplainError::NoCall(model.events.number(event)),
    })?;
    let reasons = Reasons::new(model, &call, &outlook, &seen);
    let verdict = Verdict::of(&call, &outlook, &seen);
    Ok(Explanation {
        call,
        outlook,
        verdict,
        change: verdict::change(&reasons, &call, &outlook, &seen, &verdict),
        candidates: reasons.candidates(&seen),
        steps: steps(model, event),
        agreed,
    })
}

impl Explanation {
    /// How far the core agrees, in words.
    fn agreed_words(agreed: u64) -> String {
        format!("the core decides the same; {} records agree", scene::ticks::count(agreed))
    }
}

/// What a record says of a malloc, if it ends one.
fn call(model: &Model, event: EventIx) -> Option<Call> {
    match model.events.payload(event) {
        Payload::Life(life) if model.events.kind(event) == crate::model::Kind::Malloc => {
            let life = model.life(life);
            Some(Call {
                event,
                alloc: Some(life.id.0),
                pool: model.pool(life.pool).id,
                stream: model.stream(life.stream).id,
                asked: life.asked().unwrap_or(life.given),
                got: Some((life.offset, life.given)),
                source: life.source,
            })
        }
        Payload::Other(Record::OutOfMemory { pool, stream, requested, .. }) => {
            Some(Call { event, alloc: None, pool, stream, asked: requested, got: None, source: None })
        }
        Payload::Other(Record::Refused {
            verb: weir::trace::Verb::Malloc,
            pool: Some(pool),
            stream: Some(stream),
            size,
            ..
        }) => Some(Call { event, alloc: None, pool, stream, asked: size, got: None, source: None }),
        _ => None,
    }
}

/// The records between the call before and this one's end, and that one.
fn steps(model: &Model, event: EventIx) -> Vec<(u64, String)> {
    let mut steps = Vec::new();
    for at in target::way_to(model, event) {
        let words = format!("{} {}", model.events.kind(at).name(), scene::headline(model, at));
        steps.push((model.events.number(at), words.trim_end().to_owned()));
    }
    steps
}

/// Where a point is: the stream and its position.
fn place(point: Point) -> (StreamId, u64) {
    (point.stream, point.seq.0)
}
