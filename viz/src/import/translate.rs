//! A recording as an event log in weir's text form: what everything that reads logs can show, check and export.
//!
//! What the recording lacks is named in a comment (see [`Origin`](crate::origin::Origin)). The fields of records cannot
//! be left out; they hold what claims least there: no points, no order, and offsets that nothing else has.

use super::recording::{Happening, Recording, What};
use super::row::StreamKey;
use crate::model::Fact;
use crate::origin::{Origin, more_damaged};
use std::collections::{BTreeMap, HashMap, HashSet};
use weir::driver::{Capabilities, DriverCall, DriverError, DriverErrorKind, Properties};
use weir::id::{AllocId, DeviceId, EventId, LabelId, PoolId, StreamId};
use weir::policy::{Attribute, PoolConfig, Reuse, StreamKind};
use weir::trace::{MAX_NAME, MapReason, Points, Record, Refusal, Source, Stamped, UnmapReason, Verb, text};
use weir::units::{Bytes, DevicePtr, Nanos, Seq};

/// The granule where nothing says what it is.
const GRANULE: u64 = 2 << 20;
/// The first generation of an id.
const FIRST: u64 = 1 << 32;

/// The recording as a log.
pub(super) fn translate(recording: &Recording) -> Vec<u8> {
    let mut out = Translator::new(recording);
    for happening in &recording.happenings {
        out.happening(happening);
    }
    out.finish(recording)
}

/// The addresses of one device's pool.
#[derive(Clone, Copy)]
struct Extent {
    base: u64,
    end: u64,
    granule: u64,
    /// Where the next block goes whose address is not recorded.
    next: u64,
}

impl Extent {
    const NONE: Self = Self { base: u64::MAX, end: 0, granule: GRANULE, next: 0 };

    fn cover(&mut self, address: u64, bytes: u64) {
        self.base = self.base.min(address);
        self.end = self.end.max(address.saturating_add(bytes));
    }

    /// The largest power of two that all mappings are multiples of.
    fn align(&mut self, address: u64, bytes: u64) {
        self.granule = 1 << (self.granule | address | bytes).trailing_zeros();
    }

    fn offset(&self, address: u64) -> u64 {
        address.saturating_sub(self.base)
    }
}

#[derive(Clone, Copy)]
struct Live {
    id: AllocId,
    offset: u64,
    given: u64,
}

#[derive(Default)]
struct Translator {
    lines: String,
    number: u64,
    time: u64,
    pools: BTreeMap<u32, Extent>,
    streams: HashMap<(u32, u64), usize>,
    seqs: Vec<u64>,
    live: HashMap<(u32, u64), Live>,
    /// What was freed, until its place is allocated again.
    freed: HashMap<(u32, u64), Live>,
    allocations: u64,
    /// Pools that are destroyed: what is freed there ended with them.
    ended: HashSet<u32>,
    labels: HashMap<String, LabelId>,
    /// As the recording has them.
    devices: BTreeMap<u32, u32>,
    /// Each event's number, and how often it was recorded.
    events: HashMap<u64, (u64, u64)>,
    nothing: u64,
    early: u64,
    unknown_frees: u64,
}

impl Translator {
    fn new(recording: &Recording) -> Self {
        let mut out = Self { devices: recording.devices.clone(), ..Self::default() };
        for happening in recording.happenings.iter().filter(|happening| happening.has_pool()) {
            let extent = out.pools.entry(happening.device).or_insert(Extent::NONE);
            match happening.what {
                What::Allocate { address: Some(address), asked, given, .. } => {
                    extent.cover(address, given.unwrap_or(asked));
                }
                What::Map { address, bytes } | What::Unmap { address, bytes } => {
                    extent.cover(address, bytes);
                    extent.align(address, bytes);
                }
                _ => {}
            }
        }
        out.share_granules();
        for extent in out.pools.values_mut() {
            extent.base = if extent.base == u64::MAX { 0 } else { extent.base - extent.base % extent.granule };
            extent.next = extent.end.saturating_sub(extent.base);
        }
        out.time = recording.happenings.iter().find_map(|happening| happening.time).unwrap_or(0);
        out.define(recording);
        out
    }

