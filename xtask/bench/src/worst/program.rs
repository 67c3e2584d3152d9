//! A random program over many blocks.

use super::{Build, Call, Length, Made, STREAMS, Scene, Size, non_blocking};
use crate::pool::Pool;
use crate::random::Random;
use weir::policy::UseUntil;
use weir::units::{DevicePtr, KIB, MIB};

pub(super) const SCENES: &[Scene] = &[Scene {
    name: "random",
    about: "random calls on 64 streams and events, from a state in which such calls have left two blocks of three live",
    kinds: non_blocking,
    bytes: |size| size.blocks as u64 * 48 * KIB + 64 * MIB,
    length: Length::Long,
    build: random,
}];

/// Small sizes, of which a few are asked for again and again.
fn bytes(random: &mut Random) -> u64 {
    let size = random.size() / 256;
    if random.below(2) == 0 { size.next_power_of_two().max(512) } else { size.max(1) }
}

fn random(pool: &Pool, size: Size) -> Build {
    let mut random = Random::new(17);
    let mut live = Vec::new();
    for _ in 0..size.blocks - 8 * STREAMS {
        live.push(pool.malloc(bytes(&mut random), 0)?);
    }
    for n in 0..size.blocks / 3 {
        let block = live.swap_remove(random.place(live.len()));
        let stream = random.place(STREAMS);
        pool.free(block, stream)?;
        // Now and then somebody learns of somebody.
        if n % 64 == 0 {
            pool.record(stream, stream)?;
            pool.wait(random.place(STREAMS), stream)?;
        }
    }
    let calls = size.calls;
    let mut waiting = false;
    let turn = move |pool: &Pool, n: usize, last: Option<DevicePtr>| {
        // What the last malloc gave is live from now on.
        if std::mem::take(&mut waiting) {
            live.extend(last);
        }
        let stream = pool.stream(random.place(STREAMS))?;
        let event = pool.event(random.place(2 * STREAMS))?;
        let place = random.place(live.len());
        let call = match random.below(100) {
            0..36 => Call::Malloc { size: bytes(&mut random), stream },
            36..72 => Call::Free { block: live.swap_remove(place), stream },
            72..80 => Call::Record { event, stream },
            80..90 => Call::Wait { stream, event },
            rest => {
                let until = if rest.is_multiple_of(2) { UseUntil::Now } else { UseUntil::Free };
                Call::Use { block: *live.get(place).ok_or("no block is left")?, stream, until }
            }
        };
        waiting = matches!(call, Call::Malloc { .. });
        Ok((n < calls).then_some(call))
    };
    Ok(Box::new(Made(0, turn)))
}
