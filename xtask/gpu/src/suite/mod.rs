//! Programs with real kernels. They are those of the tests, which have them on the host driver and on stand-ins: the cases
//! and storms of `ffi/tests/on_bytes`, and the core's corpus.

#[path = "../../../../core/tests/pool_faults_support/corpus.rs"]
#[allow(unreachable_pub, reason = "shared with tests")]
mod corpus;
mod machine;
#[path = "../../../../ffi/tests/on_bytes/mod.rs"]
mod on_bytes;
#[path = "../../../../core/tests/pool_faults_support/op.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with tests")]
mod op;
mod tally;
#[path = "../../../../ffi/tests/vendor_world/mod.rs"]
mod vendor_world;

pub(crate) use tally::Tally;

use crate::arguments::{Arguments, Part};
use corpus::{Program, corpus};
use machine::OnGpu;
use on_bytes::cases::{self, for_each_case};
use on_bytes::storm::{SETTINGS, storm};
use std::time::Instant;
use vendor_world::{Plan, run};
use weir::units::Bytes;
use weir_gpu_device::{Gpu, GpuDriver, GpuError};

type Case = (&'static str, fn(&OnGpu));

macro_rules! list {
    ($($name:ident)+) => {
        [$((stringify!($name), cases::$name::<OnGpu> as fn(&OnGpu))),+]
    };
}

/// Kernels are loaded on one device.
const LEFT_OUT: &str = "pytorch_196258_a_trim_waits_for_the_pools_own_device";

/// Does the parts that are programs.
///
/// # Errors
/// The device does not answer (any more).
pub(crate) fn perform(gpu: &'static Gpu, arguments: &Arguments) -> Result<Tally, GpuError> {
    let mut tally = Tally::new(gpu, arguments.json)?;
    for part in &arguments.parts {
        match part {
            Part::Cases => all_cases(&mut tally)?,
            Part::Corpus => all_programs(&mut tally)?,
            Part::Faults => all_faults(&mut tally)?,
            Part::Storms => storms(&mut tally, arguments)?,
            Part::Measure => {}
        }
    }
    if arguments.parts.contains(&Part::Corpus) {
        tally.demand_every_kind();
    }
    Ok(tally)
}

fn all_cases(tally: &mut Tally) -> Result<(), GpuError> {
    let on = OnGpu(tally.gpu);
    let all: &[Case] = &for_each_case!(list);
    for (name, case) in all.iter().filter(|(name, _)| *name != LEFT_OUT) {
        tally.run(name, || case(&on))?;
    }
    tally.part("cases", "as users of other allocators reported them");
    tally.leave_out(LEFT_OUT, "it uses two devices");
    Ok(())
}

/// Runs a program of the corpus; answers how many calls of the driver's it took.
fn run_one(tally: &mut Tally, program: &Program, plan: Plan) -> Result<Option<u64>, GpuError> {
    let (gpu, granule) = (tally.gpu, tally.granule);
    let ran = tally.run(&format!("{}, {plan:?}", program.name), || {
        let driver = GpuDriver::new(gpu, Bytes(program.total * granule)).unwrap();
        run(driver, program, plan)
    })?;
    Ok(ran.map(|(calls, counted)| {
        tally.add(counted.by_source, counted.moved);
        calls
    }))
}

fn all_programs(tally: &mut Tally) -> Result<(), GpuError> {
    for program in corpus() {
        run_one(tally, &program, Plan::Nothing)?;
    }
    tally.part("corpus", "the core's programs");
    Ok(())
}

/// Each call of the driver's fails, alone and with all until the program's call returns.
fn all_faults(tally: &mut Tally) -> Result<(), GpuError> {
    const FAILED: i32 = 999;
    const FULL: i32 = 2;
    for program in corpus() {
        let calls = run_one(tally, &program, Plan::Nothing)?.unwrap_or(0);
        for k in 0..calls {
            for plan in [Plan::One(k, FAILED), Plan::One(k, FULL), Plan::UntilReturn(k, FAILED)] {
                run_one(tally, &program, plan)?;
            }
        }
    }
    tally.part("faults", "the core's programs, each with every driver call failing in turn");
    Ok(())
}

fn storms(tally: &mut Tally, arguments: &Arguments) -> Result<(), GpuError> {
    let (begun, on) = (Instant::now(), OnGpu(tally.gpu));
    for (seed, setting) in (arguments.seed..).zip(SETTINGS.into_iter().cycle()) {
        let turns = seed - arguments.seed;
        if turns >= SETTINGS.len() as u64 && begun.elapsed() >= arguments.seconds {
            break;
        }
        let stats = tally.run(&format!("storm of seed {seed}, {}", setting.name), || storm(&on, seed, setting))?;
        if let Some(stats) = stats {
            tally.add(stats.by_source, 0);
        }
    }
    tally.part("storms", "random programs on eight threads");
    Ok(())
}
