//! Who is ordered before whom in a log, from its own `record`, `wait` and `sync` rows alone.
//!
//! The allocator under test answers the same question; this answers it a second time and more simply, to know where the
//! log leaves an order unsaid that its program must have had.

/// A place in the order: a stream and how far it had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    stream: usize,
    step: u64,
}

/// Clocks of every stream. Streams and events are dense numbers and appear when they are first named.
#[derive(Debug, Default)]
pub struct Order {
    /// How far each stream has come.
    heads: Vec<u64>,
    /// How far the host knows each stream to be complete.
    done: Vec<u64>,
    /// For each stream, how far every other one is known to have come before it.
    clocks: Vec<Vec<u64>>,
    /// What each event's last recording stands for.
    events: Vec<Vec<u64>>,
}

impl Order {
    /// The stream does something; the place it then stands at.
    pub fn step(&mut self, stream: usize) -> Place {
        let head = slot(&mut self.heads, stream);
        *head += 1;
        Place { stream, step: *head }
    }

    /// The event stands for all that comes before what the stream does next.
    pub fn record(&mut self, event: usize, stream: usize) {
        self.step(stream);
        *slot(&mut self.events, event) = self.clock(stream);
    }

    /// What the stream does next comes after what the event stands for.
    pub fn wait(&mut self, stream: usize, event: usize) {
        self.step(stream);
        let known = slot(&mut self.events, event).clone();
        join(slot(&mut self.clocks, stream), &known);
    }

    /// Everything comes after what the stream has done.
    pub fn sync_stream(&mut self, stream: usize) {
        let known = self.clock(stream);
        join(&mut self.done, &known);
    }

    /// Everything comes after what the event stands for.
    pub fn sync_event(&mut self, event: usize) {
        let known = slot(&mut self.events, event).clone();
        join(&mut self.done, &known);
    }

    /// Everything comes after what any stream has done.
    pub fn sync_device(&mut self) {
        let heads = self.heads.clone();
        join(&mut self.done, &heads);
    }

    /// Whether what `stream` does next comes after `place`.
    #[must_use]
    pub fn reached(&self, stream: usize, place: Place) -> bool {
        let at_least = |clock: Option<&Vec<u64>>| {
            clock.and_then(|clock| clock.get(place.stream)).is_some_and(|step| *step >= place.step)
        };
        stream == place.stream || at_least(self.clocks.get(stream)) || at_least(Some(&self.done))
    }

    /// Everything that comes before what `stream` does next, its own work included.
    fn clock(&mut self, stream: usize) -> Vec<u64> {
        let head = *slot(&mut self.heads, stream);
        let mut clock = slot(&mut self.clocks, stream).clone();
        join(&mut clock, &self.done);
        *slot(&mut clock, stream) = head;
        clock
    }
}

fn slot<T: Default + Clone>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize(index + 1, T::default());
    }
    &mut list[index]
}

fn join(into: &mut Vec<u64>, from: &[u64]) {
    if into.len() < from.len() {
        into.resize(from.len(), 0);
    }
    for (into, from) in into.iter_mut().zip(from) {
        *into = (*into).max(*from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_transitive_and_recordings_replace() {
        let mut order = Order::default();
        let early = order.step(0);
        order.record(0, 0);
        let late = order.step(0);
        order.wait(1, 0);
        order.record(1, 1);
        order.wait(2, 1);
        assert!(order.reached(2, early), "0 before 1 before 2");
        assert!(!order.reached(2, late), "recorded before it");
        order.record(0, 0);
        assert!(!order.reached(1, late), "an earlier wait keeps what it took");
        order.wait(1, 0);
        assert!(order.reached(1, late));
    }

    #[test]
    fn a_host_wait_comes_before_everything_later() {
        let mut order = Order::default();
        let (a, b) = (order.step(0), order.step(1));
        order.sync_stream(0);
        assert!(order.reached(5, a) && !order.reached(5, b));
        order.sync_device();
        assert!(order.reached(5, b));
    }

    #[test]
    fn an_event_never_recorded_adds_nothing() {
        let mut order = Order::default();
        let place = order.step(0);
        order.wait(1, 9);
        assert!(!order.reached(1, place));
    }
}
