//! How much memory of the machine a replay on the host driver may take.

use std::path::{Path, PathBuf};
use weir::Capacities;
use weir_heap::HeapArenas;

/// The most streams that weir tells apart.
const STREAMS: usize = 1 << 16;

/// What stands between a replay and the memory it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Available {
    /// What the machine has left, if it says.
    pub(crate) machine: Option<u64>,
    /// What the process's control groups leave, if any of them has a limit.
    pub(crate) group: Option<u64>,
}

impl Available {
    /// Asks the system. Where it does not say, nothing is known and nothing refused.
    pub(crate) fn now() -> Self {
        Self {
            machine: read(Path::new("/proc/meminfo")).and_then(|text| machine(&text)),
            group: read(Path::new("/proc/self/cgroup")).and_then(|text| group(&text, Path::new("/sys/fs/cgroup"))),
        }
    }

    /// Refuses a peak that does not fit, naming both numbers.
    pub(crate) fn admit(self, peak: u64) -> Result<(), String> {
        for (limit, what) in [(self.machine, "the machine has available"), (self.group, "the control group leaves")] {
            if let Some(limit) = limit
                && limit < peak
            {
                return Err(format!(
                    "the log's peak is {peak} bytes, {what} {limit}; replay it with `--driver sim`, which needs no memory \
                     for the blocks, or where more is free"
                ));
            }
        }
        Ok(())
    }

    /// Refuses a log of so many streams and events that what is known of their order does not fit.
    pub(crate) fn admit_arenas(self, capacities: &Capacities) -> Result<(), String> {
        let Capacities { streams, events, .. } = *capacities;
        if streams > STREAMS {
            return Err(format!("the log needs {streams} streams; weir has {STREAMS} at most"));
        }
        let needed = HeapArenas::bytes(*capacities).map_or(u64::MAX, |bytes| bytes as u64);
        let left = [self.machine, self.group].into_iter().flatten().min().unwrap_or(u64::MAX);
        // A simulation keeps as much again.
        if needed.saturating_mul(2) <= left {
            return Ok(());
        }
        Err(format!(
            "the order between {streams} streams and {events} events takes {needed} bytes, and as much again in a \
             simulation; {left} are available: replay a part of the log"
        ))
    }
}

fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// The `MemAvailable` of `/proc/meminfo`.
fn machine(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1_024)
}

/// The least that any control group around this process leaves. `text` is `/proc/self/cgroup`, `mount` where the groups
/// are mounted.
fn group(text: &str, mount: &Path) -> Option<u64> {
    text.lines().filter_map(|line| groups(line, mount)).flatten().filter_map(|folder| left(&folder)).min()
}

/// A group's folder and those of all groups around it. Lines read `0::/path` (version 2) or `4:memory:/path`.
fn groups(line: &str, mount: &Path) -> Option<Vec<PathBuf>> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?);
    let base = match controllers {
        "" => mount.to_path_buf(),
        _ if controllers.split(',').any(|name| name == "memory") => mount.join("memory"),
        _ => return None,
    };
    let inner = base.join(path.trim_start_matches('/'));
    let around = inner.ancestors().take_while(|folder| folder.starts_with(&base));
    // Inside a container the path is often that of the host, and only the base exists.
    Some(around.map(Path::to_path_buf).collect())
}

fn left(folder: &Path) -> Option<u64> {
    let number = |name: &str| read(&folder.join(name))?.trim().parse::<u64>().ok();
    for (limit, used) in [("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")] {
        if let Some(limit) = number(limit) {
            return Some(limit.saturating_sub(number(used).unwrap_or(0)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_read() {
        let text = "MemTotal:       16384000 kB\nMemFree:          100 kB\nMemAvailable:    8192000 kB\n";
        assert_eq!(machine(text), Some(8_388_608_000));
        assert_eq!(machine("MemTotal: 5 kB\n"), None);
    }

    #[test]
    fn the_tightest_group_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let mount = folder.path();
        let inner = mount.join("a/b");
        std::fs::create_dir_all(&inner).expect("a folder");
        let write = |folder: &Path, name: &str, text: &str| std::fs::write(folder.join(name), text).expect("a file");
        write(&inner, "memory.max", "max\n");
        write(&mount.join("a"), "memory.max", "1000\n");
        write(&mount.join("a"), "memory.current", "300\n");
        assert_eq!(group("0::/a/b\n", mount), Some(700));
        assert_eq!(group("3:cpu:/a/b\n", mount), None);
    }

    #[test]
    fn a_refusal_has_both_numbers() {
        let available = Available { machine: Some(5_000), group: Some(900) };
        let text = available.admit(1_000).expect_err("does not fit");
        assert!(text.contains("1000 bytes") && text.contains("control group leaves 900"), "{text}");
        let text = available.admit(6_000).expect_err("does not fit");
        assert!(text.contains("6000 bytes") && text.contains("available 5000"), "{text}");
        assert_eq!(available.admit(900), Ok(()));
        let unknown = Available { machine: None, group: None };
        assert_eq!(unknown.admit(u64::MAX), Ok(()));
    }

    #[test]
    fn a_log_of_too_many_streams_is_refused() {
        let capacities = |streams| Capacities {
            streams,
            events: 70,
            markers: 1_024,
            pools: 2,
            blocks: 100,
            granules: 100,
            labels: 10,
            pages: 4,
        };
        let available = Available { machine: Some(1 << 30), group: None };
        assert_eq!(available.admit_arenas(&capacities(1_000)), Ok(()));
        let text = available.admit_arenas(&capacities(20_000)).expect_err("3 GB of clocks");
        assert!(text.contains("20000 streams and 70 events"), "{text}");
        let unknown = Available { machine: None, group: None };
        let text = unknown.admit_arenas(&capacities(65_537)).expect_err("ids end");
        assert!(text.contains("65537 streams"), "{text}");
    }
}
