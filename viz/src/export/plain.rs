//! The text form, with what was damaged as comments.

use super::ordered::ordered;
use crate::origin::Origin;
use crate::source::Opened;
use std::io::{Result, Write};
use weir::trace::{Damage, Reader, Stamped, text};

/// Records that are written at once.
const PIECE: usize = 1 << 12;

pub(super) fn write(opened: &Opened, bytes: &[u8], out: &mut impl Write) -> Result<()> {
    let mut origin = Origin::of(bytes);
    // What is wrong stands first, and a log in which nothing is wrong is read once.
    if opened.damaged > 0 {
        let damages: Vec<Damage> = Reader::new(bytes).filter_map(std::result::Result::err).collect();
        let unexpected = damages.iter().filter(|damage| !origin.expects(damage)).map(Damage::to_string);
        let unexpected: Vec<String> = unexpected.collect();
        origin.damages.extend(unexpected);
    }
    write!(out, "{}\n{origin}", text::HEADER)?;
    let mut records = Reader::new(bytes).filter_map(std::result::Result::ok);
    let pieces = std::iter::from_fn(move || {
        let piece: Vec<Stamped<'_>> = records.by_ref().take(PIECE).collect();
        (!piece.is_empty()).then_some(piece)
    });
    ordered(pieces, |piece| lines(&piece), |lines| out.write_all(lines.as_bytes()))
}

fn lines(piece: &[Stamped<'_>]) -> String {
    let mut lines = String::new();
    for stamped in piece {
        // Writing to a string cannot fail.
        let _ = text::write(stamped, &mut lines);
        lines.push('\n');
    }
    lines
}
