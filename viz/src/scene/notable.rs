//! The page of the findings: what the detector found and what the report tells, each row leading to its place.

use super::page::Panel;
use super::{Anchor, Color, Context, Frame, Page, Paint, Pos, ROW, Rect, Selection, View, listing, pos, ticks};
use crate::font::fit;
use crate::model::{Model, PoolIx};
use crate::report::{self, Notable, Place};
use std::sync::Arc;

/// Size of the texts.
const TEXT: f32 = 11.5;
/// Left edges of the columns, and the last one's end is the panel's.
const COLUMNS: [(f32, &str); 4] = [(8.0, "kind"), (160.0, "pool"), (210.0, "record"), (300.0, "what")];

/// Rows that are the same when they are the same rows: a log may have a hundred thousand, and views are compared with each
/// frame.
#[derive(Clone, Debug)]
struct Rows(Arc<[Notable]>);

impl PartialEq for Rows {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

/// What is worth a look, kept until there are more findings or another is looked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notes {
    /// All of it, with the number of findings that were there.
    all: Option<(u64, Rows)>,
    /// What of it is looked for.
    kept: Option<(u64, String, Rows)>,
    /// It is worked out elsewhere; until it is [given](Self::give), there is none.
    pub awaited: bool,
    /// The row that was gone to.
    pub chosen: Option<usize>,
}

impl Notes {
    /// Takes what was worked out when there were so many findings.
    pub fn give(&mut self, findings: u64, all: Arc<[Notable]>) {
        self.all = Some((findings, Rows(all)));
    }

    /// Whether it is at hand for the findings that there are.
    #[must_use]
    pub fn has(&self, model: &Model) -> bool {
        self.all.as_ref().is_some_and(|(findings, _)| *findings == model.findings.total())
    }

    fn all(&self, model: &Model) -> Arc<[Notable]> {
        match &self.all {
            Some((_, all)) if self.has(model) => Arc::clone(&all.0),
            _ if self.awaited => Arc::new([]),
            _ => report::notable(model).into(),
        }
    }

    /// The rows that match what is looked for, every word of it.
    #[must_use]
    pub fn rows(&self, model: &Model, query: &str) -> Arc<[Notable]> {
        match &self.kept {
            Some((findings, of, rows)) if *findings == model.findings.total() && of == query => Arc::clone(&rows.0),
            _ => {
                let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
                if words.is_empty() {
                    return self.all(model);
                }
                let has = |notable: &&Notable| {
                    let text = format!("{} {}", notable.kind, notable.words).to_lowercase();
                    words.iter().all(|word| text.contains(word))
                };
                self.all(model).iter().filter(has).cloned().collect()
            }
        }
    }

    /// Works the rows out, if that was not done and is not awaited.
    pub fn keep(&mut self, model: &Model, query: &str) {
        if !self.awaited || self.has(model) {
            let rows = self.rows(model, query);
            self.kept = Some((model.findings.total(), query.to_owned(), Rows(rows)));
        }
    }
}

/// The panel.
pub(super) struct FindingsPage;

impl Panel for FindingsPage {
    fn draw(&self, context: &Context<'_>, paint: &mut Paint) {
        let (area, view, palette) = (context.frame.map.area, context.view, context.palette);
        super::panel(context, paint, area, "Findings");
        let rows = rows(context.model, view);
        let facts = format!(
            "{}; Enter shows the chosen one's place in the address map",
            ticks::counted(rows.len() as u64, "row")
        );
        paint.text(Anchor::End, pos(area.right(), area.y - 8.0), TEXT, palette.dim, fit(&facts, TEXT, area.w - 120.0));
        paint.rect(Rect { h: ROW, ..area }, palette.reserved_area);
        for (x, name) in COLUMNS {
            paint.text(Anchor::Start, pos(area.x + x, area.y + ROW * 0.7), TEXT, palette.ink, name);
        }
        let shown = listing::shown_rows(context.frame);
        for (at, notable) in rows.iter().enumerate().skip(view.listing.top).take(shown) {
            let line = Rect { y: area.y + (at - view.listing.top + 1) as f32 * ROW, h: ROW, ..area };
            if view.notes.chosen == Some(at) {
                paint.rect(line, palette.used.fade(70));
            }
            row(context, paint, line, notable);
        }
        let body = Rect { y: area.y + ROW, h: area.h - ROW, ..area };
        super::side::thumb(context, paint, body, (view.listing.top, shown, rows.len()));
    }

    fn at(&self, _: &Model, view: &View, _: &Frame, _: Pos) -> Selection {
        view.selection
    }

    fn tell(&self, model: &Model, view: &View, frame: &Frame, at: Pos) -> Vec<String> {
        let rows = rows(model, view);
        let row = row_at(view, frame, at).and_then(|row| rows.get(row));
        row.map(|notable| super::wrap::wrap(&notable.words, TEXT, 420.0)).unwrap_or_default()
    }
}

