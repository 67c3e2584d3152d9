#![doc = include_str!("format.md")]
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod crc;
mod damage;
mod decode;
mod field;
mod identity;
mod line;
mod log;
mod ordinary;
mod packed;
mod page;
mod reader;
mod record;
mod sink;
mod table;
pub mod text;
mod wire;

pub use damage::{Damage, DamageKind};
pub use decode::{PageView, Pages, Records};
pub use log::{Definitions, Log, LogStamps, Spill};
pub use packed::Packer;
pub use page::{HEADER_BYTES, Header, MAGIC, Page, records_in};
pub use reader::{Form, Reader, sniff};
pub use record::*;
#[cfg(feature = "defmt")]
pub use sink::DefmtSink;
#[cfg(feature = "defmt")]
pub(crate) use sink::format_flags;
pub use sink::{NullSink, RingSink, Sink, SinkError, TextSink, WriterSink};
pub use table::MAX_RECORD_BYTES;

/// Bytes of one page of the binary log.
pub const PAGE_BYTES: usize = 4096;

/// The longest name of a label or mark in bytes.
pub const MAX_NAME: usize = 64;

/// The version of the format that is written. What an older version wrote stays readable.
pub const FORMAT_VERSION: u16 = 1;

/// The version of weir that writes a log: major, minor, patch.
pub const VERSION: (u16, u16, u16) = (0, 1, 0);

/// Counts changes of the rules by which memory is chosen: a log is recomputed by the rules that wrote it.
pub const POLICY: u32 = 5;
