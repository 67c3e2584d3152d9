//! What profilers write, opened as logs. The files are written by hand after the profilers' documentation; no tool of a
//! vendor made them.

use std::path::{Path, PathBuf};
use weir_viz::import::{self, Op};
use weir_viz::model::{Fact, Kind, Model};
use weir_viz::source::{self, Opened};

fn file(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("profiler-{name}"));
    std::fs::write(&path, text).expect("a temporary file");
    path
}

fn open(name: &str, text: &str) -> Opened {
    source::open(&file(name, text)).unwrap_or_else(|error| panic!("{error}"))
}

/// Size in use, name and whether it was freed, of every block.
fn blocks(model: &Model) -> Vec<(u64, &str, bool)> {
    model.lives.iter().map(|life| (life.given.0, model.name(life.name), life.died().is_some())).collect()
}

const MIB: u64 = 1 << 20;

/// With the traps that such files have: a byte order mark, tabs behind numbers, times in E-notation, blank cells, and a
/// negative size: the free of a block from before.
const OPERATORS: &str = "\u{feff}Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),\
    Active Duration(us),Allocation Total Allocated(MB),Allocation Total Reserved(MB),Allocation Total Active(MB),\
    Release Total Allocated(MB),Release Total Reserved(MB),Release Total Active(MB),Stream Ptr,Device Type\n\
    aten::empty,512.0\t,1700000000000001.123\t,1700000000000005.5\t,1700000000000007.25\t,4,6,1.5,4.0,1.5,1.0,4.0,1.0,187651,NPU:1\n\
    aten::mul,1024,1700000000000002.5,,,,,2.5,4.0,2.5,,,,187651,NPU:1\n\
    aten::old,-256,,1.7E15,,,,,,,0.75,2.0,0.75,187651,NPU:1\n";

#[test]
fn operators_allocations_have_names_and_sums_but_no_addresses() {
    let opened = open("operators.csv", OPERATORS);
    let model = &opened.model;
    assert!(opened.damages.is_empty(), "{:?}", opened.damages);
    assert_eq!(blocks(model), [(MIB / 2, "aten::empty", true), (MIB, "aten::mul", false)]);
    let pool = &model.pools[0];
    assert_eq!(pool.definition.unwrap().config.device.0, 1);
    // As the file states them: 2.5 MB at most, 1 MB after the release.
    assert_eq!((pool.used.peak().0, pool.used.last()), (5 * MIB / 2, MIB));
    assert_eq!(pool.reserved.peak().0, 4 * MIB);
    assert!(model.unrecorded.has(Fact::Addresses) && !model.unrecorded.has(Fact::Reserved));
    assert_eq!(opened.origin.notes[0], "1 rows are about blocks that were allocated before the recording");
    // Freed when it is no longer active: 6.127 microseconds after it was allocated.
    let life = &model.lives[0];
    assert_eq!(model.events.time(life.died().unwrap()) - model.events.time(life.born().unwrap()), 6_127);
}

#[test]
fn operators_allocations_can_be_replayed() {
    let program = import::read(OPERATORS.as_bytes(), None).expect("a program");
    let free = Op::Free { block: 0, stream: 0 };
    assert_eq!(program.ops, [Op::Allocate { block: 0 }, Op::Allocate { block: 1 }, free]);
    assert_eq!(program.streams, [187_651]);
}

#[test]
fn a_wrong_cell_is_named() {
    let text = OPERATORS.replace("aten::mul,1024", "aten::mul,big");
    let opened = open("wrong.csv", &text);
    assert_eq!(opened.damages, ["line 3, column Size(KB): found \"big\"; expected a number"]);
    assert_eq!(opened.model.lives.len(), 1);
}

#[test]
fn sums_are_of_the_widest_component_and_nothing_else() {
    let text = "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type\n\
        PTA,100.5,1,2,1,0,NPU:0\nAPP,100.6,,9,,,NPU:0\nPTA,101.5,3.5,4,3,0,NPU:0\nPTA,102,0.5,4,0,0,NPU:0\n";
    let opened = open("sums.csv", text);
    let pool = &opened.model.pools[0];
    assert_eq!((pool.used.peak().0, pool.used.last()), (7 * MIB / 2, MIB / 2));
    assert_eq!((pool.reserved.peak().0, pool.reserved.last()), (4 * MIB, 4 * MIB));
    assert!(opened.model.lives.is_empty() && opened.model.unrecorded.has(Fact::Blocks));
    assert_eq!(opened.origin.notes, ["component PTA", "1 rows of component APP are left out"]);
    let error = import::read(text.as_bytes(), None).expect_err("nothing to replay").to_string();
    assert!(error.contains("no allocation on device 0"), "{error}");
    // msprof's files are in kilobytes, with the device first.
    let text =
        "Device_id,Component,Timestamp(us),Total Allocated(KB),Total Reserved(KB),Device\n3,GE,1,512,2048,NPU:3\n";
    let opened = open("msprof.csv", text);
    assert_eq!(opened.model.pools[0].used.peak().0, MIB / 2);
    assert_eq!(opened.model.pools[0].definition.unwrap().config.device.0, 3);
}

