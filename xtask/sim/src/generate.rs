//! Random programs: each step is chosen with the places in view, so that most steps do something.

use crate::bench::GRANULE;
use crate::op::{BLOCKS, EVENTS, Kind, Live, Meanwhile, Op, POOLS, Shape, Until};
use crate::random::Random;
use crate::world::World;
use std::collections::VecDeque;

/// How a program behaves; drawn once for each.
#[derive(Clone, Copy, Debug)]
struct Habits {
    streams: usize,
    pools: usize,
    /// Live blocks that it tends to.
    live: usize,
    devices: usize,
    legacy: bool,
    /// Streams that the legacy default stream's rules order are never destroyed.
    lasting: bool,
    /// Events are used while they are being recorded.
    flux: bool,
    /// Requests of up to so many bytes.
    largest: usize,
    /// Of 100 steps so many are the device's.
    device: usize,
    /// It frees where it allocated, mostly.
    tidy: bool,
}

pub(crate) struct Generator {
    random: Random,
    habits: Habits,
    planned: VecDeque<Op>,
}

const SIZES: [u32; 16] = [
    512,
    1,
    4096,
    30_000,
    100_000,
    250_000,
    300_000,
    700_000,
    1 << 20,
    (1 << 20) + 512,
    2 << 20,
    (2 << 20) + 512,
    3 << 20,
    4 << 20,
    5_000_000,
    6 << 20,
];

impl Generator {
    pub(crate) fn new(seed: u64, devices: u8, streams: Option<usize>) -> Self {
        let mut random = Random::new(seed);
        let few = [1, 2, 2, 3, 3, 4, 5, 6];
        let habits = Habits {
            streams: streams.unwrap_or_else(|| random.pick(&few).unwrap_or(2)),
            pools: 1 + random.below(POOLS),
            live: 2 + random.below(BLOCKS - 4),
            devices: usize::from(devices),
            legacy: random.percent(20),
            lasting: random.percent(60),
            flux: random.percent(10),
            largest: 4 + random.below(SIZES.len() - 3),
            device: random.pick(&[2, 8, 20, 30]).unwrap_or(8),
            tidy: random.percent(50),
        };
        let mut generator = Self { random, habits, planned: VecDeque::new() };
        generator.begin();
        generator
    }

    /// The first steps: streams, events and pools.
    fn begin(&mut self) {
        for stream in 0..self.habits.streams as u8 {
            let op = self.create_stream(stream);
            self.planned.push_back(op);
        }
        for event in 0..EVENTS.min(self.habits.streams + 1) as u8 {
            self.planned.push_back(Op::CreateEvent { event });
        }
        for pool in 0..self.habits.pools as u8 {
            let shape = self.shape();
            self.planned.push_back(Op::CreatePool { pool, shape });
        }
    }

    /// The first streams are one on each device, and the legacy ones where there are any.
    fn create_stream(&mut self, stream: u8) -> Op {
        let first = usize::from(stream) < self.habits.devices;
        let device = if first { stream } else { self.any(self.habits.devices) };
        let kind = match (self.habits.legacy, first) {
            (false, _) => Kind::NonBlocking,
            (true, true) => Kind::Legacy,
            (true, false) if self.random.percent(60) => Kind::Blocking,
            (true, false) => Kind::NonBlocking,
        };
        Op::CreateStream { stream, device, kind }
    }

    fn destroy_stream(&mut self, world: &World<'_>) -> Op {
        let stream = self.stream();
        let tied = world.stream(stream).is_some_and(|s| world.oracle().order.tied(s.native.0));
        if tied && self.habits.lasting {
            return self.order(world);
        }
        let again = self.create_stream(stream);
        self.planned.push_back(again);
        Op::DestroyStream { stream }
    }

    fn shape(&mut self) -> Shape {
        Shape {
            device: self.any(self.habits.devices),
            limit: self.random.pick(&[2, 3, 4, 4, 6, 8, 12, 20]).unwrap_or(4),
            threshold: self.random.pick(&[0, 0, 1, 3, 255]).unwrap_or(0),
            reuse: self.random.below(8) as u8 | if self.random.percent(30) { 7 } else { 0 },
            wait_first: self.random.percent(50),
            classes: self.random.percent(50),
            always: self.random.percent(50),
            step: self.random.pick(&[0, 0, 0, 2, 3]).unwrap_or(0),
            blocks: self.random.percent(15),
        }
    }

    fn any(&mut self, n: usize) -> u8 {
        self.random.below(n) as u8
    }

    fn stream(&mut self) -> u8 {
        self.any(self.habits.streams)
    }

    fn event(&mut self) -> u8 {
        self.any(EVENTS.min(self.habits.streams + 1))
    }

    fn pool(&mut self) -> u8 {
        self.any(self.habits.pools)
    }

    /// The next step.
    pub(crate) fn next(&mut self, world: &World<'_>) -> Op {
        if let Some(op) = self.planned.pop_front() {
            return op;
        }
        if self.random.percent(self.habits.device) {
            return self.device();
        }
        let live = world.blocks.iter().flatten().count();
        // The more there is, the rarer is a malloc.
        let malloc = if live < self.habits.live { 40 } else { 12 };
        match self.random.below(100) {
            n if n < malloc => self.malloc(world),
            n if n < 62 => self.free(world),
            62..82 => self.order(world),
            82..90 => self.share(world),
            90..94 => self.learn(),
            _ => self.rare(world),
        }
    }