    /// The pools of a device have granules of one size.
    fn share_granules(&mut self) {
        let mut least = BTreeMap::<u32, u64>::new();
        for (pool, extent) in &self.pools {
            let granule = least.entry(self.device(*pool)).or_insert(extent.granule);
            *granule = extent.granule.min(*granule);
        }
        let devices = &self.devices;
        for (pool, extent) in &mut self.pools {
            extent.granule = least[&devices.get(pool).copied().unwrap_or(*pool)];
        }
    }

    /// The device of a pool.
    fn device(&self, pool: u32) -> u32 {
        self.devices.get(&pool).copied().unwrap_or(pool)
    }

    /// Devices and pools. They stand before the first record.
    fn define(&mut self, recording: &Recording) {
        let unknown = |extent: &Extent| extent.end.saturating_sub(extent.base).max(1);
        let placeless = recording.happenings.iter().fold(BTreeMap::<u32, u64>::new(), |mut sums, happening| {
            if let What::Allocate { address: None, asked, given, .. } = happening.what {
                let sum = sums.entry(happening.device).or_default();
                *sum = sum.saturating_add(given.unwrap_or(asked));
            }
            sums
        });
        let granules = self.pools.iter().map(|(pool, extent)| (recording.device(*pool), extent.granule));
        for (device, granule) in granules.collect::<BTreeMap<_, _>>() {
            let properties = Properties {
                granularity: Bytes(granule),
                alignment: Bytes(1),
                total: Bytes::ZERO,
                capabilities: Capabilities::empty(),
            };
            self.put(Record::DeviceDef { device: DeviceId(device), properties });
        }
        for (number, extent) in self.pools.clone() {
            let range = unknown(&extent).saturating_add(placeless.get(&number).copied().unwrap_or(0));
            let device = DeviceId(recording.device(number));
            let config = PoolConfig { reuse: Reuse::empty(), ..PoolConfig::new(device) };
            let (pool, base) = (pool(number), DevicePtr(extent.base));
            self.put(Record::PoolDef { pool, base, range: Bytes(range), config });
        }
    }

    fn put(&mut self, record: Record<'_>) {
        let stamped = Stamped { number: self.number, time: Nanos(self.time), record };
        // Writing to a string cannot fail.
        let _ = text::write(&stamped, &mut self.lines);
        self.lines.push('\n');
        self.number += u64::from(!record.is_definition());
    }

    fn happening(&mut self, happening: &Happening) {
        if let Some(time) = happening.time {
            self.early += u64::from(time < self.time);
            self.time = self.time.max(time);
        }
        let (device, pool) = (happening.device, pool(happening.device));
        match &happening.what {
            What::Allocate { .. } => self.allocate(happening),
            What::Free { block, size } => self.free(happening, *block, *size),
            What::Refused { bytes } => self.refused(happening, *bytes),
            What::Map { address, bytes } => {
                let (offset, granules) = self.granules(device, *address, *bytes);
                self.put(Record::Mapped { pool, offset, granules, reason: MapReason::Grow });
            }
            What::Unmap { address, bytes } => {
                let (offset, granules) = self.granules(device, *address, *bytes);
                self.put(Record::Unmapped { pool, offset, granules, reason: UnmapReason::Trim });
            }
            What::Record { event } => {
                let (stream, seq) = self.step(happening);
                let count = self.event(*event);
                count.1 += 1;
                let (event, number) = (event_id(count.0), count.1);
                self.put(Record::Recorded { event, stream, seq, number });
            }
            What::Wait { event } => {
                let (stream, seq) = self.step(happening);
                let count = *self.event(*event);
                self.put(Record::Waited { stream, seq, event: event_id(count.0), number: count.1 });
            }
            What::Sync => self.sync(happening),
            What::Mark { name } => self.mark(name.as_deref().unwrap_or_default()),
            What::Sums { used, reserved } => {
                let stated = [(Attribute::UsedMemCurrent, used), (Attribute::ReservedMemCurrent, reserved)];
                for (attribute, value) in stated {
                    if let Some(value) = *value {
                        self.put(Record::AttributeSet { pool, attribute, value });
                    }
                }
            }
            What::Threshold { bytes } => {
                let attribute = Attribute::ReleaseThreshold;
                self.put(Record::AttributeSet { pool, attribute, value: *bytes });
            }
            What::Trim { keep, reserved, used } => self.put(Record::Trimmed {
                pool,
                target: Bytes(*keep),
                reached: Bytes(*reserved),
                live: Bytes(*used),
                pending: Bytes::ZERO,
                partial: Bytes::ZERO,
            }),
            What::PoolEnds => self.end_pool(device),
            What::Nothing => self.nothing += 1,
        }
    }

