//! The driver of a runtime that firmware made: its table, and what it does under pressure.

use super::pressure::Hook;
use crate::table::TableDriver;
use weir::driver::{Driver, Pressure, Relief};

/// The driver of a runtime.
#[derive(Debug)]
pub(crate) struct AnyDriver {
    pub(super) table: TableDriver,
    pub(super) pressure: Hook,
}

impl Driver for AnyDriver {
    weir::hand_on!(self => self.table);
    fn pressure(&self, pressure: Pressure) -> Relief {
        self.pressure.press(pressure)
    }
}
