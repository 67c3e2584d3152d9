//! What is asked about a selection that the model alone does not say, and what was answered: why a malloc got what it got,
//! and from when on who could have had a free block. Working it out is others' task; here it is shown.

use super::describe::{Line, link_words, offset_words};
use super::{Context, Dash, Page, Paint, Rect, Selection, Stroke, View, ticks};
use crate::model::{EventIx, FreeBlock, Kind, Link, Model, Payload, PoolIx};
use std::sync::Arc;
use weir::trace::{Record, Verb};
use weir::units::Bytes;

/// What is asked about a selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Why did this malloc get what it got, or nothing?
    Why(EventIx),
    /// From when on which stream could have had this block, which is free after the record?
    Whose(PoolIx, EventIx, FreeBlock),
}

/// Memory that an answer is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lit {
    /// From this record on; `None`: just before `to`.
    pub from: Option<EventIx>,
    /// To this record; `None`: to the log's end.
    pub to: Option<EventIx>,
    /// First address, from the pool's base.
    pub start: u64,
    /// Past the last.
    pub end: u64,
    /// It is what was taken; else it only could have been, or could not.
    pub taken: bool,
}

/// What was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// In words.
    pub lines: Vec<Line>,
    /// Where that is in the address map.
    pub lit: Vec<Lit>,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is being worked out.
    Working,
    /// This.
    Told(Arc<Told>),
}

/// Areas that are lit up, at most.
const MOST: usize = 60;
/// Width of one that has no beginning.
const WIDE: f32 = 10.0;

impl Answer {
    /// That there is none.
    #[must_use]
    pub fn failed() -> Self {
        let line = Line { key: "why", value: "working it out ended without an answer".to_owned() };
        Self::Told(Arc::new(Told { lines: vec![line], lit: Vec::new() }))
    }
}

impl View {
    /// What is to be asked about the selection, if anything.
    #[must_use]
    pub fn question(&self, model: &Model) -> Option<Question> {
        match self.selection {
            Selection::Life(life) => model.life(life).born().map(Question::Why),
            Selection::Event(event) => match (model.events.kind(event), model.events.payload(event)) {
                (Kind::OutOfMemory, _)
                | (Kind::Refused, Payload::Other(Record::Refused { verb: Verb::Malloc, pool: Some(_), .. })) => {
                    Some(Question::Why(event))
                }
                _ => None,
            },
            Selection::Free(event, block) => Some(Question::Whose(self.pool, event, block)),
            Selection::Nothing | Selection::Finding(_) => None,
        }
    }

    /// The answer to that, as far as it is known.
    pub(super) fn answered(&self, model: &Model) -> Option<&Answer> {
        let (question, answer) = self.answer.as_ref()?;
        (self.question(model) == Some(*question)).then_some(answer)
    }
}

/// What the details say of it.
pub(super) fn lines(model: &Model, view: &View) -> Vec<Line> {
    match view.answered(model) {
        None => Vec::new(),
        Some(Answer::Working) => vec![Line { key: "why", value: "working it out ...".to_owned() }],
        Some(Answer::Told(told)) => told.lines.clone(),
    }
}

/// All there is to say about a free block but that.
pub(super) fn block(model: &Model, event: EventIx, block: &FreeBlock) -> Vec<Line> {
    let line = |key: &'static str, value: String| Line { key, value };
    let mut lines = vec![
        line("free block", ticks::bytes_exact(block.bytes())),
        line("address", offset_words(Bytes(block.start))),
        line("seen at", format!("record {}", ticks::count(model.events.number(event)))),
    ];
    let had = block.last.map(|life| link_words(model, &Link { life, bytes: block.bytes() }));
    lines.push(line("was", had.unwrap_or_else(|| "nobody's since it was mapped".to_owned())));
    lines
}

/// Lights up what an answer is about: what was taken in full, the others dashed.
pub(super) fn draw(context: &Context<'_>, paint: &mut Paint) {
    let (view, model) = (context.view, context.model);
    if view.page != Page::Addresses {
        return;
    }
    if let Selection::Free(event, block) = view.selection {
        let x = context.x_of(event);
        light(context, paint, &rect(context, x - 1.0, x + 1.0, (block.start, block.end)), true);
    }
    let Some(Answer::Told(told)) = view.answered(model) else { return };
    let pool = match view.question(model) {
        Some(Question::Why(event)) => pool_at(model, event),
        Some(Question::Whose(pool, ..)) => Some(pool),
        None => None,
    };
    if pool != Some(view.pool) {
        return;
    }
    for lit in told.lit.iter().take(MOST) {
        let right = lit.to.map_or(context.frame.map.area.right(), |event| context.x_of(event));
        let left = lit.from.map_or(right - WIDE, |event| context.x_of(event));
        light(context, paint, &rect(context, left, right, (lit.start, lit.end)), lit.taken);
    }
}

fn pool_at(model: &Model, event: EventIx) -> Option<PoolIx> {
    let id = match model.events.payload(event) {
        Payload::Life(life) => return Some(model.life(life).pool),
        Payload::Other(Record::OutOfMemory { pool, .. } | Record::Refused { pool: Some(pool), .. }) => pool,
        Payload::Other(_) => return None,
    };
    model.pools.iter().rposition(|pool| pool.id == id).map(PoolIx::next_of)
}

fn rect(context: &Context<'_>, left: f32, right: f32, (start, end): (u64, u64)) -> Rect {
    let high = context.frame.map.pixels(0.0, 0.0, start, end);
    Rect { x: left, w: (right - left).max(2.0), h: high.h.max(2.0), ..high }
}

fn light(context: &Context<'_>, paint: &mut Paint, rect: &Rect, taken: bool) {
    let palette = context.palette;
    let Some(rect) = rect.clip(&context.frame.map.area) else { return };
    if taken {
        paint.outline(rect.grown(1.0), Stroke::solid(palette.ground, 3.0));
    }
    let dash = if taken { Dash::Solid } else { Dash::Even(2.5) };
    paint.outline(rect, Stroke { color: palette.alarm, width: if taken { 2.0 } else { 1.0 }, dash });
}
