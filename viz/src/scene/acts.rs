//! What each lane did: a tick in each column of its lane. Where lanes are thinner than a pixel, those of a pixel are one.

use super::lanes::{half, in_view};
use super::rows::{Rows, lane_color};
use super::{Color, Context, Paint, Rect, Stroke, pos};
use crate::model::{Act, EventIx, Lane};
use std::collections::BTreeMap;

/// Ticks that are drawn, at most; where they are more, several columns are one.
const MOST_TICKS: usize = 4_000;
/// Lanes at least this high show each act at its height.
const APART: f32 = 6.0;
/// Lines through all lanes, at most.
const MOST_LINES: usize = 300;
/// More records than these in sight are not drawn one by one, however near one comes: many may have happened at once.
const MOST_SINGLE: u32 = 2_000;

/// The part of a lane's height that an act has, from its middle: above is negative.
fn band(act: Act) -> (f32, f32) {
    match act {
        Act::Malloc => (-0.30, 0.0),
        Act::Free => (0.0, 0.30),
        Act::Use => (-0.12, 0.12),
        Act::Record => (0.30, 0.44),
        Act::Wait | Act::Inserted => (-0.44, -0.30),
        Act::Marker => (0.38, 0.44),
        Act::Sync => (-0.22, 0.22),
        Act::SyncDevice => (-0.44, 0.44),
        Act::Refused => (-0.49, -0.44),
    }
}

/// Where a record has its column for itself, a refusal crosses the lane; where it shares it with others, it leaves them
/// theirs.
const ALONE: (f32, f32) = (-0.49, 0.44);

fn color(context: &Context<'_>, lane: Lane, act: Act) -> Color {
    let palette = context.palette;
    match act {
        Act::Malloc => lane_color(context, lane),
        Act::Free => lane_color(context, lane).mix(palette.panel, 110),
        Act::Use | Act::Record | Act::Wait => palette.ink,
        Act::Inserted => palette.threshold,
        Act::Marker | Act::Sync | Act::SyncDevice => palette.dim,
        Act::Refused => palette.alarm,
    }
}

/// Acts in the order in which they are painted: what must not be overlooked comes last.
const ORDER: [Act; 10] = [
    Act::Malloc,
    Act::Free,
    Act::Marker,
    Act::Use,
    Act::Record,
    Act::Wait,
    Act::Sync,
    Act::SyncDevice,
    Act::Inserted,
    Act::Refused,
];

/// Ticks of each act and lane, to be painted in that order. Where lanes are thin, a tick stands for all lanes of its
/// pixel, and the lane is one of them.
type Ticks = BTreeMap<(usize, Lane), Vec<Rect>>;

/// Draws them.
pub(super) fn draw(context: &Context<'_>, paint: &mut Paint, rows: &Rows) {
    let ticks = if apart(context) { single(context, rows) } else { summed(context, rows) };
    let mut lines = Vec::new();
    let bottom = rows.area.y + rows.high * rows.lanes.len() as f32;
    let syncs = |key: &(usize, Lane)| ORDER[key.0] == Act::SyncDevice;
    for rects in ticks.iter().filter(|(key, _)| syncs(key)).map(|(_, rects)| rects) {
        lines.extend(rects.iter().map(|tick| [pos(tick.x, rows.area.y), pos(tick.x, bottom)]));
    }
    let every = lines.len().div_ceil(MOST_LINES).max(1);
    let stroke = Stroke::dashed(context.palette.dim, 1.0, 3.0);
    paint.segments(lines.into_iter().step_by(every).collect(), stroke);
    for ((act, lane), rects) in ticks {
        paint.rects(rects, color(context, lane, ORDER[act]));
    }
}

fn place(act: Act) -> usize {
    ORDER.iter().position(|other| *other == act).unwrap_or(0)
}

/// Whether the records in sight have room beside each other.
pub(super) fn apart(context: &Context<'_>) -> bool {
    let (first, past) = in_view(context);
    half(context.frame.map.x) > 0.5 && past.0.saturating_sub(first.0) <= MOST_SINGLE
}

/// Where the records have room, each has its tick.
fn single(context: &Context<'_>, rows: &Rows) -> Ticks {
    let model = context.model;
    let (first, past) = in_view(context);
    let wide = (2.0 * half(context.frame.map.x)).max(1.0);
    let mut ticks = Ticks::new();
    for event in (first.0..past.0).map(EventIx) {
        let Some(act) = Act::of(model.events.kind(event)) else { continue };
        if !model.lanes().concerns(event, context.view.pool) {
            continue;
        }
        let Some((lane, middle)) = model.lanes().lane(event).and_then(|lane| Some((lane, rows.middle(lane)?))) else {
            continue;
        };
        let band = if act == Act::Refused { ALONE } else { band(act) };
        let (top, bottom) = heights(band, middle, rows.high);
        let left = context.x_of(event);
        let right = (left + wide).min(rows.area.right()).max(left + 0.5);
        ticks.entry((place(act), lane)).or_default().push(Rect::between(left, top, right, bottom));
    }
    ticks
}

