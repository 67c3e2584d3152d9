//! The calls of a program as a graph: what each weighs, and what comes before it.

use super::segment::Segment;
use crate::import::{Op, Program, Tie};

/// A node by its number.
pub(super) type Node = u32;

/// Weights, and who needs whom.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) weights: Vec<i128>,
    /// A node, and one that every cut with it has too.
    pub(super) needs: Vec<[Node; 2]>,
    /// Whether a free was taken to come after its malloc though the program orders it nowhere behind.
    pub(super) assumed_order: bool,
    /// Whether other streams' uses hold blocks beyond their frees, or may hold them beyond their pool's end.
    pub(super) held_longer: bool,
}

/// One stream so far.
#[derive(Clone, Debug, Default)]
struct Lane {
    /// The node of everything before the open segment.
    tail: Option<Node>,
    /// What the open segment needs beside it.
    needs: Vec<Node>,
    /// The calls since, if there are any.
    open: Option<Segment>,
    /// What the host had waited for when the stream was last used.
    host: Option<Node>,
}

struct Builder<'a> {
    program: &'a Program,
    alignment: u64,
    graph: Graph,
    lanes: Vec<Lane>,
    /// What each event's last recording stands for.
    events: Vec<Option<Node>>,
    /// The node of all that the host has waited for.
    host: Option<Node>,
    /// The mallocs of blocks whose free is ordered nowhere behind them.
    mallocs: Vec<Option<Node>>,
}

impl Graph {
    /// The graph of some of a program's calls, all before them being done, on a device of this alignment.
    pub(super) fn of(program: &Program, ops: &[Op], alignment: u64) -> Self {
        let mut builder = Builder {
            program,
            alignment: alignment.max(1),
            graph: Self::default(),
            lanes: vec![Lane::default(); program.streams.len()],
            events: vec![None; program.events],
            host: None,
            mallocs: vec![None; program.blocks.len()],
        };
        for op in ops {
            builder.op(*op);
        }
        for lane in 0..builder.lanes.len() {
            builder.close(lane);
        }
        builder.graph
    }

    fn node(&mut self, weight: i128, needs: impl IntoIterator<Item = Node>) -> Node {
        let node = Node::try_from(self.weights.len()).unwrap_or(Node::MAX);
        self.weights.push(weight);
        self.needs.extend(needs.into_iter().map(|needed| [node, needed]));
        node
    }
}

impl Builder<'_> {
    fn op(&mut self, op: Op) {
        match op {
            Op::Allocate { block } => self.allocate(block),
            Op::Free { block, stream } => self.free(block, stream),
            Op::Record { event, stream } => {
                self.enter(stream);
                self.events[event] = self.close(stream);
            }
            Op::Wait { stream, event } => {
                self.enter(stream);
                self.need(stream, self.events[event]);
            }
            Op::SyncStream { stream } => {
                self.enter(stream);
                let tail = self.close(stream);
                self.host = Some(self.graph.node(0, self.host.into_iter().chain(tail)));
            }
            Op::SyncDevice => {
                let tails: Vec<Node> = (0..self.lanes.len()).filter_map(|lane| self.close(lane)).collect();
                self.host = Some(self.graph.node(0, self.host.into_iter().chain(tails)));
            }
            Op::SyncEvent { event } => {
                self.host = Some(self.graph.node(0, self.host.into_iter().chain(self.events[event])));
            }
            // The block may be held longer than its free says.
            Op::Use { .. } => self.graph.held_longer = true,
            Op::Mark { .. } | Op::Nothing => {}
        }
    }

    fn allocate(&mut self, block: usize) {
        let what = self.program.blocks[block];
        self.enter(what.stream);
        self.push(what.stream, self.weight(block));
        if what.tie == Tie::Assumed {
            self.graph.assumed_order = true;
            self.mallocs[block] = self.close(what.stream);
        }
    }

    fn free(&mut self, block: usize, stream: usize) {
        self.graph.held_longer |= self.program.blocks[block].tie == Tie::Ended;
        self.enter(stream);
        self.need(stream, self.mallocs[block]);
        self.push(stream, -self.weight(block));
    }

    fn weight(&self, block: usize) -> i128 {
        let size = i128::from(self.program.blocks[block].size);
        let alignment = i128::from(self.alignment);
        (size + alignment - 1) / alignment * alignment
    }

    /// The stream is used: after what the host has waited for.
    fn enter(&mut self, stream: usize) {
        if self.lanes[stream].host != self.host {
            self.lanes[stream].host = self.host;
            self.need(stream, self.host);
        }
    }

    /// What follows on the stream comes after this too.
    fn need(&mut self, stream: usize, node: Option<Node>) {
        let Some(node) = node else { return };
        if self.lanes[stream].open.is_some() {
            self.close(stream);
        }
        self.lanes[stream].needs.push(node);
    }

    fn push(&mut self, stream: usize, weight: i128) {
        self.lanes[stream].open.get_or_insert_default().push(weight);
    }

    /// Ends the open segment. The node of all that the stream has done, if that is anything.
    fn close(&mut self, stream: usize) -> Option<Node> {
        let lane = &mut self.lanes[stream];
        let needs = std::mem::take(&mut lane.needs);
        let segment = match lane.open.take() {
            Some(segment) => segment,
            None if needs.is_empty() => return lane.tail,
            None => Segment::default(),
        };
        let [best, rest] = segment.parts();
        let first = self.graph.node(best, needs.into_iter().chain(lane.tail));
        lane.tail = Some(self.graph.node(rest, [first]));
        lane.tail
    }
}