    /// The first end of a pool counts; each of its blocks may tell of it.
    fn end_pool(&mut self, number: u32) {
        if !self.ended.insert(number) {
            return;
        }
        let mut leaked = 0_u64;
        self.live.retain(|(pool, _), live| {
            leaked = leaked.saturating_add(if *pool == number { live.given } else { 0 });
            *pool != number
        });
        self.put(Record::PoolDestroyed { pool: pool(number), leaked: Bytes(leaked) });
    }

    fn allocate(&mut self, happening: &Happening) {
        let What::Allocate { block, address, asked, given, label } = &happening.what else { return };
        let bytes = given.unwrap_or(*asked);
        if bytes == 0 {
            self.nothing += 1;
            return;
        }
        let label = label.as_deref().map_or(LabelId::NONE, |name| self.label(name));
        let extent = self.pools.entry(happening.device).or_insert(Extent::NONE);
        let offset = match address {
            Some(address) => extent.offset(*address),
            None => {
                let offset = extent.next;
                extent.next = extent.next.saturating_add(bytes);
                offset
            }
        };
        self.allocations += 1;
        let live = Live { id: AllocId(self.allocations), offset, given: bytes };
        self.live.insert((happening.device, *block), live);
        self.freed.remove(&(happening.device, *block));
        let (stream, seq) = self.step(happening);
        self.put(Record::Malloc {
            pool: pool(happening.device),
            stream,
            seq,
            id: live.id,
            asked: Bytes(*asked),
            given: Bytes(bytes),
            offset: Bytes(offset),
            source: Source::Grow,
            label,
            points: Points::default(),
        });
    }

    fn free(&mut self, happening: &Happening, block: u64, size: Option<u64>) {
        if self.ended.contains(&happening.device) {
            return;
        }
        let place = (happening.device, block);
        let known = self.live.remove(&place);
        if let Some(live) = known {
            self.freed.insert(place, live);
        }
        if let (None, Some(live)) = (known, self.freed.get(&place).copied()) {
            return self.freed_again(happening, live);
        }
        let live = match (known, size) {
            (Some(live), _) => live,
            // Allocated before the recording began: all that is known is in its free.
            (None, Some(bytes)) if bytes > 0 && block >= self.pools[&happening.device].base => {
                self.allocations += 1;
                self.unknown_frees += 1;
                let offset = self.pools[&happening.device].offset(block);
                Live { id: AllocId(self.allocations), offset, given: bytes }
            }
            (None, Some(0)) => {
                self.nothing += 1;
                return;
            }
            (None, _) => {
                self.unknown_frees += 1;
                return;
            }
        };
        let (stream, seq) = self.step(happening);
        let (offset, given) = (Bytes(live.offset), Bytes(live.given));
        self.put(Record::Free { pool: pool(happening.device), stream, seq, id: live.id, offset, given });
    }

    /// Nothing was allocated there since. weir would have refused it, and says so in these words.
    fn freed_again(&mut self, happening: &Happening, live: Live) {
        let stream = self.stream(happening);
        let base = self.pools.get(&happening.device).map_or(0, |extent| extent.base);
        self.put(Record::Refused {
            verb: Verb::Free,
            pool: Some(pool(happening.device)),
            stream: Some(stream),
            size: Bytes::ZERO,
            reason: Refusal::AlreadyFree(DevicePtr(base.saturating_add(live.offset)), None),
        });
    }

    fn refused(&mut self, happening: &Happening, bytes: u64) {
        let stream = self.stream(happening);
        let error = DriverError { call: DriverCall::Create, code: 0, kind: DriverErrorKind::Exhausted };
        self.put(Record::Refused {
            verb: Verb::Malloc,
            pool: Some(pool(happening.device)),
            stream: Some(stream),
            size: Bytes(bytes),
            reason: Refusal::Driver(error),
        });
    }

