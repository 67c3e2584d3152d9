//! Memory pools of weir's in front of a vendor's library: [`acl`] makes `libweir_acl.so`, [`cuda`] `libweir_cuda.so`.
//! Every call that has a say in what comes before what is passed on and learnt from.
//!
//! # What is believed
//!
//! A vendor's handle is known from the call that gave it out until the call that ended it; the same handle given out
//! again is another stream or event. Order is followed on the streams of a device's usual context. A stream or event
//! that was not seen to begin shows that calls go round this library: no event of that context is believed from then
//! on. After work was given up (an abort, a stream destroyed by force) no order is believed until the device was
//! synchronised. Events that other processes share, and waits that may end without what they wait for, teach nothing.
//!
//! # Forks
//!
//! The child of a process that has made a call here has neither its threads nor its device: there all pools answer an
//! error, and the vendor's functions are called with nothing learnt. A child that was forked before the first call, or
//! that executes another program, begins anew.
#![allow(clippy::missing_safety_doc, reason = "each says what it needs, which is nothing for most")]

pub mod acl;
pub mod cuda;
mod driver;
mod front;
mod handles;
mod library;
mod memory;
mod order;
pub mod ways;
mod world;
