//! Bytes as the arguments of calls. Any bytes mean some program; when they are used up, the rest is zero.

/// What is left of the input.
pub(super) struct Input<'a>(&'a [u8]);

/// Numbers at the edges of what functions take.
const EDGES: [u64; 12] = [
    1 << 12,
    1 << 16,
    1 << 20,
    1 << 28,
    (1 << 28) + 1,
    u32::MAX as u64,
    1 << 32,
    1 << 40,
    1 << 62,
    i64::MAX as u64,
    u64::MAX - 1,
    u64::MAX,
];

impl<'a> Input<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn byte(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or(0)
    }

    /// A number below `limit`, which is at most 256; 0 where that is 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit.max(1)
    }

    /// One of these.
    pub(super) fn one<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        let place = self.below(of.len());
        of.get(place).copied()
    }

    /// A number of any size, small ones and those at edges more often.
    pub(super) fn number(&mut self) -> u64 {
        let kind = self.byte();
        match kind {
            0..128 => u64::from(kind),
            128..192 => u64::from(kind - 127) << 12,
            192..240 => EDGES[usize::from(kind) % EDGES.len()],
            _ => (0..8).fold(0, |number, _| number << 8 | u64::from(self.byte())),
        }
    }

    /// The same in 32 bits.
    pub(super) fn short(&mut self) -> u32 {
        self.number() as u32
    }
}
