//! What is being looked at: the range, the selection, the size. Inputs change it; the picture follows from it.

use super::{
    Addresses, Along, Answer, ColorBy, Frame, Input, Listing, Mark, Notes, Page, Pos, Question, Range, Scrolled, Theme,
};
use crate::model::{Axis, By, EventIx, FindingIx, FreeBlock, LifeIx, Model, PoolIx};

/// What is selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// Nothing.
    #[default]
    Nothing,
    /// An allocation.
    Life(LifeIx),
    /// A record that is not an allocation's malloc or free.
    Event(EventIx),
    /// Something that is wrong.
    Finding(FindingIx),
    /// Memory of the pool that is free after a record.
    Free(EventIx, FreeBlock),
}

/// Which parts the picture has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parts {
    /// The panels alone.
    #[default]
    Panels,
    /// The panels, and at the right the list of records and the details of what is selected.
    WithList,
}

/// Width and height in logical pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Width.
    pub w: f32,
    /// Height.
    pub h: f32,
}

/// The smallest size that a picture is laid out for; smaller ones are cut off.
pub const SMALLEST: Size = Size { w: 480.0, h: 360.0 };

/// What is being looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The picture's size.
    pub size: Size,
    /// Its parts.
    pub parts: Parts,
    /// Its colours.
    pub theme: Theme,
    /// The heading: usually the file's name.
    pub title: String,
    /// What has to be said about the log, a line each: damaged pages, for instance.
    pub notices: Vec<String>,
    /// What runs along x.
    pub axis: Axis,
    /// The shown part of the x axis, from the first record's place.
    pub x: Range,
    /// The shown part of the addresses, gaps cut short (see [`Addresses`]).
    pub y: Range,
    /// What the large panel shows.
    pub page: Page,
    /// The pool.
    pub pool: PoolIx,
    /// What is selected.
    pub selection: Selection,
    /// The first row of the list of records.
    pub top: usize,
    /// The first row of the list of findings.
    pub top_finding: usize,
    /// How far the details are scrolled, which are those of the selection.
    pub details: Scrolled<Selection>,
    /// How far the list of free blocks is scrolled, which is that of a pool after a record.
    pub free: Scrolled<Option<(PoolIx, EventIx)>>,
    /// What is looked for, and what the tables show of it.
    pub listing: Listing,
    /// What the used bytes of the chart are stacked by; `None`: they are not.
    pub stack: Option<By>,
    /// What the blocks of the address map are coloured by.
    pub color: ColorBy,
    /// What is worth a look.
    pub notes: Notes,
    /// What was asked last about the selection, and the answer; see [`View::question`].
    pub answer: Option<(Question, Answer)>,
    /// The user's marks, in the order of their records.
    pub marks: Vec<Mark>,
}

impl View {
    /// Everything of the pool with most allocations.
    #[must_use]
    pub fn whole(model: &Model, size: Size) -> Self {
        let mut view = Self {
            size,
            parts: Parts::default(),
            theme: Theme::default(),
            title: String::new(),
            notices: Vec::new(),
            axis: Axis::default(),
            x: Range { from: 0.0, to: 1.0 },
            y: Range { from: 0.0, to: 1.0 },
            page: Page::default(),
            pool: model.busiest_pool().unwrap_or(PoolIx(0)),
            selection: Selection::default(),
            top: 0,
            top_finding: 0,
            details: Scrolled::default(),
            free: Scrolled::default(),
            listing: Listing::default(),
            stack: None,
            color: ColorBy::default(),
            notes: Notes::default(),
            answer: None,
            marks: Vec::new(),
        };
        view.fit(model);
        view
    }

    /// Shows everything of the pool.
    pub fn fit(&mut self, model: &Model) {
        self.x = Range { from: 0.0, to: model.events.extent(self.axis) as f64 };
        self.y = Range { from: 0.0, to: self.addresses(model).length() };
    }

    /// The addresses of the pool that is shown.
    #[must_use]
    pub fn addresses(&self, model: &Model) -> Addresses {
        if self.pool.at() < model.pools.len() {
            Addresses::of(model, self.pool)
        } else {
            Addresses::from_spans(Vec::new())
        }
    }

