//! Thousands of rectangles in bounded space: large ones as they are, small ones summed up a pixel column at a time.
//! Nothing disappears: whatever covers a part of a cell, however small, colours it.

use super::Rect;
use std::collections::{BTreeMap, BTreeSet};

/// From this size on in both directions, a rectangle is painted as it is.
const EXACT: f32 = 2.0;
/// A class that covers less than this part of what the first one covers is rare.
const RARE: f32 = 0.05;
/// A rare one is painted at least this long in both directions.
const SEEN: f32 = 3.0;
/// Small tiles of rare classes that are painted each, at most.
const MOST_RARE: usize = 800;
/// Steps of coverage that a summed cell can show.
const LEVELS: u8 = 4;

/// Something to paint: where, and what kind of thing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tile {
    /// Where, not clipped. May be narrower than a pixel.
    pub rect: Rect,
    /// What it is coloured by.
    pub class: u32,
    /// Whatever the caller wants back with it.
    pub tag: u32,
    /// Which part of the rectangle is covered, where it stands for several.
    pub cover: f32,
}

/// How many rectangles there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Most {
    /// Painted as they are.
    pub exact: usize,
    /// Of sums.
    pub cells: usize,
}

/// What to paint: for each class in `order` its cells, then its exact tiles, then its rare ones; at last the pins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tiling {
    /// The classes, the one that covers most first: what is rare is painted over what is common.
    pub order: Vec<u32>,
    /// Summed cells by class and coverage (1 to 4 quarters).
    pub cells: BTreeMap<(u32, u8), Vec<Rect>>,
    /// Tiles to paint as they are, clipped.
    pub exact: Vec<Tile>,
    /// Small tiles of classes that cover little, large enough to be seen: class and place.
    pub rare: Vec<(u32, Rect)>,
    /// A pixel of each class that would have none otherwise.
    pub pins: Vec<(u32, Rect)>,
}

/// Sorts tiles into both, within `area`.
#[must_use]
pub fn tile(tiles: impl IntoIterator<Item = Tile>, area: Rect, most: Most) -> Tiling {
    let (mut exact, mut small) = (Vec::new(), Vec::new());
    let mut shares = Shares::default();
    for tile in tiles {
        let Some(rect) = visible(&tile.rect, &area) else {
            continue;
        };
        let large = rect.w >= EXACT && rect.h >= EXACT;
        let tile = Tile { rect, ..tile };
        shares.add(&tile);
        if large { &mut exact } else { &mut small }.push(tile);
    }
    if exact.len() > most.exact {
        // The largest stay; a stable sort keeps the choice the same for the same log.
        exact.sort_by(|a, b| (b.rect.w * b.rect.h).total_cmp(&(a.rect.w * a.rect.h)));
        small.extend(exact.drain(most.exact..));
        exact.sort_by(|a, b| a.rect.x.total_cmp(&b.rect.x).then(a.tag.cmp(&b.tag)));
    }
    let cells = summed(area, &small, &shares, most.cells);
    let rare = rare(area, &small, &shares);
    let mut tiling = Tiling { order: shares.order(), cells, exact, rare, pins: Vec::new() };
    if tiling.order.len() > 1 {
        tiling.pins = super::pins::pins(&tiling, &small, area);
    }
    tiling
}

/// The cells of the small tiles, as fine as their number allows.
fn summed(area: Rect, small: &[Tile], shares: &Shares, most: usize) -> BTreeMap<(u32, u8), Vec<Rect>> {
    let mut height = 1.0;
    loop {
        let cells = Grid::new(area, height, small, shares).cells();
        if cells.values().map(Vec::len).sum::<usize>() <= most || height > 64.0 {
            return cells;
        }
        height *= 2.0;
    }
}

/// The small tiles of the classes that cover so much less than the first one that nobody would see them beside it; where
/// they are too many, of the classes with the fewest.
fn rare(area: Rect, small: &[Tile], shares: &Shares) -> Vec<(u32, Rect)> {
    let most = shares.order().first().map_or(0.0, |class| shares.of(*class));
    let mut count: BTreeMap<u32, usize> = BTreeMap::new();
    for tile in small {
        *count.entry(tile.class).or_default() += 1;
    }
    count.retain(|class, _| shares.of(*class) <= most * RARE);
    let mut fewest: Vec<(usize, u32)> = count.into_iter().map(|(class, tiles)| (tiles, class)).collect();
    fewest.sort_unstable();
    let mut room = MOST_RARE;
    let fits = |(tiles, _): &(usize, u32)| {
        room = room.saturating_sub(*tiles);
        room > 0
    };
    let kept: BTreeSet<u32> = fewest.into_iter().take_while(fits).map(|(_, class)| class).collect();
    let seen = |rect: &Rect| {
        let (w, h) = (rect.w.max(SEEN).min(area.w), rect.h.max(SEEN).min(area.h));
        let inside = |at: f32, length: f32, from: f32, to: f32| at.min(to - length).max(from);
        Rect { x: inside(rect.x, w, area.x, area.right()), y: inside(rect.y, h, area.y, area.bottom()), w, h }
    };
    small.iter().filter(|t| kept.contains(&t.class)).map(|t| (t.class, seen(&t.rect))).collect()
}

