//! Two logs side by side: numbers counted by hand.

use weir_viz::compare::{self, Comparison};
use weir_viz::source::{self, Opened};

const MIB: u64 = 1 << 20;

const HEAD: &str = "weir-log version=1
number=0 time=0 record=begin version=0.1.0 policy=1 streams=4 events=4 markers=4 pools=1 blocks=64 granules=64
number=1 time=10 record=device_def device=0 granularity=2097152 alignment=512 total=67108864 capabilities=-
number=1 time=10 record=pool_def pool=0 base=0x10000000 range=67108864 device=0 limit=67108864 threshold=0 reuse=event preference=grow_first small_limit=-
number=1 time=10 record=pool_created pool=0
";

/// Records from number 2 on, a line each.
fn log(name: &str, lines: &[String]) -> Opened {
    let mut text = HEAD.to_owned();
    let mut number = 2;
    for line in lines {
        text += &format!("number={number} time={} record={line}\n", number * 10);
        number += usize::from(!line.starts_with("label_def"));
    }
    let opened = source::read(name, text.as_bytes()).expect("a log");
    assert_eq!(opened.damages, Vec::<String>::new());
    opened
}

fn malloc(id: u64, mib: u64, offset: u64, source: &str, label: u32) -> String {
    let (bytes, offset) = (mib * MIB, offset * MIB);
    format!(
        "malloc pool=0 stream=0 seq={id} id={id} asked={bytes} given={bytes} offset={offset} source={source} label={label} \
         points=- epoch=0"
    )
}

fn free(id: u64, mib: u64, offset: u64) -> String {
    format!("free pool=0 stream=0 seq={} id={id} offset={} given={}", id + 100, offset * MIB, mib * MIB)
}

fn mark(label: u32) -> String {
    format!("mark label={label} length=0 name=")
}

fn names() -> Vec<String> {
    let name = |label: u32, name: &str| format!("label_def label={label} length={} name={name}", name.len());
    vec![name(1, "step"), name(2, "weights"), name(3, "grads"), name(4, "only here")]
}

fn map(offset: u64, granules: u64) -> String {
    format!("mapped pool=0 offset={} granules={granules} reason=grow", offset * MIB)
}

/// Weights of 4 MiB; in the step gradients of 2 MiB, in `tail` again from the same memory.
fn before() -> Opened {
    let mut lines = names();
    lines.extend([
        map(0, 3),
        malloc(1, 4, 0, "grow", 2),
        mark(1),
        malloc(2, 2, 4, "grow", 3),
        free(2, 2, 4),
        mark(1),
        malloc(3, 2, 4, "same_stream", 3),
        malloc(4, 1, 0, "same_stream", 0),
    ]);
    // The last one lies where the weights were.
    let at = lines.len() - 1;
    lines.insert(at, free(1, 4, 0));
    log("before", &lines)
}

/// The same, but the second gradients find nothing and grow, and a mark and a malloc are new.
fn after() -> Opened {
    let mut lines = names();
    lines.extend([
        map(0, 3),
        malloc(1, 4, 0, "grow", 2),
        mark(1),
        malloc(2, 2, 4, "grow", 3),
        mark(4),
        mark(1),
        map(8, 4),
        malloc(9, 8, 8, "grow", 0),
        map(6, 1),
        malloc(3, 2, 6, "grow", 3),
        free(1, 4, 0),
        malloc(4, 1, 0, "same_stream", 0),
    ]);
    log("after", &lines)
}

#[test]
fn sections_lie_between_common_marks() {
    let comparison = Comparison::of(&before(), &after());
    let names: Vec<_> = comparison.sections.iter().map(|s| (s.from.as_deref(), s.to.as_deref())).collect();
    assert_eq!(names, [(None, Some("step")), (Some("step"), Some("step")), (Some("step"), None)]);
    assert_eq!(comparison.odd_marks, [0, 1]);
    let used: Vec<_> = comparison.sections.iter().map(|s| s.sides.map(|side| side.peak_used / MIB)).collect();
    assert_eq!(used, [[4, 4], [6, 6], [6, 16]]);
    let whole = comparison.whole.sides;
    assert_eq!(whole.map(|side| side.peak_used / MIB), [6, 16]);
    // By the order of `Source::ALL`: own stream, settled, event, opportunistic, internal, grow.
    assert_eq!(whole.map(|side| side.reuse), [Some([2, 0, 0, 0, 0, 2]), Some([1, 0, 0, 0, 0, 4])]);
}

#[test]
fn labels_that_grew_come_first() {
    let comparison = Comparison::of(&before(), &after());
    let labels: Vec<_> =
        comparison.labels.iter().map(|l| (l.label.as_str(), l.peak.map(|bytes| bytes / MIB))).collect();
    assert_eq!(labels, [("", [1, 9]), ("grads", [2, 4])]);
    // The other way round what shrank comes last.
    let back = Comparison::of(&after(), &before());
    assert_eq!(back.labels.last().map(|l| l.grown()), Some(-8 * MIB as i128));
}

