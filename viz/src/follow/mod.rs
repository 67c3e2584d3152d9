//! A log that still grows: its bytes as they come, its records as their pages are complete, and what they add up to.
//!
//! [`Source`] reads a file, standard input or a connection. [`Tail`] takes the bytes and hands out records; a page or a
//! line that is half there waits. [`Live`] extends a model by them, [`Figures`] keeps a few sums.

mod figures;
mod live;
mod source;
mod tail;

pub use figures::Figures;
pub use live::Live;
pub use source::{Came, Feed, Source};
pub use tail::Tail;
