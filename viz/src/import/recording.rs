//! What a foreign log recorded, whatever its format: things that happened, in their order, and what it does not say.

use super::row::{Action, Beside, ImportError, Row, Spot, StreamKey};
use crate::model::Unrecorded;
use std::collections::{BTreeMap, HashSet};

/// Damages that are told one by one.
const MOST_DAMAGES: usize = 1000;

/// Where pools are told apart by numbers below it, this and a device's number stand for what is of no pool.
pub(super) const NO_POOL: u32 = 1 << 31;

/// A log of another allocator.
#[derive(Clone, Debug, Default)]
pub(super) struct Recording {
    pub(super) format: &'static str,
    pub(super) unrecorded: Unrecorded,
    pub(super) happenings: Vec<Happening>,
    /// The devices of pools, where a device has several; a pool that is not here is its device's only one.
    pub(super) devices: BTreeMap<u32, u32>,
    /// Which part of a log it is, where it says that.
    pub(super) part: String,
    /// What a reader should know beside.
    pub(super) notes: Vec<String>,
    /// What could not be read; the first ones.
    pub(super) damages: Vec<String>,
    /// How many more there are.
    pub(super) more: u64,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Happening {
    pub(super) at: Spot,
    /// Nanoseconds, where that is recorded.
    pub(super) time: Option<u64>,
    /// The device, or the pool: see [`Recording::device`].
    pub(super) device: u32,
    pub(super) stream: StreamKey,
    pub(super) what: What,
}

/// What it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// `block` names the allocation while it is live: its address, where it has one. `given` where it is more than asked.
    Allocate {
        block: u64,
        address: Option<u64>,
        asked: u64,
        given: Option<u64>,
        label: Option<String>,
    },
    /// `size` where the free states it.
    Free {
        block: u64,
        size: Option<u64>,
    },
    /// An allocation that failed; 0 bytes where the size is not recorded.
    Refused {
        bytes: u64,
    },
    Map {
        address: u64,
        bytes: u64,
    },
    Unmap {
        address: u64,
        bytes: u64,
    },
    Record {
        event: u64,
    },
    Wait {
        event: u64,
    },
    Sync,
    Mark {
        name: Option<String>,
    },
    /// Bytes in use and physical bytes, as the log states them. What a call states that it leaves stands before the call, so
    /// that they are right after it.
    Sums {
        used: Option<u64>,
        reserved: Option<u64>,
    },
    Threshold {
        bytes: u64,
    },
    /// Trimmed to `keep`; what was left then, and how much of it was in use.
    Trim {
        keep: u64,
        reserved: u64,
        used: u64,
    },
    /// The pool is destroyed, and what is live in it ends.
    PoolEnds,
    /// A zero-sized allocation, or the free of one.
    Nothing,
}

impl Recording {
    pub(super) fn new(format: &'static str, unrecorded: Unrecorded) -> Self {
        Self { format, unrecorded, ..Self::default() }
    }

    /// Whether an allocation failed in it.
    pub(super) fn refuses(&self) -> bool {
        self.happenings.iter().any(|happening| matches!(happening.what, What::Refused { .. }))
    }

    /// The device of a pool.
    pub(super) fn device(&self, pool: u32) -> u32 {
        self.devices.get(&pool).copied().unwrap_or(pool)
    }

    /// Something that could not be read.
    pub(super) fn damage(&mut self, damage: impl ToString) {
        match self.damages.len() < MOST_DAMAGES {
            true => self.damages.push(damage.to_string()),
            false => self.more += 1,
        }
    }

    /// Brings what happened into the order of time. What has the same time stays as it stands.
    pub(super) fn sort(&mut self) {
        self.happenings.sort_by_key(|happening| happening.time);
    }

    /// The recording of rows; those that make no sense are told as damage.
    pub(super) fn of_rows(
        format: &'static str,
        unrecorded: Unrecorded,
        rows: impl IntoIterator<Item = Result<Row, ImportError>>,
    ) -> Self {
        let mut recording = Self::new(format, unrecorded);
        for row in rows {
            match row {
                Ok(row) => recording.take(row),
                Err(error) => recording.damage(error),
            }
        }
        recording
    }

    fn take(&mut self, row: Row) {
        let Beside { pool, device, with_pool, .. } = row.beside;
        let happening = Happening { device: self.place(pool, device), ..Happening::of(row) };
        if with_pool {
            self.happenings.push(Happening { what: What::PoolEnds, ..happening.clone() });
        }
        self.happenings.push(happening);
    }

