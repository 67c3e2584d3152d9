//! The lanes of the streams: where each is, its name and its colour.

use super::{Color, Context, Rect};
use crate::model::{Lane, Model};
use std::collections::BTreeSet;

/// A lane is not higher.
const HIGHEST: f32 = 130.0;

/// Where the lanes are.
pub(super) struct Rows {
    pub(super) area: Rect,
    pub(super) lanes: Vec<Lane>,
    /// The height of one.
    pub(super) high: f32,
}

impl Rows {
    /// The host on top, the streams below by their ids.
    pub(super) fn of(model: &Model, area: Rect) -> Self {
        let lanes: BTreeSet<Lane> = model.lanes.acts().map(|(lane, ..)| lane).collect();
        let mut lanes: Vec<Lane> = lanes.into_iter().collect();
        lanes.sort_by_key(|lane| match lane {
            Lane::Host => None,
            Lane::Stream(stream) => Some(model.stream(*stream).rank),
        });
        let high = (area.h / lanes.len().max(1) as f32).min(HIGHEST);
        Self { area, lanes, high }
    }

    /// The middle of a lane.
    pub(super) fn middle(&self, lane: Lane) -> Option<f32> {
        let at = self.lanes.iter().position(|l| *l == lane)?;
        Some(self.area.y + (at as f32 + 0.5) * self.high)
    }

    /// The lane at a height.
    pub(super) fn at(&self, y: f32) -> Option<Lane> {
        self.lanes.get(((y - self.area.y) / self.high.max(0.1)) as usize).copied()
    }
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