    fn sync(&mut self, happening: &Happening) {
        if happening.stream == StreamKey::Device {
            self.put(Record::DeviceSynchronized { device: DeviceId(self.device(happening.device)) });
            return;
        }
        let (stream, seq) = self.step(happening);
        self.put(Record::StreamSynchronized { stream, seq });
    }

    fn mark(&mut self, name: &str) {
        let name = if name.is_empty() { "mark" } else { name };
        self.put(Record::Mark { label: LabelId::NONE, name: short(name) });
    }

    fn granules(&self, device: u32, address: u64, bytes: u64) -> (Bytes, u32) {
        let extent = self.pools.get(&device).copied().unwrap_or(Extent::NONE);
        (Bytes(extent.offset(address)), u32::try_from(bytes / extent.granule).unwrap_or(u32::MAX))
    }

    fn label(&mut self, name: &str) -> LabelId {
        let name = short(name);
        if name.is_empty() {
            return LabelId::NONE;
        }
        if let Some(known) = self.labels.get(name) {
            return *known;
        }
        let label = LabelId(u32::try_from(self.labels.len() + 1).unwrap_or(u32::MAX));
        self.labels.insert(name.to_owned(), label);
        self.put(Record::LabelDef { label, name });
        label
    }

    fn event(&mut self, event: u64) -> &mut (u64, u64) {
        let next = self.events.len() as u64;
        self.events.entry(event).or_insert((next, 0))
    }

    /// The stream, defined where it is new.
    fn stream(&mut self, happening: &Happening) -> StreamId {
        let device = self.device(happening.device);
        let key = match happening.stream {
            StreamKey::One(key) => key,
            StreamKey::Device => 0,
        };
        let next = self.streams.len();
        let place = *self.streams.entry((device, key)).or_insert(next);
        let stream = StreamId::from_raw(FIRST | place as u64);
        if place == next {
            self.seqs.push(0);
            let (device, kind) = (DeviceId(device), StreamKind::NonBlocking);
            self.put(Record::StreamDef { stream, device, kind });
        }
        stream
    }

    /// The stream, and the next position on it: the calls that are recorded are counted.
    fn step(&mut self, happening: &Happening) -> (StreamId, Seq) {
        let stream = self.stream(happening);
        let place = (stream.raw() - FIRST) as usize;
        let seq = self.seqs.get_mut(place).map_or(0, |seq| {
            *seq += 1;
            *seq
        });
        (stream, Seq(seq))
    }

    fn finish(self, recording: &Recording) -> Vec<u8> {
        let mut notes = recording.notes.clone();
        let mut note = |count: u64, what: &str| {
            if count > 0 {
                notes.push(format!("{count} {what}"));
            }
        };
        note(self.nothing, "allocations and frees of zero bytes are left out");
        note(self.unknown_frees, "blocks are freed whose allocation is not in the file");
        note(self.early, "events stand behind later ones; their time is taken to be the same");
        let mut keys: Vec<_> = self.streams.into_iter().collect();
        keys.sort_by_key(|(_, place)| *place);
        if !recording.unrecorded.has(Fact::Streams) {
            let names = keys.iter().filter(|((_, key), place)| *key != *place as u64).take(64);
            let names = names.map(|((device, key), place)| format!("stream {place} is {key:#x} of device {device}"));
            notes.extend(names);
        }
        let mut damages = recording.damages.clone();
        if recording.more > 0 {
            damages.push(more_damaged(recording.more));
        }
        let origin = Origin {
            format: recording.format.to_owned(),
            unrecorded: recording.unrecorded,
            part: recording.part.clone(),
            notes,
            damages,
        };
        format!("{}\n{origin}{}", text::HEADER, self.lines).into_bytes()
    }
}

const fn pool(device: u32) -> PoolId {
    PoolId::from_raw(FIRST | device as u64)
}

const fn event_id(number: u64) -> EventId {
    EventId::from_raw(FIRST | number)
}

/// A name that the log has room for.
fn short(name: &str) -> &str {
    let mut end = name.len().min(MAX_NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.get(..end).unwrap_or_default()
}
