//! Free blocks in great number that the asking stream, which is the first, may not have or that do not serve it.

use super::{Build, Call, Length, Listed, Made, STREAMS, Scene, Size, non_blocking};
use crate::pool::Pool;
use crate::random::Random;
use weir::policy::UseUntil;
use weir::units::{DevicePtr, KIB, MIB};

pub(super) const SCENES: &[Scene] = &[
    Scene {
        name: "same_size",
        about: "half a million free blocks of one size, of all other streams; one of each stream is old enough",
        kinds: non_blocking,
        bytes: |size| (size.blocks as u64 + 64) * 4 * KIB + 64 * MIB,
        length: Length::Short,
        build: same_size,
    },
    Scene {
        name: "many_sizes",
        about: "half a million free blocks of many sizes, freed in the order of their sizes by streams that come after none",
        kinds: non_blocking,
        bytes: |size| size.blocks as u64 * MIB + 64 * MIB,
        length: Length::Short,
        build: many_sizes,
    },
    Scene {
        name: "young",
        about: "as many, the largest of each stream freed before an event that is waited for, all others after it",
        kinds: non_blocking,
        bytes: |size| size.blocks as u64 * MIB + 64 * MIB,
        length: Length::Short,
        build: young,
    },
    Scene {
        name: "points",
        about: "blocks of one size, each used by two streams that are waited for and freed by one that is not",
        kinds: non_blocking,
        bytes: |size| (size.blocks as u64 + 64) * 4 * KIB + 64 * MIB,
        length: Length::Short,
        build: points,
    },
    Scene {
        name: "epochs",
        about: "blocks that more streams use than have room in a block",
        kinds: non_blocking,
        bytes: |size| (size.blocks as u64 + 64) * 4 * KIB + 64 * MIB,
        length: Length::Short,
        build: epochs,
    },
    Scene {
        name: "whole_granules",
        about: "small mallocs where only large blocks are free, most of them without a whole granule inside",
        kinds: non_blocking,
        bytes: |size| size.blocks as u64 / 2 * 4 * MIB + 64 * MIB,
        length: Length::Short,
        build: whole_granules,
    },
    Scene {
        name: "merging",
        about: "frees between free blocks of different streams that became complete since they were freed",
        kinds: non_blocking,
        bytes: |size| (size.blocks as u64 + 64) * 4 * KIB + 64 * MIB,
        length: Length::Short,
        build: merging,
    },
    Scene {
        name: "full",
        about: "an arena without a spare slot",
        kinds: non_blocking,
        bytes: |size| (size.blocks as u64 + 64) * 4 * KIB + 64 * MIB,
        length: Length::Short,
        build: full,
    },
];

/// Blocks that are laid: a thirty-second of the slots is left for what lies between them and for the calls.
const fn most(size: Size) -> usize {
    size.blocks - size.blocks / 32
}

/// How many calls of a kind.
const SOME: usize = 8;

/// Blocks of the first stream, all live.
fn lay(pool: &Pool, count: usize, mut size: impl FnMut(usize) -> u64) -> Result<Vec<DevicePtr>, String> {
    (0..count).map(|n| pool.malloc(size(n), 0)).collect()
}

/// One of the other streams.
const fn other(n: usize) -> usize {
    1 + n % (STREAMS - 1)
}

fn mallocs(pool: &Pool, sizes: impl IntoIterator<Item = u64>) -> Result<Vec<Call>, String> {
    let stream = pool.stream(0)?;
    Ok(sizes.into_iter().map(|size| Call::Malloc { size, stream }).collect())
}

/// Every second block, from the second on.
fn odd(blocks: &[DevicePtr]) -> impl Iterator<Item = (usize, DevicePtr)> {
    blocks.iter().copied().skip(1).step_by(2).enumerate()
}

/// Frees of live blocks between free ones.
fn frees(pool: &Pool, blocks: &[DevicePtr], stream: usize) -> Result<Vec<Call>, String> {
    let stream = pool.stream(stream)?;
    let middle = blocks.get((blocks.len() / 2) & !1..).unwrap_or_default();
    Ok(middle.iter().step_by(2).take(SOME).map(|block| Call::Free { block: *block, stream }).collect())
}

fn same_size(pool: &Pool, size: Size) -> Build {
    let blocks = lay(pool, most(size), |_| 4 * KIB)?;
    let all: Vec<_> = odd(&blocks).collect();
    let (old, young) = all.split_at(STREAMS - 1);
    for (n, block) in old {
        pool.free(*block, other(*n))?;
        pool.record(other(*n), other(*n))?;
    }
    young.iter().try_for_each(|(n, block)| pool.free(*block, other(*n)))?;
    let mut calls = mallocs(pool, [4 * KIB; SOME])?;
    for stream in 1..STREAMS {
        calls.push(Call::Wait { stream: pool.stream(0)?, event: pool.event(stream)? });
    }
    calls.extend(mallocs(pool, [4 * KIB; 3 * SOME])?);
    calls.extend(frees(pool, &blocks, 0)?);
    Ok(Listed::boxed(calls))
}

/// Live and free blocks in turn. The free ones have many sizes up to two megabytes and come in the order of these, the
/// live ones are small.
fn sizes(pool: &Pool, size: Size) -> Result<Vec<(u64, DevicePtr)>, String> {
    let mut random = Random::new(11);
    let mut free = Vec::new();
    for _ in 0..most(size) / 2 {
        pool.malloc(512, 0)?;
        let bytes = random.size() / 32 / 512 * 512 + 512;
        free.push((bytes, pool.malloc(bytes, 0)?));
    }
    free.sort_unstable();
    Ok(free)
}

