//! A log in memory, and the definitions that its records mention.

use weir::driver::{Capabilities, Properties};
use weir::id::{DeviceId, LabelId, PoolId, StreamId};
use weir::policy::{PoolConfig, StreamKind};
use weir::trace::{Definitions, Log, LogStamps, PAGE_BYTES, Page, Record, Spill};
use weir::units::{Bytes, DevicePtr, Nanos};

/// Definitions by slot, as a runtime holds them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table<'a> {
    pub(crate) definitions: Vec<Record<'a>>,
}

impl<'a> Table<'a> {
    fn find(&self, is: impl Fn(&Record<'a>) -> bool) -> Option<Record<'_>> {
        self.definitions.iter().copied().find(is)
    }
}

impl Definitions for Table<'_> {
    fn device(&self, id: DeviceId) -> Option<Record<'_>> {
        self.find(|record| matches!(record, Record::DeviceDef { device, .. } if *device == id))
    }
    fn stream(&self, id: StreamId) -> Option<Record<'_>> {
        self.find(|record| matches!(record, Record::StreamDef { stream, .. } if *stream == id))
    }
    fn pool(&self, id: PoolId) -> Option<Record<'_>> {
        self.find(|record| matches!(record, Record::PoolDef { pool, .. } if *pool == id))
    }
    fn label(&self, id: LabelId) -> Option<Record<'_>> {
        self.find(|record| matches!(record, Record::LabelDef { label, .. } if *label == id))
    }
}

/// The first tenant of a slot.
pub(crate) fn first(slot: u64) -> u64 {
    1 << 32 | slot
}

pub(crate) fn stream(slot: u64) -> StreamId {
    StreamId::from_raw(first(slot))
}

pub(crate) fn pool(slot: u64) -> PoolId {
    PoolId::from_raw(first(slot))
}

/// One device, two pools, four streams and two labels.
pub(crate) fn small_table() -> Table<'static> {
    let device = DeviceId(0);
    let properties = Properties {
        granularity: Bytes::mib(2),
        alignment: Bytes(512),
        total: Bytes::gib(64),
        capabilities: Capabilities::SPARSE_ADDRESSES,
    };
    let mut definitions = vec![Record::DeviceDef { device, properties }];
    for slot in 0..4 {
        definitions.push(Record::StreamDef { stream: stream(slot), device, kind: StreamKind::NonBlocking });
    }
    for slot in 0..2 {
        definitions.push(Record::PoolDef {
            pool: pool(slot),
            base: DevicePtr(0x7f00_0000_0000 + (slot << 40)),
            range: Bytes::gib(640),
            config: PoolConfig::new(device),
        });
    }
    for (label, name) in [(1, "weights"), (2, "layer 3 backward")] {
        let label = LabelId(label);
        definitions.push(Record::LabelDef { label, name });
    }
    Table { definitions }
}

/// Memory for a log.
pub(crate) struct Room {
    pages: Vec<Page>,
    streams: Vec<u64>,
    pools: Vec<u64>,
    labels: Vec<u64>,
    spill: Spill,
}

impl Room {
    pub(crate) fn new(pages: usize) -> Self {
        Self {
            pages: vec![Page::EMPTY; pages],
            streams: vec![9; 8],
            pools: vec![9; 4],
            labels: vec![9; 4],
            spill: Spill::EMPTY,
        }
    }

    pub(crate) fn log(&mut self) -> Log<'_> {
        let stamps = LogStamps { streams: &mut self.streams, pools: &mut self.pools, labels: &mut self.labels };
        Log::new(&mut self.pages, stamps, &mut self.spill)
    }
}

/// Takes the pages that wait.
pub(crate) fn take(log: &mut Log<'_>, into: &mut Vec<u8>) {
    let mut page = [0; PAGE_BYTES];
    while let Some(length) = log.take_page(&mut page) {
        into.extend(&page[..length]);
    }
}

/// Writes records with ascending numbers as one log; definitions of `table` where they are mentioned.
pub(crate) fn written<'a>(records: impl IntoIterator<Item = (Nanos, Record<'a>)>, table: &impl Definitions) -> Vec<u8> {
    let mut room = Room::new(2);
    let mut log = room.log();
    let mut bytes = Vec::new();
    for (time, record) in records {
        log.append(time, record, table);
        take(&mut log, &mut bytes);
    }
    log.seal();
    take(&mut log, &mut bytes);
    bytes
}
