//! The fields that name streams, pools and events, and the points made of them.

use super::Points;
use super::field::{Field, Mention, NOTHING, TOO_LARGE, decimal};
use super::line::Line;
use super::wire::{Bad, Cursor, EPOCH, Out, number_bytes, unfolded};
use crate::error::Point;
use crate::id::{EventId, PoolId, StreamId};
use crate::units::Seq;
use core::fmt::{self, Write};

fn get_id(key: &'static str, from: &mut Cursor<'_>) -> Result<(usize, u32), Bad> {
    let what = TOO_LARGE;
    let number = from.number(key)?;
    let slot = u32::try_from(number >> 1).map_err(|_| Bad { key, what })?;
    let generation = if number & 1 == 1 { u32::get(key, from)? } else { 1 };
    Ok((slot as usize, generation))
}

fn show_id<W: Write + ?Sized>(slot: usize, generation: u32, out: &mut W) -> fmt::Result {
    match generation {
        1 => write!(out, "{slot}"),
        other => write!(out, "{slot}.{other}"),
    }
}

fn parse_id(key: &'static str, text: &str) -> Result<(usize, u32), Bad> {
    let (slot, generation) = text.split_once('.').unwrap_or((text, "1"));
    Ok((decimal::<u32>(key, slot)? as usize, decimal(key, generation)?))
}

macro_rules! generational {
    ($($type:ident)+) => { $(
        impl<'a> Field<'a> for $type {
            // Slot and mark of a generation, and the generation.
            const MOST: usize = number_bytes(33) + u32::MOST;
            #[inline(always)]
            fn put(&self, out: &mut impl Out) {
                generational!(@put $type)(out, *self);
            }
            fn get(key: &'static str, from: &mut Cursor<'a>) -> Result<Self, Bad> {
                let (slot, generation) = get_id(key, from)?;
                let id = Self::new(slot, generation);
                generational!(@entered $type id from);
                Ok(id)
            }
            fn show<W: Write + ?Sized>(&self, key: &'static str, out: &mut W) -> fmt::Result {
                write!(out, " {key}=")?;
                show_id(self.slot(), self.generation(), out)
            }
            fn parse(key: &'static str, line: &mut Line<'a>) -> Result<Self, Bad> {
                let (slot, generation) = parse_id(key, line.value(key)?)?;
                Ok(Self::new(slot, generation))
            }
            generational!(@refer $type);
        }
    )+ };
    // The positions that follow are this stream's.
    (@entered StreamId $id:ident $from:ident) => { $from.stream = $id.slot() };
    (@entered $other:ident $id:ident $from:ident) => {};
    (@put StreamId) => { Out::stream };
    (@put PoolId) => { Out::pool };
    (@put EventId) => { Out::event };
    (@refer StreamId) => {
        fn refer(&self, to: &mut impl FnMut(Mention)) {
            to(Mention::Stream(*self));
        }
    };
    (@refer PoolId) => {
        fn refer(&self, to: &mut impl FnMut(Mention)) {
            to(Mention::Pool(*self));
        }
    };
    (@refer EventId) => {};
}
generational!(StreamId PoolId EventId);

/// A point does not move what the next position of its stream is written relative to.
impl<'a> Field<'a> for Point {
    const MOST: usize = StreamId::MOST + u64::MOST;
    #[inline(always)]
    fn put(&self, out: &mut impl Out) {
        out.point(self);
    }
    fn get(key: &'static str, from: &mut Cursor<'a>) -> Result<Self, Bad> {
        let (slot, generation) = get_id(key, from)?;
        let back = unfolded(from.number(key)?);
        Ok(Self { stream: StreamId::new(slot, generation), seq: Seq(from.context.seq(slot).wrapping_sub(back)) })
    }
    fn show<W: Write + ?Sized>(&self, key: &'static str, out: &mut W) -> fmt::Result {
        write!(out, " {key}=")?;
        show_point(self, out)
    }
    fn parse(key: &'static str, line: &mut Line<'a>) -> Result<Self, Bad> {
        parse_point(key, line.value(key)?)
    }
    fn refer(&self, to: &mut impl FnMut(Mention)) {
        to(Mention::Stream(self.stream));
    }
}

fn show_point<W: Write + ?Sized>(point: &Point, out: &mut W) -> fmt::Result {
    show_id(point.stream.slot(), point.stream.generation(), out)?;
    write!(out, "@{}", point.seq)
}

fn parse_point(key: &'static str, text: &str) -> Result<Point, Bad> {
    let what = "stream@position";
    let (stream, seq) = text.split_once('@').ok_or(Bad { key, what })?;
    let (slot, generation) = parse_id(key, stream)?;
    Ok(Point { stream: StreamId::new(slot, generation), seq: Seq(decimal(key, seq)?) })
}

const MORE_POINTS: &str = "at most three points";

impl Points {
    /// The points up to the first unused place.
    pub(super) fn used(&self) -> impl Iterator<Item = &Point> {
        self.list.iter().map_while(Option::as_ref)
    }
}

impl<'a> Field<'a> for Points {
    const MOST: usize = 1 + 3 * Point::MOST + u64::MOST;
    #[inline(always)]
    fn put(&self, out: &mut impl Out) {
        out.points(self);
    }
    fn get(key: &'static str, from: &mut Cursor<'a>) -> Result<Self, Bad> {
        let mut points = Self::default();
        let count = from.byte(key)?;
        if count > 3 + EPOCH {
            return Err(Bad { key, what: MORE_POINTS });
        }
        for place in points.list.iter_mut().take(usize::from(count % EPOCH)) {
            *place = Some(Point::get(key, from)?);
        }
        if count >= EPOCH {
            points.epoch = from.number(key)?;
        }
        Ok(points)
    }
    fn show<W: Write + ?Sized>(&self, key: &'static str, out: &mut W) -> fmt::Result {
        let mut between = "=";
        write!(out, " {key}")?;
        for point in self.used() {
            out.write_str(between)?;
            show_point(point, out)?;
            between = ",";
        }
        if between == "=" {
            out.write_str("=-")?;
        }
        self.epoch.show("epoch", out)
    }
    fn parse(key: &'static str, line: &mut Line<'a>) -> Result<Self, Bad> {
        let mut points = Self::default();
        let text = line.value(key)?;
        let mut places = points.list.iter_mut();
        for point in text.split(',').filter(|_| text != NOTHING) {
            let place = places.next().ok_or(Bad { key, what: MORE_POINTS })?;
            *place = Some(parse_point(key, point)?);
        }
        points.epoch = u64::parse("epoch", line)?;
        Ok(points)
    }
    fn refer(&self, to: &mut impl FnMut(Mention)) {
        self.used().for_each(|point| point.refer(to));
    }
}
