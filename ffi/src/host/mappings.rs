//! How many mappings the host devices of this process have. Linux allows a process 65,530 unless told otherwise; at
//! the limit even unmapping fails, and so does the program's own allocator. So the drivers stop a little earlier.

use core::sync::atomic::{AtomicI64, Ordering};
use std::sync::OnceLock;

/// Linux's default limit.
const USUAL: i64 = 65_530;
/// What is left to the rest of the process.
const HEADROOM: i64 = 2048;

static COUNT: AtomicI64 = AtomicI64::new(0);

/// More mappings, or fewer.
pub(super) fn change(by: i64) {
    COUNT.fetch_add(by, Ordering::Relaxed);
}

/// Whether one more granule may be mapped, which takes two mappings at the most.
pub(super) fn room() -> bool {
    static LIMIT: OnceLock<i64> = OnceLock::new();
    let limit = LIMIT.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/sys/vm/max_map_count");
        text.ok().and_then(|t| t.trim().parse().ok()).unwrap_or(USUAL)
    });
    COUNT.load(Ordering::Relaxed) + 2 <= limit - HEADROOM
}
