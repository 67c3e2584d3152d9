//! The lanes of the streams: where each is, its name and its colour.

use super::{Color, Context, Rect, View};
use crate::model::{Lane, Model};

/// A lane is not higher.
const HIGHEST: f32 = 130.0;
/// Lanes at least this high have their name.
pub(super) const NAMED: f32 = 11.0;

/// Where the lanes are.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rows {
    pub(super) area: Rect,
    pub(super) lanes: Vec<Lane>,
    /// The height of one.
    pub(super) high: f32,
    /// Where in the list each stream is; the host is always first.
    at: Vec<u32>,
}

/// No row.
const NOWHERE: u32 = u32::MAX;

impl Rows {
    /// The host on top, the streams below by their ids: all of them where there is room for their names, else those that
    /// did anything in sight.
    pub(super) fn of(model: &Model, view: &View, area: Rect) -> Self {
        let all = model.lanes().lanes();
        let lanes = if all.len() as f32 * NAMED > area.h { in_sight(model, view) } else { all.to_vec() };
        let mut at = vec![NOWHERE; model.streams.len()];
        for (row, lane) in (0..).zip(&lanes) {
            if let Lane::Stream(stream) = lane {
                at[stream.at()] = row;
            }
        }
        let high = (area.h / lanes.len().max(1) as f32).min(HIGHEST);
        Self { area, lanes, high, at }
    }

    /// The row of a lane.
    pub(super) fn row(&self, lane: Lane) -> Option<usize> {
        match lane {
            Lane::Host => (self.lanes.first() == Some(&lane)).then_some(0),
            Lane::Stream(stream) => self.at.get(stream.at()).filter(|row| **row != NOWHERE).map(|row| *row as usize),
        }
    }

    /// The middle of a lane.
    pub(super) fn middle(&self, lane: Lane) -> Option<f32> {
        let row = self.row(lane)?;
        Some(self.area.y + (row as f32 + 0.5) * self.high)
    }

    /// The lane at a height.
    pub(super) fn at(&self, y: f32) -> Option<Lane> {
        self.lanes.get(((y - self.area.y) / self.high.max(1e-6)) as usize).copied()
    }
}

fn in_sight(model: &Model, view: &View) -> Vec<Lane> {
    let (events, axis) = (&model.events, view.axis);
    let (first, past) = (events.first_from(axis, view.x.from), events.first_from(axis, view.x.to));
    let (mut host, mut seen) = (false, vec![false; model.streams.len()]);
    model.lanes().each_in(model, view.pool, (first, past), |lane, _| match lane {
        Lane::Host => host = true,
        Lane::Stream(stream) => seen[stream.at()] = true,
    });
    let all = model.lanes().lanes().iter().copied();
    all.filter(|lane| match lane {
        Lane::Host => host,
        Lane::Stream(stream) => seen[stream.at()],
    })
    .collect()
}

/// How a lane is called.
pub(super) fn lane_name(model: &Model, lane: Lane) -> String {
    match lane {
        Lane::Host => "host".to_owned(),
        Lane::Stream(stream) => super::map::stream_name(model, stream),
    }
}

/// The colour of a lane.
pub(super) fn lane_color(context: &Context<'_>, lane: Lane) -> Color {
    match lane {
        Lane::Host => context.palette.dim,
        Lane::Stream(stream) => context.palette.stream(context.model.stream(stream).rank),
    }
}
