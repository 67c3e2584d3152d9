//! What runs on a board. Each program makes its own pool and leaves nothing behind.

mod crossing;
mod hand_over;
mod limits;
mod ordered;

use crate::agent;
use crate::board::{Board, DEVICE, PLAIN_STREAMS, STREAMS};
use crate::checks::Checks;
use crate::machine::Machine;
use core::fmt::Write;
use weir::driver::NativeStream;
use weir::id::{DeviceId, PoolId, StreamId};
use weir::policy::{Destroy, PoolConfig};
use weir::trace::Sink;
use weir::{Lock, Runtime, State, Storage, StreamConfig};

/// A runtime on a board.
pub type OnBoard<'a, M, S, L> = Runtime<'a, Board<'a, M>, S, L>;

/// Storage for what these programs need: 6 streams, 8 events, 16 markers, 2 pools, 64 blocks, 16 granules, 8 labels and 4
/// pages of log.
pub type Room = Storage<6, 8, 16, 2, 64, 16, 8, 4>;

// Slots of events and markers together are what the board has.
const _: () = assert!(8 + 16 <= crate::board::SLOTS);

/// What a program works on.
pub struct Bench<'b, 'a, M, S, L, W> {
    /// The runtime.
    pub rt: &'b OnBoard<'a, M, S, L>,
    /// Its streams.
    pub streams: [Pair; STREAMS],
    /// What came of it.
    pub checks: &'b mut Checks<W>,
}

/// A stream by both its names.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The runtime's.
    pub id: StreamId,
    /// The driver's.
    pub native: NativeStream,
}

impl<'b, 'a, M: Machine, S: Sink, L: Lock<State<'a>>, W: Write> Bench<'b, 'a, M, S, L, W> {
    /// Registers the board's streams. `None`: the runtime refused, and that is a failed check.
    pub fn new(rt: &'b OnBoard<'a, M, S, L>, checks: &'b mut Checks<W>) -> Option<Self> {
        let mut pair = |number| {
            let native = Board::<M>::stream(number);
            let device = if number < PLAIN_STREAMS as u64 { DEVICE } else { agent::DEVICE };
            let id = checks.done(rt.create_stream(StreamConfig::new(device, native)), "a stream")?;
            Some(Pair { id, native })
        };
        let streams = [pair(0)?, pair(1)?, pair(2)?, pair(3)?, pair(4)?, pair(5)?];
        Some(Self { rt, streams, checks })
    }

    /// Runs every program.
    pub fn all(&mut self) {
        for (name, program) in [
            ("hand over", hand_over::run as fn(&mut Self) -> Option<()>),
            ("crossing", crossing::run),
            ("exhausted", limits::exhausted),
            ("released", limits::released),
            ("in stream order", ordered::run),
            ("messages", ordered::messages),
        ] {
            self.checks.say(format_args!("program: {name}"));
            let _ = self.checks.done(self.rt.mark(name), "a mark");
            // One that could not go on has counted why.
            let _ = program(self);
            self.checks.done(self.rt.verify(), "the bookkeeping");
        }
    }

    /// A pool of the whole device.
    fn pool(&mut self) -> Option<PoolId> {
        self.pool_of(DEVICE)
    }

    fn pool_of(&mut self, device: DeviceId) -> Option<PoolId> {
        self.checks.done(self.rt.create_pool(PoolConfig::new(device)), "a pool")
    }

    /// Ends a program's pool, in which nothing may be live.
    fn end(&mut self, pool: PoolId) -> Option<()> {
        for device in [DEVICE, agent::DEVICE] {
            self.checks.done(self.rt.synchronize_device(device), "a synchronisation")?;
        }
        self.checks.done(self.rt.destroy_pool(pool, Destroy::IfEmpty), "the end of a pool")
    }
}
