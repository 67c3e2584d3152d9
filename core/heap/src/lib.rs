//! Memory for [`weir`] from the process's heap, for hosted builds whose capacities are known at run time. Apart from the core,
//! which allocates nothing, and below the drivers and the viewer, which both make runtimes.

mod arenas;
#[cfg(feature = "sim")]
mod sim;

pub use arenas::HeapArenas;
#[cfg(feature = "sim")]
pub use sim::{HeapSim, SimCapacities};
