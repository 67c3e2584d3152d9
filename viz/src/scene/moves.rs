//! Memory that moved: an arrow in the address map, from where a granule was unmapped to where it was mapped.

use super::{Context, Paint, Pos, Stroke, pos};
use crate::model::Move;
use std::collections::BTreeMap;

/// Arrows, at most.
const MOST: usize = 120;
/// Length of an arrow's head.
const HEAD: f32 = 4.0;
/// Arrows are not nearer to each other.
const APART: f32 = 5.0;

/// Draws them: of those too near to each other the farthest.
pub(super) fn draw(context: &Context<'_>, paint: &mut Paint) {
    let mut arrows: Vec<[Pos; 2]> = farthest(context).into_values().collect();
    // The longest, where there is no room for all.
    arrows.sort_by(|a, b| length(b).total_cmp(&length(a)));
    arrows.truncate(MOST);
    arrows.sort_by(|a, b| a[0].x.total_cmp(&b[0].x));
    let heads: Vec<[Pos; 2]> = arrows.iter().flat_map(head).collect();
    let palette = context.palette;
    paint.segments(arrows.clone(), Stroke::solid(palette.ground.fade(150), 3.0));
    paint.segments(arrows, Stroke::solid(palette.ink, 1.2));
    paint.segments(heads, Stroke::solid(palette.ink, 1.6));
}

fn farthest(context: &Context<'_>) -> BTreeMap<i32, [Pos; 2]> {
    let mut columns: BTreeMap<i32, [Pos; 2]> = BTreeMap::new();
    for moved in context.model.moves(context.view.pool) {
        let Some(arrow) = arrow(context, moved) else { continue };
        let best = columns.entry((arrow[0].x / APART) as i32).or_insert(arrow);
        if length(&arrow) > length(best) {
            *best = arrow;
        }
    }
    columns
}

/// From the middle of where it was to the middle of where it went, cut at the map's edges.
fn arrow(context: &Context<'_>, moved: &Move) -> Option<[Pos; 2]> {
    let map = &context.frame.map;
    let x = context.x_of(moved.event);
    let middle = |start: u64| map.y.pixel(map.addresses.place(start + moved.bytes / 2));
    let ends = [middle(moved.from), middle(moved.to)];
    let outside = ends.iter().all(|y| *y < map.area.y) || ends.iter().all(|y| *y > map.area.bottom());
    let here = x >= map.area.x && x <= map.area.right() && !outside;
    here.then(|| ends.map(|y| pos(x, y.clamp(map.area.y, map.area.bottom()))))
}

fn length(arrow: &[Pos; 2]) -> f32 {
    (arrow[0].y - arrow[1].y).abs()
}

fn head(arrow: &[Pos; 2]) -> [[Pos; 2]; 2] {
    let [from, to] = arrow;
    let back = if from.y < to.y { -HEAD } else { HEAD };
    [[pos(to.x - HEAD * 0.75, to.y + back), *to], [pos(to.x + HEAD * 0.75, to.y + back), *to]]
}