fn rows(model: &Model, view: &View) -> Arc<[Notable]> {
    view.notes.rows(model, &view.listing.query)
}

fn row(context: &Context<'_>, paint: &mut Paint, line: Rect, notable: &Notable) {
    let (model, palette) = (context.model, context.palette);
    let ink: Color = if notable.is_wrong() { palette.alarm } else { palette.ink };
    let pool = notable.pool.map_or(String::new(), |pool| model.pool(pool).id.to_string());
    let record = notable.event(model).map_or(String::new(), |event| ticks::count(model.events.number(event)));
    let cells = [notable.kind.replace('_', " "), pool, record, notable.words.clone()];
    for (at, cell) in cells.into_iter().enumerate() {
        let (left, end) = (COLUMNS[at].0, COLUMNS.get(at + 1).map_or(line.w - 8.0, |next| next.0));
        let ink = if at == 0 { ink } else { palette.ink };
        paint.text(
            Anchor::Start,
            pos(line.x + left, line.y + ROW * 0.7),
            TEXT,
            ink,
            fit(&cell, TEXT, end - left - 8.0),
        );
    }
}

/// The row at the place.
fn row_at(view: &View, frame: &Frame, at: Pos) -> Option<usize> {
    let line = ((at.y - frame.map.area.y) / ROW) as usize;
    let line = line.checked_sub(1).filter(|line| *line < listing::shown_rows(frame))?;
    Some(view.listing.top + line)
}

impl View {
    /// Goes to the row at the place, if this page is shown and there is one.
    pub(super) fn click_note(&mut self, model: &Model, frame: &Frame, at: Pos) -> bool {
        if self.page != Page::Findings || !frame.map.area.contains(at) {
            return false;
        }
        if let Some(row) = row_at(self, frame, at) {
            self.go_to_note(model, frame, row);
        }
        true
    }

    /// Goes to the next (1) or previous (-1) row.
    pub(super) fn step_note(&mut self, model: &Model, frame: &Frame, by: i64) {
        let last = rows(model, self).len() as i64 - 1;
        let now = self.notes.chosen.map_or(-by.signum().max(0), |row| row as i64);
        if last >= 0 {
            self.go_to_note(model, frame, usize::try_from((now + by).clamp(0, last)).unwrap_or(0));
        }
    }

    /// Selects what a row is about and goes there: its pool, its time, its rows in the lists.
    fn go_to_note(&mut self, model: &Model, frame: &Frame, row: usize) {
        let rows = rows(model, self);
        let Some(notable) = rows.get(row) else { return };
        self.select_note(model, row, notable);
        self.fit_selection(model);
        self.show_in_list(model, frame);
        let shown = listing::shown_rows(frame);
        if !(self.listing.top..self.listing.top + shown).contains(&row) {
            self.listing.top = row.saturating_sub(shown / 2);
        }
    }

    fn select_note(&mut self, model: &Model, row: usize, notable: &Notable) {
        self.notes.chosen = Some(row);
        match notable.place {
            Place::Finding(finding) => self.select_finding(model, finding),
            Place::Life(life) => self.select_life(model, life),
            Place::Event(event) => {
                self.selection = Selection::Event(event);
                if let Some(pool) = notable.pool.filter(|pool| *pool != self.pool) {
                    self.pool = pool;
                    self.fit(model);
                }
            }
        }
    }

    /// The row that was gone to, as long as what it leads to is selected.
    #[must_use]
    pub fn chosen_note(&self, model: &Model) -> Option<Notable> {
        let notable = rows(model, self).get(self.notes.chosen?)?.clone();
        let leads_to = match notable.place {
            Place::Finding(finding) => Selection::Finding(finding),
            Place::Life(life) => Selection::Life(life),
            Place::Event(event) => Selection::Event(event),
        };
        (self.selection == leads_to).then_some(notable)
    }

    /// Selects what the only row of this kind about this pool is about, and has it in sight: a peak of this log, where the
    /// other's was chosen. Does nothing where there is no such row, or several, or they are not at hand.
    pub fn choose_note(&mut self, model: &Model, kind: &str, pool: PoolIx) {
        if !self.notes.has(model) {
            return;
        }
        let rows = rows(model, self);
        let mut alike = rows.iter().enumerate().filter(|(_, note)| note.kind == kind && note.pool == Some(pool));
        let (Some((row, notable)), None) = (alike.next(), alike.next()) else { return };
        self.select_note(model, row, notable);
        if let Some(event) = notable.event(model) {
            self.have_in_sight(model, event);
        }
    }

    /// Shows the selection in the address map.
    pub(super) fn go(&mut self, model: &Model) {
        if self.selection != Selection::Nothing {
            self.page = Page::Addresses;
            self.fit_selection(model);
        }
    }
}
