//! Which fields each record has and in which order they are written: the one table that pages, lines and both readers
//! go by. Numbers and words are part of the format: append, never renumber.

use super::field::{Field, Mention};
use super::line::Line;
use super::wire::{Bad, Cursor, Out};
use super::{MapReason, Record, Refusal, Source, UnmapReason, Verb};
use crate::driver::{DriverCall, DriverError, DriverErrorKind, Properties};
use crate::error::Arena;
use crate::policy::{Attribute, Blocking, Capture, PoolConfig, Preference, Release, StreamKind, Tuning, UseUntil};
use core::fmt::{self, Write};

/// Enums without fields: a byte in a page, a word in a line.
macro_rules! words {
    ($($type:ident { $($number:literal $word:literal $variant:ident)+ })+) => { $(
        impl $type {
            /// Its word in the log's text form.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl<'a> Field<'a> for $type {
            const MOST: usize = 1;
            #[inline(always)]
            fn put(&self, out: &mut impl Out) {
                out.byte(match self { $(Self::$variant => $number),+ });
            }
            fn get(key: &'static str, from: &mut Cursor<'a>) -> Result<Self, Bad> {
                match from.byte(key)? {
                    $($number => Ok(Self::$variant),)+
                    _ => Err(Bad { key, what: concat!("one of", $(" ", $number),+) }),
                }
            }
            fn show<W: Write + ?Sized>(&self, key: &'static str, out: &mut W) -> fmt::Result {
                write!(out, " {key}={}", self.name())
            }
            fn parse(key: &'static str, line: &mut Line<'a>) -> Result<Self, Bad> {
                match line.value(key)? {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(Bad { key, what: concat!("one of", $(" ", $word),+) }),
                }
            }
        }
    )+ };
}

/// Structs: their fields one after the other, under names of their own.
macro_rules! structs {
    ($($type:ident { $($member:ident $key:literal)+ $(; $elsewhere:ident)? })+) => { $(
        impl<'a> Field<'a> for $type {
            const MOST: usize = 0 $(+ most::<Self, _>(|it| Some(&it.$member)))+;
            #[inline(always)]
            fn put(&self, out: &mut impl Out) {
                $(self.$member.put(out);)+
            }
            fn get(_key: &'static str, from: &mut Cursor<'a>) -> Result<Self, Bad> {
                Ok(Self { $($member: Field::get($key, from)?,)+ $($elsewhere: Default::default())? })
            }
            fn show<W: Write + ?Sized>(&self, _key: &'static str, out: &mut W) -> fmt::Result {
                $(self.$member.show($key, out)?;)+
                Ok(())
            }
            fn parse(_key: &'static str, line: &mut Line<'a>) -> Result<Self, Bad> {
                Ok(Self { $($member: Field::parse($key, line)?,)+ $($elsewhere: Default::default())? })
            }
            fn refer(&self, to: &mut impl FnMut(Mention)) {
                $(self.$member.refer(to);)+
            }
        }
    )+ };
}

