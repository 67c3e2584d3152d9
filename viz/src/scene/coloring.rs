//! What the blocks of the address map are coloured by: classes, their colours and their names.

use super::{Color, Context, Palette, View, map::stream_name, source_words, ticks};
use crate::model::{Axis, By, EventIx, Groups, Life, LifeIx, MOST_GROUPS, Model, StreamIx, Summed};
use weir::trace::Source;

/// What the blocks of the address map are coloured by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ColorBy {
    /// The stream that allocated.
    #[default]
    Stream,
    /// The label; the largest ones differ, the others have one colour.
    Label,
    /// How long a block lived, in steps of ten.
    Age,
    /// What the malloc relied on.
    Source,
}

/// The longest of each step but the last, in records and in nanoseconds.
const RECORDS: [u64; 5] = [10, 100, 1_000, 10_000, 100_000];
const NANOS: [u64; 5] = [10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

impl ColorBy {
    /// All of them, in the order of their key.
    pub const ALL: [Self; 4] = [Self::Stream, Self::Label, Self::Age, Self::Source];

    /// For the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Label => "label",
            Self::Age => "age",
            Self::Source => "source",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|by| by.name() == name)
    }

    /// What short blocks are summed up by, so that none of a class is lost among others.
    pub(super) const fn summed(self) -> Summed {
        match self {
            Self::Stream => Summed::Stream,
            Self::Label => Summed::Label,
            Self::Age => Summed::Length,
            Self::Source => Summed::Source,
        }
    }

    /// The next one, around the end.
    #[must_use]
    pub fn next(self) -> Self {
        Self::ALL[(self as usize + 1) % Self::ALL.len()]
    }
}

/// How the blocks of a pool are coloured.
pub(super) struct Coloring<'m> {
    model: &'m Model,
    by: ColorBy,
    axis: Axis,
    groups: Option<&'m Groups>,
    palette: &'static Palette,
}

impl<'m> Coloring<'m> {
    pub(super) fn of(model: &'m Model, view: &View) -> Self {
        let grouped = view.color == ColorBy::Label && view.pool.at() < model.pools.len();
        Self {
            model,
            by: view.color,
            axis: view.axis,
            groups: grouped.then(|| model.groups(view.pool, By::Label)),
            palette: view.theme.palette(),
        }
    }

    /// What a block is coloured by, as a number.
    pub(super) fn class(&self, at: LifeIx) -> u32 {
        let life = self.model.life(at);
        let class = match self.by {
            // Streams of one colour are one class.
            ColorBy::Stream => Palette::distinct(self.model.stream(life.stream).rank),
            ColorBy::Label => self.groups.map_or(0, |groups| groups.of(life)),
            ColorBy::Age => self.age(life),
            ColorBy::Source => life.source.map_or(Source::ALL.len(), |source| source as usize),
        };
        class as u32
    }

    /// How long it lived, or has lived at the log's end: the step.
    fn age(&self, life: &Life) -> usize {
        let events = &self.model.events;
        let place = |event: EventIx| events.position(self.axis, event);
        let end = life.died().map_or_else(|| events.extent(self.axis), place);
        let length = end.saturating_sub(place(life.since()));
        let steps = if self.axis == Axis::Time { &NANOS } else { &RECORDS };
        steps.partition_point(|step| *step <= length)
    }

    /// The colour of a class.
    pub(super) fn color(&self, class: u32) -> Color {
        let class = class as usize;
        match self.by {
            ColorBy::Stream => self.palette.stream(class),
            ColorBy::Label if class < MOST_GROUPS => self.palette.stream(class),
            ColorBy::Source if class < Source::ALL.len() => self.palette.stream(class),
            ColorBy::Age => self.palette.age(class),
            ColorBy::Label | ColorBy::Source => self.palette.other,
        }
    }

    /// The classes that there may be, by name: the first of them, and how many there are.
    fn legend(&self, view: &View, most: usize) -> (Vec<(String, Color)>, usize) {
        let named = |class: usize, name: String| (name, self.color(class as u32));
        let mut all: Vec<_> = match self.by {
            // A log may have thousands: only the first are named.
            ColorBy::Stream => return streams(self.model, self.palette, most),
            ColorBy::Label => {
                let groups = self.groups.map_or(&[][..], Groups::all).iter().enumerate();
                groups.map(|(at, group)| named(at, group.name.clone())).collect()
            }
            ColorBy::Age => ages(self.axis).into_iter().enumerate().map(|(at, name)| named(at, name)).collect(),
            ColorBy::Source => {
                let Some(pool) = self.model.pools.get(view.pool.at()) else { return (Vec::new(), 0) };
                let there = |(at, source): (usize, &Source)| {
                    (!pool.by_source[at].is_empty()).then(|| named(at, source_words(*source).to_owned()))
                };
                let known: usize = pool.by_source.iter().map(Vec::len).sum();
                let unknown = known < pool.lives.len();
                let last = unknown.then(|| named(Source::ALL.len(), "not recorded".to_owned()));
                Source::ALL.iter().enumerate().filter_map(there).chain(last).collect()
            }
        };
        let count = all.len();
        all.truncate(most);
        (all, count)
    }
}

/// Those that allocate, in the order of their colours: the first of them, and how many there are.
fn streams(model: &Model, palette: &Palette, most: usize) -> (Vec<(String, Color)>, usize) {
    let streams = model.allocating();
    let named = |s: &StreamIx| (stream_name(model, *s), palette.stream(model.stream(*s).rank));
    (streams.iter().take(most).map(named).collect(), streams.len())
}

/// The steps in words.
fn ages(axis: Axis) -> Vec<String> {
    let words = |at: usize| match axis {
        Axis::Record => format!("< {} records", ticks::count(RECORDS[at])),
        Axis::Time => format!("< {}", ticks::time(NANOS[at])),
    };
    let mut names: Vec<String> = (0..RECORDS.len()).map(words).collect();
    names[0].insert_str(0, "lived ");
    names.push("longer".to_owned());
    names
}

/// What the squares of the legend stand for, the first of them, and how many there are: the map's colours where that is
/// shown, else the streams'.
pub(super) fn legend(context: &Context<'_>, most: usize) -> (Vec<(String, Color)>, usize) {
    match context.view.page {
        super::Page::Addresses => Coloring::of(context.model, context.view).legend(context.view, most),
        _ => streams(context.model, context.palette, most),
    }
}
