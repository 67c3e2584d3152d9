//! The marks of the findings: on the charts and in the address map, and how one gets from a finding to its place.

use super::frame::STRIP_ROW;
use super::{Anchor, Context, Frame, Page, Paint, Pos, Rect, Selection, Stroke, View, pos};
use crate::font::width;
use crate::model::{EventIx, FindingIx, Flag, Model};
use std::collections::HashSet;

/// Half the width of a mark.
const HALF: f32 = 4.0;
/// How near the pointer has to come to a mark.
const NEAR: f32 = 6.0;
/// Marks nearer to each other than this are one.
const APART: f32 = 4.0;
/// Marks that are drawn, at most; where they are more, those of a larger neighbourhood are one.
const MOST: usize = 300;

/// Which finding follows: this many further on, around the ends.
fn following(now: Option<FindingIx>, by: i64, count: usize) -> Option<FindingIx> {
    let count = i64::try_from(count).ok().filter(|count| *count > 0)?;
    let from = now.map_or(if by > 0 { -1 } else { 0 }, |now| i64::from(now.0));
    let next = (from + by).rem_euclid(count);
    Some(FindingIx::next_of(usize::try_from(next).unwrap_or(0)))
}

impl View {
    /// Selects a finding and changes to its pool.
    pub fn select_finding(&mut self, model: &Model, at: FindingIx) {
        let Some(flag) = model.findings.flag(at) else {
            return;
        };
        self.selection = Selection::Finding(at);
        if let Some(pool) = flag.pool.filter(|pool| *pool != self.pool) {
            self.pool = pool;
            self.fit(model);
        }
    }

    /// Selects a finding and goes to its place: its time, its addresses, its rows in the lists.
    pub fn go_to_finding(&mut self, model: &Model, frame: &Frame, at: FindingIx) {
        self.select_finding(model, at);
        self.fit_selection(model);
        self.show_in_list(model, frame);
    }

    pub(super) fn step_finding(&mut self, model: &Model, frame: &Frame, by: i64) {
        let now = match self.selection {
            Selection::Finding(now) => Some(now),
            _ => None,
        };
        if let Some(next) = following(now, by, model.findings.flags().len()) {
            self.go_to_finding(model, frame, next);
        }
    }
}

impl Frame {
    /// Where a finding's mark is in the address map, if its memory and time are in sight: its middle, and how far it
    /// reaches up and down.
    fn mark(&self, model: &Model, view: &View, flag: &Flag) -> Option<(Pos, Rect)> {
        let (start, end) = flag.addresses().filter(|_| flag.pool == Some(view.pool))?;
        let place = model.events.position(view.axis, flag.second) as f64;
        let range = self.map.pixels(place, place, start, end);
        let area = &self.map.area;
        let bar = Rect { x: range.x - 1.0, w: 2.0, y: range.y, h: range.h.max(1.0) }.clip(area)?;
        Some((pos(range.x.clamp(area.x, area.right()), bar.y + bar.h / 2.0), bar))
    }

    /// The finding whose mark is at the place, the nearest if there are several.
    #[must_use]
    pub fn finding_at(&self, model: &Model, view: &View, at: Pos) -> Option<FindingIx> {
        let mut best: Option<(f32, FindingIx)> = None;
        let in_map = view.page == Page::Addresses && self.map.area.contains(at);
        for (ix, flag) in model.findings.iter().filter(|(_, flag)| flag.concerns(view.pool)) {
            let away = if in_map {
                let Some((middle, _)) = self.mark(model, view, flag) else { continue };
                (middle.x - at.x).abs().max((middle.y - at.y).abs())
            } else if self.is_flagged(at) {
                (self.map.x.pixel(model.events.position(view.axis, flag.second) as f64) - at.x).abs()
            } else {
                return None;
            };
            if away <= NEAR && best.is_none_or(|b| away < b.0) {
                best = Some((away, ix));
            }
        }
        best.map(|b| b.1)
    }

    /// Whether marks of the chart or the last row of the strip may be at this place.
    fn is_flagged(&self, at: Pos) -> bool {
        let foot = Rect { y: self.chart.bottom() - 3.0 * HALF, h: 3.0 * HALF, ..self.chart };
        let row = Rect { y: self.strip.bottom() - STRIP_ROW, h: STRIP_ROW.min(self.strip.h), ..self.strip };
        foot.contains(at) || row.contains(at)
    }
}

/// The findings in sight, one for marks that would cover each other.
fn shown<'m>(context: &Context<'m>, place: impl Fn(&Flag) -> Option<Pos>) -> Vec<(&'m Flag, Pos)> {
    let flags = context.model.findings.iter().map(|(_, flag)| flag).filter(|f| f.concerns(context.view.pool));
    let mut placed: Vec<(&Flag, Pos)> = flags.filter_map(|flag| Some((flag, place(flag)?))).collect();
    let mut apart = APART;
    loop {
        let cell = |at: &Pos| ((at.x / apart) as i32, (at.y / apart) as i32);
        let mut taken = HashSet::new();
        placed.retain(|(_, at)| taken.insert(cell(at)));
        if placed.len() <= MOST {
            return placed;
        }
        apart *= 2.0;
    }
}

