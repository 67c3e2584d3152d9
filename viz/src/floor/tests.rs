//! The floor against a count of every set of blocks, and by hand.

use super::*;
use crate::import::{Block, Op, Tie};

/// Small numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// The order again, from its definition: which calls come before each call, one bit each.
#[derive(Default)]
struct Before {
    /// All that comes before each call, and itself.
    of: Vec<u64>,
}

const STREAMS: usize = 3;
const EVENTS: usize = 2;

impl Before {
    fn new(ops: &[Op], blocks: &[Block]) -> Self {
        let mut before = Self::default();
        let (mut streams, mut events, mut host) = ([0_u64; STREAMS], [0_u64; EVENTS], 0_u64);
        for (number, op) in ops.iter().enumerate() {
            let stream = match *op {
                Op::Allocate { block } => Some(blocks[block].stream),
                Op::Free { stream, .. } | Op::Record { stream, .. } => Some(stream),
                Op::Wait { stream, event } => {
                    streams[stream] |= events[event];
                    Some(stream)
                }
                Op::SyncStream { stream } => {
                    host |= streams[stream];
                    None
                }
                Op::SyncDevice => {
                    host |= streams.iter().fold(0, |all, stream| all | stream);
                    None
                }
                Op::SyncEvent { event } => {
                    host |= events[event];
                    None
                }
                Op::Use { .. } | Op::Mark { .. } | Op::Nothing => None,
            };
            let before_this = stream.map_or(0, |stream| {
                streams[stream] |= host | 1 << number;
                streams[stream]
            });
            if let Op::Record { event, stream } = *op {
                events[event] = streams[stream];
            }
            before.of.push(before_this);
        }
        before
    }

    fn reaches(&self, first: usize, second: usize) -> bool {
        self.of[second] >> first & 1 == 1
    }
}

/// A program of a few calls. A block is freed where its malloc comes before, or anywhere.
fn program(dice: &mut Dice, length: usize, only_ordered: bool) -> Program {
    let mut program = Program { streams: (0..STREAMS as u64).collect(), events: EVENTS, ..Program::default() };
    let mut live: Vec<(usize, usize)> = Vec::new();
    for number in 0..length {
        let (stream, event) = (dice.below(STREAMS), dice.below(EVENTS));
        let op = match dice.below(12) {
            0..4 if program.blocks.len() < 9 => {
                let size = 1 + dice.below(40) as u64;
                live.push((program.blocks.len(), number));
                program.blocks.push(Block { size, stream, tie: Tie::Logged });
                Op::Allocate { block: program.blocks.len() - 1 }
            }
            4..8 if !live.is_empty() => {
                let (block, malloc) = live.swap_remove(dice.below(live.len()));
                program.ops.push(Op::Free { block, stream });
                let ordered = Before::new(&program.ops, &program.blocks).reaches(malloc, number);
                program.ops.pop();
                if !ordered && !only_ordered {
                    program.blocks[block].tie = Tie::Assumed;
                }
                let own = program.blocks[block].stream;
                Op::Free { block, stream: if ordered || !only_ordered { stream } else { own } }
            }
            8 => Op::Record { event, stream },
            9 | 10 => Op::Wait { stream, event },
            11 if dice.below(4) == 0 => Op::SyncDevice,
            11 if dice.below(3) == 0 => Op::SyncEvent { event },
            11 => Op::SyncStream { stream },
            _ => Op::Nothing,
        };
        program.ops.push(op);
    }
    program
}

/// The largest set of which no two are ordered, out of all sets.
fn brute(program: &Program, alignment: u64) -> u64 {
    let before = Before::new(&program.ops, &program.blocks);
    let find = |wanted: &dyn Fn(&Op) -> bool| program.ops.iter().position(wanted);
    let calls: Vec<_> = (0..program.blocks.len())
        .map(|number| {
            let malloc = find(&|op| *op == Op::Allocate { block: number }).expect("is allocated");
            (malloc, find(&|op| matches!(op, Op::Free { block, .. } if *block == number)))
        })
        .collect();
    let reusable =
        |first: usize, second: usize| calls[first].1.is_some_and(|free| before.reaches(free, calls[second].0));
    let sets = 0..1_u32 << calls.len();
    let members = |set: u32| (0..calls.len()).filter(move |block| set >> block & 1 == 1);
    let apart = |set: &u32| members(*set).all(|a| members(*set).all(|b| !reusable(a, b)));
    let size = |block: usize| program.blocks[block].size.next_multiple_of(alignment);
    sets.filter(apart).map(|set| members(set).map(size).sum()).max().unwrap_or(0)
}

