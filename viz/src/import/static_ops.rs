//! The Ascend profiler's `static_op_mem.csv`: what operators of a compiled graph take, from node to node. A graph's nodes are
//! counted from 0 and say nothing of another graph's: the graphs stand one behind the other, in the order of the file.

use super::recording::{Happening, Recording, What};
use super::row::{ImportError, Spot, StreamKey};
use super::table::{Cells, Column, Table, names};
use crate::model::{Fact, Unrecorded};

const COLUMNS: [&str; 4] = ["Op Name", "Node Index Start", "Node Index End", "Size(KB)"];
/// The last node of what is there to the end.
const FOR_EVER: u64 = u32::MAX as u64;

/// Whether a line is the header of such a file.
pub(super) fn is_header(line: &str) -> bool {
    let names = names(line);
    COLUMNS.iter().all(|column| names.iter().any(|found| found.eq_ignore_ascii_case(column)))
}

struct Columns {
    name: Column,
    start: Column,
    end: Column,
    size: Column,
    device: Option<Column>,
    model: Option<Column>,
    graph: Option<Column>,
}

/// One end of a lifetime. The fields in front decide the order: what ends at a node goes before what begins there.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    graph: usize,
    node: u64,
    begins: bool,
    block: u64,
    line: u64,
    device: u32,
    bytes: u64,
    name: String,
}

/// What such a file recorded.
pub(super) fn record(bytes: &[u8]) -> Result<Recording, ImportError> {
    let mut table = Table::new(bytes)?;
    let [name, start, end, size] = COLUMNS.map(|column| table.column(&[column]));
    let columns = Columns {
        name: name?,
        start: start?,
        end: end?,
        size: size?,
        device: table.find(&["Device_id", "Device Id"]),
        model: table.find(&["Model Name"]),
        graph: table.find(&["Graph ID"]),
    };
    let facts = [Fact::Source, Fact::Order, Fact::Reserved, Fact::Addresses, Fact::Rounding, Fact::Limit];
    let unrecorded = Unrecorded::of(&facts).and(Fact::Streams).and(Fact::Times);
    let mut recording = Recording::new("the Ascend profiler's static_op_mem.csv", unrecorded);
    let (mut graphs, mut ends, mut block): (Vec<String>, Vec<End>, u64) = (Vec::new(), Vec::new(), 0);
    while let Some(cells) = table.next() {
        block += 1;
        match cells.and_then(|cells| columns.ends(&cells, block, &mut graphs)) {
            Ok(both) => ends.extend(both),
            Err(error) => recording.damage(error),
        }
    }
    ends.sort_unstable();
    let mut graph = usize::MAX;
    for end in ends {
        let begun =
            (end.graph != graph && graphs.len() > 1).then(|| What::Mark { name: graphs.get(end.graph).cloned() });
        graph = end.graph;
        let (at, device, stream) = (Spot::Line(end.line), end.device, StreamKey::One(0));
        let (block, asked, label) = (end.block, end.bytes, Some(end.name));
        let what = match end.begins {
            true => What::Allocate { block, address: None, asked, given: None, label },
            false => What::Free { block, size: Some(asked) },
        };
        let happening = |what| Happening { at, time: None, device, stream, what };
        recording.happenings.extend(begun.into_iter().chain([what]).map(happening));
    }
    Ok(recording)
}

impl Columns {
    fn ends(&self, cells: &Cells<'_>, block: u64, graphs: &mut Vec<String>) -> Result<Vec<End>, ImportError> {
        let node = |column: Column| {
            let text = cells.text(Some(column)).unwrap_or_default();
            text.parse::<u64>().map_err(|_| cells.refuse(Some(column), text, "the number of a node"))
        };
        let (start, last) = (node(self.start)?, node(self.end)?);
        if last < start {
            let found = cells.text(Some(self.end)).unwrap_or_default();
            return Err(cells.refuse(Some(self.end), found, &format!("a node not before the first, {start}")));
        }
        let found = cells.text(Some(self.size)).unwrap_or_default();
        let bytes = cells.bytes(Some(self.size), 1024.0)?.and_then(|bytes| u64::try_from(bytes).ok());
        let bytes = bytes.ok_or_else(|| cells.refuse(Some(self.size), found, "a size in KB"))?;
        let text = |column| cells.text(column).unwrap_or("0").trim().to_owned();
        let graph = format!("model {}, graph {}", text(self.model), text(self.graph));
        let known = graphs.iter().position(|known| *known == graph);
        let graph = known.unwrap_or_else(|| {
            graphs.push(graph);
            graphs.len() - 1
        });
        let device = text(self.device);
        let device = device.parse().map_err(|_| cells.refuse(self.device, &device, "a device's number"))?;
        let (line, name) = (cells.line, text(Some(self.name)));
        let end = |node, begins| End { graph, node, begins, block, line, device, bytes, name: name.clone() };
        let ends = (last != FOR_EVER).then(|| end(last.saturating_add(1), false));
        Ok([end(start, true)].into_iter().chain(ends).collect())
    }
}
