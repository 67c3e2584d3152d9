//! What a picture is made of. Coordinates are logical pixels from the top left.

use super::Color;

/// A place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pos {
    /// To the right.
    pub x: f32,
    /// Down.
    pub y: f32,
}

/// A place.
#[must_use]
pub const fn pos(x: f32, y: f32) -> Pos {
    Pos { x, y }
}

fn away(a: Pos, b: Pos) -> f32 {
    (b.x - a.x).hypot(b.y - a.y)
}

/// An upright rectangle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rect {
    /// Left edge.
    pub x: f32,
    /// Upper edge.
    pub y: f32,
    /// Width.
    pub w: f32,
    /// Height.
    pub h: f32,
}

impl Rect {
    /// From its corners.
    #[must_use]
    pub const fn between(left: f32, top: f32, right: f32, bottom: f32) -> Self {
        Self { x: left, y: top, w: right - left, h: bottom - top }
    }

    /// Right edge.
    #[must_use]
    pub const fn right(&self) -> f32 {
        self.x + self.w
    }

    /// Lower edge.
    #[must_use]
    pub const fn bottom(&self) -> f32 {
        self.y + self.h
    }

    /// Whether the place is inside.
    #[must_use]
    pub fn contains(&self, at: Pos) -> bool {
        at.x >= self.x && at.x < self.right() && at.y >= self.y && at.y < self.bottom()
    }

    /// What both cover, if anything.
    #[must_use]
    pub fn clip(&self, other: &Self) -> Option<Self> {
        let cut = Self::between(
            self.x.max(other.x),
            self.y.max(other.y),
            self.right().min(other.right()),
            self.bottom().min(other.bottom()),
        );
        (cut.w > 0.0 && cut.h > 0.0).then_some(cut)
    }

    /// Larger by this much on every side.
    #[must_use]
    pub const fn grown(&self, by: f32) -> Self {
        Self { x: self.x - by, y: self.y - by, w: self.w + 2.0 * by, h: self.h + 2.0 * by }
    }
}

/// Solid or dashed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dash {
    /// Without gaps.
    Solid,
    /// Dashes with gaps as long as they are.
    Even(f32),
}

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stroke {
    /// Its colour.
    pub color: Color,
    /// Its width.
    pub width: f32,
    /// Its dashes.
    pub dash: Dash,
}

impl Stroke {
    /// A solid line.
    #[must_use]
    pub const fn solid(color: Color, width: f32) -> Self {
        Self { color, width, dash: Dash::Solid }
    }

    /// A dashed line.
    #[must_use]
    pub const fn dashed(color: Color, width: f32, dash: f32) -> Self {
        Self { color, width, dash: Dash::Even(dash) }
    }
}

/// Which end of a text its place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Its left end.
    Start,
    /// Its middle.
    Middle,
    /// Its right end.
    End,
}

/// How strong a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// For reading.
    Regular,
    /// For headings.
    Bold,
}

/// A line of text.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// Where, on the baseline.
    pub at: Pos,
    /// Which end is there.
    pub anchor: Anchor,
    /// Size of one em.
    pub size: f32,
    /// How strong.
    pub weight: Weight,
    /// Its colour.
    pub color: Color,
    /// The text.
    pub text: String,
}

/// One thing to paint. Later ones cover earlier ones.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Filled rectangles of one colour.
    Rects {
        /// The colour.
        fill: Color,
        /// The rectangles.
        rects: Vec<Rect>,
    },
    /// Everything between a line, left to right, and a level below it.
    Area {
        /// The colour.
        fill: Color,
        /// The line.
        points: Vec<Pos>,
        /// The level.
        base: f32,
    },
    /// A line through points.
    Line {
        /// How it looks.
        stroke: Stroke,
        /// The points.
        points: Vec<Pos>,
    },
    /// Many short lines that look alike.
    Segments {
        /// How they look.
        stroke: Stroke,
        /// Both ends of each.
        ends: Vec<[Pos; 2]>,
    },
    /// The edge of a rectangle.
    Outline {
        /// How it looks.
        stroke: Stroke,
        /// The rectangle.
        rect: Rect,
    },
    /// Text.
    Text(Text),
}