#[test]
fn it_is_what_counting_all_sets_gives() {
    let (mut several, mut above_live) = (0, 0);
    for seed in 0..3_000 {
        let program = program(&mut Dice(seed), 4 + seed as usize % 37, true);
        let alignment = [1, 16][seed as usize % 2];
        let floor = Floor::of(&program, alignment);
        assert_eq!(floor.exactness, Exactness::Exact);
        assert_eq!(floor.bytes, brute(&program, alignment), "seed {seed}: {program:?}");
        several += u32::from(program.blocks.len() > 4);
        above_live += u32::from(alignment == 1 && floor.bytes > program.peak_within(u64::MAX));
    }
    assert!(several > 1_000 && above_live > 300, "{several} {above_live}");
}

#[test]
fn where_frees_are_not_ordered_it_is_a_lower_bound() {
    let mut lower = 0;
    for seed in 0..2_000 {
        let program = program(&mut Dice(seed), 24, false);
        let floor = Floor::of(&program, 1);
        let unordered = program.blocks.iter().any(|block| block.tie == Tie::Assumed);
        assert_eq!(floor.exactness == Exactness::LowerBound, unordered);
        let right = brute(&program, 1);
        assert!(floor.bytes <= right && floor.bytes >= program.peak_within(u64::MAX), "seed {seed}: {program:?}");
        lower += u32::from(floor.bytes < right);
    }
    assert!(lower > 0, "the bound is not always the floor");
}

fn read(rows: &str) -> Program {
    crate::import::read(format!("Thread,Time,Action,Pointer,Size,Stream\n{rows}").as_bytes(), None).expect("is a log")
}

#[test]
fn on_one_stream_it_is_the_peak() {
    let program = read("1,1,allocate,1,100,0\n1,1,allocate,2,600,0\n1,1,free,1,100,0\n1,1,allocate,3,90,0\n");
    assert_eq!(Floor::of(&program, 1), Floor { bytes: 700, exactness: Exactness::Exact });
    assert_eq!(Floor::of(&program, 512).bytes, 512 + 1024);
}

#[test]
fn without_an_event_another_stream_cannot_have_the_memory() {
    let apart = "1,1,allocate,1,100,0\n1,1,free,1,100,0\n1,1,allocate,2,100,1\n";
    assert_eq!(Floor::of(&read(apart), 1).bytes, 200);
    let tied = "1,1,allocate,1,100,0\n1,1,free,1,100,0\n1,1,record,9,0,0\n1,1,wait,9,0,1\n1,1,allocate,2,100,1\n";
    assert_eq!(Floor::of(&read(tied), 1).bytes, 100);
    let early = "1,1,allocate,1,100,0\n1,1,record,9,0,0\n1,1,free,1,100,0\n1,1,wait,9,0,1\n1,1,allocate,2,100,1\n";
    assert_eq!(Floor::of(&read(early), 1).bytes, 200);
    let synced = "1,1,allocate,1,100,0\n1,1,free,1,100,0\n1,1,sync,0,0,0\n1,1,allocate,2,100,1\n";
    assert_eq!(Floor::of(&read(synced), 1).bytes, 100);
}

#[test]
fn no_sum_overflows() {
    let rows: String = (1..6).map(|n| format!("1,1,allocate,{n},18446744073709551615,{n}\n")).collect();
    assert_eq!(Floor::of(&read(&rows), 512).bytes, u64::MAX);
}

/// The right values were found by a few lines of Python: between two streams the heaviest cut is a sliding maximum.
#[test]
fn the_logs_of_two_streams_have_the_floors_of_another_algorithm() {
    for (log, bytes) in [
        (include_bytes!("../../../examples/traces/producer_consumer.csv").as_slice(), 359_967_744),
        (include_bytes!("../../../examples/traces/two_streams_transformer.csv").as_slice(), 18_192_420_352),
    ] {
        let program = crate::import::read(log, None).expect("is a log");
        assert_eq!(Floor::of(&program, 512), Floor { bytes, exactness: Exactness::Exact });
    }
}

/// A cut within a part of the log is a cut: the bound is never above the floor, and never below what was live at once.
#[test]
fn the_bound_of_a_long_program_lies_between_its_peak_and_its_floor() {
    let mut dice = Dice(11);
    for length in [50, 200, 400] {
        for _ in 0..60 {
            let program = program(&mut dice, length, true);
            let (floor, peak) = (Floor::of(&program, 1), program.peak_within(u64::MAX));
            let bound = Floor::within(&program, 1, length / 3);
            assert!(peak <= bound.bytes && bound.bytes <= floor.bytes, "{peak} {bound:?} {floor:?}");
            assert_eq!(bound.exactness, Exactness::LowerBound);
            assert_eq!(Floor::within(&program, 1, program.ops.len()), floor);
        }
    }
}
