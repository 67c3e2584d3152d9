//! The rungs of the ladder, and their order.

use crate::policy::Preference;

/// One way out of a shortage. After each, everything is searched again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rung {
    /// Ask the driver what is complete.
    Ask,
    /// Move or create granules.
    Grow,
    /// Take a part of a granule of the other class.
    Mix,
    /// Insert a wait.
    Wait,
    /// Insert waits for free blocks that a growth takes with it.
    WaitAndGrow,
    /// Try again what could not be released, and release what other pools of the device do not use; then grow once more.
    Others,
    /// Let the host wait for pending work, where the pool allows it; then begin anew.
    Block,
    /// Ask the embedder to give memory back; then begin anew.
    Press,
}

/// Where new memory comes before an inserted wait. What the waits before a growth may have made usable, or possible to
/// wait for, is looked at once more; so is what was learnt on the way to other pools' memory.
const GROW_FIRST: [Rung; 12] = [
    Rung::Ask,
    Rung::Grow,
    Rung::Mix,
    Rung::Wait,
    Rung::WaitAndGrow,
    Rung::Wait,
    Rung::Mix,
    Rung::Others,
    Rung::Wait,
    Rung::Mix,
    Rung::Block,
    Rung::Press,
];

/// Where it comes after.
const WAIT_FIRST: [Rung; 12] = [
    Rung::Ask,
    Rung::Wait,
    Rung::Grow,
    Rung::Mix,
    Rung::WaitAndGrow,
    Rung::Wait,
    Rung::Mix,
    Rung::Others,
    Rung::Wait,
    Rung::Mix,
    Rung::Block,
    Rung::Press,
];

/// The rungs in the order that the pool prefers.
pub(super) fn ladder(preference: Preference) -> &'static [Rung] {
    match preference {
        Preference::GrowFirst => &GROW_FIRST,
        Preference::WaitFirst => &WAIT_FIRST,
    }
}