/// A triangle at the foot of the chart for each finding.
pub(super) fn on_chart(context: &Context<'_>, paint: &mut Paint) {
    let (area, alarm) = (context.frame.chart, context.palette.alarm);
    let place = |flag: &Flag| {
        let x = context.x_of(flag.second);
        (x >= area.x && x <= area.right()).then(|| pos(x, area.bottom()))
    };
    for (_, foot) in shown(context, place) {
        let (left, right) = ((foot.x - HALF).max(area.x), (foot.x + HALF).min(area.right()));
        let points = vec![pos(left, foot.y), pos(foot.x, foot.y - 2.0 * HALF), pos(right, foot.y)];
        paint.area(points, foot.y, alarm);
    }
}

/// A bar over the addresses of each finding, and a cross that is seen however small those are.
pub(super) fn on_map(context: &Context<'_>, paint: &mut Paint) {
    if context.view.page != Page::Addresses {
        return;
    }
    let mark = |flag: &Flag| context.frame.mark(context.model, context.view, flag);
    let marks = shown(context, |flag| Some(mark(flag)?.0));
    let bars = marks.iter().filter_map(|(flag, _)| Some(mark(flag)?.1)).collect();
    paint.rects(bars, context.palette.alarm);
    let cross = |at: &Pos, half: f32| {
        let corner = |x: f32, y: f32| pos(at.x + x * half, at.y + y * half);
        [[corner(-1.0, -1.0), corner(1.0, 1.0)], [corner(-1.0, 1.0), corner(1.0, -1.0)]]
    };
    let crosses = |half: f32| marks.iter().flat_map(|(_, at)| cross(at, half)).collect();
    paint.segments(crosses(HALF + 1.0), Stroke::solid(context.palette.ground, 5.0));
    paint.segments(crosses(HALF), Stroke::solid(context.palette.alarm, 2.0));
}

/// The selected finding: both operations through all panels, and its memory from the one to the other.
pub(super) fn selected(context: &Context<'_>, paint: &mut Paint) {
    let Selection::Finding(at) = context.view.selection else {
        return;
    };
    let Some(flag) = context.model.findings.flag(at) else {
        return;
    };
    let alarm = context.palette.alarm;
    if let Some(first) = flag.first {
        if context.view.page == Page::Addresses {
            memory_between(context, paint, flag, first);
        }
        operation(context, paint, first, "first", Stroke::dashed(alarm, 1.2, 3.0));
        operation(context, paint, flag.second, "then", Stroke::solid(alarm, 1.5));
    } else {
        operation(context, paint, flag.second, "here", Stroke::solid(alarm, 1.5));
    }
}

/// A line through all panels, and a word at its top.
fn operation(context: &Context<'_>, paint: &mut Paint, event: EventIx, word: &str, stroke: Stroke) {
    let (x, chart) = (context.x_of(event), context.frame.chart);
    if x < chart.x || x > chart.right() {
        return;
    }
    paint.line(vec![pos(x, chart.y), pos(x, context.frame.axis)], stroke);
    let wide = width(word, 11.0) + 6.0;
    let left = if x + wide > chart.right() { x - wide } else { x };
    paint.rect(Rect::between(left, chart.y, left + wide, chart.y + 15.0), context.palette.ground);
    paint.text(Anchor::Start, pos(left + 3.0, chart.y + 11.5), 11.0, stroke.color, word);
}

fn memory_between(context: &Context<'_>, paint: &mut Paint, flag: &Flag, first: EventIx) {
    let Some((start, end)) = flag.addresses().filter(|_| flag.pool == Some(context.view.pool)) else {
        return;
    };
    let (from, to) = (context.place(first.min(flag.second)), context.place(first.max(flag.second)));
    let memory = context.frame.map.pixels(from, to, start, end);
    let memory = Rect { w: memory.w.max(1.5), h: memory.h.max(1.5), ..memory };
    if let Some(memory) = memory.grown(1.5).clip(&context.frame.map.area) {
        paint.outline(memory, Stroke::solid(context.palette.ground, 4.0));
        paint.outline(memory, Stroke::solid(context.palette.alarm, 2.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_follow_each_other_around_the_ends() {
        let next = |now: Option<u32>, by, count| following(now.map(FindingIx), by, count).map(|at| at.0);
        assert_eq!(next(None, 1, 3), Some(0));
        assert_eq!(next(None, -1, 3), Some(2));
        assert_eq!(next(Some(2), 1, 3), Some(0));
        assert_eq!(next(Some(0), -1, 3), Some(2));
        assert_eq!(next(None, 1, 0), None);
    }
}
