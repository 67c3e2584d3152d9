//! The report on a log whose numbers are counted by hand.

use weir_viz::check::{self, Told};
use weir_viz::floor::Exactness;
use weir_viz::progress::Progress;
use weir_viz::report::{self, Expression, Report};
use weir_viz::source::{self, Opened};

const MIB: u64 = 1 << 20;

/// Two streams. Stream 0 allocates 1 MiB ("weights") and 3 MiB ("grads"), frees the second; stream 1 waits for an event
/// recorded behind that and gets 2 MiB of it; a wait is inserted on stream 1 for stream 0, known to be complete 300 ns
/// later; one malloc is refused; the pool is destroyed with the weights and the last block live.
const LOG: &str = "weir-log version=1
number=0 time=0 record=begin version=0.1.0 policy=1 streams=4 events=4 markers=4 pools=1 blocks=64 granules=64
number=1 time=10 record=device_def device=0 granularity=2097152 alignment=512 total=67108864 capabilities=-
number=1 time=10 record=pool_def pool=0 base=0x10000000 range=67108864 device=0 limit=8388608 threshold=0 reuse=event+opportunistic+internal preference=grow_first small_limit=-
number=1 time=10 record=pool_created pool=0
number=2 time=20 record=stream_def stream=0 device=0 kind=non_blocking
number=2 time=20 record=stream_created stream=0
number=3 time=30 record=stream_def stream=1 device=0 kind=non_blocking
number=3 time=30 record=stream_created stream=1
number=4 time=40 record=event_created event=0
number=5 time=50 record=mapped pool=0 offset=0 granules=2 reason=grow
number=6 time=60 record=label_def label=1 length=7 name=weights
number=6 time=60 record=malloc pool=0 stream=0 seq=1 id=1 asked=1048400 given=1048576 offset=0 source=grow label=1 points=- epoch=0
number=7 time=70 record=label_def label=2 length=5 name=grads
number=7 time=70 record=malloc pool=0 stream=0 seq=2 id=2 asked=3145728 given=3145728 offset=1048576 source=grow label=2 points=- epoch=0
number=8 time=100 record=use pool=0 stream=1 seq=1 id=1 until=now
number=9 time=200 record=free pool=0 stream=0 seq=3 id=2 offset=1048576 given=3145728
number=10 time=210 record=recorded event=0 stream=0 seq=4 number=1
number=11 time=220 record=waited stream=1 seq=2 event=0 number=1
number=12 time=230 record=malloc pool=0 stream=1 seq=3 id=3 asked=2097152 given=2097152 offset=1048576 source=event label=2 points=0@3 epoch=0
number=13 time=300 record=marker_laid marker=0 stream=0 seq=4
number=14 time=310 record=wait_inserted stream=1 seq=4 marker=0 on=0@4
number=15 time=610 record=stream_synchronized stream=0 seq=4
number=16 time=620 record=out_of_memory pool=0 stream=1 requested=8388608 used=3145728 reserved=4194304 limit=8388608 largest_usable=1048576 pending=0
number=17 time=630 record=kept pool=0 kept=0 thrash=2097152
number=18 time=700 record=pool_destroyed pool=0 leaked=3145728
number=19 time=710 record=unmapped pool=0 offset=0 granules=2 reason=destroy
";

fn reported(text: &str) -> (Opened, Report) {
    let mut opened = source::read("hand.log", text.as_bytes()).expect("a log");
    assert_eq!(opened.damages, Vec::<String>::new());
    let checked = check::read("hand.log", text.as_bytes(), Told::Accept).expect("a log");
    let report = Report::of(&opened, &checked);
    opened.model.take_findings(checked);
    (opened, report)
}

fn figure(report: &Report, name: &str) -> u64 {
    let found = report::figures(report).into_iter().find(|figure| figure.name == name);
    found.and_then(|figure| figure.value).unwrap_or_else(|| panic!("no figure {name}"))
}

