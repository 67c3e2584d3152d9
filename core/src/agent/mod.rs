//! The device's side of a pool whose addresses the host decides, as in CANN: it executes the pool's messages in the order
//! of the stream that they come along, on granules of its own.
//!
//! A [`Message`] of 40 bytes asks for physical memory behind a range of addresses, or says that nobody uses it any more.
//! [`execute`] reads one and judges it by what [`Granules`] say; [`Book`] is the granules of a device that
//! keeps what was freed. A message is executed as a whole or not at all.
//!
//! | message | at each granule of the range | does |
//! | --- | --- | --- |
//! | malloc, [`Claim::Fresh`] | nothing live | attaches memory; what is kept there is taken as it is |
//! | malloc, [`Claim::Standard`] | the same: the free came before, as the host says | the same; refused where it did not |
//! | malloc, [`Claim::Internal`] | what is live is freed by another stream | waits: [`Done::Retry`] until that is executed |
//! | free | live | keeps the memory, for a later malloc anywhere |
//!
//! An agent never waits itself: its processor has other streams to serve. It does not panic, allocate or recurse.

mod book;
mod message;

pub use book::{Book, Memory, Place};
pub use message::{Claim, MESSAGE_BYTES, Message, Operation};

use crate::id::DeviceId;
use crate::units::{Bytes, DevicePtr};

/// What is at the addresses of one granule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Placement {
    /// Nothing.
    Absent,
    /// Memory of an allocation.
    Live,
    /// Memory that was freed and is still there.
    Kept,
    /// Memory of another pool's allocation.
    Foreign,
}

/// The granules of a device, by address.
pub trait Granules {
    /// The size of one; a power of two.
    fn size(&self) -> Bytes;

    /// What is at the granule that begins at `at`, as `pool` sees it.
    fn placement(&self, pool: u64, at: DevicePtr) -> Placement;

    /// How many more could be [attached](Self::attach) now, what is kept counted in.
    fn spare(&self) -> usize;

    /// Puts memory where there is none, for an allocation: fresh, or what is kept elsewhere.
    ///
    /// # Errors
    /// None was [spare](Self::spare); nothing was changed.
    fn attach(&mut self, pool: u64, at: DevicePtr) -> Result<(), Refusal>;

    /// Makes kept memory live.
    fn revive(&mut self, pool: u64, at: DevicePtr);

    /// Live memory is nobody's any more.
    ///
    /// # Errors
    /// The bookkeeping does not know it.
    fn keep(&mut self, pool: u64, at: DevicePtr) -> Result<(), Refusal>;
}

/// What became of a message that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use]
pub enum Done {
    /// It was executed.
    Done,
    /// It waits for a free that another stream has not executed yet: give it again, when other streams have gone on.
    Retry,
}

/// Why a message was refused. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Refusal {
    /// It is not [`MESSAGE_BYTES`] long.
    Length(usize),
    /// No operation has this number.
    UnknownOperation(i32),
    /// A malloc knows no such sub-command.
    UnknownClaim(i32),
    /// It is for another device.
    OtherDevice(DeviceId),
    /// Address or size are no multiples of the granule, or the range is empty or leaves the address space.
    BadRange {
        /// Where it begins.
        va: DevicePtr,
        /// How long it is.
        size: Bytes,
    },
    /// A malloc of memory that is live: a [`Claim::Standard`] one whose free was not executed, or a fresh one at addresses
    /// that are taken.
    InUse(DevicePtr),
    /// A free of what is not live, or is another pool's.
    NotLive(DevicePtr),
    /// The device has no memory left.
    Exhausted,
    /// The bookkeeping contradicts itself.
    Corrupt,
}

impl Refusal {
    /// What a kernel of the device returns: CANN's `AICPU_SCHEDULE_FAIL`.
    pub const CODE: u32 = 1;
}

/// Executes one message for `device`. Linear in the granules of its range, with two looks at each.
///
/// # Errors
/// See [`Refusal`]; nothing was changed.
pub fn execute(bytes: &[u8], device: DeviceId, granules: &mut impl Granules) -> Result<Done, Refusal> {
    let message = Message::from_bytes(bytes)?;
    if message.device != device {
        return Err(Refusal::OtherDevice(message.device));
    }
    let range = Range::of(&message, granules.size())?;
    match message.operation {
        Operation::Malloc(claim) => malloc(message.pool, range, claim, granules),
        Operation::Free => free(message.pool, range, granules),
    }
}

/// Whole granules.
#[derive(Clone, Copy, Debug)]
struct Range {
    from: u64,
    to: u64,
    step: u64,
}

impl Range {
    fn of(message: &Message, granule: Bytes) -> Result<Self, Refusal> {
        let (va, size) = (message.va, message.size);
        let bad = Refusal::BadRange { va, size };
        let to = va.0.checked_add(size.0).ok_or(bad)?;
        let aligned = granule.0.is_power_of_two() && (va.0 | size.0) & (granule.0 - 1) == 0;
        if !aligned || size.0 == 0 {
            return Err(bad);
        }
        Ok(Self { from: va.0, to, step: granule.0 })
    }

    fn granules(self) -> impl Iterator<Item = DevicePtr> {
        let next = move |at: &u64| at.checked_add(self.step).filter(|next| *next < self.to);
        core::iter::successors(Some(self.from), next).map(DevicePtr)
    }
}

fn malloc(pool: u64, range: Range, claim: Claim, granules: &mut impl Granules) -> Result<Done, Refusal> {
    let (mut absent, mut kept) = (0_usize, 0_usize);
    for at in range.granules() {
        match (granules.placement(pool, at), claim) {
            (Placement::Absent, _) => absent = absent.saturating_add(1),
            (Placement::Kept, _) => kept = kept.saturating_add(1),
            (Placement::Live, Claim::Internal) => return Ok(Done::Retry),
            (Placement::Live | Placement::Foreign, _) => return Err(Refusal::InUse(at)),
        }
    }
    // What is kept here is about to be live, and cannot go elsewhere.
    if absent > granules.spare().saturating_sub(kept) {
        return Err(Refusal::Exhausted);
    }
    for at in range.granules() {
        if granules.placement(pool, at) == Placement::Kept {
            granules.revive(pool, at);
        }
    }
    for at in range.granules() {
        if granules.placement(pool, at) == Placement::Absent {
            granules.attach(pool, at)?;
        }
    }
    Ok(Done::Done)
}

fn free(pool: u64, range: Range, granules: &mut impl Granules) -> Result<Done, Refusal> {
    for at in range.granules() {
        if granules.placement(pool, at) != Placement::Live {
            return Err(Refusal::NotLive(at));
        }
    }
    for at in range.granules() {
        granules.keep(pool, at)?;
    }
    Ok(Done::Done)
}
