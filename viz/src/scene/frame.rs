//! Where everything is in a picture, and what is under the pointer.

use super::rows::Rows;
use super::{MapScale, Page, Parts, Pos, Rect, SMALLEST, Scale, Selection, View};
use crate::model::{EventIx, FindingIx, LifeIx, Model};

/// Height of one row of the list.
pub const ROW: f32 = 18.0;
/// Height of one row of the strip.
pub(super) const STRIP_ROW: f32 = 15.0;
/// Space around everything.
pub(super) const PAD: f32 = 20.0;
/// Space for the labels left of the panels.
const LEFT: f32 = 100.0;
/// Space for the labels right of the panels.
const RIGHT: f32 = 56.0;
/// Space above each panel for its caption.
const CAPTION: f32 = 26.0;
/// Space below the map for the x axis.
const BOTTOM: f32 = 46.0;
/// Allocations this near to a place in pixels may be the one that is meant.
const NEAR: f32 = 3.0;
/// Height of one notice.
pub(super) const NOTICE: f32 = 20.0;
/// The part of the list's height that findings take at most.
const MOST_FINDINGS: f32 = 0.25;
/// From this width on, there is room for the list beside the panels.
const BESIDE: f32 = 800.0;
/// Notices that are shown; the last one says how many more there are.
pub(super) const MOST_NOTICES: usize = 3;

/// Where everything is.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The whole picture.
    pub whole: Rect,
    /// Used and reserved bytes.
    pub chart: Rect,
    /// Signs by kind.
    pub strip: Rect,
    /// The address map and the axes.
    pub map: MapScale,
    /// Where the x axis is: below the lowest panel over it.
    pub axis: f32,
    /// Whether the large panel is over the x axis.
    over_x: bool,
    /// The list of findings, if there are any and a list is wanted.
    pub findings: Option<Rect>,
    /// The list of records, if there is one.
    pub list: Option<Rect>,
    /// The details, if there are any.
    pub details: Option<Rect>,
    /// The notices.
    pub notices: Rect,
    /// The lanes of the streams, where these are shown.
    pub(super) lanes: Option<Rows>,
    /// The first rows of the lists.
    top: usize,
    top_finding: usize,
}

impl Frame {
    /// The layout for a view. `strip_rows`: rows of the strip.
    #[must_use]
    pub fn new(model: &Model, view: &View, strip_rows: usize) -> Self {
        let whole = Rect { x: 0.0, y: 0.0, w: view.size.w.max(SMALLEST.w), h: view.size.h.max(SMALLEST.h) };
        let side = match view.parts {
            Parts::WithList if whole.w >= BESIDE => (whole.w * 0.3).clamp(300.0, 440.0),
            Parts::Panels | Parts::WithList => 0.0,
        };
        let notice_lines = view.notices.len().min(MOST_NOTICES) as f32;
        let notices = Rect { x: PAD, y: 88.0, w: whole.w - side - 2.0 * PAD, h: notice_lines * NOTICE };
        let (left, right) = (PAD + LEFT, whole.w - side - PAD - RIGHT);
        let top = notices.bottom() + if notice_lines > 0.0 { 10.0 } else { 0.0 };
        let room = whole.h - top - BOTTOM - PAD * 0.5;
        let strip_h = if room > 300.0 { strip_rows as f32 * STRIP_ROW } else { 0.0 };
        let captions = if strip_h > 0.0 { 3.0 } else { 2.0 } * CAPTION;
        let chart_h = ((room - strip_h - captions) * 0.3).max(40.0).round();
        let map_h = (room - strip_h - captions - chart_h).max(40.0).round();
        let chart = Rect::between(left, top + CAPTION, right, top + CAPTION + chart_h);
        let strip_top = chart.bottom() + if strip_h > 0.0 { CAPTION } else { 0.0 };
        let strip = Rect::between(left, strip_top, right, strip_top + strip_h);
        let over_x = view.page.is_over_x();
        let below = if over_x { 0.0 } else { BOTTOM };
        let area = Rect { x: left, y: strip.bottom() + CAPTION + below, w: right - left, h: map_h };
        let axis = if over_x { area.bottom() } else { strip.bottom() };
        let map = MapScale {
            x: Scale::new(view.x.from, view.x.to, left, right),
            y: Scale::new(view.y.from, view.y.to, area.bottom(), area.y),
            addresses: view.addresses(model),
            area,
        };
        let Side { findings, list, details } = side_panels(whole, side, view.selection, model.findings.flags().len());
        let View { top, top_finding, .. } = *view;
        let lanes = (view.page == Page::Lanes).then(|| Rows::of(model, view, area));
        Self { whole, chart, strip, map, axis, over_x, findings, list, details, notices, lanes, top, top_finding }
    }

    /// Whether the place is on one of the panels over the x axis.
    #[must_use]
    pub fn is_plot(&self, at: Pos) -> bool {
        self.over().iter().any(|r| r.contains(at))
    }