#[test]
fn the_numbers_are_those_counted_by_hand() {
    let (_, report) = reported(LOG);
    for (name, value) in [
        ("records", 20),
        ("peak_used_bytes", 4 * MIB),
        ("peak_reserved_bytes", 4 * MIB),
        // At the peak weights and grads are live at once; the block of stream 1 comes behind the free.
        ("ordered_floor_bytes", 4 * MIB),
        ("mallocs", 3),
        ("refused", 1),
        ("leaks", 2),
        ("waits_inserted", 1),
        ("thrash_bytes", 2 * MIB),
        ("grown_bytes", 4 * MIB),
        ("reuse.event", 1),
        ("reuse.grow", 2),
        ("reuse.internal", 0),
    ] {
        assert_eq!(figure(&report, name), value, "{name}");
    }
    // A use of another stream may hold a block beyond its free.
    assert_eq!(report.floor.expect("recorded").exactness, Exactness::LowerBound);
}

#[test]
fn a_pool_says_who_held_its_peak_and_where_memory_came_from() {
    let (opened, report) = reported(LOG);
    let pool = &report.pools[0];
    assert_eq!((pool.used.bytes, opened.model.events.number(pool.used.event.expect("in the log"))), (4 * MIB, 7));
    let held: Vec<_> = pool.holders.iter().map(|h| (h.label.as_deref(), h.bytes, h.blocks)).collect();
    assert_eq!(held, [(Some("grads"), 3 * MIB, 1), (Some("weights"), MIB, 1)]);
    assert_eq!(pool.asked_at_peak, 1_048_400 + 3 * MIB);
    let pairs: Vec<_> = pool.pairs.iter().map(|p| (p.from_words(), p.to.to_string(), p.reused.bytes)).collect();
    let pair = |from: &str, to: &str, bytes| (from.to_owned(), to.to_owned(), bytes);
    assert_eq!(pairs, [pair("nobody", "0", 4 * MIB), pair("0", "1", 2 * MIB)]);
    // Behind record 12: 1 MiB of 4 is free, in one piece; behind record 9 three, in one piece.
    assert!(pool.samples.iter().all(|sample| sample.fragmentation() == 0.0));
    let waits = report.waits[0];
    assert_eq!((waits.count, waits.known, waits.nanos), (1, 1, 300));
    // The weights: 1 MiB for 640 ns, the largest block 3 MiB for 130 ns, the last one 2 MiB for 470 ns.
    let order: Vec<u64> = pool.held.iter().map(|held| opened.model.life(held.life).id.0).collect();
    assert_eq!(order, [3, 1, 2]);
    let idle = pool.idle[0];
    assert_eq!((opened.model.life(idle.life).id.0, idle.early, idle.late, pool.idle.len()), (1, 40, 600, 1));
}

#[test]
fn free_memory_in_two_pieces_is_fragmented() {
    // The 3 MiB block stays where it is, the one before it and granule behind it are free: 1 and 2 MiB.
    let freed = "number=10 time=210 record=free pool=0 stream=0 seq=4 id=1 offset=0 given=1048576\n";
    let more = "number=9 time=200 record=mapped pool=0 offset=4194304 granules=1 reason=grow\n";
    let text = format!("{}{more}{freed}", LOG.split("number=9 ").next().expect("is there"));
    let (_, report) = reported(&text);
    let last = report.pools[0].samples.last().copied().expect("samples");
    assert_eq!((last.free(), last.largest_free), (3 * MIB, 2 * MIB));
    assert!((report.pools[0].worst_fragmentation().expect("recorded") - 1.0 / 3.0).abs() < 1e-9);
}

