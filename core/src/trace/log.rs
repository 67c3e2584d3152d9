//! The writer: turns records into pages, in the memory that it was lent.

use super::field::{Field, Mention};
use super::ordinary::{Known, ROOM, is_ordinary, write_ordinary};
use super::page::{HEADER_BYTES, Header, Page, copy, records_in};
use super::wire::{Context, Out, WINDOW, Writer};
use super::{MAX_RECORD_BYTES, PAGE_BYTES, Record};
use crate::id::{DeviceId, LabelId, PoolId, StreamId};
use crate::units::Nanos;

/// The most definitions that one record can need: its stream and those of three points, its pool, its label, and the
/// device of each stream and pool.
const MAX_DEFINITIONS: usize = 4 + 1 + 1 + 5;

// A record and its definitions, and a note of losses before them, always fit an empty page.
const _: () = assert!(HEADER_BYTES + (MAX_DEFINITIONS + 2) * MAX_RECORD_BYTES <= PAGE_BYTES);

/// The length of the open page where there is none: whatever asks for room finds none.
const NONE_OPEN: usize = usize::MAX;

/// How many devices a page remembers; those of a higher ordinal are defined again before each definition that names
/// them.
const DEVICES: usize = 16;

/// What the log asks for when a record mentions something that the page does not define yet. `None`: nobody knows it
/// any more; the record is written without.
pub trait Definitions {
    /// The [`Record::DeviceDef`] of a device.
    fn device(&self, device: DeviceId) -> Option<Record<'_>>;
    /// The [`Record::StreamDef`] of a stream.
    fn stream(&self, stream: StreamId) -> Option<Record<'_>>;
    /// The [`Record::PoolDef`] of a pool.
    fn pool(&self, pool: PoolId) -> Option<Record<'_>>;
    /// The [`Record::LabelDef`] of a label.
    fn label(&self, label: LabelId) -> Option<Record<'_>>;
}

/// No definitions at all.
impl Definitions for () {
    fn device(&self, _: DeviceId) -> Option<Record<'_>> {
        None
    }
    fn stream(&self, _: StreamId) -> Option<Record<'_>> {
        None
    }
    fn pool(&self, _: PoolId) -> Option<Record<'_>> {
        None
    }
    fn label(&self, _: LabelId) -> Option<Record<'_>> {
        None
    }
}

/// In which page each definition was written last: one number for each slot of the arenas, 0 for never. Slots beyond
/// them are not remembered: their definition is written before every record that mentions them.
#[derive(Debug, Default)]
pub struct LogStamps<'a> {
    /// Streams by slot.
    pub streams: &'a mut [u64],
    /// Pools by slot.
    pub pools: &'a mut [u64],
    /// Labels: the first place is that of `LabelId(1)`.
    pub labels: &'a mut [u64],
}

/// Where a record is written first that may not fit its page. Lent, for it is too large for the stack: every call's would
/// need it.
#[derive(Debug)]
pub struct Spill([u8; WINDOW]);

impl Spill {
    /// Nothing was written.
    pub const EMPTY: Self = Self([0; WINDOW]);
}

/// The log's writer, over memory for some pages. None: the log is off.
///
/// Records go to the open page. A page that is full is sealed; sealed pages wait, oldest first, until
/// [`take_page`](Self::take_page) hands them out. Where none is free the oldest is overwritten and its records are
/// counted as lost, so that without a sink the log is a flight recorder.
///
/// Nothing here calls anything but the given [`Definitions`]. The same calls give the same bytes.
#[derive(Debug)]
pub struct Log<'a> {
    pages: &'a mut [Page],
    stamps: LogStamps<'a>,
    devices: [u64; DEVICES],
    /// Place of the oldest sealed page.
    oldest: usize,
    /// How many pages are sealed, from there on.
    sealed: usize,
    /// Place of the open page: behind the sealed ones.
    open: usize,
    /// Bytes in the open page, its header's room included.
    length: usize,
    /// Of the open page, or of the next: it counts the records as they come.
    header: Header,
    context: Context,
    known: Known,
    lost: u64,
    /// How many of the lost ones the pages so far tell of.
    told: u64,
    spill: &'a mut Spill,
}

