//! The scene: what a picture shows, as shapes. Made from a model and a view alone; knows no files, no windows.

mod act;
mod acts;
mod answer;
mod beside;
mod carry;
mod chart;
mod color;
mod coloring;
mod describe;
mod edge;
mod findings;
mod flags;
mod flows;
mod frame;
mod gaps;
mod header;
mod history;
mod hover;
mod lanes;
mod listing;
mod map;
mod marks;
mod meaning;
mod moves;
mod notable;
mod page;
mod pins;
mod range;
mod ready;
mod rows;
mod scale;
mod scrolled;
mod shape;
mod side;
mod stack;
mod state;
mod strip;
pub mod ticks;
pub mod tiles;
mod view;
mod wrap;

pub use act::{Along, Input};
pub use answer::{Answer, Lit, Question, Told};
pub use beside::beside;
pub use color::{Color, Palette, Theme, contrast, source_words};
pub use coloring::ColorBy;
pub use describe::{Line, details, headline};
pub use frame::{Frame, ROW};
pub use history::History;
pub use hover::hover;
pub use listing::Listing;
pub use marks::Mark;
pub use meaning::meaning;
pub use notable::Notes;
pub use page::Page;
pub use range::Range;
pub use scale::{Addresses, MapScale, Scale, Stretch};
pub use scrolled::Scrolled;
pub use shape::{Anchor, Dash, Paint, Pos, Rect, Shape, Stroke, Text, Weight, pos};
pub use view::{Parts, SMALLEST, Selection, Size, View};

use crate::model::{EventIx, Model, Pool};

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Its size.
    pub size: Size,
    /// What is behind everything.
    pub ground: Color,
    /// What to paint, in this order.
    pub shapes: Vec<Shape>,
}

/// What every panel draws from.
struct Context<'m> {
    model: &'m Model,
    view: &'m View,
    frame: &'m Frame,
    palette: &'static Palette,
    /// The records of each pixel column: those of column `i` are `columns[i]..columns[i + 1]`.
    columns: Vec<EventIx>,
}

impl<'m> Context<'m> {
    fn pool(&self) -> Option<&'m Pool> {
        self.model.pools.get(self.view.pool.at())
    }

    fn place(&self, event: EventIx) -> f64 {
        self.model.events.position(self.view.axis, event) as f64
    }

    fn extent(&self) -> f64 {
        self.model.events.extent(self.view.axis) as f64
    }

    fn x_of(&self, event: EventIx) -> f32 {
        self.frame.map.x.pixel(self.place(event))
    }
}

/// The picture of a view, and where everything is in it.
#[must_use]
pub fn build(model: &Model, view: &View) -> (Scene, Frame) {
    let rows = strip::rows(model, view.pool);
    let frame = Frame::new(model, view, rows);
    let columns = chart::columns(model, view, &frame);
    let context = Context { model, view, frame: &frame, palette: view.theme.palette(), columns };
    let mut paint = Paint::default();
    header::draw(&context, &mut paint);
    chart::draw(&context, &mut paint);
    flags::on_chart(&context, &mut paint);
    strip::draw(&context, &mut paint);
    view.page.panel().draw(&context, &mut paint);
    gaps::draw(&context, &mut paint);
    chart::peak(&context, &mut paint);
    header::marks(&context, &mut paint);
    flags::on_map(&context, &mut paint);
    marks::draw(&context, &mut paint);
    flags::selected(&context, &mut paint);
    answer::draw(&context, &mut paint);
    cursor(&context, &mut paint);
    for area in [frame.chart, frame.strip, frame.map.area] {
        if area.h > 0.0 {
            paint.outline(area, Stroke::solid(context.palette.edge, 1.0));
        }
    }
    header::x_axis(&context, &mut paint);
    findings::draw(&context, &mut paint);
    side::draw(&context, &mut paint);
    let scene = Scene {
        size: Size { w: frame.whole.w, h: frame.whole.h },
        ground: context.palette.ground,
        shapes: paint.shapes,
    };
    (scene, frame)
}

/// A panel's ground and caption.
fn panel(context: &Context<'_>, paint: &mut Paint, area: Rect, caption: &str) {
    paint.rect(area, context.palette.panel);
    paint.heading(pos(frame::PAD, area.y - 8.0), 13.0, context.palette.ink, caption);
}

/// The caption of a panel that shows what was done with the chosen pool, which is named where there are more.
fn of_pool(context: &Context<'_>, caption: &str) -> String {
    match context.pool() {
        Some(pool) if context.model.pools.len() > 1 => format!("{caption} (pool {})", pool.id),
        _ => caption.to_owned(),
    }
}

/// A line at the selected record.
fn cursor(context: &Context<'_>, paint: &mut Paint) {
    let (Selection::Event(event) | Selection::Free(event, _)) = context.view.selection else {
        return;
    };
    let (x, area) = (context.x_of(event), context.frame.map.area);
    if x >= area.x && x <= area.right() {
        let line = vec![pos(x, context.frame.chart.y), pos(x, context.frame.axis)];
        paint.line(line, Stroke::solid(context.palette.chosen, 1.5));
    }
}