impl Shape {
    /// How many primitives a writer makes of it.
    #[must_use]
    pub fn primitives(&self) -> usize {
        match self {
            Self::Rects { rects, .. } => rects.len(),
            Self::Segments { ends, .. } => ends.len(),
            Self::Area { points, .. } | Self::Line { points, .. } => points.len(),
            Self::Outline { .. } | Self::Text(_) => 1,
        }
    }
}

/// What the dashes of a picture may cost, in quads.
const MOST_DASHES: f32 = 3_500.0;

/// Collects shapes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Paint {
    /// What was collected.
    pub shapes: Vec<Shape>,
    /// What its dashes cost.
    dashes: f32,
}

impl Paint {
    /// A filled rectangle.
    pub fn rect(&mut self, rect: Rect, fill: Color) {
        self.rects(vec![rect], fill);
    }

    /// Filled rectangles.
    pub fn rects(&mut self, rects: Vec<Rect>, fill: Color) {
        if !rects.is_empty() && fill.a > 0 {
            self.shapes.push(Shape::Rects { fill, rects });
        }
    }

    /// A line.
    pub fn line(&mut self, points: Vec<Pos>, stroke: Stroke) {
        if points.len() > 1 {
            let stroke = self.fitted(stroke, points.windows(2).map(|pair| away(pair[0], pair[1])));
            self.shapes.push(Shape::Line { stroke, points });
        }
    }

    /// Short lines.
    pub fn segments(&mut self, ends: Vec<[Pos; 2]>, stroke: Stroke) {
        if !ends.is_empty() {
            let stroke = self.fitted(stroke, ends.iter().map(|pair| away(pair[0], pair[1])));
            self.shapes.push(Shape::Segments { stroke, ends });
        }
    }

    /// An area under a line.
    pub fn area(&mut self, points: Vec<Pos>, base: f32, fill: Color) {
        if points.len() > 1 {
            self.shapes.push(Shape::Area { fill, points, base });
        }
    }

    /// The edge of a rectangle.
    pub fn outline(&mut self, rect: Rect, stroke: Stroke) {
        let stroke = self.fitted(stroke, std::iter::once(2.0 * (rect.w + rect.h)));
        self.shapes.push(Shape::Outline { stroke, rect });
    }

    /// The stroke as there is room for it. Each dash is a line of its own: where a picture has very many, lines are whole
    /// and paler instead.
    fn fitted(&mut self, stroke: Stroke, lengths: impl Iterator<Item = f32>) -> Stroke {
        let Dash::Even(dash) = stroke.dash else { return stroke };
        let dashes: f32 = lengths.map(|length| (length / (2.0 * dash)).ceil()).sum();
        let cost = dashes * if stroke.width > 1.0 { 5.0 } else { 2.0 };
        if self.dashes + cost > MOST_DASHES {
            return Stroke::solid(stroke.color.fade(stroke.color.a / 2), stroke.width);
        }
        self.dashes += cost;
        stroke
    }

    /// Text that begins, is centred or ends at a place.
    pub fn text(&mut self, anchor: Anchor, at: Pos, size: f32, color: Color, text: impl Into<String>) {
        self.write(Weight::Regular, anchor, at, size, color, text.into());
    }

    /// A heading that begins at a place.
    pub fn heading(&mut self, at: Pos, size: f32, color: Color, text: impl Into<String>) {
        self.write(Weight::Bold, Anchor::Start, at, size, color, text.into());
    }

    fn write(&mut self, weight: Weight, anchor: Anchor, at: Pos, size: f32, color: Color, text: String) {
        if !text.is_empty() {
            self.shapes.push(Shape::Text(Text { at, anchor, size, weight, color, text }));
        }
    }
}