    /// Applies an input. `frame` is that of the picture the user saw.
    pub fn apply(&mut self, model: &Model, frame: &Frame, input: Input) {
        match input {
            Input::Zoom { at, factor, along } => self.zoom(model, frame, at, factor, along),
            Input::Drag { from, by } => self.drag(model, frame, from, by),
            Input::Move { x, y } => {
                self.move_x(model, x * self.x.length());
                self.move_y(frame, y * self.y.length());
            }
            Input::Closer { factor } => {
                self.zoom_x(model, f64::midpoint(self.x.from, self.x.to), factor);
            }
            Input::Click(at) => self.click(model, frame, at),
            Input::Fit => self.fit(model),
            Input::FitSelection => self.fit_selection(model),
            Input::Go => self.go(model),
            Input::Clear => self.selection = Selection::Nothing,
            Input::Scroll(rows) => self.top = scrolled(self.top, rows, model.events.len(), frame.rows()),
            Input::ScrollFindings(rows) => {
                let findings = model.findings.flags().len();
                self.top_finding = scrolled(self.top_finding, rows, findings, frame.finding_rows());
            }
            Input::Step(by) if self.page == Page::Findings => self.step_note(model, frame, by),
            Input::Step(by) => self.step(model, frame, by),
            Input::StepFinding(by) => self.step_finding(model, frame, by),
            Input::StepMark(by) => self.step_mark(model, frame, by),
            Input::SwitchAxis => self.switch_axis(model),
            Input::NextPool => {
                let pools = model.pools.len().max(1);
                self.pool = PoolIx::next_of((self.pool.at() + 1) % pools);
                self.selection = Selection::Nothing;
                self.fit(model);
            }
            Input::SwitchTheme => self.theme = self.theme.other(),
            Input::Stack(by) => self.stack = by,
            Input::NextStack => self.stack = By::after(self.stack),
            Input::Color(by) => self.color = by,
            Input::NextColor => self.color = self.color.next(),
            Input::Show(page) => self.show(page),
            Input::NextPage => self.show(self.page.next()),
            Input::ScrollTable(rows) if self.page == Page::State => self.scroll_free(model, frame, rows),
            Input::ScrollTable(rows) => self.scroll_table(model, frame, rows),
            Input::ScrollDetails(rows) => self.scroll_details(model, frame, rows),
        }
    }

    fn show(&mut self, page: Page) {
        if self.page.table() != page.table() || page == Page::Findings {
            (self.listing.top, self.listing.sort) = (0, None);
        }
        self.page = page;
    }

    fn zoom(&mut self, model: &Model, frame: &Frame, at: Pos, factor: f64, along: Along) {
        match along {
            Along::X => self.zoom_x(model, frame.map.x.value(at.x), factor),
            Along::Y => {
                let around = frame.map.y.value(at.y);
                let whole = frame.map.addresses.length();
                self.y = self.y.zoomed(around, factor, whole, 4096.0);
            }
        }
    }

    fn zoom_x(&mut self, model: &Model, around: f64, factor: f64) {
        let whole = model.events.extent(self.axis) as f64;
        let around = around.clamp(self.x.from, self.x.to);
        self.x = self.x.zoomed(around, factor, whole, 4.0);
    }

    fn drag(&mut self, model: &Model, frame: &Frame, from: Pos, by: Pos) {
        if frame.is_plot(from) {
            self.move_x(model, -f64::from(by.x) * frame.map.x.per_pixel());
        }
        if frame.map.area.contains(from) {
            self.move_y(frame, f64::from(by.y) * frame.map.y.per_pixel());
        }
    }

    fn move_x(&mut self, model: &Model, by: f64) {
        self.x = self.x.moved(by, model.events.extent(self.axis) as f64);
    }

    fn move_y(&mut self, frame: &Frame, by: f64) {
        self.y = self.y.moved(by, frame.map.addresses.length());
    }

    fn click(&mut self, model: &Model, frame: &Frame, at: Pos) {
        if let Some(event) = frame.row_at(at, model) {
            self.select_event(model, event);
            return;
        }
        if let Some(finding) = frame.finding_row_at(at, model) {
            self.go_to_finding(model, frame, finding);
            return;
        }
        if let Some(finding) = frame.finding_at(model, self, at) {
            self.select_finding(model, finding);
            self.show_in_list(model, frame);
            return;
        }
        if self.click_heading(frame, at) || self.click_note(model, frame, at) {
            return;
        }
        if frame.map.area.contains(at) {
            match self.page.panel().at(model, self, frame, at) {
                Selection::Event(event) => self.select_event(model, event),
                other => self.selection = other,
            }
            self.show_in_list(model, frame);
        } else if frame.is_plot(at)
            && let Some(event) = frame.event_at(model, self, at)
        {
            self.select_event(model, event);
            self.show_in_list(model, frame);
        }
    }

    /// Selects a record: its allocation, where it has one, and changes to that one's pool.
    pub fn select_event(&mut self, model: &Model, event: EventIx) {
        match model.life_at(event) {
            Some(life) => self.select_life(model, life),
            None => self.selection = Selection::Event(event),
        }
    }