#[test]
fn several_pools_peak_together() {
    let second = LOG.lines().skip(1).filter(|line| line.contains("pool=0") && !line.contains("stream"));
    let text: String = second.map(|line| line.replace("pool=0", "pool=1") + "\n").collect();
    let begin = LOG.find("number=18").expect("is there");
    // The second pool's mapping while the first still has its memory.
    let mapped: String = text.lines().filter(|l| l.contains("mapped")).map(|l| l.to_owned() + "\n").collect();
    let both = format!("{}{}{}", &LOG[..begin], mapped.replace("number=5 time=50", "number=18 time=640"), "");
    let both: String = both.lines().filter(|l| !l.contains("number=19")).map(|l| l.to_owned() + "\n").collect();
    let (_, report) = reported(&both);
    assert_eq!(report.pools.len(), 2);
    assert_eq!(figure(&report, "peak_reserved_bytes"), 8 * MIB);
}

#[test]
fn conditions_are_about_the_reports_names() {
    let (_, report) = reported(LOG);
    let figures = report::figures(&report);
    let holds = |text: &str| Expression::parse(text).and_then(|e| e.holds(&figures)).expect(text);
    assert!(holds("leaks > 1") && holds("refused>0") && holds("reuse.event == 1"));
    assert!(!holds("peak_reserved>1.05*peak_used") && holds("peak_reserved_bytes == 4MiB"));
    let error = Expression::parse("leeks > 0").expect("reads").holds(&figures).expect_err("no such name");
    assert!(error.expected.contains("leaks"), "{error}");
}

#[test]
fn text_and_page_say_the_same_and_nothing_is_loaded() {
    let (opened, report) = reported(LOG);
    let (text, page) = (report::text(&report, &opened.model), report::page(&report, &opened));
    for words in ["weights", "grads", "out of memory", "8 MiB asked for", "0 lower bound"] {
        let words = words.trim_start_matches("0 ");
        assert!(text.contains(words), "{words}: {text}");
        assert!(words == "lower bound" || page.contains(words), "{words}");
    }
    assert!(page.contains("prefers-color-scheme:dark") && page.contains("only-dark") && page.contains("only-light"));
    for word in ["<script", "<link", "<img", "url(", "@import", " src="] {
        assert!(!page.contains(word), "{word}");
    }
    // The namespace of SVG is the only address in it, and names nothing that is loaded.
    assert_eq!(page.matches("http").count(), page.matches("http://www.w3.org/2000/svg").count());
    let again = reported(LOG);
    assert_eq!(page, report::page(&again.1, &again.0));
}

#[test]
fn names_of_labels_cannot_leave_their_place() {
    let text = LOG.replace("length=7 name=weights", "length=25 name=<script>alert(1)</script>");
    let (opened, report) = reported(&text);
    let page = report::page(&report, &opened);
    assert!(!page.contains("<script") && page.contains("&lt;script&gt;alert(1)"));
}

/// In the tables and in the pictures, whoever rests the pointer on a term is told what it means.
#[test]
fn the_terms_of_the_page_are_explained() {
    let (opened, report) = reported(LOG);
    let page = report::page(&report, &opened);
    for (term, sentence) in [
        ("settled", "All work that was done with the block is known to be complete on the device."),
        ("granules", "The smallest piece of physical memory that the device maps, mostly 2 MiB."),
        ("peak used", "The most bytes that were in live blocks at one moment."),
    ] {
        assert!(page.contains(&format!("<span title=\"{sentence}\">{term}</span>")), "{term}");
    }
    let legend =
        "<title>Memory that is there and nobody's: the next malloc may take it without asking the device.</title>";
    assert!(page.contains(&format!("{legend}mapped, free</text>")));
}

#[test]
fn a_log_without_a_pool_has_a_report() {
    let text: String = LOG.lines().take(2).map(|line| line.to_owned() + "\n").collect();
    let (opened, report) = reported(&text);
    assert_eq!((report.pools.len(), figure(&report, "peak_used_bytes")), (0, 0));
    assert!(report::page(&report, &opened).contains("</html>"));
    assert!(report::text(&report, &opened.model).contains("peak used"));
}

