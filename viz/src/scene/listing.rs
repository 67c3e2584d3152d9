//! The tables: a row for each allocation, decision or refusal; filtered by the search box, sorted by a heading.

use super::page::Panel;
use super::{Anchor, Context, Frame, Page, Paint, Pos, ROW, Rect, Selection, Stroke, View, pos, ticks};
use crate::font::{fit, width};
use crate::model::Model;
use crate::search::{Query, QueryError, Row};
use crate::table::{Column, Rows, Sort, Table};

/// Size of the texts.
const TEXT: f32 = 11.5;

/// What a table shows, kept until the question is another one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// What is looked for; a table shows the matches.
    pub query: String,
    /// By which column, and which way; `None`: as in the log.
    pub sort: Option<Sort>,
    /// The first row that is shown.
    pub top: usize,
    /// The last query that made sense.
    good: String,
    kept: Option<Kept>,
}

/// The rows of a question.
#[derive(Clone, Debug)]
struct Kept {
    table: Table,
    query: String,
    sort: Option<Sort>,
    rows: Rows,
}

/// The same question of the same log has the same rows.
impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        (self.table, &self.query, self.sort) == (other.table, &other.query, other.sort)
    }
}

impl Listing {
    /// The query that the rows are of: what is looked for, or while that makes no sense the last one that did.
    #[must_use]
    pub fn in_force(&self) -> &str {
        if self.wrong().is_none() { &self.query } else { &self.good }
    }

    /// Why what is looked for makes no sense, if it does not.
    #[must_use]
    pub fn wrong(&self) -> Option<QueryError> {
        Query::parse(&self.query).err()
    }

    /// Looks for nothing any more. Answers whether something was looked for.
    pub fn clear(&mut self) -> bool {
        let any = !self.query.is_empty();
        if any {
            self.query.clear();
            self.top = 0;
        }
        any
    }

    fn is_kept(&self, table: Table) -> bool {
        let query = self.in_force();
        self.kept.as_ref().is_some_and(|k| k.table == table && k.query == query && k.sort == self.sort)
    }

    /// The rows of a table: those that match what is looked for. While that makes no sense, those of the last query that did.
    #[must_use]
    pub fn rows(&self, model: &Model, table: Table) -> Rows {
        match &self.kept {
            Some(kept) if self.is_kept(table) => kept.rows.clone(),
            _ => table.rows(model, &Query::parse(self.in_force()).unwrap_or_default(), self.sort),
        }
    }

    /// The log is another one: the rows have to be worked out anew.
    pub(super) fn forget(&mut self) {
        self.kept = None;
    }

    /// Works the rows out, if that was not done.
    pub fn keep(&mut self, model: &Model, table: Table) {
        self.keep_query();
        if !self.is_kept(table) {
            let rows = self.rows(model, table);
            self.kept = Some(Kept { table, query: self.in_force().to_owned(), sort: self.sort, rows });
        }
    }

    /// Keeps the query as the last one that made sense, if it does.
    fn keep_query(&mut self) {
        if self.good != self.query && self.wrong().is_none() {
            self.good.clone_from(&self.query);
        }
    }

    /// How many rows there are and why, and what is wrong with what is looked for.
    pub(super) fn facts(&self, rows: usize) -> String {
        let mut facts = ticks::counted(rows as u64, "row");
        if !self.in_force().is_empty() {
            facts = format!("{facts} matching `{}`", self.in_force());
        }
        match self.wrong() {
            Some(error) => format!("{error}; {facts}"),
            None => facts,
        }
    }
}

/// The panel.
pub(super) struct TablePanel(pub(super) Table);

impl Panel for TablePanel {
    fn draw(&self, context: &Context<'_>, paint: &mut Paint) {
        let area = context.frame.map.area;
        let (view, palette) = (context.view, context.palette);
        super::panel(context, paint, area, view.page.title());
        let rows = view.listing.rows(context.model, self.0);
        let facts = view.listing.facts(rows.len());
        paint.text(Anchor::End, pos(area.right(), area.y - 8.0), TEXT, palette.dim, fit(&facts, TEXT, area.w - 120.0));
        headings(context, paint, self.0);
        let top = view.listing.top;
        let shown = (top..top + shown_rows(context.frame)).map_while(|at| rows.get(context.model, at));
        for (at, row) in shown.enumerate() {
            let line = Rect { y: area.y + (at + 1) as f32 * ROW, h: ROW, ..area };
            self.row(context, paint, line, row);
        }
        let body = Rect { y: area.y + ROW, h: area.h - ROW, ..area };
        super::side::thumb(context, paint, body, (view.listing.top, shown_rows(context.frame), rows.len()));
    }

    fn at(&self, model: &Model, view: &View, frame: &Frame, at: Pos) -> Selection {
        match self.row_at(model, view, frame, at) {
            Some(Row::Life(life)) => Selection::Life(life),
            Some(Row::Event(event)) => Selection::Event(event),
            None => view.selection,
        }
    }

    fn tell(&self, model: &Model, view: &View, frame: &Frame, at: Pos) -> Vec<String> {
        match self.row_at(model, view, frame, at) {
            Some(Row::Life(life)) => super::hover::life_lines(model, life),
            _ => Vec::new(),
        }
    }
}

/// How many rows of a table there is room for.
pub(super) fn shown_rows(frame: &Frame) -> usize {
    (frame.map.area.h / ROW - 1.0).max(0.0) as usize
}

/// Pixels of a column's unit of width, at least: else numbers are cut, and cut numbers mislead.
const LEAST: f32 = 60.0;
/// The width that a text needs: it can be cut.
const CUT: f32 = 1.0;