    /// The number that stands for a pool of a device; for the device, where no pools are told apart.
    pub(super) fn place(&mut self, pool: Option<u32>, device: Option<u32>) -> u32 {
        let (place, device) = match (pool, device) {
            (Some(pool), device) => (pool, device.unwrap_or(0)),
            (None, Some(device)) => (NO_POOL | device, device),
            (None, None) => return 0,
        };
        self.devices.insert(place, device);
        place
    }

    /// Whether blocks are live on the same bytes at once: their addresses are names then, and no places.
    pub(super) fn overlaps(&self) -> bool {
        let mut live: BTreeMap<(u32, u64), u64> = BTreeMap::new();
        for happening in &self.happenings {
            let device = happening.device;
            match happening.what {
                What::Allocate { block, address: Some(address), asked, given, .. } if block == address => {
                    let end = address.saturating_add(given.unwrap_or(asked));
                    let below = live.range((device, 0)..(device, end)).next_back();
                    // A block whose free is not in the log may have its successor at its place.
                    if below.is_some_and(|((_, start), known)| *start != address && *known > address) {
                        return true;
                    }
                    live.insert((device, address), end);
                }
                What::Free { block, .. } => drop(live.remove(&(device, block))),
                _ => {}
            }
        }
        false
    }

    /// The device of most allocations.
    pub(super) fn busiest(&self) -> u32 {
        let mut counts = BTreeMap::<u32, u64>::new();
        for happening in &self.happenings {
            *counts.entry(self.device(happening.device)).or_default() +=
                u64::from(matches!(happening.what, What::Allocate { .. }));
        }
        counts.into_iter().max_by_key(|(device, count)| (*count, std::cmp::Reverse(*device))).map_or(0, |(d, _)| d)
    }

    /// What a program did that was recorded on this device, and how many frees are left out of it: those of blocks that
    /// were allocated before. A block whose free is not in the file is freed where its name is given to another.
    pub(super) fn rows(&self, device: u32) -> (Vec<Row>, u64) {
        let (mut rows, mut strays, mut live) = (Vec::new(), 0, HashSet::new());
        for happening in self.happenings.iter().filter(|happening| self.device(happening.device) == device) {
            let Some(row) = happening.row() else { continue };
            match happening.what {
                What::Free { block, .. } if !live.remove(&block) => {
                    strays += 1;
                    continue;
                }
                What::Allocate { block, .. } if !live.insert(block) => {
                    rows.push(Row { action: Action::Free, size: None, ..row.clone() });
                }
                _ => {}
            }
            rows.push(row);
        }
        (rows, strays)
    }
}

impl Happening {
    /// Whether it is about memory, and so of a pool.
    pub(super) const fn has_pool(&self) -> bool {
        let orders = matches!(self.what, What::Record { .. } | What::Wait { .. } | What::Sync | What::Mark { .. });
        self.device < NO_POOL || !orders
    }

    fn of(row: Row) -> Self {
        let what = match row.action {
            Action::Allocate => What::Allocate {
                block: row.pointer,
                address: Some(row.pointer),
                asked: row.size.unwrap_or(0),
                given: row.beside.given,
                label: None,
            },
            Action::Free => What::Free { block: row.pointer, size: row.size },
            Action::AllocateFailure => What::Refused { bytes: row.size.unwrap_or(0) },
            Action::Record => What::Record { event: row.pointer },
            Action::Wait => What::Wait { event: row.pointer },
            Action::Sync => What::Sync,
            Action::Mark => What::Mark { name: row.name },
        };
        Self { at: row.at, time: row.time, device: 0, stream: row.stream, what }
    }

    /// Its address was a number of the reader's own.
    pub(super) fn forget_address(&mut self) {
        if let What::Allocate { address, .. } = &mut self.what {
            *address = None;
        }
    }

    /// What a replay does of it.
    pub(super) fn row(&self) -> Option<Row> {
        let (action, pointer, size, name) = match &self.what {
            What::Allocate { block, asked, .. } => (Action::Allocate, *block, Some(*asked), None),
            What::Free { block, size } => (Action::Free, *block, *size, None),
            What::Refused { bytes } => (Action::AllocateFailure, 0, Some(*bytes), None),
            What::Record { event } => (Action::Record, *event, None, None),
            What::Wait { event } => (Action::Wait, *event, None, None),
            What::Sync => (Action::Sync, 0, None, None),
            What::Mark { name } => (Action::Mark, 0, None, name.clone()),
            _ => return None,
        };
        let beside = Beside::default();
        Some(Row { at: self.at, time: self.time, action, pointer, size, stream: self.stream, name, beside })
    }
}
