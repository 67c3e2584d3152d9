//! Exhaustive exploration: every program of up to three streams, two events and two blocks, of a given number of
//! operations, on a pool of two granules, with every answer that a device could give to every query.
//!
//! * **Programs.** Mallocs of one or two granules, frees, uses by other streams, records, waits, queries and
//!   synchronisations, as far as a correct program may make them: a free or use comes after the malloc's work. Streams,
//!   events and blocks are named in the order of their first use, so that of several programs that differ by names only
//!   one is run.
//! * **Families.** Not everything at once: beside the plain family, which has the above, one destroys streams and creates
//!   up to two in their places, and one lets up to two driver calls fail, at every point and in undoing too.
//! * **Completion orders.** How far the device has come shows only in the answers to queries. At each query, the
//!   program's or the pool's, both answers are followed, "complete" by letting the device do what it takes, and "pending"
//!   wherever the host cannot know better. That covers every order in which work can complete.
//! * **Judgement.** [`Oracle`](oracle::Oracle) keeps, for each single operation, the set of all that happen before it.
//!   It sees the driver calls, never the pool's clocks. Memory that is handed out must come after everything that was
//!   done with its granules, frees included, and by events only where the switch allows it; memory that is unmapped must be known to be done with. And the converse:
//!   a pool that refuses, or asks the driver, although it could know of usable memory fails too. The simulator's own
//!   check of accesses runs beside it, and [`weir::Runtime::verify`] after every operation.
//! * **States.** Programs that lead to the same state (of the pool's arenas and of the oracle's sets, by a hash of 128
//!   bits) are followed once. What is left out beside that: operations that change nothing, such as waiting for what is
//!   ordered already or for an event that was never recorded, and those at the end of a program that nothing after them
//!   can show.
//!
//! A call that fails on demand may be refused, and a malloc in which a call fails may; everything must be as before
//! then, and the next call is judged as ever.

pub mod digest;
pub mod driver;
mod judge;
pub mod op;
pub mod oracle;
pub mod run;
pub mod search;