#[test]
fn mallocs_are_matched_and_lost_reuse_is_named() {
    let matched = Comparison::of(&before(), &after()).matched;
    assert_eq!((matched.count, matched.alone), (4, [0, 1]));
    assert_eq!((matched.lost, matched.lost_bytes, matched.won), (1, 2 * MIB, 0));
    let lost = &matched.largest[0];
    assert_eq!((lost.alloc, lost.asked, lost.label.as_str()), ([3, 3], 2 * MIB, "grads"));
    let back = Comparison::of(&after(), &before()).matched;
    assert_eq!((back.lost, back.won, back.alone), (0, 1, [1, 0]));
}

#[test]
fn a_log_beside_itself_has_no_difference() {
    let comparison = Comparison::of(&after(), &after());
    assert!(comparison.labels.is_empty() && comparison.pairs.is_empty());
    assert_eq!((comparison.matched.count, comparison.matched.alone, comparison.matched.lost), (5, [0, 0], 0));
    let text = compare::text(&comparison);
    assert!(text.contains("4 parts between common marks, 4 of them with the same peaks"), "{text}");
}

#[test]
fn text_names_what_differs() {
    let text = compare::text(&Comparison::of(&before(), &after()));
    for words in ["step .. end", "\"grads\"", "A #3 same stream, B #3 grow", "0 marks are in A alone, 1 in B alone"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn a_log_without_pools_is_compared() {
    let empty = log("empty", &[]);
    let comparison = Comparison::of(&empty, &after());
    assert_eq!((comparison.matched.count, comparison.sections.len()), (0, 1));
    assert!(compare::text(&comparison).contains("whole log"));
}

#[test]
fn mallocs_are_matched_where_their_sources_are_not_recorded() {
    let rows = "Thread,Time,Action,Pointer,Size,Stream\n1,1,allocate,0x1000,512,0\n1,2,allocate,0x2000,1024,0\n";
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("compared.csv");
    std::fs::write(&path, rows).expect("a temporary file");
    let read = || weir_viz::source::open(&path).expect("reads");
    let comparison = Comparison::of(&read(), &read());
    assert_eq!((comparison.matched.count, comparison.matched.alone), (2, [0, 0]));
    let text = compare::text(&comparison);
    assert!(text.contains("lost their reuse is not recorded") && !text.contains("lost their reuse ("), "{text}");
}

#[test]
fn parts_of_logs_are_told() {
    let one = before();
    let mut other = before();
    other.origin.part = "from the mark `step` on".to_owned();
    let comparison = Comparison::of(&one, &other);
    let text = compare::text(&comparison);
    assert!(text.contains("note: B: this is a part of the log, from the mark `step` on\n"), "{text}");
    assert!(!text.contains("note: A"), "{text}");
}

/// A second pool has one allocation of 2 MiB while the first holds 6: pool 0, with two, is looked at; together they have 8.
#[test]
fn the_pool_that_is_looked_at_is_named_where_there_are_several() {
    let second = |line: String| line.replace("pool=0", "pool=1");
    let definition = HEAD.lines().find(|line| line.contains("pool_def")).expect("is there");
    let definition = second(definition.split_once("record=").expect("is there").1.replace("base=0x1", "base=0x2"));
    let mut lines = vec![map(0, 3), malloc(1, 4, 0, "grow", 0), malloc(2, 2, 4, "grow", 0)];
    let one = log("one.log", &lines);
    lines.extend([
        format!("{definition}\nnumber=5 time=50 record=pool_created pool=1"),
        "driver_failed call=map code=-1 failure=exhausted".to_owned(),
        second(map(0, 1)),
        second(malloc(3, 2, 0, "grow", 0)),
    ]);
    // The definition has the number of the record behind it.
    let two = log("two.log", &lines);
    let comparison = Comparison::of(&one, &two);
    let pools = comparison.pools.map(|pool| pool.map(|(id, count)| (id.to_string(), count)));
    assert_eq!(pools, [Some(("0".to_owned(), 1)), Some(("0".to_owned(), 2))]);
    assert_eq!(comparison.whole.sides.map(|side| side.peak_used), [6 * MIB; 2]);
    assert_eq!(comparison.whole.sides.map(|side| side.refused), [0; 2], "a driver's failure is no refusal");
    assert_eq!(comparison.all_pools, [(6 * MIB, Some(6 * MIB)), (8 * MIB, Some(8 * MIB))]);
    let text = compare::text(&comparison);
    for words in [
        "note: A: pool 0, its only one",
        "note: B: pool 0, which has most allocations of its 2",
        "whole log, all pools",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!compare::text(&Comparison::of(&one, &one)).contains("pool 0"));
}
