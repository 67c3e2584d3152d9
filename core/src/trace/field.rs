//! One field of a record: how it is written to a page, read from it, shown in a line and read back.
//!
//! The four forms of a type stand together here; which fields a record has is said once, in [`table`](super::table).

use super::MAX_NAME;
use super::line::Line;
use super::wire::{Bad, Cursor, Out, UNIT, WIDE, number_bytes, unfolded};
use crate::driver::Capabilities;
use crate::id::{AllocId, DeviceId, LabelId, PoolId, StreamId};
use crate::policy::{Growth, Reuse};
use crate::units::{Bytes, DevicePtr, Seq};
use core::fmt::{self, Write};

/// Something that a record names and that a page must define.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mention {
    Device(DeviceId),
    Stream(StreamId),
    Pool(PoolId),
    Label(LabelId),
}

/// A type that fields of records have.
pub(super) trait Field<'a>: Sized {
    /// The most bytes that it takes in a page.
    const MOST: usize;

    /// Writes the field to a page. Inlined everywhere, so that a frequent kind of record becomes straight code: see
    /// [`ordinary`](super::ordinary).
    fn put(&self, out: &mut impl Out);
    /// Reads it from there.
    fn get(key: &'static str, from: &mut Cursor<'a>) -> Result<Self, Bad>;
    /// Writes ` key=value`.
    fn show<W: Write + ?Sized>(&self, key: &'static str, out: &mut W) -> fmt::Result;
    /// Reads `key=value`.
    fn parse(key: &'static str, line: &mut Line<'a>) -> Result<Self, Bad>;
    /// Says what must be defined for this field to mean something.
    fn refer(&self, _to: &mut impl FnMut(Mention)) {}
}

macro_rules! unsigned {
    ($($type:ident)+) => { $(
        impl<'a> Field<'a> for $type {
            const MOST: usize = number_bytes($type::BITS);
            #[inline(always)]
            fn put(&self, out: &mut impl Out) {
                out.number(u64::from(*self));
            }
            fn get(key: &'static str, from: &mut Cursor<'a>) -> Result<Self, Bad> {
                from.number(key)?.try_into().map_err(|_| Bad { key, what: TOO_LARGE })
            }
            fn show<W: Write + ?Sized>(&self, key: &'static str, out: &mut W) -> fmt::Result {
                write!(out, " {key}={self}")
            }
            fn parse(key: &'static str, line: &mut Line<'a>) -> Result<Self, Bad> {
                decimal(key, line.value(key)?)
            }
        }
    )+ };
}
unsigned!(u16 u32 u64);

impl<'a> Field<'a> for u8 {
    const MOST: usize = 1;
    #[inline(always)]
    fn put(&self, out: &mut impl Out) {
        out.byte(*self);
    }
    fn get(key: &'static str, from: &mut Cursor<'a>) -> Result<Self, Bad> {
        from.byte(key)
    }
    fn show<W: Write + ?Sized>(&self, key: &'static str, out: &mut W) -> fmt::Result {
        write!(out, " {key}={self}")
    }
    fn parse(key: &'static str, line: &mut Line<'a>) -> Result<Self, Bad> {
        decimal(key, line.value(key)?)
    }
}

pub(super) const TOO_LARGE: &str = "a smaller number";

/// A decimal number; no sign, no white space.
pub(super) fn decimal<T: TryFrom<u64>>(key: &'static str, text: &str) -> Result<T, Bad> {
    let what = "a decimal number";
    if !text.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(Bad { key, what });
    }
    let number: u64 = text.parse().map_err(|_| Bad { key, what })?;
    number.try_into().map_err(|_| Bad { key, what: TOO_LARGE })
}

