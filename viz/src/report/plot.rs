//! Small plots of a pool along the log, as SVG that takes its colours from the page's style.

use crate::model::{Curve, EventIx, Model};
use crate::scene::ticks;
use std::fmt::Write;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 220.0;
/// Left of the plot, for the amounts.
const LEFT: f64 = 76.0;
const BOTTOM: f64 = 24.0;
const TOP: f64 = 8.0;

/// A step line, as the largest value of each column, so that no spike is lost.
pub(super) struct Series<'a> {
    /// The class of the page's style.
    pub(super) class: &'static str,
    /// Whether what is below is filled.
    pub(super) filled: bool,
    pub(super) values: Values<'a>,
}

pub(super) enum Values<'a> {
    /// A curve of the model.
    Curve(&'a Curve),
    /// Records and values, in order.
    Points(Vec<(EventIx, f64)>),
    /// The same everywhere.
    Level(f64),
}

/// How amounts are written.
#[derive(Clone, Copy)]
pub(super) enum Amount {
    Bytes,
    Part,
}

/// Draws series over the log's records.
pub(super) fn plot(model: &Model, series: &[Series<'_>], amount: Amount, title: &str) -> String {
    let columns = (WIDTH - LEFT) as usize;
    let lines: Vec<Vec<f64>> = series.iter().map(|one| columns_of(model, &one.values, columns)).collect();
    let most = lines.iter().flatten().copied().fold(0.0, f64::max);
    let top = match amount {
        Amount::Bytes => (most * 1.04).max(1.0),
        Amount::Part => 1.0,
    };
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        super::html::escaped(title)
    );
    grid(&mut out, top, amount);
    for (one, line) in series.iter().zip(&lines) {
        draw(&mut out, one, line, top);
    }
    ends(&mut out, model);
    out.push_str("</svg>\n");
    out
}

fn y_of(value: f64, top: f64) -> f64 {
    TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - (value / top).clamp(0.0, 1.0))
}

fn grid(out: &mut String, top: f64, amount: Amount) {
    let (places, _) = match amount {
        Amount::Bytes => {
            // Ticks in whole units.
            let unit = [30, 20, 10, 0].into_iter().map(|bits| f64::from(1_u32 << bits)).find(|unit| top >= *unit * 2.0);
            let unit = unit.unwrap_or(1.0);
            let (places, step) = ticks::ticks(0.0, top / unit, 4);
            (places.into_iter().map(|place| place * unit).collect::<Vec<f64>>(), step)
        }
        Amount::Part => (vec![0.0, 0.5, 1.0], 0.5),
    };
    for place in places {
        let y = y_of(place, top);
        let words = match amount {
            Amount::Bytes => ticks::bytes(place as u64),
            Amount::Part => format!("{:.0} %", place * 100.0),
        };
        let _ = write!(out, "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{WIDTH}\"/>");
        let (x, y) = (LEFT - 8.0, y + 4.0);
        let _ = write!(out, "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{words}</text>");
    }
}

/// The records that the plot goes from and to.
fn ends(out: &mut String, model: &Model) {
    let last = model.events.len().saturating_sub(1);
    let number = |at: usize| if model.events.is_empty() { 0 } else { model.events.number(EventIx::next_of(at)) };
    let (y, first, last) = (HEIGHT - 6.0, ticks::count(number(0)), ticks::count(number(last)));
    let _ = write!(out, "<text x=\"{LEFT}\" y=\"{y}\">record {first}</text>");
    let _ = write!(out, "<text x=\"{WIDTH}\" y=\"{y}\" text-anchor=\"end\">record {last}</text>");
}

fn draw(out: &mut String, series: &Series<'_>, line: &[f64], top: f64) {
    let mut path = String::new();
    let mut last = f64::NAN;
    for (column, value) in line.iter().enumerate() {
        let (x, y) = (LEFT + column as f64, y_of(*value, top));
        if column == 0 {
            let _ = write!(path, "M{x} {y:.1}");
        } else if (y - last).abs() >= 0.05 {
            let _ = write!(path, "H{x}V{y:.1}");
        }
        last = y;
    }
    let _ = write!(path, "H{WIDTH}");
    if series.filled {
        let base = HEIGHT - BOTTOM;
        let _ = write!(out, "<path class=\"{} area\" d=\"{path}V{base}H{LEFT}Z\"/>", series.class);
    }
    let _ = write!(out, "<path class=\"{} line\" d=\"{path}\"/>", series.class);
}

/// The largest value of each column.
fn columns_of(model: &Model, values: &Values<'_>, columns: usize) -> Vec<f64> {
    let records = model.events.len();
    let first = |column: usize| EventIx::next_of((records * column / columns).min(records));
    match values {
        Values::Level(value) => vec![*value; columns],
        Values::Curve(curve) => {
            (0..columns).map(|column| curve.extremes(first(column), first(column + 1)).1 as f64).collect()
        }
        Values::Points(points) => (0..columns)
            .map(|column| {
                let from = points.partition_point(|point| point.0 < first(column));
                let to = points.partition_point(|point| point.0 < first(column + 1)).max(from);
                let held = from.checked_sub(1).map_or(0.0, |before| points[before].1);
                points[from..to].iter().map(|point| point.1).reduce(f64::max).unwrap_or(held)
            })
            .collect(),
    }
}
