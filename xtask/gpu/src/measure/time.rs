//! Host time of a free and a malloc, in rounds that take turns, so that what else the machine does hits both.

use super::{Cuda, Needs, Row, Side, Weir, refused, scale, scaled};
use std::time::{Duration, Instant};
use weir_bench::churn::{Churn, Steady, room as room_of};
use weir_gpu_device::{Gpu, GpuError};

const ROUNDS: usize = 11;
const LIVE: usize = 1_000;
const NEEDS: Needs = Needs { streams: 1, events: 0, blocks: LIVE };

/// Something that is done again and again.
trait Loop: Sized {
    /// How many pairs a round has.
    const PAIRS: usize;

    fn round(&mut self) -> Result<Duration, GpuError>;

    fn end(self) -> Result<(), GpuError>;
}

struct SteadyLoop<S: Side>(Steady<S>);

impl<S: Side> SteadyLoop<S> {
    fn new(gpu: &'static Gpu, scale: u64) -> Result<Self, GpuError> {
        Steady::new(S::new(gpu, NEEDS)?, scale).map(Self).map_err(refused::<S>("one size again and again"))
    }
}

impl<S: Side> Loop for SteadyLoop<S> {
    const PAIRS: usize = 20_000;

    fn round(&mut self) -> Result<Duration, GpuError> {
        let begun = Instant::now();
        self.0.through(Self::PAIRS).map_err(refused::<S>("one size again and again"))?;
        Ok(begun.elapsed())
    }

    fn end(self) -> Result<(), GpuError> {
        self.0.end().map_err(refused::<S>("one size again and again"))
    }
}

struct ChurnLoop<S: Side>(Churn<S>);

impl<S: Side> ChurnLoop<S> {
    fn new(gpu: &'static Gpu, scale: u64) -> Result<Self, GpuError> {
        let mut churn = Churn::new(S::new(gpu, NEEDS)?, LIVE, scale).map_err(refused::<S>("churn"))?;
        churn.warm(8 * LIVE).map_err(refused::<S>("churn"))?;
        Ok(Self(churn))
    }
}

impl<S: Side> Loop for ChurnLoop<S> {
    const PAIRS: usize = 5_000;

    fn round(&mut self) -> Result<Duration, GpuError> {
        let plan = self.0.plan(Self::PAIRS);
        let begun = Instant::now();
        self.0.through(&plan).map_err(refused::<S>("churn"))?;
        Ok(begun.elapsed())
    }

    fn end(self) -> Result<(), GpuError> {
        self.0.end().map_err(refused::<S>("churn"))
    }
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Rounds of both in turns, after one of each that does not count.
fn compare<W: Loop, C: Loop>(gpu: &'static Gpu, name: String, mut weir: W, cuda: Option<C>) -> Result<Row, GpuError> {
    let mut cuda = cuda;
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let mine = weir.round()?.as_nanos() as f64 / W::PAIRS as f64;
        gpu.synchronise()?;
        let other = match &mut cuda {
            Some(cuda) => Some(cuda.round()?.as_nanos() as f64 / C::PAIRS as f64),
            None => None,
        };
        gpu.synchronise()?;
        if round > 0 {
            ours.push(mine);
            theirs.extend(other);
            ratios.extend(other.map(|other| mine / other));
        }
    }
    weir.end()?;
    let has_other = cuda.is_some();
    cuda.map_or(Ok(()), Loop::end)?;
    let (weir, cuda, ratio) = (median(ours), median(theirs), median(ratios));
    Ok(Row::Time { name, weir, cuda: has_other.then_some((cuda, ratio)) })
}

pub(super) fn rows(gpu: &'static Gpu, room: u64, has_vendor: bool) -> Result<Vec<Row>, GpuError> {
    let cuda = has_vendor.then(|| SteadyLoop::<Cuda>::new(gpu, 1)).transpose()?;
    let steady = compare(gpu, "free and malloc of 1 MiB".into(), SteadyLoop::<Weir>::new(gpu, 1)?, cuda)?;
    // Both are there at once.
    let by = scale(2 * room_of(LIVE), room);
    let cuda = has_vendor.then(|| ChurnLoop::<Cuda>::new(gpu, by)).transpose()?;
    let name = scaled("the same, 1,000 blocks of 512 B to 64 MiB live", by);
    let churn = compare(gpu, name, ChurnLoop::<Weir>::new(gpu, by)?, cuda)?;
    Ok(vec![steady, churn])
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_the_middle_one() {
        assert!((median(vec![9.0, 1.0, 2.0, 100.0, 3.0]) - 3.0).abs() < 1e-9);
    }
}
