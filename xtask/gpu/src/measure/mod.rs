//! weir beside `cudaMallocAsync`, in one run: host time, reuse across streams, and memory on logs.
//!
//! Both have a pool that gives nothing back and all switches on. No kernel touches the memory.

mod figures;
mod hand_over;
mod logs;
mod side;
mod time;

pub(crate) use figures::Figures;

use figures::Row;
use side::{Cuda, Needs, Side, Weir};
use weir_bench::churn::Refused;
use weir_gpu_device::{Gpu, GpuError, VendorPool};

/// What a measurement may take of the device's memory: others may use it, too.
const SHARE: u64 = 2;

/// Measures everything, in tables' order.
///
/// # Errors
/// A call failed, or one of the two refused what was measured.
pub(crate) fn perform(gpu: &'static Gpu) -> Result<Figures, GpuError> {
    let mut figures = Figures::default();
    let has_vendor = match VendorPool::new(gpu) {
        Ok(_) => true,
        Err(GpuError::None(reason)) => {
            figures.left_out = Some(reason);
            false
        }
        Err(error) => return Err(error),
    };
    let room = gpu.total()?.0 / SHARE;
    figures.rows.extend(time::rows(gpu, room, has_vendor)?);
    figures.rows.extend(hand_over::rows(gpu, room, has_vendor)?);
    figures.rows.extend(logs::rows(gpu, room, has_vendor)?);
    Ok(figures)
}

/// By what sizes are divided so that `bytes` fit into `room`: a power of two.
fn scale(bytes: u64, room: u64) -> u64 {
    bytes.div_ceil(room.max(1)).next_power_of_two()
}

fn scaled(name: &str, scale: u64) -> String {
    if scale == 1 { name.to_owned() } else { format!("{name}, sizes / {scale}") }
}

fn refused<S: Side>(what: &str) -> impl Fn(Refused) -> GpuError {
    move |_| GpuError::Failed(format!("{}: {what}: a call was refused", S::NAME))
}

/// The peak of both on the same thing.
fn peaks(gpu: &'static Gpu, has_vendor: bool, plan: &Plan<'_>) -> Result<Row, GpuError> {
    let weir = peak::<Weir>(gpu, plan)?;
    let cuda = if has_vendor { Some(peak::<Cuda>(gpu, plan)?) } else { None };
    Ok(Row::Memory { name: plan.name.clone(), live: plan.live, weir, cuda })
}

/// A program whose memory is measured.
struct Plan<'p> {
    name: String,
    /// The most bytes that it has live at once.
    live: u64,
    kind: Kind<'p>,
}

enum Kind<'p> {
    HandOver(hand_over::Shape),
    Log(&'p logs::Log),
}

/// Runs it on one of the two; answers the most memory that the pool had.
fn peak<S: Side>(gpu: &'static Gpu, plan: &Plan<'_>) -> Result<u64, GpuError> {
    match &plan.kind {
        Kind::HandOver(shape) => hand_over::peak::<S>(gpu, &plan.name, *shape),
        Kind::Log(log) => logs::peak::<S>(gpu, &plan.name, log),
    }
}

#[cfg(test)]
mod tests {
    use super::scale;

    #[test]
    fn sizes_are_divided_until_they_fit() {
        assert_eq!([scale(1, 1), scale(10, 10), scale(11, 10), scale(41, 10), scale(5, 0)], [1, 1, 2, 8, 8]);
    }
}