    /// The panels over the x axis.
    pub(super) fn over(&self) -> Vec<Rect> {
        let panels = [self.chart, self.strip, self.map.area];
        panels[..if self.over_x { 3 } else { 2 }].to_vec()
    }

    /// How many rows the list shows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.list.map_or(0, |l| (l.h / ROW).max(0.0) as usize)
    }

    /// The record whose row is at the place.
    #[must_use]
    pub fn row_at(&self, at: Pos, model: &Model) -> Option<EventIx> {
        let event = self.top + row_in(self.list?, at)?;
        (event < model.events.len()).then(|| EventIx::next_of(event))
    }

    /// How many rows the list of findings shows.
    #[must_use]
    pub fn finding_rows(&self) -> usize {
        self.findings.map_or(0, |l| (l.h / ROW).round() as usize)
    }

    /// The finding whose row is at the place.
    #[must_use]
    pub fn finding_row_at(&self, at: Pos, model: &Model) -> Option<FindingIx> {
        let finding = self.top_finding + row_in(self.findings?, at)?;
        (finding < model.findings.flags().len()).then(|| FindingIx::next_of(finding))
    }

    /// The record whose effect holds at the place: the last one before it along x.
    #[must_use]
    pub fn event_at(&self, model: &Model, view: &View, at: Pos) -> Option<EventIx> {
        model.events.last_until(view.axis, self.map.x.value(at.x))
    }

    /// The allocation at the place: the one that covers it, or the nearest within two pixels.
    #[must_use]
    pub fn life_at(&self, model: &Model, view: &View, at: Pos) -> Option<LifeIx> {
        if view.pool.at() >= model.pools.len() {
            return None;
        }
        let mut best: Option<(f32, LifeIx)> = None;
        let event = |x: f32| model.events.last_until(view.axis, self.map.x.value(x)).unwrap_or(EventIx(0));
        model.each_between(view.pool, event(at.x - NEAR), event(at.x + NEAR), |life| {
            let rect = self.life_rect(model, view, life);
            let dx = (rect.x - at.x).max(at.x - rect.right()).max(0.0);
            let dy = (rect.y - at.y).max(at.y - rect.bottom()).max(0.0);
            let away = dx.max(dy);
            // Of two equally near, the later one is painted on top.
            if away <= 2.0 && best.is_none_or(|b| away <= b.0) {
                best = Some((away, life));
            }
        });
        best.map(|b| b.1)
    }

    /// The free memory at the place: mapped, and nobody's at that moment. O(n log n) in the pool's allocations.
    #[must_use]
    pub fn free_at(&self, model: &Model, view: &View, at: Pos) -> Option<Selection> {
        let event = self.event_at(model, view, at)?;
        let address = self.map.under(at).1.filter(|_| view.pool.at() < model.pools.len())?;
        let blocks = model.free_blocks(view.pool, event);
        let block = blocks.into_iter().find(|block| (block.start..block.end).contains(&address))?;
        Some(Selection::Free(event, block))
    }

    /// The pixels of a life, not clipped.
    #[must_use]
    pub fn life_rect(&self, model: &Model, view: &View, life: LifeIx) -> Rect {
        let life = model.life(life);
        let place = |e: EventIx| model.events.position(view.axis, e) as f64;
        let from = place(life.since());
        let to = life.died().map_or_else(|| model.events.extent(view.axis) as f64, place);
        self.map.pixels(from, to, life.offset.0, life.end())
    }
}

/// The row of a list that is at the place, if it is one that is shown whole.
fn row_in(list: Rect, at: Pos) -> Option<usize> {
    let row = ((at.y - list.y) / ROW) as usize;
    (list.contains(at) && row < (list.h / ROW).round() as usize).then_some(row)
}

/// What stands at the right.
#[derive(Default)]
struct Side {
    findings: Option<Rect>,
    list: Option<Rect>,
    details: Option<Rect>,
}

/// What was found on top, if anything; the records, and the details below, which get more room once something is
/// selected.
fn side_panels(whole: Rect, side: f32, selection: Selection, findings: usize) -> Side {
    if side == 0.0 {
        return Side::default();
    }
    let left = whole.w - side;
    let (top, bottom) = (PAD + 30.0, whole.h - PAD);
    let most = ((bottom - top) * MOST_FINDINGS / ROW).max(1.0) as usize;
    let found = Rect::between(left, top, whole.w - PAD, top + findings.min(most) as f32 * ROW);
    let top = if findings == 0 { top } else { found.bottom() + CAPTION + 10.0 };
    let share = if selection == Selection::Nothing { 0.66 } else { 0.42 };
    // Whole rows, so that none is cut.
    let split = top + ((bottom - top) * share / ROW).floor() * ROW;
    let list = Rect::between(left, top, whole.w - PAD, split);
    let details = Rect::between(left, split + 40.0, whole.w - PAD, bottom);
    Side { findings: (findings > 0).then_some(found), list: Some(list), details: Some(details) }
}
