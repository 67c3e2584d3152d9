//! The message: 40 bytes, little endian, as the host's runtime writes them.

use super::Refusal;
use crate::id::DeviceId;
use crate::units::{Bytes, DevicePtr};

/// Bytes of a message.
pub const MESSAGE_BYTES: usize = 40;

const SIZE_AT: usize = 0;
const VA_AT: usize = 8;
const POOL_AT: usize = 16;
const DEVICE_AT: usize = 24;
const OPERATION_AT: usize = 28;
const CLAIM_AT: usize = 32;

/// The sub-command that CANN's runtime sends with a free.
const FREE: i32 = 4;

/// By what right memory is taken: the sub-command of a malloc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(i32)]
pub enum Claim {
    /// It was freed, and the free comes before in the order of the streams.
    Standard = 0,
    /// It was freed by another stream, which this one has to wait for.
    Internal = 1,
    /// It was never used, or its memory was given back.
    Fresh = 2,
}

/// What a message asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Operation {
    /// 0: memory behind the range.
    Malloc(Claim),
    /// 1: nobody uses the range any more. Its sub-command is not looked at.
    Free,
}

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Message {
    /// The range's bytes: whole granules.
    pub size: Bytes,
    /// Where the range begins.
    pub va: DevicePtr,
    /// An identity of the host's.
    pub pool: u64,
    /// The device whose memory it is.
    pub device: DeviceId,
    /// What to do.
    pub operation: Operation,
}

impl Message {
    /// The message as it is sent. The last four bytes are zero.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; MESSAGE_BYTES] {
        let (operation, claim) = match self.operation {
            Operation::Malloc(claim) => (0_i32, claim as i32),
            Operation::Free => (1, FREE),
        };
        let mut bytes = [0; MESSAGE_BYTES];
        put(&mut bytes, SIZE_AT, self.size.0.to_le_bytes());
        put(&mut bytes, VA_AT, self.va.0.to_le_bytes());
        put(&mut bytes, POOL_AT, self.pool.to_le_bytes());
        put(&mut bytes, DEVICE_AT, self.device.0.to_le_bytes());
        put(&mut bytes, OPERATION_AT, operation.to_le_bytes());
        put(&mut bytes, CLAIM_AT, claim.to_le_bytes());
        bytes
    }

    /// Reads a message. The last four bytes are not looked at.
    ///
    /// # Errors
    /// Another length, operation or sub-command.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Refusal> {
        let length = Refusal::Length(bytes.len());
        let bytes: &[u8; MESSAGE_BYTES] = bytes.try_into().map_err(|_| length)?;
        let wide = |at| array(bytes, at).map(u64::from_le_bytes).ok_or(length);
        let narrow = |at| array(bytes, at).map(i32::from_le_bytes).ok_or(length);
        let operation = match narrow(OPERATION_AT)? {
            0 => Operation::Malloc(match narrow(CLAIM_AT)? {
                0 => Claim::Standard,
                1 => Claim::Internal,
                2 => Claim::Fresh,
                other => return Err(Refusal::UnknownClaim(other)),
            }),
            1 => Operation::Free,
            other => return Err(Refusal::UnknownOperation(other)),
        };
        Ok(Self {
            size: Bytes(wide(SIZE_AT)?),
            va: DevicePtr(wide(VA_AT)?),
            pool: wide(POOL_AT)?,
            device: DeviceId(narrow(DEVICE_AT)?.cast_unsigned()),
            operation,
        })
    }
}

fn put<const N: usize>(bytes: &mut [u8; MESSAGE_BYTES], at: usize, field: [u8; N]) {
    if let Some(place) = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *place = field;
    }
}

fn array<const N: usize>(bytes: &[u8; MESSAGE_BYTES], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}