/// How much each class covers.
#[derive(Clone, Debug, Default)]
struct Shares(BTreeMap<u32, f32>);

impl Shares {
    fn add(&mut self, tile: &Tile) {
        *self.0.entry(tile.class).or_default() += (tile.rect.w * tile.rect.h * tile.cover).max(LEAST);
    }

    fn of(&self, class: u32) -> f32 {
        self.0.get(&class).copied().unwrap_or(1.0)
    }

    fn order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = self.0.keys().copied().collect();
        order.sort_by(|a, b| self.of(*b).total_cmp(&self.of(*a)));
        order
    }
}

/// No tile covers less.
const LEAST: f32 = 1e-6;

/// The part inside the area; what has no extent at all gets a sliver.
fn visible(rect: &Rect, area: &Rect) -> Option<Rect> {
    let sliver = 0.01;
    let rect = Rect { w: rect.w.max(sliver), h: rect.h.max(sliver), ..*rect };
    rect.clip(area)
}

/// Cells of one pixel's width.
struct Grid {
    area: Rect,
    height: f32,
    columns: usize,
    rows: usize,
    /// Per cell: the class that leads, by how much of all that it covers, and how much of the cell is covered.
    cells: Vec<(u32, f32, f32)>,
}

impl Grid {
    fn new(area: Rect, height: f32, tiles: &[Tile], shares: &Shares) -> Self {
        let columns = area.w.ceil().max(1.0) as usize;
        let rows = (area.h / height).ceil().max(1.0) as usize;
        let mut grid = Self {
            area,
            height,
            columns,
            rows,
            cells: vec![(0, 0.0, 0.0); if tiles.is_empty() { 0 } else { columns * rows }],
        };
        for tile in tiles {
            grid.add(tile, shares.of(tile.class));
        }
        grid
    }

    /// `all`: what the tile's class covers everywhere.
    fn add(&mut self, tile: &Tile, all: f32) {
        let (x0, x1) = (tile.rect.x - self.area.x, tile.rect.right() - self.area.x);
        let (y0, y1) = ((tile.rect.y - self.area.y) / self.height, (tile.rect.bottom() - self.area.y) / self.height);
        let columns = cells_of(x0, x1, self.columns);
        for row in cells_of(y0, y1, self.rows) {
            let tall = overlap(y0, y1, row);
            for column in columns.clone() {
                let part = (tall * overlap(x0, x1, column) * tile.cover).max(LEAST);
                vote(&mut self.cells[row * self.columns + column], tile.class, part, all);
            }
        }
    }

    /// Runs of alike cells, joined along x and then along y.
    fn cells(&self) -> BTreeMap<(u32, u8), Vec<Rect>> {
        let mut done: BTreeMap<(u32, u8), Vec<Rect>> = BTreeMap::new();
        let mut open: BTreeMap<(usize, usize, u32, u8), (usize, usize)> = BTreeMap::new();
        for (row, cells) in self.cells.chunks(self.columns).enumerate() {
            for run in runs(cells) {
                match open.get_mut(&run) {
                    Some(rows) if rows.1 == row => rows.1 = row + 1,
                    _ => {
                        if let Some(rows) = open.insert(run, (row, row + 1)) {
                            done.entry((run.2, run.3)).or_default().push(self.rect(&run, rows));
                        }
                    }
                }
            }
        }
        for (run, rows) in open {
            done.entry((run.2, run.3)).or_default().push(self.rect(&run, rows));
        }
        done
    }

    fn rect(&self, run: &(usize, usize, u32, u8), rows: (usize, usize)) -> Rect {
        Rect::between(
            self.area.x + run.0 as f32,
            self.area.y + rows.0 as f32 * self.height,
            (self.area.x + run.1 as f32).min(self.area.right()),
            (self.area.y + rows.1 as f32 * self.height).min(self.area.bottom()),
        )
    }
}

pub(super) fn cells_of(from: f32, to: f32, count: usize) -> std::ops::Range<usize> {
    let first = (from.max(0.0) as usize).min(count - 1);
    let past = (to.max(0.0).ceil() as usize).clamp(first + 1, count);
    first..past
}

fn overlap(from: f32, to: f32, cell: usize) -> f32 {
    (to.min(cell as f32 + 1.0) - from.max(cell as f32)).max(0.0)
}

/// The class of which the largest part of all that it covers lies here, in one pass: by plain area, a class that is rare
/// would lose every cell.
fn vote(cell: &mut (u32, f32, f32), class: u32, part: f32, all: f32) {
    cell.2 += part;
    let weight = part / all;
    if cell.0 == class || cell.1 <= 0.0 {
        (cell.0, cell.1) = (class, cell.1 + weight);
    } else if weight > cell.1 {
        (cell.0, cell.1) = (class, weight - cell.1);
    } else {
        cell.1 -= weight;
    }
}

