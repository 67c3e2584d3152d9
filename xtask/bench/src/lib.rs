//! What `cargo xtask bench` measures. Each measurement is a run of this package's program, which sets everything up and
//! then does one thing in a function whose name begins with `counted_`: a profiler that collects there alone counts just
//! that. Built with optimisation; what other programs do, and the clock, have no part in the counts.
//!
//! * [`contender`]: weir and other allocators in the same loops and on the same logs.
//! * [`special`]: what only weir does: reuse along events, records and waits, the log.
//! * [`worst`]: the search for the worst single call.
//! * [`threads`]: several threads at once, by the clock.
//! * [`churn`], [`replay`]: the loops, and what an allocator must have for them; `cargo xtask gpu` uses them too.
//!
//! weir runs on a device that does nothing and answers at once; everything goes through its public interface.

mod calls;
pub mod churn;
pub mod contender;
mod idle;
mod peers;
mod pool;
mod profile;
mod random;
pub mod replay;
pub mod special;
pub mod threads;
pub mod worst;

pub use profile::BEGINS;
