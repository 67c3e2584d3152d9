//! Memory for [`weir`] from the process's heap, for hosted builds whose capacities are known at run time.

mod arenas;
#[cfg(feature = "sim")]
mod sim;

pub use arenas::HeapArenas;
#[cfg(feature = "sim")]
pub use sim::{HeapSim, SimCapacities};