/// RMM's log says nothing of what is reserved, of order, nor where memory came from.
#[test]
fn what_another_programs_log_does_not_record_is_not_made_up() {
    let rows = "Thread,Time,Action,Pointer,Size,Stream\n\
                1,1,allocate,0x1000,4096,0\n1,2,allocate,0x2000,1024,1\n1,3,free,0x1000,4096,0\n";
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("reported-rmm.csv");
    std::fs::write(&path, rows).expect("a temporary file");
    let bytes = &source::load(&path, &Progress::default()).expect("translated")[..];
    let opened = source::read("rmm.csv", bytes).expect("reads");
    let report = Report::of(&opened, &check::read("rmm.csv", bytes, Told::Accept).expect("reads"));
    assert_eq!(figure(&report, "peak_used_bytes"), 5120);
    assert_eq!((figure(&report, "mallocs"), figure(&report, "live_at_end_bytes")), (2, 1024));
    let figures = report::figures(&report);
    let unknown = |name: &str| figures.iter().any(|figure| figure.name == name && figure.value.is_none());
    for name in ["peak_reserved_bytes", "ordered_floor_bytes", "reuse.settled", "waits_inserted", "grown_bytes"] {
        assert!(unknown(name), "{name}");
    }
    let text = report::text(&report, &opened.model);
    assert!(text.contains("peak reserved      not recorded\nordered floor      not recorded\n"), "{text}");
    assert!(text.contains("not recorded       source, order, reserved"), "{text}");
    assert!(!report::page(&report, &opened).contains("class=\"key reserved\""));
    let condition = Expression::parse("peak_reserved > 1").expect("reads").holds(&figures);
    assert!(condition.expect_err("unknown").to_string().contains("which this log does not record"));
}

/// A block whose free is missing would count for ever.
#[test]
fn a_log_with_a_hole_has_no_floor() {
    let whole = reported(LOG).1;
    assert!(whole.floor.is_some());
    let text: String = LOG.lines().filter(|line| !line.contains("record=free")).map(|l| l.to_owned() + "\n").collect();
    let opened = source::read("hole.log", text.as_bytes()).expect("reads");
    let report = Report::of(&opened, &check::read("hole.log", text.as_bytes(), Told::Accept).expect("reads"));
    assert_eq!(report.floor.map(|floor| floor.bytes), None);
}

/// One refusal is there, others may be lost with the records 9 to 11; so may the free that ended a peak.
#[test]
fn lost_records_leave_conditions_open() {
    let cut: String = LOG
        .lines()
        .filter(|line| !["number=9 ", "number=10 ", "number=11 "].iter().any(|number| line.starts_with(number)))
        .map(|line| line.to_owned() + "\n")
        .collect();
    let whole = LOG.lines().filter(|line| !line.contains("out_of_memory"));
    let end: String = whole.map(|line| line.to_owned() + "\n").collect();
    let torn = format!("{}number=9 time=2", LOG.split("number=9 ").next().expect("is there"));
    for (text, refused, text_says) in
        [(cut, Some(true), "at least 1"), (end, None, "at least 0"), (torn, None, "at least 0")]
    {
        let opened = source::read("hole.log", text.as_bytes()).expect("reads");
        let report = Report::of(&opened, &check::read("hole.log", text.as_bytes(), Told::Accept).expect("reads"));
        let figures = report::figures(&report);
        let told = |text: &str| Expression::parse(text).and_then(|e| e.holds(&figures)).ok();
        assert_eq!((told("refused > 0"), told("refused == 0")), (refused, refused.map(|so| !so)), "{text}");
        assert_eq!((told("peak_used > 1"), told("mallocs >= 2")), (None, Some(true)));
        let words = report::text(&report, &opened.model);
        assert!(words.contains(&format!("refused            {text_says}")), "{words}");
        assert!(words.contains("records are missing: of what is counted there is at least so much"), "{words}");
        assert!(report::page(&report, &opened).contains(text_says));
    }
    assert_eq!(reported(LOG).1.caveat(), None);
}

