//! Scenes as egui shapes. Computes nothing: every place and colour is the scene's.

use eframe::egui::{self, Color32, FontId, Mesh, Painter, Pos2, Vec2, pos2};
use weir_viz::scene::{Anchor, Color, Dash, Pos, Rect, Shape, Stroke, Text, Weight};

/// A shape for egui that can be kept over frames; text cannot, because egui may lay its glyphs out anew at any time.
pub(crate) enum Piece {
    /// Anything else.
    Shape(egui::Shape),
    /// Text.
    Text(Text),
}

/// The scene for egui, moved by `by`.
pub(crate) fn pieces(scene: &[Shape], by: Vec2) -> Vec<Piece> {
    let mut out = Vec::new();
    for shape in scene {
        match shape {
            Shape::Text(text) => out.push(Piece::Text(text.clone())),
            other => {
                let mut shapes = Vec::new();
                add(other, by, &mut shapes);
                out.extend(shapes.into_iter().map(Piece::Shape));
            }
        }
    }
    out
}

/// Paints what [`pieces`] made for the same `by`.
pub(crate) fn paint(painter: &Painter, pieces: &[Piece], by: Vec2) {
    for piece in pieces {
        match piece {
            Piece::Shape(shape) => {
                painter.add(shape.clone());
            }
            Piece::Text(text) => self::text(painter, text, by),
        }
    }
}

/// The colour for egui.
pub(crate) fn color(color: Color) -> Color32 {
    Color32::from_rgba_unmultiplied(color.r, color.g, color.b, color.a)
}

fn add(shape: &Shape, by: Vec2, out: &mut Vec<egui::Shape>) {
    match shape {
        Shape::Rects { fill, rects } => {
            let mut mesh = Mesh::default();
            mesh.reserve_vertices(4 * rects.len());
            mesh.reserve_triangles(2 * rects.len());
            let fill = color(*fill);
            rects.iter().for_each(|r| mesh.add_colored_rect(rect(r, by), fill));
            out.push(egui::Shape::mesh(mesh));
        }
        Shape::Area { fill, points, base } => out.push(egui::Shape::mesh(area(points, *base, color(*fill), by))),
        Shape::Line { stroke, points } => line(points, stroke, by, out),
        Shape::Segments { stroke, ends } => ends.iter().for_each(|pair| line(pair, stroke, by, out)),
        Shape::Outline { stroke, rect: r } => {
            let r = rect(r, by);
            let corners = [r.left_top(), r.right_top(), r.right_bottom(), r.left_bottom(), r.left_top()];
            polyline(corners.to_vec(), stroke, out);
        }
        Shape::Text(_) => {}
    }
}

fn place(at: Pos, by: Vec2) -> Pos2 {
    pos2(at.x, at.y) + by
}

fn rect(rect: &Rect, by: Vec2) -> egui::Rect {
    egui::Rect::from_min_max(pos2(rect.x, rect.y) + by, pos2(rect.right(), rect.bottom()) + by)
}

/// A strip of triangles from the line down to the level.
fn area(points: &[Pos], base: f32, fill: Color32, by: Vec2) -> Mesh {
    let mut mesh = Mesh::default();
    for point in points {
        let at = mesh.vertices.len() as u32;
        mesh.colored_vertex(place(*point, by), fill);
        mesh.colored_vertex(pos2(point.x, base) + by, fill);
        // There is nothing below a step.
        if at > 0 && mesh.vertices[mesh.vertices.len() - 4].pos.x < point.x + by.x {
            mesh.add_triangle(at - 2, at - 1, at);
            mesh.add_triangle(at - 1, at, at + 1);
        }
    }
    mesh
}

fn line(points: &[Pos], stroke: &Stroke, by: Vec2, out: &mut Vec<egui::Shape>) {
    polyline(points.iter().map(|p| place(*p, by)).collect(), stroke, out);
}

fn polyline(points: Vec<Pos2>, stroke: &Stroke, out: &mut Vec<egui::Shape>) {
    let pen = egui::Stroke::new(stroke.width, color(stroke.color));
    match stroke.dash {
        Dash::Solid => out.push(egui::Shape::line(points, pen)),
        Dash::Even(length) => egui::Shape::dashed_line_many(&points, pen, length, length, out),
    }
}

/// Text on its baseline, in egui's own drawing of the font that the scene measured.
fn text(painter: &Painter, text: &Text, by: Vec2) {
    let ink = color(text.color);
    let galley = painter.layout_no_wrap(text.text.clone(), FontId::proportional(text.size), ink);
    let baseline = galley.rows.first().and_then(|row| Some(row.pos.y + row.glyphs.first()?.pos.y));
    let left = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => galley.size().x / 2.0,
        Anchor::End => galley.size().x,
    };
    let at = place(text.at, by) - Vec2::new(left, baseline.unwrap_or_default());
    if text.weight == Weight::Bold {
        // The font has one weight; twice beside itself makes a heavier one.
        painter.galley(at + Vec2::new(text.size * 0.045, 0.0), galley.clone(), ink);
    }
    painter.galley(at, galley, ink);
}