const MEMSCOPE: &str = "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr\n\
    0,SYSTEM,ACL_INIT,N/A,1,7,7,N/A,N/A,\n\
    1,MALLOC,HAL,N/A,10,7,7,0,0x10000000,\"{allocation_id:1,addr:0x10000000,size:2097152,owner:CANN,page_type:huge}\"\n\
    2,MALLOC,PTA,N/A,20,7,7,0,268435456,\"{allocation_id:2,addr:268435456,size:1024,owner:PTA@model@weights,total:2097152,used:1024}\"\n\
    3,MALLOC,PTA,N/A,30,7,7,0,268436480,\"{\"\"allocation_id\"\":3,\"\"addr\"\":268436480,\"\"size\"\":512,\"\"total\"\":2097152,\"\"used\"\":1536}\"\n\
    4,MSTX,Mark,step 1,35,7,7,0,N/A,\n\
    5,ACCESS,READ,MatMul,36,7,7,0,268435456,\"{dtype:float16,shape:2 2,size:1024,format:ND,type:ATB}\"\n\
    6,FREE,PTA,N/A,40,7,7,0,268435456,\"{allocation_id:2,addr:268435456,size:-1024,total:2097152,used:512}\"\n\
    7,KERNEL_LAUNCH,KERNEL_LAUNCH,AddF16,41,7,7,0,N/A,\"{streamId:3,taskId:1}\"\n";

#[test]
fn memscope_shows_the_layer_of_most_allocations() {
    let opened = open("memscope", MEMSCOPE);
    let model = &opened.model;
    assert!(opened.damages.is_empty(), "{:?}", opened.damages);
    assert_eq!(blocks(model), [(1024, "PTA@model@weights", true), (512, "", false)]);
    assert_eq!((model.pools[0].reserved.peak().0, model.pools[0].used.peak().0), (2 * MIB, 1536));
    assert_eq!(model.lives[1].offset.0 - model.lives[0].offset.0, 1024);
    assert_eq!(model.marks.iter().map(|mark| model.name(mark.name)).collect::<Vec<_>>(), ["step 1"]);
    assert_eq!(opened.origin.notes, ["1 allocations of HAL are left out; this is PTA"]);
    assert!(model.unrecorded.has(Fact::Streams), "no allocation has a stream there");
    let program = import::read(MEMSCOPE.as_bytes(), None).expect("a program");
    assert_eq!((program.blocks.len(), program.marks.len()), (2, 1));
}

#[test]
fn a_row_without_its_size_is_named() {
    let opened = open("sizeless", &MEMSCOPE.replace("size:1024,owner", "owner"));
    assert!(opened.damages[0].starts_with("line 4, column Attr: found"), "{:?}", opened.damages);
    assert!(opened.damages[0].ends_with("expected attributes with the size, such as {size:512}"));
}

/// As Kineto writes them, in the order in which they were flushed; the host's are in between.
const TRACE: &str = r#"{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "aten::empty", "pid": 1, "tid": 1, "ts": 100.5, "dur": 3, "args": {"External id": 1}},
    {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 104.25,
     "args": {"Total Reserved": 2097152, "Total Allocated": 512, "Bytes": -1024, "Addr": 4096, "Device Id": 0, "Device Type": 1}},
    {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 101.5,
     "args": {"Total Reserved": 2097152, "Total Allocated": 1024, "Bytes": 1024, "Addr": 4096, "Device Id": 0, "Device Type": 1}},
    {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 102.5,
     "args": {"Total Reserved": 2097152, "Total Allocated": 1536, "Bytes": 512, "Addr": 8192, "Device Id": 0, "Device Type": 1}},
    {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 103.5,
     "args": {"Bytes": 64, "Addr": 77, "Device Id": -1, "Device Type": 0}}
  ], "traceName": "x.json"}"#;

