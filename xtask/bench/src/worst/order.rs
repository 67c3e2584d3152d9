//! Streams that know much of each other, and markers that run out.

use super::{Build, Call, Calls, Length, Made, STREAMS, Scene, Size, non_blocking};
use crate::pool::{Pool, text};
use weir::policy::{StreamKind, UseUntil};
use weir::units::{DevicePtr, KIB, MIB};

pub(super) const SCENES: &[Scene] = &[
    Scene {
        name: "markers",
        about: "frees on all streams, each of which is due a marker with the next call, where all markers are laid",
        kinds: non_blocking,
        bytes: |size| size.blocks as u64 * 4 * KIB + 64 * MIB,
        length: Length::Short,
        build: markers,
    },
    Scene {
        name: "all_active",
        about: "64 streams that wait for each other all the time",
        kinds: non_blocking,
        bytes: |_| 256 * MIB,
        length: Length::Short,
        build: all_active,
    },
    Scene {
        name: "legacy",
        about: "the legacy stream and 63 blocking ones that wait for each other",
        kinds: || [StreamKind::Legacy].into_iter().chain([StreamKind::Blocking; STREAMS - 1]).collect(),
        bytes: |size| size.blocks as u64 * 4 * KIB + 64 * MIB,
        length: Length::Short,
        build: legacy,
    },
];

/// How often each call is made on each stream.
const ROUNDS: usize = 4;

fn other(n: usize) -> usize {
    n % STREAMS
}

/// Every stream comes after every other one.
fn acquaint(pool: &Pool) -> Result<(), String> {
    for stream in 0..STREAMS {
        pool.record(stream, stream)?;
        for other in (0..STREAMS).filter(|other| *other != stream) {
            pool.wait(other, stream)?;
        }
    }
    Ok(())
}

fn blocks(pool: &Pool, size: Size) -> Result<Vec<DevicePtr>, String> {
    (0..size.blocks / 2).map(|_| pool.malloc(4 * KIB, 0)).collect()
}

/// The calls by turns on all streams, each behind a free there.
fn behind_frees(mut blocks: Vec<DevicePtr>) -> Box<dyn Calls> {
    let call = move |pool: &Pool, n: usize, last: Option<DevicePtr>| {
        if n >= 6 * ROUNDS * STREAMS {
            return Ok(None);
        }
        let number = other(n / 6 * 7);
        let (stream, event) = (pool.stream(number)?, pool.event(STREAMS + number)?);
        // Every second block goes, so that free ones have live neighbours.
        let mut take = || blocks.pop().ok_or("no block is left");
        if n % 6 != 5 {
            pool.free(take()?, number)?;
            take()?;
        }
        let call = match n % 6 {
            0 => Call::Malloc { size: 4 * KIB, stream },
            1 => Call::Record { event, stream },
            2 => Call::Wait { stream, event: pool.event(STREAMS + other(number + 1))? },
            3 => Call::Use { block: last.ok_or("nothing was allocated")?, stream, until: UseUntil::Now },
            4 => Call::Malloc { size: 512, stream },
            _ => Call::Free { block: last.ok_or("nothing was allocated")?, stream },
        };
        Ok(Some(call))
    };
    Box::new(Made(0, call))
}

fn markers(pool: &Pool, size: Size) -> Build {
    let mut blocks = blocks(pool, size)?;
    for n in 0..(ROUNDS * STREAMS).min(blocks.len() / 4) {
        let block = blocks.pop().ok_or("no block is left")?;
        pool.free(block, other(n))?;
        pool.record(other(n), other(n))?;
        blocks.pop();
    }
    Ok(behind_frees(blocks))
}

fn all_active(pool: &Pool, _: Size) -> Build {
    acquaint(pool)?;
    acquaint(pool)?;
    let call = |pool: &Pool, n: usize, _: Option<DevicePtr>| {
        if n >= 2 * ROUNDS * STREAMS {
            return Ok(None);
        }
        let (mine, yours) = (other(n / 2), other(n / 2 + 1));
        if n.is_multiple_of(2) {
            // Everybody has gone on, and the next one knows.
            for stream in 0..STREAMS {
                pool.record(stream, stream)?;
                pool.wait(yours, stream)?;
            }
            return Ok(Some(Call::Record { event: pool.event(yours)?, stream: pool.stream(yours)? }));
        }
        Ok(Some(Call::Wait { stream: pool.stream(mine)?, event: pool.event(yours)? }))
    };
    Ok(Box::new(Made(0, call)))
}

fn legacy(pool: &Pool, size: Size) -> Build {
    let mut blocks = blocks(pool, size)?;
    acquaint(pool)?;
    // Uses by several, frees by others: what a free on such streams carries along is the most.
    for n in 0..blocks.len() / 2 {
        let block = blocks.pop().ok_or("no block is left")?;
        blocks.pop();
        if n % 4 == 0 {
            let used = pool.runtime.record_use(block, pool.stream(other(n + 3))?, UseUntil::Free);
            used.map_err(text)?;
        }
        pool.free(block, other(n))?;
        if blocks.len() < 12 * ROUNDS * STREAMS {
            break;
        }
    }
    Ok(behind_frees(blocks))
}
