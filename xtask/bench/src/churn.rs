//! The two loops that every allocator goes through: one size again and again, and churn.

use crate::random::Random;

/// Something that hands out and takes back blocks. What it makes of streams is its own affair: those that know none
/// leave the last four calls as they are.
pub trait Allocator {
    /// A block that was handed out.
    type Block: Copy;

    /// A block of at least `size` bytes; `None` where it has none.
    fn malloc(&mut self, size: u64) -> Option<Self::Block>;

    /// Takes back a block that [`malloc`](Self::malloc) gave, once.
    fn free(&mut self, block: Self::Block) -> Result<(), Refused>;

    /// The most memory that was held so far in bytes, as far as it was watched: up to the highest address that was handed
    /// out, or what was mapped. `None` where the measurement and not the allocator decided on that.
    fn peak(&self) -> Option<u64>;

    /// Takes note of a block that was handed out, where its memory is to be compared. Not part of what is counted.
    fn watch(&mut self, block: Self::Block, size: u64) {
        let _ = (block, size);
    }

    /// Takes note that such a block goes back.
    fn forget(&mut self, block: Self::Block) {
        let _ = block;
    }

    /// The stream of the calls that follow.
    fn on(&mut self, stream: usize) {
        let _ = stream;
    }

    /// Records an event.
    fn record(&mut self, event: usize) -> Result<(), Refused> {
        let _ = event;
        Ok(())
    }

    /// Waits for an event.
    fn wait(&mut self, event: usize) -> Result<(), Refused> {
        let _ = event;
        Ok(())
    }

    /// Waits on the host for the stream, or for all of them.
    fn synchronise(&mut self, what: Host) -> Result<(), Refused> {
        let _ = what;
        Ok(())
    }
}

/// What the host waits for.
#[derive(Clone, Copy, Debug)]
pub enum Host {
    /// One stream.
    Stream,
    /// All of them.
    Device,
}

/// A free and a malloc: the block in this place goes, one of this size comes.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    place: usize,
    size: u64,
}

/// A call that the measurement needs was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

impl From<Refused> for String {
    fn from(_: Refused) -> Self {
        "the allocator refused what the measurement needs".into()
    }
}

/// What `live` blocks take on average and half as much again, and some room for classes of sizes.
pub const fn room(live: usize) -> u64 {
    // (64 MiB - 512 B) / ln(131072), see the test of `Random::size`.
    const MEAN: u64 = 5_695_000;
    live as u64 * (MEAN + MEAN / 2) + (512 << 20)
}

/// An allocator with its live blocks.
pub struct Churn<A: Allocator> {
    allocator: A,
    live: Vec<A::Block>,
    bytes: Vec<u64>,
    random: Random,
    /// All sizes are divided by this.
    scale: u64,
    /// The most bytes that were live while the allocator was watched.
    peak: u64,
}

impl<A: Allocator> Churn<A> {
    /// Fills an allocator with `live` blocks of random sizes.
    pub fn new(mut allocator: A, live: usize, scale: u64) -> Result<Self, Refused> {
        let mut random = Random::new(live as u64);
        let bytes: Vec<u64> = (0..live).map(|_| random.size() / scale).collect();
        let mut live = Vec::new();
        for size in &bytes {
            let block = allocator.malloc(*size).ok_or(Refused)?;
            allocator.watch(block, *size);
            live.push(block);
        }
        Ok(Self { allocator, live, peak: bytes.iter().sum(), bytes, random, scale })
    }

    /// As after much churn, without it: a third more blocks, of which as many are freed again at random.
    pub fn thinned(allocator: A, live: usize, scale: u64) -> Result<Self, Refused> {
        let mut this = Self::new(allocator, live + live / 3, scale)?;
        while this.live.len() > live {
            let place = this.random.place(this.live.len());
            let block = this.live.swap_remove(place);
            this.allocator.forget(block);
            this.allocator.free(block)?;
            this.bytes.swap_remove(place);
        }
        Ok(this)
    }

    /// The allocator.
    pub const fn allocator(&self) -> &A {
        &self.allocator
    }

