//! Every call of a vendor's fails at every point: for each program of the core's corpus the k-th call of the vendor's
//! library, for every k, and all calls from the k-th on until the program's call returns, so that undoing fails too.
//! Enumerated, not sampled. `core/tests/pool_faults.rs` does the same with weir's driver calls, on the simulated device;
//! here each of those is several of the vendor's, and kernels check real bytes.
#![cfg(target_os = "linux")]

mod common;
#[path = "../../core/tests/pool_faults_support/corpus.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the core's tests")]
mod corpus;
#[path = "../../core/tests/pool_faults_support/op.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the core's tests")]
mod op;
mod vendor_support;
mod vendor_world;

use corpus::{Program, corpus};
use std::panic::{AssertUnwindSafe, catch_unwind};
use vendor_support::{Left, Standin};
use vendor_world::{Bench, Plan, Tally, run};
use weir::driver::{Driver, NativeStream};
use weir::units::{Bytes, DevicePtr, KIB};
use weir_ffi::vendor::{Vendor, VendorDriver};

/// Small, so that the many runs write little.
const GRANULE: u64 = 64 * KIB;

/// A vendor's driver on its stand-in: the calls that fail are the vendor's.
struct OnStandin<'s> {
    standin: &'s Standin,
    driver: VendorDriver,
}

impl Driver for OnStandin<'_> {
    weir::hand_on!(self => self.driver);
}

/// A byte that is not 0, and another one than most.
fn byte(value: u64) -> Option<u8> {
    u8::try_from(value % 251 + 1).ok()
}

impl Bench for OnStandin<'_> {
    fn granule(&self) -> u64 {
        GRANULE
    }

    fn stream(&self) -> NativeStream {
        self.standin.stream(0)
    }

    fn write(&self, on: NativeStream, at: DevicePtr, bytes: Bytes, value: u64) {
        self.standin.kernel(on, at, bytes, None, byte(value));
    }

    fn expect(&self, on: NativeStream, at: DevicePtr, bytes: Bytes, value: u64) {
        self.standin.kernel(on, at, bytes, byte(value), None);
    }

    fn work(&self, on: NativeStream) {
        self.standin.kernel(on, DevicePtr(0), Bytes(0), None, None);
    }

    fn run(&self) {
        self.standin.run();
    }

    fn fail(&self, after: u64, times: u64, code: i32) {
        self.standin.fail(None, after, times, code);
    }

    fn calls(&self) -> u64 {
        self.standin.calls(None)
    }

    fn granules(&self) -> u64 {
        self.standin.left().handles
    }

    fn ranges(&self) -> u64 {
        self.standin.left().reservations
    }

    fn inspect(&self, context: &str) {
        assert_eq!(self.standin.violation(), "", "{context}");
    }
}

fn run_on(standin: &Standin, program: &Program, plan: Plan) -> (u64, Tally) {
    standin.fail(None, 0, 0, 0);
    standin.setup(1, GRANULE, program.total);
    let ran = run(OnStandin { standin, driver: standin.driver() }, program, plan);
    assert_eq!((standin.violation(), standin.left()), (String::new(), Left::default()));
    ran
}

/// A failure, and a device that is full.
const CUDA: &[i32] = &[999, 2];
const ACL: &[i32] = &[507_899, 207_001];
/// The shim is CUDA's; only the names differ.
const HIP: &[i32] = &[999];

/// Runs every program under all plans that `plans` makes of its number of calls and of a code.
fn enumerate(vendor: Vendor, name: &str, codes: &[i32], plans: fn(u64, i32) -> Plan) {
    let standin = Standin::new(vendor, name);
    let mut tally = Tally::default();
    let mut broken = Vec::new();
    let mut under = |program: &Program, plan: Plan| {
        let ran = catch_unwind(AssertUnwindSafe(|| run_on(&standin, program, plan)));
        match ran {
            Ok((calls, one)) => {
                tally.add(one);
                Some(calls)
            }
            Err(_) => {
                eprintln!("{vendor:?}, program `{}`, {plan:?}", program.name);
                broken.push((program.name, plan));
                None
            }
        }
    };
    for program in corpus() {
        let Some(calls) = under(&program, Plan::Nothing) else { continue };
        for &code in codes {
            // One of each program and code says enough.
            let _ = (0..calls).try_for_each(|k| under(&program, plans(k, code)).map(drop));
        }
    }
    println!("{vendor:?}: {tally:?}");
    assert!(broken.is_empty(), "{} programs do not stand it: {broken:#?}", broken.len());
    assert!(tally.refused > 0 && tally.rescued > 0, "{tally:?}");
}

fn one(k: u64, code: i32) -> Plan {
    Plan::One(k, code)
}

fn until_return(k: u64, code: i32) -> Plan {
    Plan::UntilReturn(k, code)
}

#[test]
fn every_single_call_of_cuda_fails() {
    enumerate(Vendor::Cuda, "one", CUDA, one);
}

#[test]
fn every_call_of_cuda_fails_and_so_does_all_of_its_undoing() {
    enumerate(Vendor::Cuda, "until", CUDA, until_return);
}

#[test]
fn every_single_call_of_hip_fails() {
    enumerate(Vendor::Hip, "one", HIP, one);
}

#[test]
fn every_single_call_of_acl_fails() {
    enumerate(Vendor::Acl, "one", ACL, one);
}

#[test]
fn every_call_of_acl_fails_and_so_does_all_of_its_undoing() {
    enumerate(Vendor::Acl, "until", ACL, until_return);
}