/// Enums with fields: the variant as a byte or word, then its fields. A field is written as in a pattern: `member`, or
/// `index: key` where the variant is a tuple.
macro_rules! variants {
    ($type:ty, $name:ident, $kinds:ident;
     $($number:literal $word:literal $variant:ident { $($member:tt $(: $key:ident)?),* })+) => {
        /// The variants: number, word, and names of the fields in the order in which they are written.
        #[cfg(test)]
        const $kinds: &[(u8, &str, &[&str])] =
            &[$(($number, $word, &[$(variants!(@name $member $($key)?)),*])),+];

        impl<'a> $type {
            /// Its word in the log's text form.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self { $($name::$variant { .. } => $word),+ }
            }
        }

        impl<'a> Field<'a> for $type {
            const MOST: usize = 1 + largest(&[$(0 $(+ most::<Self, _>(|it| match it {
                $name::$variant { $member $(: $key)?, .. } => Some(variants!(@bound $member $($key)?)),
                _ => None,
            }))*),+]);
            #[inline(always)]
            fn put(&self, out: &mut impl Out) {
                match self { $(
                    $name::$variant { $($member $(: $key)?),* } => {
                        out.byte($number);
                        $(variants!(@bound $member $($key)?).put(out);)*
                    }
                )+ }
            }
            fn get(key: &'static str, from: &mut Cursor<'a>) -> Result<Self, Bad> {
                Ok(match from.byte(key)? {
                    $($number => $name::$variant {
                        $($member: Field::get(variants!(@name $member $($key)?), from)?),*
                    },)+
                    _ => return Err(Bad { key, what: "a number that this version knows" }),
                })
            }
            fn show<W: Write + ?Sized>(&self, key: &'static str, out: &mut W) -> fmt::Result {
                write!(out, " {key}={}", self.name())?;
                match self { $(
                    $name::$variant { $($member $(: $key)?),* } => {
                        $(variants!(@bound $member $($key)?).show(variants!(@name $member $($key)?), out)?;)*
                    }
                )+ }
                Ok(())
            }
            fn parse(key: &'static str, line: &mut Line<'a>) -> Result<Self, Bad> {
                Ok(match line.value(key)? {
                    $($word => $name::$variant {
                        $($member: Field::parse(variants!(@name $member $($key)?), line)?),*
                    },)+
                    _ => return Err(Bad { key, what: "a word that this version knows" }),
                })
            }
            fn refer(&self, to: &mut impl FnMut(Mention)) {
                match self { $(
                    $name::$variant { $($member $(: $key)?),* } => {
                        let _: &mut _ = to;
                        $(variants!(@bound $member $($key)?).refer(to);)*
                    }
                )+ }
            }
        }
    };
    (@bound $member:ident) => { $member };
    (@bound $member:tt $key:ident) => { $key };
    (@name $member:ident) => { stringify!($member) };
    (@name $member:tt $key:ident) => { stringify!($key) };
}

variants! {
    Record<'a>, Record, RECORDS;
    1 "begin" Begin { version, policy, streams, events, markers, pools, blocks, granules }
    2 "device_def" DeviceDef { device, properties }
    3 "stream_def" StreamDef { stream, device, kind }
    4 "pool_def" PoolDef { pool, base, range, config }
    5 "label_def" LabelDef { label, name }
    6 "pool_created" PoolCreated { pool }
    7 "pool_destroyed" PoolDestroyed { pool, leaked }
    8 "stream_created" StreamCreated { stream }
    9 "stream_destroyed" StreamDestroyed { stream }
    10 "event_created" EventCreated { event }
    11 "event_destroyed" EventDestroyed { event }
    12 "attribute_set" AttributeSet { pool, attribute, value }
    13 "malloc" Malloc { pool, stream, seq, id, asked, given, offset, source, label, points }
    14 "free" Free { pool, stream, seq, id, offset, given }
    15 "use" Use { pool, stream, seq, id, until }
    16 "recorded" Recorded { event, stream, seq, number }
    17 "waited" Waited { stream, seq, event, number }
    18 "queried" Queried { event, number, complete }
    19 "marker_laid" MarkerLaid { marker, stream, seq }
    20 "asked" Asked { stream, seq, complete }
    21 "wait_inserted" WaitInserted { stream, seq, marker, on }
    22 "stream_synchronized" StreamSynchronized { stream, seq }
    23 "event_synchronized" EventSynchronized { event, number }
    24 "device_synchronized" DeviceSynchronized { device }
    25 "grow_planned" GrowPlanned { pool, stream, call, offset, granules }
    26 "grow_aborted" GrowAborted { pool, call }
    27 "mapped" Mapped { pool, offset, granules, reason }
    28 "unmapped" Unmapped { pool, offset, granules, reason }
    29 "quarantined" Quarantined { pool, granules }
    30 "trimmed" Trimmed { pool, target, reached, live, pending, partial }
    31 "out_of_memory" OutOfMemory { pool, stream, requested, used, reserved, limit, largest_usable, pending }
    32 "refused" Refused { verb, pool, stream, size, reason }
    33 "driver_failed" DriverFailed { error }
    34 "mark" Mark { label, name }
    35 "lost" Lost { records }
    36 "event_reset" EventReset { event }
    37 "capture_set" CaptureSet { stream, capture }
    38 "pool_tuned" PoolTuned { pool, tuning }
    39 "kept" Kept { pool, kept, thrash }
    40 "blocked" Blocked { pool, stream, on }
    41 "pressed" Pressed { pool, bytes, relieved }
    42 "mapped_in_order" MappedInOrder { pool, stream, seq, offset, granules, reason }
    43 "unmapped_in_order" UnmappedInOrder { pool, stream, seq, offset, granules, reason }
    44 "trim_pending" TrimPending { pool, on, bytes, streams }
    45 "undestroyed" Undestroyed { pool, granules }
}