/// The columns' left edges and widths: the first ones, where there is no room for all.
fn places(table: Table, area: Rect) -> Vec<(f32, f32)> {
    let widths = || table.columns().iter().map(|column| column.width);
    let mut taken = 0.0;
    let fits = |column: &&Column| {
        taken += if column.numeric { column.width } else { column.width.min(CUT) };
        taken * LEAST <= area.w
    };
    let shown = table.columns().iter().take_while(fits).count().max(1);
    let all: f32 = widths().take(shown).sum();
    let mut x = area.x;
    let place = |width: f32| {
        let here = (x, width / all * area.w);
        x += here.1;
        here
    };
    widths().take(shown).map(place).collect()
}

fn headings(context: &Context<'_>, paint: &mut Paint, table: Table) {
    let (area, palette) = (context.frame.map.area, context.palette);
    paint.rect(Rect { h: ROW, ..area }, palette.reserved_area);
    for (at, (x, wide)) in places(table, area).into_iter().enumerate() {
        let name = fit(table.columns()[at].name, TEXT, wide - 18.0);
        let end = x + 8.0 + width(&name, TEXT);
        paint.text(Anchor::Start, pos(x + 8.0, area.y + ROW * 0.7), TEXT, palette.ink, name);
        let sorted = context.view.listing.sort.filter(|sort| sort.column == at);
        if let Some(sort) = sorted {
            let (tip, foot) = if sort.descending { (12.0, 7.0) } else { (7.0, 12.0) };
            let arrow = [(0.0, foot), (3.5, tip), (7.0, foot)].map(|(dx, dy)| pos(end + 4.0 + dx, area.y + dy));
            paint.line(arrow.to_vec(), Stroke::solid(palette.ink, 1.5));
        }
    }
}

impl TablePanel {
    fn row(&self, context: &Context<'_>, paint: &mut Paint, line: Rect, row: Row) {
        let palette = context.palette;
        let chosen = match (row, context.view.selection) {
            (Row::Life(a), Selection::Life(b)) => a == b,
            (Row::Event(a), _) => context.view.selected_event(context.model) == Some(a),
            _ => false,
        };
        if chosen {
            paint.rect(line, palette.used.fade(70));
        }
        for (at, (x, wide)) in places(self.0, line).into_iter().enumerate() {
            let cell = self.0.cell(context.model, row, at);
            let cell = fit(&cell, TEXT, wide - 12.0);
            paint.text(Anchor::Start, pos(x + 8.0, line.y + ROW * 0.7), TEXT, palette.ink, cell);
        }
    }

    fn row_at(&self, model: &Model, view: &View, frame: &Frame, at: Pos) -> Option<Row> {
        let line = ((at.y - frame.map.area.y) / ROW) as usize;
        let line = line.checked_sub(1).filter(|line| *line < shown_rows(frame))?;
        view.listing.rows(model, self.0).get(model, view.listing.top + line)
    }
}

impl View {
    /// Sorts by the heading at the place, if there is one: upwards, downwards, as in the log.
    pub(super) fn click_heading(&mut self, frame: &Frame, at: Pos) -> bool {
        let area = frame.map.area;
        let heading = Rect { h: ROW, ..area };
        let Some(table) = self.page.table().filter(|_| heading.contains(at)) else {
            return false;
        };
        let column = places(table, area).iter().rposition(|(x, _)| *x <= at.x).unwrap_or(0);
        self.sort_by(column);
        true
    }

    /// Sorts the table by a column: upwards, then downwards, then as in the log.
    pub fn sort_by(&mut self, column: usize) {
        self.listing.sort = match self.listing.sort {
            Some(sort) if sort.column == column && sort.descending => None,
            Some(sort) if sort.column == column => Some(Sort { descending: true, ..sort }),
            _ => Some(Sort { column, descending: false }),
        };
        self.listing.top = 0;
    }

    /// Scrolls the table by rows.
    pub(super) fn scroll_table(&mut self, model: &Model, frame: &Frame, rows: f64) {
        if self.page.is_list() {
            let all = match self.page.table() {
                Some(table) => self.listing.rows(model, table).len(),
                None => self.notes.rows(model, &self.listing.query).len(),
            };
            let most = all.saturating_sub(shown_rows(frame)) as f64;
            self.listing.top = (self.listing.top as f64 + rows).clamp(0.0, most) as usize;
        }
    }

    /// Keeps the rows of the table that is shown, so that the next picture does not work them out again.
    pub fn keep_listing(&mut self, model: &Model) {
        if let Some(table) = self.page.table() {
            self.listing.keep(model, table);
        } else {
            self.listing.keep_query();
            if self.page.is_list() {
                self.notes.keep(model, &self.listing.query);
            }
        }
    }

    /// Goes to the next (1) or previous (-1) match of the search; a table shows the matches anyway.
    ///
    /// # Errors
    /// The query makes no sense, or nothing matches, in words.
    pub fn find(&mut self, model: &Model, frame: &Frame, by: i64) -> Result<(), String> {
        let query = Query::parse(&self.listing.query).map_err(|error| error.to_string())?;
        if query.is_empty() {
            return Ok(());
        }
        let found = query.next(model, self.selected_event(model), by);
        match found.ok_or_else(|| format!("nothing matches `{}`", self.listing.query))? {
            Row::Life(life) => self.select_life(model, life),
            Row::Event(event) => self.select_event(model, event),
        }
        self.fit_selection(model);
        self.show_in_list(model, frame);
        Ok(())
    }
}

impl Page {
    /// The table that it shows, if it shows one.
    #[must_use]
    pub const fn table(self) -> Option<Table> {
        match self {
            Self::Allocations => Some(Table::Allocations),
            Self::Decisions => Some(Table::Decisions),
            Self::Refusals => Some(Table::Refusals),
            _ => None,
        }
    }
}
