//! Nsight Systems' export to SQLite: `CUDA_GPU_MEMORY_USAGE_EVENTS` and, of pools, `CUDA_GPU_MEMORY_POOL_EVENTS`. A pool for
//! each of CUDA's, and one for what is allocated without.

use super::recording::{Happening, Recording, What};
use super::row::{ImportError, Spot, StreamKey};
use super::sqlite::{Database, Table, Value};
use super::{ascend_db, memscope};
use crate::model::{Fact, Unrecorded};
use std::collections::{BTreeMap, HashMap};

const USAGE: &str = "CUDA_GPU_MEMORY_USAGE_EVENTS";
const POOLS: &str = "CUDA_GPU_MEMORY_POOL_EVENTS";
/// `ENUM_CUDA_MEM_KIND`: pageable and pinned memory are the host's.
const HOST_KINDS: [i64; 2] = [0, 1];
/// `ENUM_CUDA_DEV_MEM_EVENT_OPER` and `ENUM_CUDA_MEMPOOL_OPER`.
const ALLOCATION: i64 = 0;
const TRIMMED: i64 = 3;

/// A row by the names of its columns. What is NULL or no number is not there.
pub(super) struct Named<'t> {
    pub(super) table: &'t Table,
    pub(super) row: &'t [Value],
    pub(super) at: Spot,
}

impl Named<'_> {
    pub(super) fn get(&self, column: &str) -> Option<u64> {
        self.signed(column).map(i64::cast_unsigned)
    }

    fn signed(&self, column: &str) -> Option<i64> {
        self.row.get(self.table.column(column)?)?.integer()
    }

    pub(super) fn needed(&self, column: &'static str) -> Result<u64, ImportError> {
        self.get(column).ok_or_else(|| ImportError {
            at: self.at,
            column: Some(column),
            found: "nothing, or no number".to_owned(),
            expected: "a number".to_owned(),
        })
    }
}

/// Pools by device and address; those without an address are of no pool.
#[derive(Default)]
struct Pools {
    numbers: BTreeMap<(u32, Option<u64>), u32>,
    /// The threshold that was told last.
    thresholds: HashMap<u32, u64>,
}

impl Pools {
    fn number(&mut self, recording: &mut Recording, device: u32, address: Option<u64>) -> u32 {
        let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        *self.numbers.entry((device, address)).or_insert_with(|| {
            recording.devices.insert(next, device);
            recording.notes.push(match address {
                Some(address) => format!("pool {next} is CUDA's pool {address:#x} of device {device}"),
                None => format!(
                    "pool {next} is what device {device} gave without a pool: what that reserves is not recorded"
                ),
            });
            next
        })
    }
}

/// What a database recorded: such a one, one of the Ascend profilers, or msMemScope's.
pub(super) fn record(bytes: &[u8]) -> Result<Recording, ImportError> {
    let database = Database::open(bytes)?;
    let tables = database.tables()?;
    let others = ascend_db::record(&database, &tables).or_else(|| memscope::of_database(&database, &tables));
    if let Some(recording) = others {
        return Ok(recording);
    }
    let find = |name: &str| tables.iter().find(|table| table.name == name);
    let usage = find(USAGE).ok_or_else(|| ImportError {
        at: Spot::File,
        column: None,
        found: format!(
            "an SQLite file of {} tables without {USAGE}, OP_MEMORY, MEMORY_RECORD and memscope_dump",
            tables.len()
        ),
        expected: "Nsight Systems' export of a run with --cuda-memory-usage=true, an Ascend profiler's database of \
                   a run with profile_memory=True, or msMemScope's"
            .to_owned(),
    })?;
    let names = find("StringIds").map(|table| strings(&database, table)).unwrap_or_default();
    let unrecorded = Unrecorded::of(&[Fact::Source, Fact::Order, Fact::Rounding, Fact::Limit]);
    let mut recording = Recording::new("Nsight Systems' SQLite export", unrecorded);
    let (mut pools, mut host) = (Pools::default(), 0_u64);
    let (rows, damages) = database.rows(usage);
    damages.into_iter().for_each(|damage| recording.damage(damage));
    for (number, row) in rows.iter().enumerate() {
        let row = Named { table: usage, row, at: Spot::Entry(number as u64) };
        if row.signed("memKind").is_some_and(|kind| HOST_KINDS.contains(&kind)) {
            host += 1;
        } else if let Err(error) = usage_row(&row, &names, &mut pools, &mut recording) {
            recording.damage(error);
        }
    }
    if let Some(table) = find(POOLS) {
        let (rows, damages) = database.rows(table);
        damages.into_iter().for_each(|damage| recording.damage(damage));
        for (number, row) in rows.iter().enumerate() {
            let row = Named { table, row, at: Spot::Entry(number as u64) };
            if let Err(error) = pool_row(&row, &mut pools, &mut recording) {
                recording.damage(error);
            }
        }
    }
    if host > 0 {
        recording.notes.push(format!("{host} events about the host's memory are left out"));
    }
    if recording.happenings.iter().any(|happening| matches!(happening.what, What::Trim { .. })) {
        recording.notes.push("what holds back more of a trim than the used bytes is not recorded".to_owned());
    }
    recording.sort();
    if !recording.happenings.iter().any(|happening| matches!(happening.what, What::Sums { reserved: Some(_), .. })) {
        recording.unrecorded = recording.unrecorded.and(Fact::Reserved);
    }
    Ok(recording)
}