variants! {
    Refusal, Refusal, REFUSALS;
    0 "zero_size" ZeroSize {}
    1 "above_limit" AboveLimit { 0: limit }
    2 "overflow" Overflow {}
    3 "no_address_range" NoAddressRange { 0: range }
    4 "other_device" OtherDevice {}
    5 "capturing" Capturing {}
    6 "unknown" Unknown {}
    7 "stale" Stale {}
    8 "bad_pointer" BadPointer { 0: ptr }
    9 "interior" Interior { 0: ptr, 1: start }
    10 "other_pool" OtherPool { 0: ptr, 1: owner }
    11 "already_free" AlreadyFree { 0: ptr, 1: freed_at }
    12 "unmapped" Unmapped { 0: ptr }
    13 "arena_full" ArenaFull { 0: arena, 1: capacity }
    14 "driver" Driver { 0: error }
    15 "live_blocks" LiveBlocks { 0: count, 1: bytes }
    16 "still_held" StillHeld { 0: bytes }
    17 "bad_value" BadValue { 0: value }
    18 "exists" Exists {}
}

structs! {
    Properties { granularity "granularity" alignment "alignment" total "total" capabilities "capabilities" }
    PoolConfig {
        device "device" limit "limit" threshold "threshold" reuse "reuse" preference "preference"
        small_limit "small_limit"; tuning
    }
    Tuning { growth "growth" release "release" blocking "blocking" addresses "addresses" }
    DriverError { call "call" code "code" kind "failure" }
}