    /// Selects an allocation and changes to its pool.
    pub fn select_life(&mut self, model: &Model, life: LifeIx) {
        self.selection = Selection::Life(life);
        let pool = model.life(life).pool;
        if pool != self.pool {
            self.pool = pool;
            self.fit(model);
        }
    }

    /// The record that the selection stands at.
    #[must_use]
    pub fn selected_event(&self, model: &Model) -> Option<EventIx> {
        match self.selection {
            Selection::Nothing => None,
            Selection::Event(event) | Selection::Free(event, _) => Some(event),
            Selection::Life(life) => model.life(life).born().or_else(|| model.life(life).died()),
            Selection::Finding(finding) => model.findings.flag(finding).map(|flag| flag.second),
        }
    }

    /// Scrolls the lists so that the selection is in their middle, unless it is visible.
    pub fn show_in_list(&mut self, model: &Model, frame: &Frame) {
        let Some(event) = self.selected_event(model) else {
            return;
        };
        self.top = shown(self.top, event.at(), model.events.len(), frame.rows());
        if let Selection::Finding(finding) = self.selection {
            let findings = model.findings.flags().len();
            self.top_finding = shown(self.top_finding, finding.at(), findings, frame.finding_rows());
        }
    }

    fn step(&mut self, model: &Model, frame: &Frame, by: i64) {
        let now = self.selected_event(model).map_or(self.top as i64 - by.signum(), |e| i64::from(e.0));
        let last = model.events.len() as i64 - 1;
        if last >= 0 {
            let next = (now + by).clamp(0, last);
            let event = EventIx::next_of(usize::try_from(next).unwrap_or(0));
            self.select_event(model, event);
            // A free selects its allocation, whose malloc is elsewhere: stay where the step went.
            if self.selected_event(model) != Some(event) {
                self.selection = Selection::Event(event);
            }
            self.show_in_list(model, frame);
        }
    }

    fn switch_axis(&mut self, model: &Model) {
        let other = match self.axis {
            Axis::Record => Axis::Time,
            Axis::Time => Axis::Record,
        };
        // The same records stay in sight.
        let events = &model.events;
        let whole = self.x.length() >= events.extent(self.axis) as f64;
        let first = events.first_from(self.axis, self.x.from);
        let last = events.last_until(self.axis, self.x.to).unwrap_or(first);
        let axis = std::mem::replace(&mut self.axis, other);
        if whole || first >= last || axis == other {
            self.x = Range { from: 0.0, to: events.extent(other) as f64 };
            return;
        }
        let from = events.position(other, first) as f64;
        let to = (events.position(other, last) as f64 + 1.0).max(from + 4.0);
        self.x = Range { from, to }.within(events.extent(other) as f64);
    }

    pub(super) fn fit_selection(&mut self, model: &Model) {
        let events = &model.events;
        let axis = self.axis;
        let place = |e: EventIx| events.position(axis, e) as f64;
        let whole = events.extent(axis) as f64;
        let (from, to) = match self.selection {
            Selection::Nothing => return self.fit(model),
            Selection::Event(event) => (place(event), place(event) + 1.0),
            Selection::Free(event, block) => {
                self.fit_addresses(model, block.start, block.end);
                (place(event), place(event) + 1.0)
            }
            Selection::Life(life) => {
                let life = model.life(life);
                self.fit_addresses(model, life.offset.0, life.end());
                (life.born().map_or(0.0, place), life.died().map_or(whole, place))
            }
            Selection::Finding(finding) => {
                let Some(flag) = model.findings.flag(finding) else { return };
                if let Some((low, high)) = flag.addresses().filter(|_| flag.pool == Some(self.pool)) {
                    self.fit_addresses(model, low, high);
                }
                let first = flag.first.unwrap_or(flag.second);
                (place(first.min(flag.second)), place(first.max(flag.second)))
            }
        };
        let room = (to - from) * 0.75 + 4.0;
        self.x = Range { from: from - room, to: to + room }.within(whole);
    }

    fn fit_addresses(&mut self, model: &Model, low: u64, high: u64) {
        let ends = self.addresses(model);
        let (low, high) = (ends.place(low), ends.place(high));
        let room = (high - low) * 2.0 + 4096.0;
        self.y = Range { from: low - room, to: high + room }.within(ends.length());
    }
}

/// The first row of a list that was scrolled.
pub(super) fn scrolled(top: usize, rows: f64, all: usize, shown: usize) -> usize {
    (top as f64 + rows).clamp(0.0, all.saturating_sub(shown) as f64) as usize
}

/// The first row of a list so that this one is in its middle, unless it is visible.
fn shown(top: usize, row: usize, all: usize, shown: usize) -> usize {
    if (top..top + shown).contains(&row) { top } else { row.saturating_sub(shown / 2).min(all.saturating_sub(shown)) }
}