impl<'a> Field<'a> for i32 {
    const MOST: usize = number_bytes(Self::BITS);
    #[inline(always)]
    fn put(&self, out: &mut impl Out) {
        out.difference(i64::from(*self) as u64);
    }
    fn get(key: &'static str, from: &mut Cursor<'a>) -> Result<Self, Bad> {
        let number = unfolded(from.number(key)?) as i64;
        number.try_into().map_err(|_| Bad { key, what: TOO_LARGE })
    }
    fn show<W: Write + ?Sized>(&self, key: &'static str, out: &mut W) -> fmt::Result {
        write!(out, " {key}={self}")
    }
    fn parse(key: &'static str, line: &mut Line<'a>) -> Result<Self, Bad> {
        let what = "a decimal number of 32 bits";
        line.value(key)?.parse().map_err(|_| Bad { key, what })
    }
}

impl<'a> Field<'a> for bool {
    const MOST: usize = 1;
    #[inline(always)]
    fn put(&self, out: &mut impl Out) {
        out.byte(u8::from(*self));
    }
    fn get(key: &'static str, from: &mut Cursor<'a>) -> Result<Self, Bad> {
        match from.byte(key)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Bad { key, what: "0 or 1" }),
        }
    }
    fn show<W: Write + ?Sized>(&self, key: &'static str, out: &mut W) -> fmt::Result {
        write!(out, " {key}={}", if *self { "yes" } else { "no" })
    }
    fn parse(key: &'static str, line: &mut Line<'a>) -> Result<Self, Bad> {
        match line.value(key)? {
            "yes" => Ok(true),
            "no" => Ok(false),
            _ => Err(Bad { key, what: "yes or no" }),
        }
    }
}

impl<'a> Field<'a> for Bytes {
    const MOST: usize = 2 * u64::MOST;
    #[inline(always)]
    fn put(&self, out: &mut impl Out) {
        out.bytes(*self);
    }
    fn get(key: &'static str, from: &mut Cursor<'a>) -> Result<Self, Bad> {
        let count = match from.number(key)? {
            0 => from.size,
            WIDE => from.number(key)?,
            odd if odd & 1 == 1 => odd >> 1,
            even if even < WIDE => even / 2 * UNIT,
            _ => return Err(Bad { key, what: TOO_LARGE }),
        };
        from.size = count;
        Ok(Self(count))
    }
    fn show<W: Write + ?Sized>(&self, key: &'static str, out: &mut W) -> fmt::Result {
        self.0.show(key, out)
    }
    fn parse(key: &'static str, line: &mut Line<'a>) -> Result<Self, Bad> {
        u64::parse(key, line).map(Self)
    }
}

impl<'a> Field<'a> for DevicePtr {
    const MOST: usize = u64::MOST;
    #[inline(always)]
    fn put(&self, out: &mut impl Out) {
        out.number(self.0);
    }
    fn get(key: &'static str, from: &mut Cursor<'a>) -> Result<Self, Bad> {
        from.number(key).map(Self)
    }
    fn show<W: Write + ?Sized>(&self, key: &'static str, out: &mut W) -> fmt::Result {
        write!(out, " {key}={self}")
    }
    fn parse(key: &'static str, line: &mut Line<'a>) -> Result<Self, Bad> {
        let digits = line.value(key)?.strip_prefix("0x").filter(|digits| !digits.starts_with('+'));
        let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        number.map(Self).ok_or(Bad { key, what: "an address as 0x and hexadecimal digits" })
    }
}

impl<'a> Field<'a> for Seq {
    const MOST: usize = u64::MOST;
    #[inline(always)]
    fn put(&self, out: &mut impl Out) {
        out.seq(*self);
    }
    fn get(key: &'static str, from: &mut Cursor<'a>) -> Result<Self, Bad> {
        let stream = from.stream;
        let seq = from.context.seq(stream).wrapping_add(unfolded(from.number(key)?));
        from.context.set_seq(stream, seq);
        Ok(Self(seq))
    }
    fn show<W: Write + ?Sized>(&self, key: &'static str, out: &mut W) -> fmt::Result {
        self.0.show(key, out)
    }
    fn parse(key: &'static str, line: &mut Line<'a>) -> Result<Self, Bad> {
        u64::parse(key, line).map(Self)
    }
}

