//! The driver of a runtime that C made: one of two, and what the program does under pressure.

use super::pressure::Hook;
use crate::host::HostDriver;
use crate::table::TableDriver;
use weir::driver::{Driver, Pressure, Relief};

/// The host driver, or a table of the program's.
#[derive(Debug)]
pub(crate) enum Backend {
    Host(Box<HostDriver>),
    Table(TableDriver),
}

/// The driver of a runtime.
#[derive(Debug)]
pub(crate) struct AnyDriver {
    pub(super) backend: Backend,
    pub(super) pressure: Hook,
}

impl AnyDriver {
    fn inner(&self) -> &dyn Driver {
        match &self.backend {
            Backend::Host(host) => &**host,
            Backend::Table(table) => table,
        }
    }

    /// The host driver, where it is that.
    pub(super) fn host(&self) -> Option<&HostDriver> {
        match &self.backend {
            Backend::Host(host) => Some(host),
            Backend::Table(_) => None,
        }
    }
}

impl Driver for AnyDriver {
    weir::hand_on!(self => self.inner());
    fn pressure(&self, pressure: Pressure) -> Relief {
        self.pressure.press(pressure)
    }
}