    fn device(&mut self) -> Op {
        if self.random.percent(15) {
            return Op::Finish { stream: self.stream() };
        }
        Op::Run { count: 1 + self.any(6), seed: self.random.next() as u16 }
    }

    fn malloc(&mut self, world: &World<'_>) -> Op {
        let free: Vec<u8> = (0..BLOCKS as u8).filter(|&b| world.blocks[usize::from(b)].is_none()).collect();
        let Some(block) = self.random.pick(&free) else { return self.free(world) };
        let sizes = &SIZES[..self.habits.largest];
        let bytes = match self.random.below(4) {
            0 => 1 + self.random.below(GRANULE as usize) as u32,
            _ => self.random.pick(sizes).unwrap_or(512),
        };
        let (pool, stream) = self.pool_and_stream(world);
        Op::Malloc { block, pool, stream, bytes, write: self.random.percent(85) }
    }

    /// Mostly of one device.
    fn pool_and_stream(&mut self, world: &World<'_>) -> (u8, u8) {
        let (pool, mut stream) = (self.pool(), self.stream());
        for _ in 0..4 {
            let device = |stream| world.stream(stream).map(|s| s.device);
            if world.pool(pool).is_none_or(|p| device(stream) == Some(p.device)) {
                break;
            }
            stream = self.stream();
        }
        (pool, stream)
    }

    fn record_around(&mut self) -> Op {
        let (event, stream, other) = (self.event(), self.stream(), self.stream());
        let meanwhile = match self.random.below(8) {
            0..3 => Meanwhile::Record { stream: other },
            3 | 4 => Meanwhile::Wait { stream: other },
            5 => Meanwhile::Query,
            6 => Meanwhile::Synchronise,
            _ if self.random.percent(50) => Meanwhile::Destroy,
            _ => Meanwhile::DestroyStream,
        };
        Op::RecordAround { event, stream, meanwhile, driver_first: self.random.percent(50) }
    }

    fn live(&mut self, world: &World<'_>) -> Option<u8> {
        let live: Vec<u8> = (0..BLOCKS as u8).filter(|&b| world.blocks[usize::from(b)].is_some()).collect();
        self.random.pick(&live)
    }

    fn free(&mut self, world: &World<'_>) -> Op {
        let Some(block) = self.live(world) else { return self.order(world) };
        let owner = world.blocks[usize::from(block)].as_ref().map_or(0, |b| b.owner);
        let stream = if self.habits.tidy && self.random.percent(80) { owner } else { self.stream() };
        Op::Free { block, stream }
    }

    fn order(&mut self, world: &World<'_>) -> Op {
        match self.random.below(10) {
            0..4 => Op::Record { event: self.event(), stream: self.stream() },
            4..8 => Op::Wait { stream: self.stream(), event: self.event() },
            _ => match self.live(world) {
                Some(block) => Op::Kernel { block, stream: self.stream() },
                None => Op::Query { event: self.event() },
            },
        }
    }

    /// A block is handed to another stream along an event, used there, and mostly told.
    fn share(&mut self, world: &World<'_>) -> Op {
        let Some(block) = self.live(world) else { return self.order(world) };
        let owner = world.blocks[usize::from(block)].as_ref().map_or(0, |b| b.owner);
        let (event, stream) = (self.event(), self.stream());
        self.planned.push_back(Op::Wait { stream, event });
        match self.random.below(4) {
            0 => {
                self.planned.push_back(Op::Use { block, stream, until: Until::Free });
                self.planned.push_back(Op::Kernel { block, stream });
            }
            1 => {
                self.planned.push_back(Op::Kernel { block, stream });
                self.planned.push_back(Op::Use { block, stream, until: Until::Now });
            }
            2 => {
                self.planned.push_back(Op::Kernel { block, stream });
                self.planned.push_back(Op::Record { event, stream });
                self.planned.push_back(Op::Wait { stream: owner, event });
            }
            _ => self.planned.push_back(Op::Kernel { block, stream }),
        }
        Op::Record { event, stream: owner }
    }

    fn learn(&mut self) -> Op {
        match self.random.below(8) {
            0..4 => Op::Query { event: self.event() },
            4 | 5 => Op::SyncStream { stream: self.stream() },
            6 => Op::SyncEvent { event: self.event() },
            _ => Op::SyncDevice { device: self.any(self.habits.devices) },
        }
    }

    fn rare(&mut self, world: &World<'_>) -> Op {
        match self.random.below(16) {
            0 | 1 => Op::Trim { pool: self.pool(), keep: self.any(5) },
            2..5 => Op::Switch { pool: self.pool(), number: 1 + self.any(3), on: self.random.percent(60) },
            5 => Op::Threshold { pool: self.pool(), granules: self.any(6) },
            6..10 => self.destroy_stream(world),
            10 | 11 => {
                let event = self.event();
                self.planned.push_back(Op::CreateEvent { event });
                Op::DestroyEvent { event }
            }
            13 if self.habits.flux => self.record_around(),
            12 => {
                let pool = self.pool();
                let live = if self.random.percent(50) { Live::Abandon } else { Live::Refuse };
                let shape = self.shape();
                self.planned.push_back(Op::CreatePool { pool, shape });
                Op::DestroyPool { pool, live }
            }
            _ => self.order(world),
        }
    }
}