impl<'a> Field<'a> for AllocId {
    const MOST: usize = u64::MOST;
    #[inline(always)]
    fn put(&self, out: &mut impl Out) {
        out.alloc(*self);
    }
    fn get(key: &'static str, from: &mut Cursor<'a>) -> Result<Self, Bad> {
        let latest = from.context.id;
        let id = latest.wrapping_add(unfolded(from.number(key)?));
        from.context.id = latest.max(id);
        Ok(Self(id))
    }
    fn show<W: Write + ?Sized>(&self, key: &'static str, out: &mut W) -> fmt::Result {
        self.0.show(key, out)
    }
    fn parse(key: &'static str, line: &mut Line<'a>) -> Result<Self, Bad> {
        u64::parse(key, line).map(Self)
    }
}

macro_rules! ordinal {
    ($($type:ident)+) => { $(
        impl<'a> Field<'a> for $type {
            const MOST: usize = u32::MOST;
            #[inline(always)]
            fn put(&self, out: &mut impl Out) {
                ordinal!(@put $type)(out, *self);
            }
            fn get(key: &'static str, from: &mut Cursor<'a>) -> Result<Self, Bad> {
                u32::get(key, from).map(Self)
            }
            fn show<W: Write + ?Sized>(&self, key: &'static str, out: &mut W) -> fmt::Result {
                self.0.show(key, out)
            }
            fn parse(key: &'static str, line: &mut Line<'a>) -> Result<Self, Bad> {
                u32::parse(key, line).map(Self)
            }
            fn refer(&self, to: &mut impl FnMut(Mention)) {
                to(ordinal!(@mention $type)(*self));
            }
        }
    )+ };
    (@put DeviceId) => { Out::device };
    (@put LabelId) => { Out::label };
    (@mention DeviceId) => { Mention::Device };
    (@mention LabelId) => { Mention::Label };
}
ordinal!(DeviceId LabelId);

/// How a line says that there is nothing.
pub(super) const NOTHING: &str = "-";

impl<'a, T: Field<'a>> Field<'a> for Option<T> {
    const MOST: usize = 1 + T::MOST;
    #[inline(always)]
    fn put(&self, out: &mut impl Out) {
        out.byte(u8::from(self.is_some()));
        if let Some(value) = self {
            value.put(out);
        }
    }
    fn get(key: &'static str, from: &mut Cursor<'a>) -> Result<Self, Bad> {
        Ok(if bool::get(key, from)? { Some(T::get(key, from)?) } else { None })
    }
    fn show<W: Write + ?Sized>(&self, key: &'static str, out: &mut W) -> fmt::Result {
        match self {
            Some(value) => value.show(key, out),
            None => write!(out, " {key}={NOTHING}"),
        }
    }
    fn parse(key: &'static str, line: &mut Line<'a>) -> Result<Self, Bad> {
        let mut ahead = line.clone();
        if ahead.value(key)? == NOTHING {
            *line = ahead;
            return Ok(None);
        }
        T::parse(key, line).map(Some)
    }
    fn refer(&self, to: &mut impl FnMut(Mention)) {
        if let Some(value) = self {
            value.refer(to);
        }
    }
}

/// The step of an eager growth; a frugal one has none.
impl<'a> Field<'a> for Growth {
    const MOST: usize = Option::<Bytes>::MOST;
    #[inline(always)]
    fn put(&self, out: &mut impl Out) {
        self.step().put(out);
    }
    fn get(key: &'static str, from: &mut Cursor<'a>) -> Result<Self, Bad> {
        Option::get(key, from).map(Self::of_step)
    }
    fn show<W: Write + ?Sized>(&self, key: &'static str, out: &mut W) -> fmt::Result {
        self.step().show(key, out)
    }
    fn parse(key: &'static str, line: &mut Line<'a>) -> Result<Self, Bad> {
        Option::parse(key, line).map(Self::of_step)
    }
}

impl Growth {
    fn step(self) -> Option<Bytes> {
        match self {
            Self::Frugal => None,
            Self::Eager(step) => Some(step),
        }
    }