words! {
    Source {
        0 "same_stream" SameStream 1 "settled" Settled 2 "event" Event 3 "opportunistic" Opportunistic
        4 "internal" Internal 5 "grow" Grow
    }
    MapReason { 0 "grow" Grow 1 "remap" Remap 2 "spare" Spare }
    UnmapReason { 0 "threshold" Threshold 1 "trim" Trim 2 "remap" Remap 3 "destroy" Destroy 4 "undo" Undo }
    Verb {
        0 "malloc" Malloc 1 "free" Free 2 "use" Use 3 "record" Record 4 "wait" Wait 5 "query" Query
        6 "synchronize" Synchronize 7 "create_stream" CreateStream 8 "destroy_stream" DestroyStream
        9 "create_event" CreateEvent 10 "destroy_event" DestroyEvent 11 "create_pool" CreatePool
        12 "destroy_pool" DestroyPool 13 "attribute" Attribute 14 "trim" Trim 15 "label" Label
        16 "reset_event" ResetEvent 17 "set_capture" SetCapture
    }
    StreamKind { 0 "non_blocking" NonBlocking 1 "blocking" Blocking 2 "legacy" Legacy 3 "per_thread" PerThread }
    Preference { 0 "grow_first" GrowFirst 1 "wait_first" WaitFirst }
    Release { 0 "hysteresis" Hysteresis 1 "always" Always }
    Blocking { 0 "never" Never 1 "when_exhausted" WhenExhausted }
    UseUntil { 0 "now" Now 1 "free" Free }
    Capture { 0 "none" None 1 "active" Active }
    Arena {
        0 "streams" Streams 1 "events" Events 2 "pools" Pools 3 "blocks" Blocks 4 "granules" Granules
        5 "labels" Labels 6 "devices" Devices
    }
    Attribute {
        1 "reuse_follow_event_dependencies" ReuseFollowEventDependencies
        2 "reuse_allow_opportunistic" ReuseAllowOpportunistic
        3 "reuse_allow_internal_dependencies" ReuseAllowInternalDependencies
        4 "release_threshold" ReleaseThreshold 5 "reserved_mem_current" ReservedMemCurrent
        6 "reserved_mem_high" ReservedMemHigh 7 "used_mem_current" UsedMemCurrent 8 "used_mem_high" UsedMemHigh
    }
    DriverCall {
        0 "properties" Properties 1 "reserve" Reserve 2 "release" Release 3 "create" Create 4 "destroy" Destroy
        5 "map" Map 6 "unmap" Unmap 7 "lay" Lay 8 "query" Query 9 "wait" Wait 10 "synchronise" Synchronise
    }
    DriverErrorKind { 0 "exhausted" Exhausted 1 "timed_out" TimedOut 2 "unsupported" Unsupported 3 "failed" Failed }
}

/// The most bytes of the field that `get` finds in an `S`; it is here for the field's type.
const fn most<'a, S, T: Field<'a>>(_get: fn(&S) -> Option<&T>) -> usize {
    T::MOST
}

const fn largest(mut numbers: &[usize]) -> usize {
    let mut largest = 0;
    while let Some((first, rest)) = numbers.split_first() {
        if *first > largest {
            largest = *first;
        }
        numbers = rest;
    }
    largest
}

/// The longest record in bytes, its time and kind included: a malloc with three points and an epoch.
pub const MAX_RECORD_BYTES: usize = u64::MOST + Record::MOST;

impl Record<'_> {
    /// Whether this is a definition: written ahead of a record that mentions what it defines, without a number of its
    /// own.
    #[must_use]
    pub const fn is_definition(&self) -> bool {
        matches!(self, Self::DeviceDef { .. } | Self::StreamDef { .. } | Self::PoolDef { .. } | Self::LabelDef { .. })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::{RECORDS, REFUSALS};
    use std::format;
    use std::vec::Vec;

    /// Other programs read the log by the page that describes it: it must say what the table says.
    #[test]
    fn the_description_agrees_with_the_table() {
        let page = include_str!("format.md");
        for (heading, kinds) in [("# Records", RECORDS), ("# Reasons of refusals", REFUSALS)] {
            let (_, section) = page.split_once(heading).expect(heading);
            let mut rows = section.split("\n# ").next().expect(heading).lines();
            for (number, word, fields) in kinds {
                let row = rows.find(|row| row.starts_with(&format!("| {number} |"))).expect(word);
                let cells: Vec<_> = row.split('|').map(str::trim).collect();
                assert_eq!(cells[2], format!("`{word}`"));
                assert_eq!(described(cells[3]), *fields, "{word}");
            }
            assert_eq!(rows.filter(|row| row.starts_with("| ")).count(), 0);
        }
    }

    #[test]
    fn the_description_says_how_long_a_record_can_be() {
        let page = include_str!("format.md");
        assert!(page.contains(&format!("has {} bytes", super::MAX_RECORD_BYTES)));
    }

    /// The first words between commas, what stands in brackets left out.
    fn described(cell: &str) -> Vec<&str> {
        let mut depth = 0;
        let outside = cell.split(|letter| {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            depth == 0 && letter == ','
        });
        outside.filter_map(|field| field.split_whitespace().next()).collect()
    }
}