/// Requests over the whole range of sizes.
fn requests() -> Vec<u64> {
    let mut random = Random::new(13);
    [512, 1024, 4 * KIB, 64 * KIB, 128 * KIB, 256 * KIB, 512 * KIB, MIB]
        .into_iter()
        .chain((0..2 * SOME).map(|_| random.size() / 32))
        .collect()
}

fn many_sizes(pool: &Pool, size: Size) -> Build {
    for (n, (_, block)) in sizes(pool, size)?.into_iter().enumerate() {
        pool.free(block, other(n))?;
    }
    Ok(Listed::boxed(mallocs(pool, requests())?))
}

fn young(pool: &Pool, size: Size) -> Build {
    let free = sizes(pool, size)?;
    let (young, old) = free.split_at(free.len() - (STREAMS - 1));
    for (n, (_, block)) in old.iter().enumerate() {
        pool.free(*block, other(n))?;
        pool.record(other(n), other(n))?;
        pool.wait(0, other(n))?;
    }
    for (n, (_, block)) in young.iter().enumerate() {
        pool.free(*block, other(n))?;
    }
    Ok(Listed::boxed(mallocs(pool, requests())?))
}

fn points(pool: &Pool, size: Size) -> Build {
    let third = (STREAMS - 1) / 3;
    let blocks = lay(pool, most(size), |_| 4 * KIB)?;
    for (n, block) in odd(&blocks) {
        for stream in [1 + n % third, 1 + third + n % third] {
            let used = pool.runtime.record_use(block, pool.stream(stream)?, UseUntil::Now);
            used.map_err(crate::pool::text)?;
        }
        pool.free(block, 1 + 2 * third + n % third)?;
    }
    for stream in 1..=2 * third {
        pool.record(stream, stream)?;
        pool.wait(0, stream)?;
    }
    let mut calls = mallocs(pool, [4 * KIB; SOME])?;
    let until = UseUntil::Now;
    for block in blocks.iter().step_by(2).take(SOME) {
        calls.push(Call::Use { block: *block, stream: pool.stream(5)?, until });
        calls.push(Call::Use { block: *block, stream: pool.stream(6)?, until });
        calls.push(Call::Free { block: *block, stream: pool.stream(7)? });
    }
    Ok(Listed::boxed(calls))
}

fn epochs(pool: &Pool, size: Size) -> Build {
    let blocks = lay(pool, most(size), |_| 4 * KIB)?;
    let mut calls = Vec::new();
    for (n, block) in odd(&blocks) {
        for turn in 0..4 {
            let stream = pool.stream(other(n + turn))?;
            pool.runtime.record_use(block, stream, UseUntil::Free).map_err(crate::pool::text)?;
        }
        pool.free(block, other(n + 5))?;
    }
    for (n, block) in blocks.iter().step_by(2).take(SOME).enumerate() {
        for turn in 0..5 {
            let until = if turn % 2 == 0 { UseUntil::Free } else { UseUntil::Now };
            calls.push(Call::Use { block: *block, stream: pool.stream(other(n + turn))?, until });
        }
        calls.push(Call::Free { block: *block, stream: pool.stream(other(n + 7))? });
    }
    calls.extend(mallocs(pool, [4 * KIB; SOME])?);
    Ok(Listed::boxed(calls))
}

fn whole_granules(pool: &Pool, size: Size) -> Build {
    // Half a megabyte in, three free and one live in turn: a free block begins half a megabyte behind a granule's
    // begin, and ends before the end of the next.
    let first = lay(pool, 1, |_| MIB / 2)?;
    let blocks = lay(pool, most(size), |n| if n % 2 == 0 { 3 * MIB } else { MIB })?;
    for block in blocks.iter().step_by(2) {
        pool.free(*block, 0)?;
    }
    let mut calls = mallocs(pool, [256 * KIB; SOME])?;
    calls.extend(mallocs(pool, [512; SOME])?);
    calls.push(Call::Free { block: *first.first().ok_or("no block")?, stream: pool.stream(0)? });
    Ok(Listed::boxed(calls))
}

fn merging(pool: &Pool, size: Size) -> Build {
    let blocks = lay(pool, most(size), |_| 4 * KIB)?;
    // Every sixteenth block stays.
    for (n, block) in blocks.iter().enumerate().filter(|(n, _)| n % 16 != 0) {
        pool.free(*block, other(n))?;
    }
    for stream in 1..STREAMS {
        pool.runtime.synchronize_stream(pool.stream(stream)?).map_err(crate::pool::text)?;
    }
    pool.runtime.synchronize_device(crate::idle::DEVICE).map_err(crate::pool::text)?;
    let live: Vec<DevicePtr> = blocks.iter().copied().step_by(16).skip(1).take(4 * SOME).collect();
    let turn = move |pool: &Pool, n: usize, _: Option<DevicePtr>| {
        let stream = pool.stream(0)?;
        let freed = live.get(n / 2).map(|block| Call::Free { block: *block, stream });
        let malloc = Call::Malloc { size: if n % 4 == 1 { 60 * KIB } else { 512 }, stream };
        Ok(freed.map(|free| if n.is_multiple_of(2) { free } else { malloc }))
    };
    Ok(Box::new(Made(0, turn)))
}

fn full(pool: &Pool, _: Size) -> Build {
    let mut blocks = Vec::new();
    while let Ok(block) = pool.malloc(4 * KIB, 0) {
        blocks.push(block);
    }
    for (n, block) in odd(&blocks) {
        pool.free(block, other(n))?;
    }
    let mut calls = Vec::new();
    for free in frees(pool, &blocks, 0)? {
        let Call::Free { stream, .. } = free else { continue };
        calls.extend([free, Call::Malloc { size: 4 * KIB, stream }]);
    }
    Ok(Listed::boxed(calls))
}
