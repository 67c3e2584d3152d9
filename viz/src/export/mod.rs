//! A log in the formats of others: what their tools read.
//!
//! What a format has no place for is left out, and said; where a format demands what the log does not record, that is said
//! too.

mod chrome;
mod csv;
mod file;
mod json;
mod ordered;
#[cfg(feature = "parquet")]
mod parquet;
mod pickle;
mod plain;
mod rmm;
mod slices;
mod snapshot;
mod table;
mod waits;

pub use file::{ExportError, file};
pub use table::Rows;

use crate::model::{Death, EventIx, Fact, Kind, Model, Payload, PoolIx, StreamIx};
use crate::source::Opened;
use foldhash::HashMap;
use std::io::{self, Write};
use weir::id::{PoolId, StreamId};
use weir::trace::{Record, Verb};

/// A format to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// weir's own text form.
    Text,
    /// A table as CSV.
    Csv(Rows),
    /// The rows of RAPIDS RMM, as its own replay reads them.
    Rmm,
    /// The same with the rows `record`, `wait`, `sync` and `mark`, as `cargo xtask replay` reads them.
    RmmOrder,
    /// Chrome's trace events (JSON), for Perfetto.
    Chrome,
    /// PyTorch's memory snapshot (pickle).
    Pickle,
    /// A table as Parquet.
    Parquet(Rows),
}

impl Format {
    /// All of them with their names on the command line.
    pub const ALL: [(&'static str, Self); 11] = [
        ("text", Self::Text),
        ("csv", Self::Csv(Rows::Events)),
        ("csv-allocations", Self::Csv(Rows::Allocations)),
        ("csv-decisions", Self::Csv(Rows::Decisions)),
        ("rmm", Self::Rmm),
        ("rmm-order", Self::RmmOrder),
        ("perfetto", Self::Chrome),
        ("pytorch", Self::Pickle),
        ("parquet", Self::Parquet(Rows::Events)),
        ("parquet-allocations", Self::Parquet(Rows::Allocations)),
        ("parquet-decisions", Self::Parquet(Rows::Decisions)),
    ];

    /// The format of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, format)| format)
    }

    /// Whether this build can write it.
    #[must_use]
    pub const fn is_built(self) -> bool {
        !matches!(self, Self::Parquet(_)) || cfg!(feature = "parquet")
    }
}

/// Writes a log, which is `bytes` and was read into `opened`. Answers what a reader of the file should know.
///
/// # Errors
/// Those of `out`; `Unsupported` where this build has no such format.
pub fn write(format: Format, opened: &Opened, bytes: &[u8], out: &mut (impl Write + Send)) -> io::Result<Vec<String>> {
    let model = &opened.model;
    match format {
        Format::Text => plain::write(opened, bytes, out)?,
        Format::Csv(rows) => csv::write(rows, model, bytes, out)?,
        Format::Rmm => rmm::write(model, rmm::Rows::Own, out)?,
        Format::RmmOrder => rmm::write(model, rmm::Rows::WithOrder, out)?,
        Format::Chrome => chrome::write(model, &opened.origin.part, out)?,
        Format::Pickle => snapshot::write(model, &opened.origin.part, out)?,
        Format::Parquet(rows) => parquet_table(rows, model, bytes, out)?,
    }
    out.flush()?;
    Ok(notes(format, opened))
}

#[cfg(feature = "parquet")]
use parquet::write as parquet_table;

#[cfg(not(feature = "parquet"))]
fn parquet_table(_: Rows, _: &Model, _: &[u8], _: &mut impl Write) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this build writes no Parquet: it lacks the feature `parquet`"))
}

/// What the file lacks, or claims without knowing.
fn notes(format: Format, opened: &Opened) -> Vec<String> {
    let model = &opened.model;
    let lacks = |fact| model.unrecorded.has(fact);
    let mut notes = opened.origin.sentence().into_iter().collect::<Vec<_>>();
    let mut note = |when: bool, text: &str| {
        if when {
            notes.push(text.to_owned());
        }
    };
    let placed = matches!(format, Format::Rmm | Format::RmmOrder | Format::Pickle | Format::Chrome);
    note(placed && lacks(Fact::Addresses), "the log has no addresses: those in the file only tell blocks apart");
    let streams = matches!(format, Format::Rmm | Format::RmmOrder | Format::Pickle);
    note(streams && lacks(Fact::Streams), "the log does not say which stream: 0 stands in the file for all");
    note(
        format == Format::Pickle && lacks(Fact::Reserved),
        "the log does not say what is reserved: segments are what blocks touch",
    );
    let rows = matches!(format, Format::Rmm | Format::RmmOrder) && !opened.origin.part.is_empty();
    note(rows, "RMM's rows have no room to say that this is a part of a log");
    note(format == Format::Pickle, "a segment has one stream there; its blocks may be of any");
    let marks = matches!(format, Format::Rmm | Format::Pickle) && !model.marks.is_empty();
    note(marks, "marks are left out");
    note(format == Format::Rmm && model.pools.len() > 1, "RMM's rows know no pools: those of all are one story there");
    let with_pool = model.lives.iter().any(|life| matches!(life.death, Death::Destroyed(_)));
    note(
        with_pool && matches!(format, Format::Rmm | Format::RmmOrder | Format::Pickle | Format::Chrome),
        "blocks that end with their pool are freed there, on their own stream",
    );
    let mut refused =
        (0..model.events.len()).map(EventIx::next_of).filter(|at| model.events.kind(*at) == Kind::Refused);
    let other_refused = refused.any(
        |at| matches!(model.events.payload(at), Payload::Other(Record::Refused { verb, .. }) if verb != Verb::Malloc),
    );
    note(
        other_refused && matches!(format, Format::Rmm | Format::RmmOrder | Format::Pickle),
        "refused calls other than mallocs are left out",
    );
    let live = model.lives.iter().any(|life| life.born().is_none());
    note(
        live && !matches!(format, Format::Text | Format::Csv(Rows::Events) | Format::Parquet(Rows::Events)),
        "blocks from before the log are there without their malloc",
    );
    notes
}

/// Where a pool's offsets count from.
fn base(model: &Model, pool: PoolIx) -> u64 {
    model.pool(pool).definition.map_or(0, |definition| definition.base.0)
}

/// The device of a pool.
fn device(model: &Model, pool: PoolIx) -> u32 {
    model.pool(pool).definition.map_or(0, |definition| definition.config.device.0)
}

/// The model's pools by their ids: of several of one id, as where a log begins again, the first.
fn pools_by_id(model: &Model) -> HashMap<PoolId, PoolIx> {
    // From the last on, so that the first one stays.
    model.pools.iter().enumerate().rev().map(|(at, pool)| (pool.id, PoolIx::next_of(at))).collect()
}

/// The places of the model's streams by their ids, as of pools.
fn streams_by_id(model: &Model) -> HashMap<StreamId, StreamIx> {
    model.streams.iter().enumerate().rev().map(|(at, stream)| (stream.id, StreamIx::next_of(at))).collect()
}

/// A refused malloc: its pool, stream and size.
fn refused(record: &Record<'_>) -> Option<(Option<PoolId>, Option<StreamId>, u64)> {
    match *record {
        Record::OutOfMemory { pool, stream, requested, .. } => Some((Some(pool), Some(stream), requested.0)),
        Record::Refused { verb: Verb::Malloc, pool, stream, size, .. } => Some((pool, stream, size.0)),
        _ => None,
    }
}
