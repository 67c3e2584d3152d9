//! What a user does.

use super::{ColorBy, Page, Pos};
use crate::model::By;

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
    /// Shows what is selected in the address map.
    Go,
    /// Selects nothing.
    Clear,
    /// Scrolls the list of records by rows.
    Scroll(f64),
    /// Scrolls the list of findings by rows.
    ScrollFindings(f64),
    /// Scrolls the list in the large panel by rows: a table, the findings, the free blocks.
    ScrollTable(f64),
    /// Scrolls the details by lines.
    ScrollDetails(f64),
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
    /// Stacks the used bytes by this, or not.
    Stack(Option<By>),
    /// The next way to stack them, or none.
    NextStack,
    /// Colours the address map by this.
    Color(ColorBy),
    /// The next thing to colour it by.
    NextColor,
    /// Another page.
    Show(Page),
    /// The next page.
    NextPage,
}
