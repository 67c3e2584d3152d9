//! Addresses that are bad for a table by addresses.

use super::{Build, Call, Length, Listed, Scene, Size, non_blocking};
use crate::pool::Pool;
use weir::units::{DevicePtr, KIB, MIB};

pub(super) const SCENES: &[Scene] = &[
    Scene {
        name: "collisions",
        about: "live blocks at addresses that a multiplication by the golden ratio maps close together",
        kinds: non_blocking,
        bytes: |size| (size.blocks as u64 / 16 + 64) * MIB,
        length: Length::Short,
        build: collisions,
    },
    Scene {
        name: "wrong_pointer",
        about: "frees of what is no block, of the middle of one, and of one that is free",
        kinds: non_blocking,
        bytes: |size| (size.blocks as u64 + 64) * 4 * KIB + 64 * MIB,
        length: Length::Short,
        build: wrong_pointer,
    },
];

/// 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Addresses whose product lies in the first of so many parts count as close.
const PARTS: u32 = 9;

/// Larger than what is small, so that one block follows the other.
const LEAST: u64 = 256 * KIB + 512;

fn collisions(pool: &Pool, size: Size) -> Build {
    let mut blocks = vec![pool.malloc(LEAST, 0)?];
    let mut next = blocks.iter().map(|block| block.0 + LEAST).next().unwrap_or_default();
    while blocks.len() < size.blocks / 16 {
        // Each block is as long as it takes for the one behind it to begin at such an address.
        let bytes = (0..).map(|n| LEAST + n * 512).find(|bytes| close(next + bytes)).unwrap_or(LEAST);
        let block = pool.malloc(bytes, 0)?;
        if block.0 != next {
            return Err("blocks do not follow each other".into());
        }
        next = block.0 + bytes;
        blocks.push(block);
    }
    let stream = pool.stream(0)?;
    let some = |from: usize| blocks.iter().skip(from).step_by(97).take(32);
    let mut calls = Vec::new();
    for block in some(blocks.len() * 3 / 4).chain(some(1)).chain(some(blocks.len() / 2)) {
        calls.push(Call::Free { block: *block, stream });
        calls.push(Call::Malloc { size: LEAST, stream });
    }
    Ok(Listed::boxed(calls))
}

const fn close(address: u64) -> bool {
    address.wrapping_mul(GOLDEN) >> (u64::BITS - PARTS) == 0
}

fn wrong_pointer(pool: &Pool, size: Size) -> Build {
    let blocks = (0..size.blocks - 512).map(|_| pool.malloc(4 * KIB, 0)).collect::<Result<Vec<_>, _>>()?;
    let last = *blocks.last().ok_or("no block")?;
    let freed = *blocks.get(blocks.len() - 3).ok_or("no block")?;
    let stream = pool.stream(0)?;
    pool.free(freed, 0)?;
    let wrong = |block| Call::Wrong { block, stream };
    Ok(Listed::boxed(vec![
        wrong(DevicePtr(512)),
        wrong(DevicePtr(last.0 + 512)),
        wrong(freed),
        wrong(DevicePtr(last.0 + MIB)),
    ]))
}