    /// The next random pairs.
    pub fn plan(&mut self, pairs: usize) -> Vec<Pair> {
        let Self { live, random, scale, .. } = self;
        (0..pairs).map(|_| Pair { place: random.place(live.len()), size: random.size() / *scale }).collect()
    }

    /// Goes through random pairs, not counted, and watches what is held.
    pub fn warm(&mut self, pairs: usize) -> Result<(), Refused> {
        let mut live: u64 = self.bytes.iter().sum();
        for Pair { place, size } in self.plan(pairs) {
            let (Some(block), Some(bytes)) = (self.live.get_mut(place), self.bytes.get_mut(place)) else { continue };
            self.allocator.forget(*block);
            self.allocator.free(*block)?;
            *block = self.allocator.malloc(size).ok_or(Refused)?;
            self.allocator.watch(*block, size);
            live = live + size - *bytes;
            *bytes = size;
            self.peak = self.peak.max(live);
        }
        Ok(())
    }

    /// Goes through these pairs, not counted.
    pub fn through(&mut self, plan: &[Pair]) -> Result<(), Refused> {
        pairs(&mut self.allocator, &mut self.live, plan)
    }

    /// Goes through these pairs and is counted.
    pub fn count(&mut self, plan: &[Pair]) -> Result<(), Refused> {
        counted_pairs(&mut self.allocator, &mut self.live, plan)
    }

    /// Gives everything back.
    pub fn end(mut self) -> Result<(), Refused> {
        self.live.drain(..).try_for_each(|block| self.allocator.free(block))
    }

    /// What was held at the peak for each byte that was live at the peak, while the allocator was watched.
    pub fn footprint(&self) -> Option<f64> {
        self.allocator.peak().map(|held| held as f64 / self.peak as f64)
    }
}

/// Always part of its caller, so that counted and uncounted pairs are the same code.
#[inline(always)]
fn pairs<A: Allocator>(allocator: &mut A, live: &mut [A::Block], plan: &[Pair]) -> Result<(), Refused> {
    for pair in plan {
        let Some(block) = live.get_mut(pair.place) else { return Err(Refused) };
        allocator.free(*block)?;
        let Some(new) = allocator.malloc(pair.size) else { return Err(Refused) };
        *block = new;
    }
    Ok(())
}

#[inline(never)]
fn counted_pairs<A: Allocator>(allocator: &mut A, live: &mut [A::Block], plan: &[Pair]) -> Result<(), Refused> {
    pairs(allocator, live, plan)
}

/// One block between two live ones, freed and allocated again.
pub struct Steady<A: Allocator> {
    allocator: A,
    block: A::Block,
    walls: [A::Block; 2],
    size: u64,
}

impl<A: Allocator> Steady<A> {
    /// Three adjacent blocks of a megabyte divided by `scale`.
    pub fn new(mut allocator: A, scale: u64) -> Result<Self, Refused> {
        let size = (1 << 20) / scale;
        let [before, block, behind] = [(); 3].map(|()| allocator.malloc(size).ok_or(Refused));
        Ok(Self { walls: [before?, behind?], block: block?, allocator, size })
    }

    /// Gives everything back.
    pub fn end(mut self) -> Result<(), Refused> {
        let [before, behind] = self.walls;
        [before, self.block, behind].into_iter().try_for_each(|block| self.allocator.free(block))
    }

    /// So many pairs, not counted.
    pub fn through(&mut self, pairs: usize) -> Result<(), Refused> {
        again(&mut self.allocator, &mut self.block, self.size, pairs)
    }

    /// So many pairs, counted.
    pub fn count(&mut self, pairs: usize) -> Result<(), Refused> {
        counted_again(&mut self.allocator, &mut self.block, self.size, pairs)
    }
}

#[inline(always)]
fn again<A: Allocator>(allocator: &mut A, block: &mut A::Block, size: u64, pairs: usize) -> Result<(), Refused> {
    for _ in 0..pairs {
        allocator.free(*block)?;
        let Some(new) = allocator.malloc(size) else { return Err(Refused) };
        *block = new;
    }
    Ok(())
}

#[inline(never)]
fn counted_again<A: Allocator>(
    allocator: &mut A,
    block: &mut A::Block,
    size: u64,
    pairs: usize,
) -> Result<(), Refused> {
    again(allocator, block, size, pairs)
}