/// Runs of one row: first column, past the last, class, coverage.
fn runs(cells: &[(u32, f32, f32)]) -> Vec<(usize, usize, u32, u8)> {
    let mut out: Vec<(usize, usize, u32, u8)> = Vec::new();
    for (column, (class, _, covered)) in cells.iter().enumerate() {
        if *covered <= 0.0 {
            continue;
        }
        let level = ((covered * f32::from(LEVELS)).ceil() as u8).clamp(1, LEVELS);
        match out.last_mut() {
            Some(last) if last.1 == column && last.2 == *class && last.3 == level => last.1 = column + 1,
            _ => out.push((column, column + 1, *class, level)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Rect = Rect { x: 10.0, y: 20.0, w: 300.0, h: 120.0 };

    const MOST: Most = Most { exact: 4_000, cells: 8_000 };

    fn random(seed: u64, count: usize, size: f32) -> Vec<Tile> {
        let mut state = seed;
        let mut next = move |most: f32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 40) as f32) / 16_777_216.0 * most
        };
        (0..count)
            .map(|i| Tile {
                rect: Rect { x: next(340.0) - 10.0, y: next(160.0), w: next(size), h: next(size) },
                class: i as u32 % 5,
                tag: i as u32,
                cover: 1.0,
            })
            .collect()
    }

    fn covers(tiling: &Tiling, x: f32, y: f32) -> bool {
        let at = super::super::pos(x, y);
        let cell = tiling.cells.values().flatten().any(|r| r.contains(at));
        cell || tiling.exact.iter().any(|t| t.rect.contains(at))
    }

    #[test]
    fn every_tile_is_visible_somewhere() {
        for (seed, count, size) in [(1, 200, 0.3), (2, 500, 4.0), (3, 3000, 1.0)] {
            let tiles = random(seed, count, size);
            let tiling = tile(tiles.iter().copied(), AREA, MOST);
            for one in &tiles {
                if let Some(rect) = visible(&one.rect, &AREA) {
                    let (x, y) = (rect.x + rect.w / 2.0, rect.y + rect.h / 2.0);
                    assert!(covers(&tiling, x, y), "{one:?}");
                }
            }
        }
    }

    #[test]
    fn what_nothing_covers_stays_empty() {
        let tiles = random(7, 40, 3.0);
        let tiling = tile(tiles.iter().copied(), AREA, MOST);
        for i in 0..2000 {
            let (x, y) = (10.0 + (i % 300) as f32 + 0.5, 20.0 + (i / 17) as f32 % 120.0 + 0.5);
            let near = Rect::between(x - 1.0, y - 1.0, x + 1.0, y + 1.0);
            if tiles.iter().all(|t| t.rect.clip(&near).is_none() && visible(&t.rect, &near).is_none()) {
                assert!(!covers(&tiling, x, y), "{x} {y}");
            }
        }
    }

    #[test]
    fn the_number_of_rectangles_is_bounded() {
        let tiles = random(5, 200_000, 3.0);
        let tiling = tile(tiles, AREA, MOST);
        assert!(tiling.exact.len() <= MOST.exact);
        assert!(tiling.cells.values().map(Vec::len).sum::<usize>() <= MOST.cells);
    }

    #[test]
    fn a_cell_shows_who_covers_most_of_it() {
        let thin = |x: f32, w: f32, class| Tile { rect: Rect { x, y: 20.0, w, h: 1.0 }, class, tag: 0, cover: 1.0 };
        let elsewhere = |class| thin(50.0 + class as f32, 0.9, class);
        let tiles = [thin(10.0, 0.2, 1), thin(10.2, 0.6, 2), thin(10.8, 0.1, 1), elsewhere(1), elsewhere(2)];
        let tiling = tile(tiles, AREA, MOST);
        let at = |class, level| tiling.cells[&(class, level)].iter().any(|r| r.x == 10.0);
        assert!(at(2, 4), "{:?}", tiling.cells);
    }

    #[test]
    fn a_class_that_is_rare_wins_its_cells_and_is_large_enough_to_be_seen() {
        let thin = |i: u32, class| Tile {
            rect: Rect { x: 10.0 + i as f32 * 0.1, y: 20.0, w: 0.1, h: 1.0 },
            class,
            tag: i,
            cover: 1.0,
        };
        let tiling = tile((0..3000).map(|i| thin(i, u32::from(i == 1234))), AREA, MOST);
        assert_eq!(tiling.cells[&(1, 4)], [Rect { x: 10.0 + 123.0, y: 20.0, w: 1.0, h: 1.0 }]);
        assert_eq!(tiling.order, [0, 1]);
        assert_eq!(tiling.rare, [(1, Rect { x: 10.0 + 123.4, y: 20.0, w: 3.0, h: 3.0 })]);
        assert!(tile((0..30).map(|i| thin(i, i % 2)), AREA, MOST).rare.is_empty(), "alike");
    }
}
