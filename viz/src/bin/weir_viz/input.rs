//! From what egui saw to what the view understands.

use eframe::egui::{InputState, PointerButton, Pos2, Response, Vec2};
use weir_viz::scene::{Along, Frame, Input, Pos, ROW, Rect, View, pos};

/// Points of the wheel that double or halve.
const DOUBLE: f32 = 200.0;
/// What the pointer did on the canvas. Taken from the response first: that one asks egui, which must not be done while
/// its input is lent.
pub(crate) struct Pointer {
    hover: Option<Pos2>,
    at: Option<Pos2>,
    pans: bool,
    by: Vec2,
    clicks: Clicks,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Clicks {
    None,
    One,
    Two,
}

impl Pointer {
    /// What the response says.
    pub(crate) fn of(response: &Response) -> Self {
        let clicks = match (response.double_clicked(), response.clicked()) {
            (true, _) => Clicks::Two,
            (_, true) => Clicks::One,
            _ => Clicks::None,
        };
        Self {
            hover: response.hover_pos(),
            at: response.interact_pointer_pos(),
            pans: response.dragged_by(PointerButton::Primary) || response.dragged_by(PointerButton::Middle),
            by: response.drag_delta(),
            clicks,
        }
    }

    /// As the view understands it; the canvas's corner is at `corner`. `rest`: the part of a row that the wheel has turned.
    pub(crate) fn inputs(
        &self,
        input: &InputState,
        (view, frame): (&View, &Frame),
        corner: Vec2,
        rest: &mut f64,
    ) -> Vec<Input> {
        let mut out = Vec::new();
        let here = |at: Pos2| pos(at.x - corner.x, at.y - corner.y);
        if let Some(at) = self.hover {
            wheel(input, (view, frame), here(at), rest, &mut out);
        }
        if let (true, Some(from)) = (self.pans && self.by != Vec2::ZERO, input.pointer.press_origin()) {
            out.push(Input::Drag { from: here(from), by: pos(self.by.x, self.by.y) });
        }
        match (self.at.map(here), self.clicks) {
            (Some(at), Clicks::Two) if frame.is_plot(at) => out.push(Input::Fit),
            (Some(at), Clicks::One | Clicks::Two) => out.push(Input::Click(at)),
            _ => {}
        }
        out
    }
}

fn wheel(input: &InputState, (view, frame): (&View, &Frame), at: Pos, rest: &mut f64, out: &mut Vec<Input>) {
    let (scroll, pinch) = (input.smooth_scroll_delta(), input.zoom_delta());
    if let Some(scrolls) = list_at(view, frame, at) {
        // Whole rows; what is left of one waits for more.
        *rest += f64::from(-scroll.y / ROW);
        let rows = rest.trunc();
        *rest -= rows;
        if rows != 0.0 {
            out.push(scrolls(rows));
        }
        return;
    }
    *rest = 0.0;
    let along = if input.modifiers.alt { Along::Y } else { Along::X };
    let mut zoom = |factor: f64| out.push(Input::Zoom { at, factor, along });
    if pinch != 1.0 {
        zoom(1.0 / f64::from(pinch));
    } else if scroll.y != 0.0 {
        zoom(f64::from(-scroll.y / DOUBLE).exp2());
    }
    if scroll.x != 0.0 {
        let part = f64::from(-scroll.x / frame.map.area.w);
        out.push(Input::Move { x: part, y: 0.0 });
    }
}

/// What scrolls a list by rows.
type Scrolls = fn(f64) -> Input;

/// What scrolls the list at the place, if there is one.
fn list_at(view: &View, frame: &Frame, at: Pos) -> Option<Scrolls> {
    let lists: [(Option<Rect>, Scrolls); 4] = [
        (frame.list, Input::Scroll),
        (frame.findings, Input::ScrollFindings),
        (frame.details, Input::ScrollDetails),
        (view.page.scrolls().then_some(frame.map.area), Input::ScrollTable),
    ];
    lists.into_iter().find(|(area, _)| area.is_some_and(|area| area.contains(at))).map(|(_, scrolls)| scrolls)
}