/// The upper and lower edge of a tick.
fn heights(band: (f32, f32), middle: f32, high: f32) -> (f32, f32) {
    let (top, bottom) = if high < APART { (-0.5, 0.5) } else { band };
    let (top, bottom) = (middle + top * high, middle + bottom * high);
    (top, bottom.max(top + 1.0))
}

/// One tick for each column, or for several.
fn summed(context: &Context<'_>, rows: &Rows) -> Ticks {
    if rows.lanes.is_empty() {
        return Ticks::new();
    }
    let mut grid = Grid::of(context, rows);
    while grid.columns > 1 && grid.has_more_than(MOST_TICKS) {
        grid = grid.coarser();
    }
    grid.ticks(rows)
}

/// What is done in each column of each row of pixels, or of each lane where those are higher.
struct Grid {
    columns: usize,
    /// Pixels that a column is wide.
    wide: usize,
    height: f32,
    /// A bit for each act; column by column, as they are found and joined.
    acts: Vec<u16>,
    /// A lane of each row.
    lanes: Vec<Lane>,
}

impl Grid {
    fn of(context: &Context<'_>, rows: &Rows) -> Self {
        let columns = &context.columns;
        let height = rows.high.max(1.0);
        let row_of: Vec<usize> = (0..rows.lanes.len()).map(|row| (row as f32 * rows.high / height) as usize).collect();
        let count = row_of.last().map_or(0, |last| last + 1);
        let mut lanes = vec![Lane::Host; count];
        row_of.iter().zip(&rows.lanes).for_each(|(row, lane)| lanes[*row] = *lane);
        let mut grid =
            Self { columns: columns.len() - 1, wide: 1, height, acts: vec![0; (columns.len() - 1) * count], lanes };
        for (column, pair) in columns.windows(2).enumerate() {
            context.model.lanes().each_in(context.model, context.view.pool, (pair[0], pair[1]), |lane, acts| {
                if let Some(row) = rows.row(lane) {
                    grid.acts[column * count + row_of[row]] |= acts;
                }
            });
        }
        grid
    }

    /// What is seen of these: where acts are not apart, only what is painted last.
    fn seen(&self, acts: u16) -> u16 {
        if self.height < APART { LAST_PAINTED[usize::from(acts)] } else { acts }
    }

    /// Two columns are one.
    fn coarser(self) -> Self {
        let rows = self.lanes.len();
        let both = |pair: &[u16]| {
            let (one, other) = pair.split_at(rows);
            let mut both = one.to_vec();
            both.iter_mut().zip(other).for_each(|(acts, more)| *acts |= more);
            both
        };
        let acts = self.acts.chunks(2 * rows).flat_map(both).collect();
        Self { columns: self.columns.div_ceil(2), wide: self.wide * 2, acts, ..self }
    }

    /// Whether there would be more ticks: each begins where its act was not seen in the column before. Where they are many,
    /// that is known after a few columns: to count them all took as long as the rest of the picture.
    fn has_more_than(&self, most: usize) -> bool {
        let mut ticks = 0;
        let mut before = vec![0; self.lanes.len()];
        self.acts.chunks(self.lanes.len()).any(|column| {
            for (before, acts) in before.iter_mut().zip(column) {
                let acts = self.seen(*acts);
                ticks += (acts & !*before).count_ones() as usize;
                *before = acts;
            }
            ticks > most
        })
    }

    /// Runs of columns in which the same is done.
    fn ticks(&self, rows: &Rows) -> Ticks {
        let mut ticks = Ticks::new();
        for (row, lane) in self.lanes.iter().enumerate() {
            let acts: Vec<u16> =
                self.acts.iter().skip(row).step_by(self.lanes.len()).map(|acts| self.seen(*acts)).collect();
            let any = acts.iter().fold(0, |bits, act| bits | act);
            let middle = rows.area.y + (row as f32 + 0.5) * self.height;
            for (order, act) in ORDER.iter().enumerate().filter(|(_, act)| any & act.bit() != 0) {
                let (top, bottom) = heights(band(*act), middle, self.height);
                let x = |run: usize| (rows.area.x + (run * self.wide) as f32).min(rows.area.right());
                let of_act = ticks.entry((order, *lane)).or_default();
                of_act.extend(runs(&acts, act.bit()).map(|(from, to)| Rect::between(x(from), top, x(to), bottom)));
            }
        }
        ticks
    }
}

/// Of any acts, the one that is painted last. Asked for each pixel of a picture.
const LAST_PAINTED: [u16; 1 << ORDER.len()] = {
    let mut last = [0; 1 << ORDER.len()];
    let mut acts = 0;
    while acts < last.len() {
        let mut at = 0;
        while at < ORDER.len() {
            if acts & ORDER[at].bit() as usize != 0 {
                last[acts] = ORDER[at].bit();
            }
            at += 1;
        }
        acts += 1;
    }
    last
};

/// From where to where the bit is set.
fn runs(acts: &[u16], bit: u16) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let from = at + acts[at..].iter().position(|acts| acts & bit != 0)?;
        at = acts[from..].iter().position(|acts| acts & bit == 0).map_or(acts.len(), |length| from + length);
        Some((from, at))
    })
}
