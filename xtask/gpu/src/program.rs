//! What the program does, in order, and how it ends.

use crate::arguments::{self, Arguments, Part};
use crate::measure::{self, Figures};
use crate::{NO_GPU, suite};
use serde_json::json;
use std::process::ExitCode;
use weir_gpu_device::{Gpu, GpuError};

pub(crate) fn main() -> ExitCode {
    let arguments = arguments::read();
    match run(&arguments) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(GpuError::None(why)) => {
            eprintln!("weir-gpu: no GPU: {why}");
            ExitCode::from(NO_GPU)
        }
        Err(error) => {
            eprintln!("weir-gpu: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Answers how many checks failed.
fn run(arguments: &Arguments) -> Result<usize, GpuError> {
    // Kernels, counts and drivers name it as long as the process lasts.
    let gpu: &'static Gpu = Box::leak(Box::new(Gpu::open()?));
    let (name, (major, minor), total) = (gpu.name()?, gpu.version()?, gpu.total()?);
    if !arguments.json {
        println!("device   {name}, {} MiB; CUDA driver {major}.{minor}", total.0 >> 20);
    }
    let tally = suite::perform(gpu, arguments)?;
    let counts_kinds = arguments.parts.iter().any(|part| !matches!(part, Part::Cases | Part::Measure));
    if counts_kinds && !arguments.json {
        println!("{}", tally.kinds());
    }
    let figures = if arguments.parts.contains(&Part::Measure) { measure::perform(gpu)? } else { Figures::default() };
    let (checks, failed) = tally.counts();
    if arguments.json {
        let object = json!({
            "device": name,
            "driver": format!("{major}.{minor}"),
            "bytes": total.0,
            "suite": tally.json(),
            "measured": figures.json(),
            "checks": checks,
            "failed": failed,
        });
        println!("{object}");
    } else {
        print!("{}", figures.table());
        println!("{checks} checks, {failed} failed");
    }
    Ok(failed)
}