impl<'a> Log<'a> {
    /// A log that begins with record 0. Forgets whatever `stamps` hold. Linear in their number.
    #[must_use]
    pub fn new(pages: &'a mut [Page], stamps: LogStamps<'a>, spill: &'a mut Spill) -> Self {
        stamps.streams.fill(0);
        stamps.pools.fill(0);
        stamps.labels.fill(0);
        Self {
            pages,
            stamps,
            devices: [0; DEVICES],
            oldest: 0,
            sealed: 0,
            open: 0,
            length: NONE_OPEN,
            header: Header { number: 0, first: 0, time: Nanos::ZERO, lost: 0, records: 0 },
            context: Context::new(0),
            known: Known::NOTHING,
            lost: 0,
            told: 0,
            spill,
        }
    }

    /// Writes a record, and before it the definitions that it mentions and the open page lacks. A definition that is
    /// given as the record is written as it is and takes no number. Does nothing where the log is off. Constant time.
    pub fn append(&mut self, time: Nanos, record: Record<'_>, definitions: &impl Definitions) {
        if !self.is_on() || self.try_append(time, &record, definitions) {
            return;
        }
        self.seal();
        if !self.try_append(time, &record, definitions) {
            // Not reached: an empty page has room for any record.
            self.header.first = self.header.first.wrapping_add(1);
            self.lost = self.lost.wrapping_add(1);
        }
    }

    /// Writes a record of a runtime as [`append`](Self::append) would, but faster, if it is [ordinary](is_ordinary) and
    /// the page has room for any such record; says whether. Inlined: see there.
    #[inline(always)]
    #[must_use]
    pub(crate) fn append_ordinary(&mut self, time: Nanos, record: &Record<'_>) -> bool {
        if self.length > PAGE_BYTES - ROOM || !is_ordinary(&self.known, &self.context, time, record) {
            return false;
        }
        let Some(window) = room(self.pages, self.open, self.length).first_chunk_mut() else { return false };
        self.length += write_ordinary(window, &mut self.context, time, record);
        self.count(record);
        true
    }

    /// As [`append_ordinary`](Self::append_ordinary), for a record that may or may not fit the end of the page: one in
    /// thirty.
    #[inline(always)]
    #[must_use]
    pub(crate) fn append_at_end(&mut self, time: Nanos, record: &Record<'_>) -> bool {
        if !is_ordinary(&self.known, &self.context, time, record) {
            return false;
        }
        let mut window = [0; ROOM];
        let length = write_ordinary(&mut window, &mut self.context, time, record);
        let fits = copied(window.get(..length), room(self.pages, self.open, self.length));
        if fits {
            self.length += length;
            self.count(record);
        } else {
            // The context is ahead of the page, which is full anyhow.
            self.seal();
        }
        fits
    }

    /// Whether records are written: there is memory for pages.
    #[must_use]
    #[inline]
    pub const fn is_on(&self) -> bool {
        !self.pages.is_empty()
    }

    /// Number of the next record: how many there were, lost ones included.
    #[must_use]
    pub const fn next(&self) -> u64 {
        self.header.first.wrapping_add(self.header.records as u64)
    }

    /// Records lost so far.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Counts records as lost: those of a page that a sink did not keep, see [`records_in`](super::records_in).
    pub const fn count_lost(&mut self, records: u64) {
        self.lost = self.lost.wrapping_add(records);
    }

    /// The stream's definition changed, or its slot has a new tenant: it is written again where it is mentioned next.
    pub fn forget_stream(&mut self, stream: StreamId) {
        self.known.forget_stream(stream.slot());
        forget(self.stamps.streams.get_mut(stream.slot()));
    }

    /// The pool's settings changed, or its slot has a new tenant.
    pub fn forget_pool(&mut self, pool: PoolId) {
        self.known.forget_pool(pool.slot());
        forget(self.stamps.pools.get_mut(pool.slot()));
    }

    /// The label has another name.
    pub fn forget_label(&mut self, label: LabelId) {
        self.known.forget_label(label);
        forget(self.stamps.labels.get_mut(label_place(label)));
    }

    /// Whether a sealed page waits.
    #[must_use]
    #[inline]
    pub const fn has_page(&self) -> bool {
        self.sealed != 0
    }

    /// Seals the open page, so that it can be taken. Does nothing where none is open. Linear in the page's bytes.
    pub fn seal(&mut self) {
        if self.length == NONE_OPEN {
            return;
        }
        if let Some(page) = self.pages.get_mut(self.open) {
            self.header.seal(page.room(), self.length);
        }
        self.sealed += 1;
        self.open = self.behind(self.open);
        self.length = NONE_OPEN;
        self.header.number = self.header.number.wrapping_add(1);
        self.header.first = self.next();
        self.header.records = 0;
    }