#[test]
fn a_second_free_in_another_programs_log_is_one() {
    let rows = "Thread,Time,Action,Pointer,Size,Stream\n\
                1,1,allocate,0x1000,1024,0\n1,2,free,0x1000,1024,0\n1,3,free,0x1000,1024,0\n";
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("freed-twice.csv");
    std::fs::write(&path, rows).expect("a temporary file");
    let bytes = source::load(&path, &Progress::default()).expect("translated");
    let checked = check::read("freed-twice.csv", &bytes, Told::Accept).expect("reads");
    assert_eq!(checked.by_fault.get(&check::Fault::DoubleFree), Some(&1), "{:?}", checked.by_fault);
    let opened = source::read("freed-twice.csv", &bytes).expect("reads");
    assert_eq!(figure(&Report::of(&opened, &checked), "peak_used_bytes"), 1024);
}

/// The weights live through the part, and nothing in it names them.
#[test]
fn a_part_says_what_it_leaves_open() {
    use weir_viz::part::{Part, Place};
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("parts.log");
    std::fs::write(&path, LOG).expect("a temporary file");
    let reported = |from: Option<u64>, to: Option<u64>| {
        let part = Part { from: from.map(Place::Record), to: to.map(Place::Record) };
        report::open(&path, &part, &Progress::default()).expect("there is such a part")
    };
    let (opened, middle) = reported(Some(9), Some(12));
    assert_eq!((middle.peak_used, middle.leaks), (3 * MIB, None));
    let text = report::text(&middle, &opened.model);
    for words in
        ["part of the log, from record 9 to record 12", "peaks are at least so high", "leaks              not known"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(report::page(&middle, &opened).contains("peaks are at least so high"));
    let (opened, first) = reported(None, Some(12));
    assert_eq!((first.peak_used, first.open_ends.len()), (4 * MIB, 2));
    assert!(!report::text(&first, &opened.model).contains("at least"), "its beginning is there");
    // What is destroyed in the part leaked for sure.
    assert_eq!(reported(Some(9), None).1.leaks, Some(1));
    assert_eq!(reported(None, None).1.open_ends, Vec::<String>::new());
    let checked =
        check::open(&path, &Part { from: Some(Place::Record(9)), to: None }, Told::Accept, &Progress::default());
    let checked = checked.expect("there is such a part");
    assert!(checked.to_string().starts_with("note: this is a part of the log, from record 9 on\n"), "{checked}");
}

/// A synchronisation has made the first stream's free known to be complete: no point is left in the malloc's record.
#[test]
fn memory_of_a_settled_block_comes_from_the_stream_that_freed_it() {
    let settled = LOG.replace("source=event label=2 points=0@3", "source=settled label=2 points=-");
    assert_eq!(pairs_of(&settled)[1..], [("0".to_owned(), "1".to_owned(), "settled", 1, 2 * MIB)]);
}

fn pairs_of(log: &str) -> Vec<(String, String, &'static str, u64, u64)> {
    let (_, report) = reported(log);
    let pairs = report.pools[0].pairs.iter();
    pairs.map(|p| (p.from_words(), p.to.to_string(), p.source.name(), p.reused.count, p.reused.bytes)).collect()
}

/// By hand: stream 1's 2 MiB of stream 0's 3 are freed by stream 1; 3 MiB for stream 0 then are 2 of stream 1's and 1 of its
/// own, though the record's points are stream 0's alone. 1 MiB behind those nobody ever had.
#[test]
fn each_byte_goes_from_one_stream_to_one() {
    let more = "number=18 time=700 record=free pool=0 stream=1 seq=5 id=3 offset=1048576 given=2097152\n\
                number=19 time=710 record=malloc pool=0 stream=0 seq=5 id=4 asked=3145728 given=3145728 offset=1048576 source=same_stream label=2 points=0@3 epoch=0\n\
                number=20 time=720 record=mapped pool=0 offset=4194304 granules=1 reason=grow\n\
                number=21 time=730 record=free pool=0 stream=0 seq=6 id=4 offset=1048576 given=3145728\n\
                number=22 time=740 record=malloc pool=0 stream=1 seq=6 id=5 asked=4194304 given=4194304 offset=1048576 source=event label=2 points=0@6 epoch=0\n";
    let log = format!("{}{more}", LOG.split("number=18 ").next().expect("is there"));
    let pair = |from: &str, to: &str, source, count, mib| (from.to_owned(), to.to_owned(), source, count, mib * MIB);
    let right = [
        pair("0", "1", "event", 2, 2 + 3),
        pair("nobody", "0", "grow", 2, 4),
        pair("1", "0", "settled", 1, 2),
        pair("nobody", "1", "event", 1, 1),
        pair("0", "0", "same_stream", 1, 1),
    ];
    let mut found = pairs_of(&log);
    found.sort();
    let mut right = right.to_vec();
    right.sort();
    assert_eq!(found, right);
    // All that the five mallocs were given: 1 + 3 + 2 + 3 + 4 MiB.
    assert_eq!(found.iter().map(|pair| pair.4).sum::<u64>(), 13 * MIB);
}

#[test]
fn a_stream_that_is_not_recorded_holds_nothing() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("streamless.csv");
    std::fs::write(&path, "id,lower,upper,size\n1,0,9,1000\n2,oops,9,5\n").expect("a temporary file");
    let (opened, report) =
        report::open(&path, &weir_viz::part::Part::default(), &Progress::default()).expect("lifetimes");
    assert_eq!(report.pools[0].holders[0].name(), "no label");
    assert!(opened.damages[0].starts_with("line 3, column lower: found \"oops\""), "{:?}", opened.damages);
    assert_eq!(opened.model.lives.len(), 1, "what could be read is read");
}

