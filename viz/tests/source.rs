//! Files that are logs, that are damaged logs, and that are none.

mod common;

use common::training;
use std::path::{Path, PathBuf};
use weir::trace::{Log, LogStamps, PAGE_BYTES, Page, Spill, Stamped, text};
use weir_viz::cli::{self, Command, Picture, PictureError};
use weir_viz::follow::Feed;
use weir_viz::progress::Progress;
use weir_viz::source;

fn as_text(records: &[Stamped<'_>]) -> Vec<u8> {
    let mut out = format!("{}\n", text::HEADER);
    for stamped in records {
        text::write(stamped, &mut out).unwrap();
        out.push('\n');
    }
    out.into_bytes()
}

fn as_pages(records: &[Stamped<'_>]) -> Vec<u8> {
    let (mut pages, mut streams, mut pools, mut labels) = (vec![Page::EMPTY; 4], [0; 16], [0; 4], [0; 16]);
    let stamps = LogStamps { streams: &mut streams, pools: &mut pools, labels: &mut labels };
    let mut spill = Spill::EMPTY;
    let mut log = Log::new(&mut pages, stamps, &mut spill);
    let (mut out, mut page) = (Vec::new(), [0; PAGE_BYTES]);
    for stamped in records {
        log.append(stamped.time, stamped.record, &());
        while let Some(length) = log.take_page(&mut page) {
            out.extend_from_slice(&page[..length]);
        }
    }
    log.seal();
    while let Some(length) = log.take_page(&mut page) {
        out.extend_from_slice(&page[..length]);
    }
    out
}

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn both_forms_give_the_same_model() {
    let records = training(1, 3, 20);
    let (pages, lines) = (as_pages(&records), as_text(&records));
    let (a, b) = (source::read("a", &pages).unwrap(), source::read("b", &lines).unwrap());
    assert!(a.damages.is_empty() && b.damages.is_empty(), "{:?} {:?}", a.damages, b.damages);
    assert_eq!((a.model.lives.len(), a.model.events.len()), (b.model.lives.len(), b.model.events.len()));
    assert_eq!(a.model.pools[0].used.peak(), b.model.pools[0].used.peak());
    assert_eq!(a.model.events.len(), records.iter().filter(|r| !r.record.is_definition()).count());
}

#[test]
fn what_is_no_log_is_named_with_what_to_do() {
    let cases: [(&str, &[u8], &str); 5] = [
        ("empty.log", b"", "empty (0 bytes)"),
        ("zero.log", &[0; 5000], "5000 bytes, all of them zero"),
        ("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "begins with the bytes `89 50 4e 47"),
        ("table.csv", b"Name,When,Place\na,0.0,0x1\n", "begins with `Name,When,Place"),
        ("new.log", b"weir-log version=999\nwhatever\n", "format version 999"),
    ];
    for (name, bytes, words) in cases {
        let path = file(name, bytes);
        let error = source::open(&path).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(name) && error.what.contains(words), "{text}");
        assert!(error.advice.len() > 20, "{text}");
    }
}

#[test]
fn a_missing_file_and_a_directory_are_told_apart() {
    let missing = source::open(Path::new("no/such/trace.log")).unwrap_err();
    assert!(missing.to_string().starts_with("no/such/trace.log: there is no such file\nCheck the path."), "{missing}");
    let directory = source::open(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap_err();
    assert!(directory.what.contains("directory"), "{directory}");
}

#[test]
fn a_cut_log_is_shown_as_far_as_it_goes() {
    let records = training(1, 6, 30);
    let pages = as_pages(&records);
    let whole = source::read("whole", &pages).unwrap().model.events.len();
    for length in [PAGE_BYTES * 2 + 100, pages.len() / 2 + 7, pages.len() - 1] {
        let opened = source::read("cut.log", &pages[..length]).unwrap();
        assert!(opened.model.events.len() > 10 && opened.model.events.len() < whole);
        let all = opened.damages.join("\n");
        assert!(all.contains("ends inside a page"), "{all}");
        let scene = cli::draw(&opened, &Picture::default()).unwrap();
        let svg = weir_viz::svg::write(&scene);
        assert!(svg.contains("ends inside a page"), "the picture says it, too");
    }
    // Only a part of the first page: nothing could be read, and that is said.
    let error = source::read("cut.log", &pages[..1000]).unwrap_err();
    assert!(error.what.contains("no record could be read") && error.what.contains("inside a page"), "{error}");
}

#[test]
fn a_page_lost_in_the_middle_costs_only_its_records() {
    let pages = as_pages(&training(2, 6, 30));
    let whole = source::read("whole", &pages).unwrap();
    let mut broken = pages;
    broken[PAGE_BYTES * 3 + 777] ^= 0x55;
    let opened = source::read("broken.log", &broken).unwrap();
    let lost = whole.model.events.len() - opened.model.events.len();
    assert!(lost > 0 && lost < whole.model.events.len() / 4, "{lost} lost");
    let all = opened.damages.join("\n");
    assert!(all.contains("checksum") && all.contains("missing"), "{all}");
}

/// Whatever bytes: an answer, no panic, and no model without records.
#[test]
fn flipped_bytes_never_panic() {
    let pages = as_pages(&training(3, 2, 12));
    let lines = as_text(&training(3, 1, 8));
    let mut random = common::Random(17);
    for round in 0..120 {
        let mut bytes = if round % 2 == 0 { pages.clone() } else { lines.clone() };
        for _ in 0..1 + random.below(20) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.below(256) as u8;
        }
        if let Ok(opened) = source::read("flipped", &bytes) {
            assert!(!opened.model.events.is_empty() || opened.model.pools.is_empty());
            cli::draw(&opened, &Picture::default()).unwrap();
        }
    }
}

#[test]
fn screenshots_are_written_or_refused_as_a_whole() {
    let log = file("shot.log", &as_pages(&training(1, 3, 20)));
    let out = |name: &str| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_file(&path);
        path
    };
    let (png, svg, none) = (out("shot.png"), out("shot.svg"), out("none.png"));
    let picture = Picture { select: Some(9), ..Picture::default() };
    assert!(cli::screenshot(&log, &png, &picture, &Progress::default()).unwrap().is_empty());
    let pixels = tiny_skia::Pixmap::decode_png(&std::fs::read(&png).unwrap()).unwrap();
    assert_eq!((pixels.width(), pixels.height()), (1600, 1000));
    cli::screenshot(&log, &svg, &picture, &Progress::default()).unwrap();
    assert!(std::fs::read_to_string(&svg).unwrap().contains(">#9<"));
    for (log, picture, words) in [
        (Path::new("missing.log"), Picture::default(), "no such file"),
        (&log, Picture { select: Some(1 << 60), ..Picture::default() }, "no allocation"),
        (&log, Picture { pool: Some(2), ..Picture::default() }, "no pool 2: the log has 1"),
    ] {
        let error = cli::screenshot(log, &none, &picture, &Progress::default()).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert!(!none.exists());
    }
    let csv = out("shot.csv");
    assert!(
        matches!(cli::screenshot(&log, &csv, &picture, &Progress::default()), Err(PictureError::NoTable(_)))
            && !csv.exists()
    );
    let table = Picture { page: weir_viz::scene::Page::Allocations, find: "9".to_owned(), ..Picture::default() };
    cli::screenshot(&log, &csv, &table, &Progress::default()).unwrap();
    assert!(std::fs::read_to_string(&csv).unwrap().lines().nth(1).unwrap().starts_with("9,"));
    let other = out("shot.gif");
    assert!(matches!(cli::screenshot(&log, &other, &picture, &Progress::default()), Err(PictureError::Ending(_))));
    let as_picture = log.with_extension("svg");
    std::fs::rename(&log, &as_picture).unwrap();
    let itself = cli::screenshot(&as_picture, &as_picture, &picture, &Progress::default());
    assert!(matches!(itself, Err(PictureError::Same(_))), "{itself:?}");
    std::fs::rename(&as_picture, &log).unwrap();
    assert!(!other.exists());
    let nowhere = Path::new("/no/such/place/x.png");
    assert!(matches!(cli::screenshot(&log, nowhere, &picture, &Progress::default()), Err(PictureError::Write(..))));
}

#[test]
fn command_lines_are_read_or_explained() {
    let parse = |line: &str| Command::parse(line.split_whitespace().map(std::ffi::OsString::from));
    let Ok(Command::Screenshot { log, out, asked }) = parse(
        "a.log --screenshot x.png --size 900x600 --select 7 --axis time --theme dark --scale 2 --pool 1 --finding 3 --panels",
    ) else {
        panic!("not understood");
    };
    let picture = asked.picture;
    assert_eq!((log, out), (PathBuf::from("a.log"), PathBuf::from("x.png")));
    assert_eq!((picture.size.w, picture.size.h, picture.scale), (900.0, 600.0, 2.0));
    assert_eq!((picture.select, picture.pool, picture.finding), (Some(7), Some(1), Some(3)));
    assert_eq!(parse("--help").unwrap(), Command::Help);
    assert_eq!(parse("").unwrap(), Command::Window(Box::default()));
    let followed = parse("--follow tcp:4711").unwrap();
    assert!(matches!(followed, Command::Window(asked) if asked.follow == Some(Feed::Tcp(4711))));
    for (line, words) in [
        ("--follow", "no log to follow"),
        ("--follow tcp:0x10", "127.0.0.1 only"),
        ("--follow a.log --from 7", "neither --screenshot nor --from"),
        ("--screenshot x.png", "no log"),
        ("a.log b.log", "b.log"),
        ("a.log --size 10x10", "--size 10x10: expected"),
        ("a.log --size 100000x100000", "from 480x360 to 16384x16384"),
        ("a.log --size 20000x1000", "from 480x360 to 16384x16384"),
        ("a.log --screenshot x.gif", "x.gif: expected a name that ends in .png, .svg or .csv"),
        ("a.log --screenshot x", "x: expected a name that ends in .png, .svg or .csv"),
        ("a.log --size big", "WIDTHxHEIGHT"),
        ("a.log --axis up", "`record` or `time`"),
        ("a.log --scale 99", "0.25 to 8"),
        ("a.log --view inside", "--view inside: expected one of `map`, `lanes`, `flows`"),
        ("a.log --find colour:red", "--find `colour:red`: expected stream:, pool: or label:"),
        ("a.log --frob", "--frob"),
        ("a.log --select x", "x"),
    ] {
        let error = parse(line).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("`--help`"), "{line}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

/// Three gigabytes of zeros, and as much of something else: only their beginnings are read.
#[test]
fn a_large_file_is_refused_by_its_beginning() {
    for (name, first, words) in [("zeros.bin", &b""[..], "all of them zero"), ("elf.bin", b"\x7fELF", "7f 45 4c 46")] {
        let path = file(name, first);
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(3 << 30).unwrap();
        let error = source::load(&path, &Progress::default()).unwrap_err();
        assert!(error.what.contains(words), "{error}");
        assert!(error.what.contains("of its 3221225472 bytes, the first 4194304"), "{error}");
        assert_eq!(source::open(&path).unwrap_err(), error);
        std::fs::remove_file(path).unwrap();
    }
}

/// A log whose first pages are damaged is still one, and so is a large log.
#[test]
fn a_log_is_found_behind_a_damaged_beginning() {
    let pages = as_pages(&training(1, 8, 60));
    let mut broken = pages.clone();
    broken[..PAGE_BYTES * 5].fill(0);
    let path = file("late.log", &broken);
    assert!(source::open(&path).unwrap().model.events.len() > 100);
    let long: Vec<u8> = std::iter::repeat_n(&pages[..], (5 << 20) / pages.len() + 1).flatten().copied().collect();
    assert!(long.len() > 5 << 20);
    assert_eq!(source::load(&file("long.log", &long), &Progress::default()).unwrap(), long);
}

#[test]
#[cfg(unix)]
fn devices_are_no_logs() {
    for path in ["/dev/zero", "/dev/null"] {
        let error = source::open(Path::new(path)).unwrap_err();
        assert!(error.what.contains("a device or a pipe"), "{error}");
        assert!(error.advice.contains("to a file"), "{error}");
    }
}

#[test]
fn many_damages_are_told_in_a_few_lines() {
    let mut pages = as_pages(&training(1, 8, 60));
    let count = pages.len() / PAGE_BYTES;
    for page in (1..count).step_by(2) {
        pages[page * PAGE_BYTES + 99] ^= 1;
    }
    let opened = source::read("many.log", &pages).unwrap();
    assert!(opened.damaged > 10 && opened.damaged == opened.damages.len() as u64, "{}", opened.damaged);
    let lines = opened.summary();
    assert_eq!(lines[..5], opened.damages[..5]);
    assert_eq!(lines[5..], [format!("and {} more damaged places", opened.damaged - 5)]);
    let log = file("many.log", &pages);
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("many.png");
    assert_eq!(cli::screenshot(&log, &out, &Picture::default(), &Progress::default()).unwrap(), lines);
    let svg = weir_viz::svg::write(&cli::draw(&opened, &Picture::default()).unwrap());
    assert!(svg.contains(&format!("and {} more damaged places", opened.damaged - 2)), "the picture says how many");
}