    /// Hands out the oldest sealed page: copies it and returns its length.
    pub fn take_page(&mut self, into: &mut [u8; PAGE_BYTES]) -> Option<usize> {
        if self.sealed == 0 {
            return None;
        }
        let bytes = self.pages.get(self.oldest)?.bytes();
        let length = bytes.len();
        copy(bytes, into);
        self.drop_oldest();
        Some(length)
    }

    /// Shows every sealed page that was not taken, oldest first. To see the open page as well, [`seal`](Self::seal) it
    /// first.
    pub fn for_each_page(&self, mut show: impl FnMut(&[u8])) {
        let (before, from_oldest) = self.pages.split_at_checked(self.oldest).unwrap_or_default();
        let pages = from_oldest.iter().chain(before).take(self.sealed);
        pages.for_each(|page| show(page.bytes()));
    }

    /// Writes the record if it fits the open page with all it needs; otherwise leaves the page as it was.
    fn try_append(&mut self, time: Nanos, record: &Record<'_>, definitions: &impl Definitions) -> bool {
        if self.length == NONE_OPEN {
            self.open(time);
        }
        let length = self.length;
        let fits = self.define_all(time, record, definitions) && self.put(time, record);
        if fits {
            self.count(record);
        } else {
            // What is forgotten here is written in the next page: the stamps name this one.
            self.length = length;
        }
        fits
    }

    /// Begins a page in the place behind the sealed ones, over the oldest where none is free.
    #[cold]
    #[inline(never)]
    fn open(&mut self, time: Nanos) {
        if self.sealed >= self.pages.len() {
            let records = self.pages.get(self.oldest).map_or(0, |page| records_in(page.bytes()));
            self.count_lost(records);
            self.drop_oldest();
        }
        self.header.time = time;
        self.header.lost = self.lost;
        self.context = Context::new(time.0);
        self.known = Known::NOTHING;
        self.length = HEADER_BYTES;
        let records = self.lost.wrapping_sub(self.told);
        self.told = self.lost;
        let note = Record::Lost { records };
        if records != 0 && self.put(time, &note) {
            self.count(&note);
        }
    }

    fn drop_oldest(&mut self) {
        self.oldest = self.behind(self.oldest);
        self.sealed = self.sealed.saturating_sub(1);
    }

    /// The place behind this one, around the ring.
    const fn behind(&self, place: usize) -> usize {
        if place + 1 < self.pages.len() { place + 1 } else { 0 }
    }

    /// Gives the record its number.
    const fn count(&mut self, record: &Record<'_>) {
        if !record.is_definition() {
            self.header.records = self.header.records.wrapping_add(1);
        }
    }

    /// Writes one record to the open page, if it fits.
    fn put(&mut self, time: Nanos, record: &Record<'_>) -> bool {
        let room = room(self.pages, self.open, self.length);
        let written = match room.first_chunk_mut() {
            Some(window) => encode(window, &mut self.context, time, record),
            None => {
                let length = encode(&mut self.spill.0, &mut self.context, time, record);
                if copied(self.spill.0.get(..length), room) { length } else { 0 }
            }
        };
        self.length += written;
        written != 0
    }

    fn define_all(&mut self, time: Nanos, record: &Record<'_>, definitions: &impl Definitions) -> bool {
        if record.is_definition() {
            self.stamp_definition(record);
            return true;
        }
        let mut all = true;
        record.refer(&mut |mention| all &= self.recalls(mention));
        all || self.define_missing(time, record, definitions)
    }

    /// Writes what the record mentions and the page lacks; false where the page has no room for it.
    #[cold]
    #[inline(never)]
    fn define_missing(&mut self, time: Nanos, record: &Record<'_>, definitions: &impl Definitions) -> bool {
        // One after the other, so that no stack holds a record beside the one that is being written.
        let mut place = 0;
        while let Some(mention) = nth_mention(record, place) {
            if !self.holds(mention) && !self.define(time, mention, definitions) {
                return false;
            }
            place += 1;
        }
        true
    }

    /// Writes one definition and, before it, that of its device.
    fn define(&mut self, time: Nanos, mention: Mention, definitions: &impl Definitions) -> bool {
        let device = device_behind(mention, definitions).map(Mention::Device);
        let lacks_device = device.filter(|device| !self.holds(*device));
        lacks_device.is_none_or(|device| self.define_one(time, device, definitions))
            && self.define_one(time, mention, definitions)
    }