    fn of_step(step: Option<Bytes>) -> Self {
        step.map_or(Self::Frugal, Self::Eager)
    }
}

/// A version of three numbers.
impl<'a> Field<'a> for (u16, u16, u16) {
    const MOST: usize = 3 * u16::MOST;
    #[inline(always)]
    fn put(&self, out: &mut impl Out) {
        self.0.put(out);
        self.1.put(out);
        self.2.put(out);
    }
    fn get(key: &'static str, from: &mut Cursor<'a>) -> Result<Self, Bad> {
        Ok((u16::get(key, from)?, u16::get(key, from)?, u16::get(key, from)?))
    }
    fn show<W: Write + ?Sized>(&self, key: &'static str, out: &mut W) -> fmt::Result {
        write!(out, " {key}={}.{}.{}", self.0, self.1, self.2)
    }
    fn parse(key: &'static str, line: &mut Line<'a>) -> Result<Self, Bad> {
        let what = "a version as 1.2.3";
        let mut parts = line.value(key)?.split('.');
        let mut part = || decimal(key, parts.next().ok_or(Bad { key, what })?);
        let version = (part()?, part()?, part()?);
        if parts.next().is_some() {
            return Err(Bad { key, what });
        }
        Ok(version)
    }
}

/// A name is the last field of its record. In a line its length stands before it, so that it needs no escaping and a
/// name with spaces, `=` or a line break is read back as it was.
impl<'a> Field<'a> for &'a str {
    const MOST: usize = u16::MOST + MAX_NAME;
    #[inline(always)]
    fn put(&self, out: &mut impl Out) {
        out.name(self);
    }
    fn get(key: &'static str, from: &mut Cursor<'a>) -> Result<Self, Bad> {
        from.name(key)
    }
    fn show<W: Write + ?Sized>(&self, key: &'static str, out: &mut W) -> fmt::Result {
        write!(out, " length={} {key}={self}", self.len())
    }
    fn parse(key: &'static str, line: &mut Line<'a>) -> Result<Self, Bad> {
        let length: usize = u32::parse("length", line)? as usize;
        if length > MAX_NAME {
            return Err(Bad { key: "length", what: "at most 64" });
        }
        line.counted(key, length)
    }
}

macro_rules! flags {
    ($($type:ident: $bits:ident { $($word:literal = $flag:ident)+ })+) => { $(
        impl<'a> Field<'a> for $type {
            const MOST: usize = $bits::MOST;
            #[inline(always)]
            fn put(&self, out: &mut impl Out) {
                self.bits().put(out);
            }
            fn get(key: &'static str, from: &mut Cursor<'a>) -> Result<Self, Bad> {
                $bits::get(key, from).and_then(|bits| Self::from_bits(bits).ok_or(Bad { key, what: "known bits" }))
            }
            fn show<W: Write + ?Sized>(&self, key: &'static str, out: &mut W) -> fmt::Result {
                write!(out, " {key}={}", if self.is_empty() { NOTHING } else { "" })?;
                let mut between = "";
                for (flag, word) in [$((Self::$flag, $word)),+] {
                    if self.contains(flag) {
                        write!(out, "{between}{word}")?;
                        between = "+";
                    }
                }
                Ok(())
            }
            fn parse(key: &'static str, line: &mut Line<'a>) -> Result<Self, Bad> {
                let text = line.value(key)?;
                let mut flags = Self::empty();
                for word in text.split('+').filter(|_| text != NOTHING) {
                    flags |= match word {
                        $($word => Self::$flag,)+
                        _ => return Err(Bad { key, what: concat!("-, or with + between them", $(" ", $word),+) }),
                    };
                }
                Ok(flags)
            }
        }
    )+ };
}

flags! {
    Reuse: u8 { "event" = EVENT "opportunistic" = OPPORTUNISTIC "internal" = INTERNAL }
    Capabilities: u32 { "map_in_stream_order" = MAP_IN_STREAM_ORDER "sparse_addresses" = SPARSE_ADDRESSES }
}