/// Neither is the pool destroyed, nor does a mark say that the program has ended.
#[test]
fn leaks_are_not_known_where_no_end_is_logged() {
    let begin = LOG.find("number=18").expect("is there");
    let leaks = |end: &str| reported(&(LOG[..begin].to_owned() + end)).1;
    let open = leaks("");
    assert_eq!((open.leaks, open.live_at_end), (None, 2));
    let condition = Expression::parse("leaks > 0").expect("reads").holds(&report::figures(&open)).expect_err("unknown");
    assert!(condition.to_string().contains("`leaks`, which this log does not tell: blocks are live at its end"));
    let mark = "number=18 time=700 record=mark label=0 length=14 name=end of program\n";
    assert_eq!(leaks(mark).leaks, Some(2));
    let freed = "number=18 time=700 record=free pool=0 stream=0 seq=5 id=1 offset=0 given=1048576\n\
                 number=19 time=710 record=free pool=0 stream=1 seq=5 id=3 offset=1048576 given=2097152\n";
    assert_eq!(leaks(freed).leaks, Some(0), "nothing is live");
}

/// By hand: the pool ends with 3 MiB live on streams 0 and 1. Another pool's 3 MiB on stream 0 come behind stream 0's 1 MiB,
/// but not behind stream 1's 2 MiB: 5 MiB; and no more than the 4 MiB before where stream 1 is waited for.
#[test]
fn blocks_of_a_destroyed_pool_are_not_held_for_ever() {
    let pool = LOG.lines().find(|line| line.contains("pool_def")).expect("is there").replace("pool=0", "pool=1");
    let pool = pool.replace("number=1 time=10", "number=20 time=720").replace("base=0x1", "base=0x2");
    let rest = "number=20 time=720 record=pool_created pool=1\n\
                number=21 time=730 record=SYNC\n\
                number=22 time=740 record=mapped pool=1 offset=0 granules=2 reason=grow\n\
                number=23 time=750 record=malloc pool=1 stream=0 seq=5 id=4 asked=3145728 given=3145728 offset=0 source=grow label=0 points=- epoch=0\n\
                number=24 time=760 record=free pool=1 stream=0 seq=6 id=4 offset=0 given=3145728\n";
    let floor = |sync: &str| {
        let report = reported(&format!("{LOG}{pool}\n{}", rest.replace("SYNC", sync))).1;
        (report.floor.expect("recorded").bytes, report.peak_used)
    };
    assert_eq!(floor("event_created event=1"), (5 * MIB, 4 * MIB));
    assert_eq!(floor("stream_synchronized stream=1 seq=4"), (4 * MIB, 4 * MIB));
}