pub(super) fn strings(database: &Database<'_>, table: &Table) -> HashMap<u64, String> {
    let (Some(id), Some(value)) = (table.column("id"), table.column("value")) else { return HashMap::new() };
    let (rows, _) = database.rows(table);
    let pair = |row: Vec<Value>| match (row.get(id)?.integer(), row.get(value)) {
        (Some(id), Some(Value::Text(text))) => Some((id.cast_unsigned(), text.clone())),
        _ => None,
    };
    rows.into_iter().filter_map(pair).collect()
}

fn usage_row(
    row: &Named<'_>,
    names: &HashMap<u64, String>,
    pools: &mut Pools,
    recording: &mut Recording,
) -> Result<(), ImportError> {
    let (time, address, bytes) = (row.needed("start")?, row.needed("address")?, row.needed("bytes")?);
    let operation = row.needed("memoryOperationType")?;
    let device = row.get("deviceId").and_then(|device| u32::try_from(device).ok()).unwrap_or(0);
    // Memory of another process's pool is in none of this one's.
    let own = row.get("localMemoryPoolAddress").filter(|address| *address != 0);
    let pool = pools.number(recording, device, own);
    let stream = StreamKey::One(row.get("streamId").unwrap_or(0));
    let happening = |what| Happening { at: row.at, time: Some(time), device: pool, stream, what };
    let what = match operation == ALLOCATION.cast_unsigned() {
        true => {
            let label = row.get("name").and_then(|name| names.get(&name)).cloned();
            What::Allocate { block: address, address: Some(address), asked: bytes, given: None, label }
        }
        false => What::Free { block: address, size: Some(bytes) },
    };
    if own.is_some() {
        let more = pool_state(row, pool, pools);
        recording.happenings.extend(more.into_iter().map(happening));
    }
    recording.happenings.push(happening(what));
    Ok(())
}

/// What a row says of its pool after it.
fn pool_state(row: &Named<'_>, pool: u32, pools: &mut Pools) -> Vec<What> {
    let mut all = Vec::new();
    let (reserved, used) = (row.get("localMemoryPoolSize"), row.get("localMemoryPoolUtilizedSize"));
    if reserved.is_some() || used.is_some() {
        all.push(What::Sums { used, reserved });
    }
    if let Some(bytes) = row.get("localMemoryPoolReleaseThreshold")
        && pools.thresholds.insert(pool, bytes) != Some(bytes)
    {
        all.push(What::Threshold { bytes });
    }
    all
}

fn pool_row(row: &Named<'_>, pools: &mut Pools, recording: &mut Recording) -> Result<(), ImportError> {
    let (time, address, operation) = (row.needed("start")?, row.needed("address")?, row.needed("operationType")?);
    let device = row.get("deviceId").and_then(|device| u32::try_from(device).ok()).unwrap_or(0);
    let pool = pools.number(recording, device, Some(address));
    let happening = |what| Happening { at: row.at, time: Some(time), device: pool, stream: StreamKey::One(0), what };
    if operation == TRIMMED.cast_unsigned() {
        let (reserved, used) = (row.get("localMemoryPoolSize"), row.get("localMemoryPoolUtilizedSize"));
        let keep = row.needed("minBytesToKeep")?;
        if let (Some(reserved), Some(used)) = (reserved, used) {
            recording.happenings.push(happening(What::Trim { keep, reserved, used }));
        }
    }
    let more = pool_state(row, pool, pools);
    recording.happenings.extend(more.into_iter().map(happening));
    Ok(())
}
