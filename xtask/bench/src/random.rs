//! Random numbers and sizes from a seed, the same on every machine.

/// A generator of good numbers with one word of state (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

/// The smallest size that is asked for, 512 B.
pub(crate) const SMALLEST: u64 = 512;

/// Octaves between the smallest and the largest size: 512 B to 64 MiB.
const OCTAVES: u64 = 17;

/// How finely an octave is divided: so many bits.
const FINE: u32 = 16;

impl Random {
    /// The generator of a seed.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub(crate) const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 where that is 0.
    pub(crate) const fn below(&mut self, bound: u64) -> u64 {
        ((self.bits() as u128 * bound as u128) >> 64) as u64
    }

    /// A place in a slice of this length.
    pub(crate) const fn place(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// A size between 512 B and 64 MiB whose logarithm is uniform.
    pub(crate) fn size(&mut self) -> u64 {
        let octave = self.below(OCTAVES);
        let mut size = (SMALLEST << octave) as f64;
        // 2^0.1010... is the product of 2^(1/2), 2^(1/8) and so on: square roots, which are exact everywhere, where a
        // logarithm depends on the C library.
        let (mut fraction, mut factor) = (self.below(1 << FINE), 2.0_f64);
        for _ in 0..FINE {
            factor = factor.sqrt();
            fraction <<= 1;
            if fraction >> FINE & 1 == 1 {
                size *= factor;
            }
        }
        size as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_log_uniform_between_their_bounds() {
        let mut random = Random::new(1);
        let sizes: Vec<u64> = (0..170_000).map(|_| random.size()).collect();
        assert!(sizes.iter().all(|size| (512..=64 << 20).contains(size)));
        // As many in each half octave.
        for half in 0..34 {
            let bound = |half: i32| 512.0 * 2.0_f64.powf(f64::from(half) / 2.0);
            let within = sizes.iter().filter(|size| (bound(half)..bound(half + 1)).contains(&(**size as f64))).count();
            assert!((4_700..5_300).contains(&within), "{half}: {within}");
        }
        // The mean of 1/x between a and b is (b - a) / ln(b / a).
        let mean = sizes.iter().sum::<u64>() as f64 / sizes.len() as f64;
        let expected = ((64 << 20) - 512) as f64 / 131_072.0_f64.ln();
        assert!((mean / expected - 1.0).abs() < 0.02, "{mean} {expected}");
    }
}
