//! A stream-ordered memory pool for accelerators: memory is allocated and freed in the order of the streams that use it,
//! without stopping the host.
//!
//! The core is `no_std`, allocates nothing, has no unsafe code and no panic path: its arenas are fixed and lent by the
//! embedder, its device is behind [`driver::Driver`], its log behind [`trace::Sink`].
//!
//! * [`Runtime`] is the whole interface; [`Local`] and [`Shared`] are it with a lock for one thread and for several.
//! * [`Storage`] is where it lives; [`Capacities`] says how much fits.
//! * [`agent`] is the device's side of a pool whose addresses the host decides.
//! * [`policy`] is what a user chooses, [`error`] what can go wrong, [`trace`] what the log says.

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod agent;
mod arena;
mod asking;
mod bins;
mod block;
mod blocks;
mod demand;
pub mod driver;
pub mod error;
mod error_text;
mod facts;
mod free_index;
mod granule;
mod growth;
pub mod id;
mod lookup;
mod moves;
mod name;
mod order;
#[cfg(feature = "plant")]
pub mod plant;
#[cfg(not(feature = "plant"))]
mod plant;
pub mod policy;
mod pool;
mod release;
mod reuse;
mod runtime;
#[cfg(feature = "sim")]
pub mod sim;
pub mod trace;
mod tree;
pub mod units;

pub use id::MAX_DEVICES;
pub use pool::PoolStats;
pub use runtime::{
    Access, Arenas, BlockInfo, Candidate, Capacities, Capture, Counters, Lock, Outlook, Recorded, Runtime, State,
    Storage, StreamConfig, Trimmed, Violation,
};

/// What arenas are made of, for embedders that build [`Arenas`] from memory of their own: slices filled with
/// [`Empty::EMPTY`](slots::Empty::EMPTY).
pub mod slots {
    pub use crate::arena::{Empty, Link};
    pub use crate::bins::{HeadWord, heads_for, words_for};
    pub use crate::block::Block;
    pub use crate::free_index::{Bins, bins_for};
    pub use crate::granule::Granule;
    pub use crate::name::Name;
    pub use crate::order::{ClockRows, EventSlot, MarkerState, StreamSlot};
    pub use crate::pool::PoolSlot;
    pub use crate::runtime::Singles;
}

/// A runtime for one thread.
pub type Local<'a, D, S> = Runtime<'a, D, S, core::cell::RefCell<State<'a>>>;

/// A runtime for several threads, behind a spin lock.
pub type Shared<'a, D, S> = Runtime<'a, D, S, spin::Mutex<State<'a>>>;
