//! What a user does.

use super::{Page, Pos};

/// Which axis a zoom is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    /// Records or time.
    X,
    /// Addresses.
    Y,
}

/// What a user does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Input {
    /// Zooms at a place; a factor below 1 zooms in.
    Zoom {
        /// The place.
        at: Pos,
        /// How far.
        factor: f64,
        /// Along which axis.
        along: Along,
    },
    /// Drags from a place by so many pixels.
    Drag {
        /// Where it began.
        from: Pos,
        /// How far.
        by: Pos,
    },
    /// Moves by a part of what is shown.
    Move {
        /// To the right.
        x: f64,
        /// Up.
        y: f64,
    },
    /// Zooms at the middle of x.
    Closer {
        /// A factor below 1 zooms in.
        factor: f64,
    },
    /// Selects what is there.
    Click(Pos),
    /// Shows everything.
    Fit,
    /// Shows what is selected.
    FitSelection,
    /// Selects nothing.
    Clear,
    /// Scrolls the list of records by rows.
    Scroll(f64),
    /// Scrolls the list of findings by rows.
    ScrollFindings(f64),
    /// Scrolls the table by rows.
    ScrollTable(f64),
    /// Selects the next (1) or previous (-1) record.
    Step(i64),
    /// Goes to the next (1) or previous (-1) finding.
    StepFinding(i64),
    /// Goes to the next (1) or previous (-1) mark.
    StepMark(i64),
    /// Records or time along x.
    SwitchAxis,
    /// The next pool.
    NextPool,
    /// Light or dark.
    SwitchTheme,
    /// Another page.
    Show(Page),
    /// The next page.
    NextPage,
}
