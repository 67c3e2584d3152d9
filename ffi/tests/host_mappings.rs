//! The system's limit on mappings, alone in its process because it takes them all.
#![cfg(target_os = "linux")]

use weir::driver::{Driver, DriverCall, DriverError, DriverErrorKind};
use weir::id::DeviceId;
use weir::units::{Bytes, DevicePtr};
use weir_ffi::host::{HostConfig, HostDriver};

const DEVICE: DeviceId = DeviceId(0);
const SMALL: u64 = 4096;
const PLACES: u64 = 1 << 18;

/// Isolated granules need two mappings each, of which Linux allows a process 65,530 unless told otherwise; the driver
/// leaves 2,048 of them to the program. It says "exhausted", keeps what is mapped, and goes on once something was
/// unmapped. Neighbours that the system merges count as one.
#[test]
fn running_out_of_mappings_is_exhaustion() {
    let limit: u64 = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap().trim().parse().unwrap();
    let mut config = HostConfig::with_total(Bytes(PLACES * SMALL));
    (config.granularity, config.alignment) = (Bytes(SMALL), Bytes(512));
    if limit > PLACES {
        eprintln!("skipped: vm.max_map_count is {limit}, more than this test uses up");
        return;
    }
    let driver = HostDriver::new(config).unwrap();
    let base = driver.reserve(DEVICE, Bytes(PLACES * SMALL)).unwrap();
    let place = |i: u64| DevicePtr(base.0 + 2 * i * SMALL);
    let mut mapped = 0;
    let error = loop {
        let granule = driver.create(DEVICE).unwrap();
        match driver.map(DEVICE, place(mapped), granule, None) {
            Ok(()) => mapped += 1,
            Err(error) => {
                driver.destroy(DEVICE, granule).unwrap();
                break error;
            }
        }
    };
    let kind = DriverErrorKind::Exhausted;
    assert_eq!(error, DriverError { call: DriverCall::Map, code: libc::ENOMEM, kind });
    let ours = std::fs::read_to_string("/proc/self/maps").unwrap().lines().count() as u64;
    assert_eq!(mapped, (limit - 2048) / 2, "{ours} mappings of {limit}");
    assert!((limit - 2048..limit - 1000).contains(&ours), "{ours} mappings of {limit}");
    assert_eq!(driver.created(DEVICE).unwrap(), Bytes(mapped * SMALL));
    driver.unmap(DEVICE, place(mapped - 1), None).unwrap();
    let granule = driver.create(DEVICE).unwrap();
    driver.map(DEVICE, place(mapped - 1), granule, None).unwrap();

    // Emptied, the range has room for as many granules again, and side by side they take two mappings in all.
    for i in 0..mapped {
        driver.unmap(DEVICE, place(i), None).unwrap();
    }
    let left = PLACES - mapped - 1;
    let merged = (0..left).map(|i| {
        let granule = driver.create(DEVICE)?;
        driver.map(DEVICE, DevicePtr(base.0 + i * SMALL), granule, None)
    });
    assert_eq!(merged.filter(|mapped| mapped.is_ok()).count() as u64, left);
}
