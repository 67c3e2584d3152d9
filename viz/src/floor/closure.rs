//! The heaviest closed set of a graph, by the largest flow (Picard 1976; Dinic's algorithm, in loops, for chains of
//! many thousand nodes are no depth for a recursion).

use super::graph::Node;
use std::collections::VecDeque;

/// The weight of the heaviest set of nodes that has, with each node, all that it needs. The empty set weighs nothing.
pub(super) fn heaviest(weights: &[i128], needs: &[[Node; 2]]) -> i128 {
    let gain: i128 = weights.iter().filter(|weight| **weight > 0).sum();
    let mut network = Network::new(weights, needs, gain);
    while network.level() {
        network.saturate();
    }
    gain - network.flow
}

/// One direction of an edge; the other one is its neighbour in the list, whose number differs in the lowest bit.
#[derive(Clone, Copy, Debug)]
struct Arc {
    to: usize,
    left: i128,
}

/// Money flows from nodes that gain through what they need to nodes that cost.
struct Network {
    arcs: Vec<Arc>,
    /// The arcs of each node, all nodes' in a row.
    of: Vec<usize>,
    /// Where each node's begin.
    begin: Vec<usize>,
    /// How far from the sink, as the flow stands.
    level: Vec<u32>,
    /// The arc of each node that is to be tried next.
    next: Vec<usize>,
    source: usize,
    sink: usize,
    flow: i128,
}

impl Network {
    fn new(weights: &[i128], needs: &[[Node; 2]], gain: i128) -> Self {
        let (source, sink) = (weights.len(), weights.len() + 1);
        let needs = needs.iter().map(|[node, needed]| (*node as usize, *needed as usize, gain));
        let ends = weights.iter().enumerate().filter(|(_, weight)| **weight != 0);
        let ends = ends.map(|(node, weight)| match *weight > 0 {
            true => (source, node, *weight),
            false => (node, sink, -*weight),
        });
        let edges: Vec<(usize, usize, i128)> = ends.chain(needs).collect();
        let mut begin = vec![0; weights.len() + 3];
        for (from, to, _) in &edges {
            begin[from + 1] += 1;
            begin[to + 1] += 1;
        }
        for node in 1..begin.len() {
            begin[node] += begin[node - 1];
        }
        let (mut of, mut place) = (vec![0; edges.len() * 2], begin.clone());
        let mut arcs = Vec::with_capacity(edges.len() * 2);
        for (from, to, left) in edges {
            for (at, arc) in [(from, Arc { to, left }), (to, Arc { to: from, left: 0 })] {
                of[place[at]] = arcs.len();
                place[at] += 1;
                arcs.push(arc);
            }
        }
        Self { arcs, of, begin, level: Vec::new(), next: Vec::new(), source, sink, flow: 0 }
    }

    /// Measures how far each node is from the sink; whether the source reaches it at all.
    fn level(&mut self) -> bool {
        self.level.clear();
        self.level.resize(self.begin.len() - 1, u32::MAX);
        self.level[self.sink] = 0;
        let mut queue = VecDeque::from([self.sink]);
        while let Some(node) = queue.pop_front() {
            if node == self.source {
                return true;
            }
            for arc in &self.of[self.begin[node]..self.begin[node + 1]] {
                let from = self.arcs[*arc].to;
                if self.arcs[*arc ^ 1].left > 0 && self.level[from] == u32::MAX {
                    self.level[from] = self.level[node] + 1;
                    queue.push_back(from);
                }
            }
        }
        false
    }

    /// Fills the shortest paths until each has an arc with nothing left.
    fn saturate(&mut self) {
        self.next.clone_from(&self.begin);
        let mut path: Vec<usize> = Vec::new();
        loop {
            let node = path.last().map_or(self.source, |arc| self.arcs[*arc].to);
            if node == self.sink {
                self.send(&mut path);
            } else if let Some(arc) = self.nearer(node) {
                path.push(arc);
            } else {
                // Nothing leads on from here: never again the arc that led here.
                let Some(arc) = path.pop() else { return };
                self.next[self.arcs[arc ^ 1].to] += 1;
            }
        }
    }

    /// The next arc of the node that leads nearer to the sink.
    fn nearer(&mut self, node: usize) -> Option<usize> {
        while self.next[node] < self.begin[node + 1] {
            let arc = self.of[self.next[node]];
            let Arc { to, left } = self.arcs[arc];
            if left > 0 && self.level[to] != u32::MAX && self.level[to] + 1 == self.level[node] {
                return Some(arc);
            }
            self.next[node] += 1;
        }
        None
    }

    /// Sends along a path what its narrowest arc has left, and goes back to before that arc.
    fn send(&mut self, path: &mut Vec<usize>) {
        let amount = path.iter().map(|arc| self.arcs[*arc].left).min().unwrap_or(0);
        for arc in &*path {
            self.arcs[*arc].left -= amount;
            self.arcs[*arc ^ 1].left += amount;
        }
        self.flow += amount;
        let full = path.iter().position(|arc| self.arcs[*arc].left == 0);
        path.truncate(full.unwrap_or(0));
    }
}