#[test]
fn a_trace_is_read_in_the_order_of_time() {
    let opened = open("trace", TRACE);
    let model = &opened.model;
    assert_eq!(blocks(model), [(1024, "", true), (512, "", false)]);
    let pool = &model.pools[0];
    assert_eq!((pool.used.peak().0, pool.used.last(), pool.reserved.peak().0), (1536, 512, 2 * MIB));
    assert_eq!(pool.definition.unwrap().base.0 + model.lives[1].offset.0, 8192);
    assert_eq!(opened.origin.notes[0], "1 events about the host's memory are left out");
    assert!(!model.unrecorded.has(Fact::Addresses) && model.unrecorded.has(Fact::Streams));
}

/// What an event states is so from its call on, not from a record before: the malloc is among who held the peak.
#[test]
fn what_a_call_states_that_it_leaves_it_makes_so() {
    let model = open("stated", TRACE).model;
    let (bytes, peak) = model.pools[0].used.peak();
    let peak = peak.expect("in the log");
    assert_eq!((bytes, model.events.kind(peak)), (1536, Kind::Malloc));
    let live: u64 = model.lives.iter().filter(|life| life.live_after(peak)).map(|life| life.given.0).sum();
    assert_eq!(live, 1536);
    let (_, reserved) = model.pools[0].reserved.peak();
    assert!(reserved.is_none_or(|reserved| model.events.kind(reserved) == Kind::Malloc));
}

#[test]
fn older_traces_have_no_addresses() {
    let text = TRACE.replace("\"Addr\": 4096, ", "").replace("\"Addr\": 8192, ", "");
    let opened = open("older", &text);
    assert_eq!(blocks(&opened.model), [(1024, "", true), (512, "", false)]);
    assert!(opened.model.unrecorded.has(Fact::Addresses));
    assert!(opened.origin.notes[1].starts_with("frees are matched with allocations by their sizes"));
}

#[test]
fn a_cut_trace_keeps_what_stands_before_the_cut() {
    let end = TRACE.find("102.5").unwrap();
    let opened = open("cut", &TRACE[..end]);
    assert_eq!(opened.model.lives.len(), 1);
    assert!(opened.damages[0].starts_with("line 7: found EOF while parsing"), "{:?}", opened.damages);
    let error = source::open(&file("none", r#"{"traceEvents": [{"ph": "X", "name": "a", "ts": 1}]}"#)).unwrap_err();
    assert_eq!(
        error.what,
        "the file: found 1 events, none of them named [memory]; expected a trace that was recorded with profile_memory=True"
    );
    let wrong = open("wrong", &TRACE.replace("\"Bytes\": 512", "\"Bytes\": \"many\""));
    assert_eq!(wrong.damages, ["entry 3, key Bytes: found \"many\"; expected a number"]);
}

/// Two graphs: the nodes of each are its own. The last node of a lifetime is a part of it; 4294967295 is none.
#[test]
fn what_operators_of_a_graph_take_is_read_from_node_to_node() {
    const STATIC: &str = "Device_id,Op Name,Model Name,Graph ID,Node Index Start,Node Index End,Size(KB)\n\
        2,weights,net,0,0,4294967295,8\n2,conv,net,0,1,3,4\n2,relu,net,0,3,5,2\n2,pool,net,0,4,4,1\n\
        2,late,net,1,0,0,3\n2,odd,net,1,9,2,1\n";
    let opened = open("static_op_mem.csv", STATIC);
    let model = &opened.model;
    let kib = |bytes: u64| bytes * 1024;
    let right = [
        (kib(8), "weights", false),
        (kib(4), "conv", true),
        (kib(2), "relu", true),
        (kib(1), "pool", true),
        (kib(3), "late", true),
    ];
    assert_eq!(blocks(model), right);
    // Node 3 has the weights, the convolution, and what follows it.
    assert_eq!(model.pools[0].used.peak().0, kib(8 + 4 + 2));
    assert_eq!(model.pools[0].definition.unwrap().config.device.0, 2);
    let marks: Vec<_> = model.marks.iter().map(|mark| model.name(mark.name)).collect();
    assert_eq!(marks, ["model net, graph 0", "model net, graph 1"]);
    let right = ["line 7, column Node Index End: found \"2\"; expected a node not before the first, 9"];
    assert_eq!(opened.damages, right);
    assert_eq!(import::read(STATIC.as_bytes(), None).expect("a program").blocks.len(), 5);
}