    /// Writes one definition, if anybody knows it.
    #[inline(never)]
    fn define_one(&mut self, time: Nanos, mention: Mention, definitions: &impl Definitions) -> bool {
        match definition_of(mention, definitions) {
            Some(ref definition) => self.put_definition(time, definition),
            None => true,
        }
    }

    fn put_definition(&mut self, time: Nanos, definition: &Record<'_>) -> bool {
        self.stamp_definition(definition);
        self.put(time, definition)
    }

    /// What a definition leaves when it is written in the open page.
    const fn stamp(&self) -> u64 {
        self.header.number.wrapping_add(1)
    }

    /// Whether the open page holds the definition of what is mentioned, or it needs none.
    fn holds(&self, mention: Mention) -> bool {
        let stamp = match mention {
            Mention::Device(device) => self.devices.get(device.0 as usize),
            Mention::Stream(stream) => self.stamps.streams.get(stream.slot()),
            Mention::Pool(pool) => self.stamps.pools.get(pool.slot()),
            Mention::Label(LabelId::NONE) => return true,
            Mention::Label(label) => self.stamps.labels.get(label_place(label)),
        };
        stamp == Some(&self.stamp())
    }

    /// As [`holds`](Self::holds); a stream whose place among the known ones another one took gets it back.
    fn recalls(&mut self, mention: Mention) -> bool {
        let held = self.holds(mention);
        if let (Mention::Stream(stream), true) = (mention, held) {
            self.known.stream(stream);
        }
        held
    }

    fn stamp_definition(&mut self, definition: &Record<'_>) {
        let stamp = self.stamp();
        let place = match *definition {
            Record::DeviceDef { device, .. } => self.devices.get_mut(device.0 as usize),
            Record::StreamDef { stream, .. } => self.stamps.streams.get_mut(stream.slot()),
            Record::PoolDef { pool, .. } => self.stamps.pools.get_mut(pool.slot()),
            Record::LabelDef { label, .. } => self.stamps.labels.get_mut(label_place(label)),
            _ => None,
        };
        if let Some(place) = place {
            *place = stamp;
            self.known.define(definition);
        }
    }
}

/// Labels count from 1.
const fn label_place(label: LabelId) -> usize {
    (label.0 as usize).wrapping_sub(1)
}

fn forget(stamp: Option<&mut u64>) {
    if let Some(stamp) = stamp {
        *stamp = 0;
    }
}

/// The mention of this place among all of a record's.
#[cold]
#[inline(never)]
fn nth_mention(record: &Record<'_>, place: usize) -> Option<Mention> {
    let (mut before, mut found) = (0, None);
    record.refer(&mut |mention| {
        if before == place {
            found = Some(mention);
        }
        before += 1;
    });
    found
}

fn definition_of(mention: Mention, definitions: &impl Definitions) -> Option<Record<'_>> {
    match mention {
        Mention::Device(device) => definitions.device(device),
        Mention::Stream(stream) => definitions.stream(stream),
        Mention::Pool(pool) => definitions.pool(pool),
        Mention::Label(label) => definitions.label(label),
    }
}

/// The device that a definition names.
#[inline(never)]
fn device_behind(mention: Mention, definitions: &impl Definitions) -> Option<DeviceId> {
    definition_of(mention, definitions).as_ref().and_then(device_of)
}

const fn device_of(definition: &Record<'_>) -> Option<DeviceId> {
    match definition {
        Record::StreamDef { device, .. } => Some(*device),
        Record::PoolDef { config, .. } => Some(config.device),
        _ => None,
    }
}

/// What is left of the open page.
#[inline(always)]
fn room(pages: &mut [Page], open: usize, length: usize) -> &mut [u8] {
    pages.get_mut(open).and_then(|page| page.room().get_mut(length..)).unwrap_or_default()
}

/// Writes a record where there is room for the longest, and returns its length. Not inlined: it holds every kind.
#[inline(never)]
fn encode(window: &mut [u8; WINDOW], context: &mut Context, time: Nanos, record: &Record<'_>) -> usize {
    let elapsed = time.0.wrapping_sub(context.time);
    context.time = time.0;
    let mut writer = Writer::new(window, context);
    writer.number(elapsed);
    record.put(&mut writer);
    writer.written()
}

/// Copies all of the bytes to where there is room for them; says whether there is.
fn copied(bytes: Option<&[u8]>, room: &mut [u8]) -> bool {
    let Some(bytes) = bytes else { return false };
    let Some(room) = room.get_mut(..bytes.len()) else { return false };
    copy(bytes, room);
    true
}
