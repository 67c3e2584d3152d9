//! Nothing disappears: which class of tiles has no pixel of its own, and where it gets one.

use super::Rect;
use super::tiles::{Tile, Tiling, cells_of};
use std::collections::BTreeMap;

/// Pixels of a tile that are looked at.
const MOST_TRIED: usize = 64;

/// Pixels for the classes that have none in this tiling, none of them the last one of another class.
pub(super) fn pins(tiling: &Tiling, small: &[Tile], area: Rect) -> Vec<(u32, Rect)> {
    let mut pixels = Pixels::new(area);
    for class in &tiling.order {
        let cells = tiling.cells.range((*class, 0)..=(*class, u8::MAX)).flat_map(|c| c.1);
        let exact = tiling.exact.iter().filter(|t| t.class == *class).map(|t| &t.rect);
        let rare = tiling.rare.iter().filter(|r| r.0 == *class).map(|r| &r.1);
        cells.chain(exact).chain(rare).for_each(|rect| pixels.paint(rect, *class));
    }
    let mut count = pixels.count();
    let mut pins = Vec::new();
    for class in &tiling.order {
        if count.contains_key(class) {
            continue;
        }
        let mut of_class = tiling.exact.iter().chain(small).filter(|t| t.class == *class);
        let Some(at) = of_class.find_map(|t| pixels.spare(&t.rect, &count)) else {
            continue;
        };
        if let Some(owner) = pixels.owner[at]
            && let Some(left) = count.get_mut(&owner)
        {
            *left -= 1;
        }
        pixels.owner[at] = Some(*class);
        count.insert(*class, 1);
        pins.push((*class, pixels.rect(at)));
    }
    pins
}

/// Who is painted last on each pixel.
struct Pixels {
    area: Rect,
    columns: usize,
    rows: usize,
    owner: Vec<Option<u32>>,
}

impl Pixels {
    fn new(area: Rect) -> Self {
        let (columns, rows) = (area.w.floor().max(1.0) as usize, area.h.floor().max(1.0) as usize);
        Self { area, columns, rows, owner: vec![None; columns * rows] }
    }

    /// Colours the pixels whose middle is inside.
    fn paint(&mut self, rect: &Rect, class: u32) {
        let inside = |from: f32, to: f32, count: usize| {
            let past = ((to - 0.5).ceil().max(0.0) as usize).min(count);
            ((from - 0.5).ceil().max(0.0) as usize).min(past)..past
        };
        let columns = inside(rect.x - self.area.x, rect.right() - self.area.x, self.columns);
        for row in inside(rect.y - self.area.y, rect.bottom() - self.area.y, self.rows) {
            self.owner[row * self.columns..][columns.clone()].fill(Some(class));
        }
    }

    fn count(&self) -> BTreeMap<u32, usize> {
        let mut count = BTreeMap::new();
        let mut last: (Option<u32>, usize) = (None, 0);
        for owner in self.owner.iter().copied().chain([None]) {
            if owner != last.0 {
                if let Some(class) = last.0 {
                    *count.entry(class).or_default() += last.1;
                }
                last = (owner, 0);
            }
            last.1 += 1;
        }
        if let (Some(class), length) = last {
            *count.entry(class).or_default() += length;
        }
        count
    }

    /// A pixel of this rectangle that its owner can do without.
    fn spare(&self, rect: &Rect, count: &BTreeMap<u32, usize>) -> Option<usize> {
        let columns = cells_of(rect.x - self.area.x, rect.right() - self.area.x, self.columns);
        let rows = cells_of(rect.y - self.area.y, rect.bottom() - self.area.y, self.rows);
        let pixels = rows.flat_map(|row| columns.clone().map(move |column| row * self.columns + column));
        let is_spare = |at: &usize| self.owner[*at].is_none_or(|o| count.get(&o).is_none_or(|n| *n > 1));
        pixels.take(MOST_TRIED).find(is_spare)
    }

    fn rect(&self, at: usize) -> Rect {
        let (column, row) = ((at % self.columns) as f32, (at / self.columns) as f32);
        Rect { x: self.area.x + column, y: self.area.y + row, w: 1.0, h: 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_that_lost_every_pixel_gets_one_that_is_not_the_last_of_another() {
        let area = Rect { x: 10.0, y: 20.0, w: 8.0, h: 4.0 };
        let place = |x: f32, w: f32| Rect { x, y: 21.0, w, h: 1.0 };
        let tiling = Tiling {
            order: vec![1, 2, 9],
            cells: [((1, 4), vec![place(10.0, 5.0)]), ((2, 4), vec![place(15.0, 1.0)])].into(),
            ..Tiling::default()
        };
        let tile = |x: f32, w: f32| Tile { rect: place(x, w), class: 9, tag: 0, cover: 1.0 };
        let pinned = |small: &[Tile]| pins(&tiling, small, area);
        assert_eq!(pinned(&[tile(12.3, 0.2)]), [(9, place(12.0, 1.0))]);
        assert_eq!(pinned(&[tile(15.3, 0.2)]), [], "the only pixel of class 2");
        assert_eq!(pinned(&[tile(15.3, 0.2), tile(16.1, 0.2)]), [(9, place(16.0, 1.0))]);
    }

    #[test]
    fn pixels_are_counted_by_who_was_painted_last() {
        let mut pixels = Pixels::new(Rect { x: 10.0, y: 20.0, w: 4.0, h: 3.0 });
        pixels.paint(&Rect { x: 9.0, y: 19.0, w: 20.0, h: 2.0 }, 1);
        pixels.paint(&Rect { x: 11.4, y: 20.2, w: 1.0, h: 9.0 }, 2);
        assert_eq!(pixels.count().into_iter().collect::<Vec<_>>(), [(1, 3), (2, 3)]);
    }
}
