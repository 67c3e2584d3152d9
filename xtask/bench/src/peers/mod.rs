//! Other allocators, behind the same few calls.

mod buddy;
mod offset;
mod ordered;
mod rlsf;
mod storage;
mod talc;

pub(crate) use buddy::Buddy;
pub(crate) use offset::Offset;
pub(crate) use ordered::Ordered;
pub(crate) use rlsf::Rlsf;
pub(crate) use talc::Talc;

/// Those that work in offsets count in units of this size, as weir rounds up to it.
const UNIT: u64 = 512;