/// Two mallocs are refused by the pool, one by none; a free, and a driver's call, fail beside them.
#[test]
fn the_picture_counts_the_mallocs_that_its_pool_refused() {
    let more = "number=18 time=640 record=refused verb=malloc pool=0 stream=1 size=9437184 reason=above_limit limit=8388608\n\
                number=19 time=640 record=refused verb=malloc pool=- stream=1 size=512 reason=other_device\n\
                number=20 time=640 record=refused verb=destroy_pool pool=0 stream=- size=0 reason=live_blocks count=1 bytes=512\n\
                number=21 time=640 record=driver_failed call=map code=-1 failure=exhausted\n";
    let (opened, report) = reported(&format!("{}{more}", LOG.split("number=18 ").next().expect("is there")));
    assert_eq!((report.refused(), opened.model.pools[0].refused), (3, 2));
    let page = report::page(&report, &opened);
    assert!(page.contains(" 2 refused"), "{page}");
}

/// A pool lives for a few records at the end of a long log: 1 of its 3 free MiB lies apart for one record, 33 % at worst.
#[test]
fn fragmentation_is_looked_for_within_the_life_of_the_pool() {
    let second = |line: &str| line.replace("pool=0", "pool=1").replace("base=0x1", "base=0x2");
    let (mut text, mut number) = (LOG.split("number=8 ").next().expect("is there").to_owned(), 8);
    let mut put = |record: &str| {
        text += &format!("number={number} time={} record={record}\n", 100 + number);
        number += u32::from(!record.starts_with("pool_def"));
    };
    for _ in 0..5_000 {
        put("mark label=0 length=4 name=step");
    }
    let definition = second(LOG.lines().find(|line| line.contains("pool_def")).expect("is there"));
    put(definition.split_once("record=").expect("is there").1);
    put("pool_created pool=1");
    put("mapped pool=1 offset=0 granules=3 reason=grow");
    for (id, mib, at) in [(3, 1, 0), (4, 3, 1), (5, 2, 4)] {
        let (bytes, offset) = (mib * MIB, at * MIB);
        put(&format!(
            "malloc pool=1 stream=0 seq={id} id={id} asked={bytes} given={bytes} offset={offset} source=grow label=0 points=- epoch=0"
        ));
    }
    for (id, mib, at) in [(3, 1, 0), (5, 2, 4), (4, 3, 1)] {
        put(&format!("free pool=1 stream=0 seq={} id={id} offset={} given={}", id + 9, at * MIB, mib * MIB));
    }
    for _ in 0..5_000 {
        put("mark label=0 length=4 name=step");
    }
    let (_, report) = reported(&text);
    let worst = report.pools[1].worst_fragmentation().expect("recorded");
    assert!((worst - 1.0 / 3.0).abs() < 1e-9, "{worst}");
}

/// A Chrome trace has no place for an allocation that failed.
#[test]
fn refusals_that_a_format_cannot_tell_are_not_none() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("refusals.json");
    let event = r#"{"name":"[memory]","ph":"i","ts":1,"args":{"Bytes":512,"Addr":4096,"Device Type":1,"Device Id":0}}"#;
    std::fs::write(&path, format!("{{\"traceEvents\":[{event}]}}")).expect("a temporary file");
    let (opened, report) =
        report::open(&path, &weir_viz::part::Part::default(), &Progress::default()).expect("a trace");
    let figures = report::figures(&report);
    let condition = Expression::parse("refused == 0").expect("reads").holds(&figures).expect_err("not recorded");
    assert!(condition.to_string().contains("which this log does not record"), "{condition}");
    assert!(report::text(&report, &opened.model).contains("refused            not recorded"));
}
