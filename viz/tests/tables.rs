//! Tables, search, and the free blocks of a moment, each against a plain count.

mod common;

use common::{BASE, Random, Tape, stream, training};
use weir::id::AllocId;
use weir::policy::UseUntil;
use weir::trace::{Record, Source};
use weir::units::{MIB, Seq};
use weir_viz::model::{EventIx, LifeIx, Model, PoolIx};
use weir_viz::scene::{self, Page, Selection, Shape, Size, View, pos};
use weir_viz::search::{Query, Row};
use weir_viz::table::{Sort, Table};

fn lives(model: &Model, query: &str) -> Vec<u64> {
    let query = Query::parse(query).unwrap();
    let rows = Table::Allocations.rows(model, &query, None);
    let id = |row: Row| if let Row::Life(life) = row { model.life(life).id.0 } else { panic!("an event") };
    rows.iter(model).map(id).collect()
}

fn three() -> Model {
    let mut tape = Tape::begin(1 << 30, 0, 2);
    tape.map(0, 4);
    tape.malloc(1, 0, 0, MIB, Source::Grow);
    tape.malloc(2, 1, MIB, 2 * MIB, Source::Event);
    tape.malloc(3, 1, 4 * MIB, MIB / 2, Source::Settled);
    tape.push(Record::Use {
        pool: common::POOL,
        stream: stream(1),
        seq: Seq(40),
        id: AllocId(1),
        until: UseUntil::Now,
    });
    tape.free(1, 0, 0, MIB);
    Model::of(tape.records)
}

#[test]
fn queries_find_what_they_say() {
    let model = three();
    for (query, want) in [
        ("", &[1, 2, 3][..]),
        (&format!("{:#x}", BASE + MIB + 5), &[2]),
        (&format!("{:#x}", 4 * MIB), &[3]),
        ("2", &[2]),
        (&(BASE + 5).to_string(), &[1]),
        ("2MiB", &[2]),
        (">1MiB", &[2]),
        (">=1MiB", &[1, 2]),
        ("<1MiB", &[3]),
        ("<=1024KiB", &[1, 3]),
        ("0.5MiB..1MiB", &[1, 3]),
        ("stream:1", &[2, 3]),
        ("stream:1 <1MiB", &[3]),
        ("pool:0", &[1, 2, 3]),
        ("pool:7", &[]),
        ("event", &[2]),
        ("label:x", &[]),
    ] {
        assert_eq!(lives(&model, query), want, "{query}");
    }
    for bad in ["#x", "0xzz", ">3", "colour:red", "<<2MiB"] {
        let told = Query::parse(bad).unwrap_err().to_string();
        assert!(told.starts_with(&format!("`{bad}`: expected ")), "{told}");
    }
}

#[test]
fn the_search_goes_around_and_comes_back() {
    let model = three();
    let query = Query::parse("stream:1 MiB").unwrap_or_default();
    assert!(query.next(&model, None, 1).is_none(), "a word that is nowhere");
    let query = Query::parse("stream:1").unwrap();
    let first = query.next(&model, None, 1);
    assert_eq!(first, Some(Row::Event(EventIx(3))), "stream 1 is created");
    let mut at = EventIx(3);
    let mut seen = Vec::new();
    for _ in 0..4 {
        let row = query.next(&model, Some(at), 1).unwrap();
        seen.push(row);
        at = match row {
            Row::Life(life) => model.life(life).born().unwrap(),
            Row::Event(event) => event,
        };
    }
    let want = [Row::Life(LifeIx(1)), Row::Life(LifeIx(2))];
    assert_eq!(seen[..2], want);
    assert_eq!(query.next(&model, model.life(LifeIx(2)).born(), -1), Some(want[0]));
    let number = model.events.number(model.life(LifeIx(2)).born().unwrap());
    let by_number = Query::parse(&format!("#{number}")).unwrap().next(&model, None, 1);
    assert_eq!(by_number, Some(Row::Event(model.life(LifeIx(2)).born().unwrap())));
}

#[test]
fn tables_are_sorted_by_amount_and_by_word() {
    let model = Model::of(training(7, 3, 20));
    let all = Query::default();
    for table in [Table::Allocations, Table::Decisions, Table::Refusals] {
        let unsorted = table.rows(&model, &all, None);
        for (column, of) in table.columns().iter().enumerate() {
            for descending in [false, true] {
                let rows = table.rows(&model, &all, Some(Sort { column, descending }));
                assert_eq!(rows.len(), unsorted.len());
                let mut cells: Vec<String> = rows.iter(&model).map(|row| table.cell(&model, row, column)).collect();
                if descending {
                    cells.reverse();
                }
                match of.numeric {
                    true => assert!(cells.iter().map(|c| c.parse::<u64>().ok()).is_sorted(), "{}", of.name),
                    false => assert!(cells.is_sorted(), "{}", of.name),
                }
            }
        }
    }
}

#[test]
fn a_table_as_csv_has_a_line_for_each_row() {
    let model = three();
    let rows = Table::Allocations.rows(&model, &Query::parse("stream:1").unwrap(), None);
    let csv = String::from_utf8(Table::Allocations.csv(&model, &rows)).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "id,bytes,asked,offset,stream,pool,source,malloc,free,label");
    assert_eq!(lines[1..], ["2,2097152,2097145,1048576,1,0,event,6,,", "3,524288,524281,4194304,1,0,settled,7,,"]);
}

#[test]
fn headings_sort_and_rows_select() {
    let model = three();
    let mut view = View::whole(&model, Size { w: 1400.0, h: 900.0 });
    view.page = Page::Allocations;
    let frame = scene::build(&model, &view).1;
    let area = frame.map.area;
    let heading = scene::Input::Click(pos(area.x + 3.0, area.y + 4.0));
    for want in [Some(false), Some(true), None] {
        view.apply(&model, &frame, heading);
        assert_eq!(view.listing.sort.map(|s| s.descending), want);
    }
    view.apply(&model, &frame, heading);
    view.apply(&model, &frame, heading);
    view.keep_listing(&model);
    view.apply(&model, &frame, scene::Input::Click(pos(area.x + 30.0, area.y + 1.5 * scene::ROW)));
    assert_eq!(view.selection, scene::Selection::Life(LifeIx(2)), "the largest id is on top");
    assert_eq!(view.page, Page::Allocations);
}

/// A byte map of the pool after each record.
#[test]
fn the_free_blocks_equal_a_map_of_bytes() {
    const UNIT: u64 = 512;
    let model = Model::of(training(4, 3, 12));
    let pool = model.pool(PoolIx(0));
    let length = (pool.runs.iter().map(|r| r.end).max().unwrap() / UNIT) as usize;
    let mut random = Random(8);
    for _ in 0..40 {
        let event = EventIx(random.below(model.events.len() as u64) as u32);
        // 0: not mapped, 1: live, 2: free and never used, n + 3: free, allocation n had it last.
        let mut plain = vec![0_usize; length];
        let mut mapped = vec![EventIx(0); length];
        let fill = |plain: &mut Vec<usize>, (start, end): (u64, u64), value: usize| {
            plain[(start / UNIT) as usize..(end / UNIT) as usize].fill(value);
        };
        for run in pool.runs.iter().filter(|r| r.since <= event && r.unmapped.is_none_or(|u| u > event)) {
            fill(&mut plain, (run.start, run.end), 2);
            mapped[(run.start / UNIT) as usize..(run.end / UNIT) as usize].fill(run.since);
        }
        for at in &pool.lives {
            let life = model.life(*at);
            for byte in life.offset.0 / UNIT..life.end() / UNIT {
                let (byte, mapped) = (&mut plain[byte as usize], mapped[byte as usize]);
                // What is mapped anew is nobody's.
                if *byte > 0 && life.since() <= event && mapped <= life.since() {
                    *byte = if life.live_after(event) { 1 } else { at.at() + 3 };
                }
            }
        }
        let mut told = plain.iter().map(|p| usize::from(*p > 0)).collect::<Vec<_>>();
        for block in model.free_blocks(PoolIx(0), event) {
            fill(&mut told, (block.start, block.end), block.last.map_or(2, |life| life.at() + 3));
        }
        assert!(told == plain, "after record {}", event.0);
    }
}

#[test]
fn the_state_says_what_a_free_block_waits_for() {
    let model = three();
    let mut view = View::whole(&model, Size { w: 1400.0, h: 900.0 });
    view.page = Page::State;
    view.selection = Selection::Event(EventIx::next_of(model.events.len() - 1));
    let scene = scene::build(&model, &view).0;
    let texts: Vec<&str> =
        scene.shapes.iter().filter_map(|s| if let Shape::Text(t) = s { Some(t.text.as_str()) } else { None }).collect();
    for want in [
        "freed on stream 0: 1 MiB in 1 piece, the largest 1 MiB",
        "1 MiB at base, was #1, after stream 0 at 3 and stream 1 at 40",
    ] {
        assert!(texts.contains(&want), "{want}: {texts:?}");
    }
}

/// A narrow table has fewer columns, and its numbers are whole.
#[test]
fn numbers_of_a_narrow_table_are_not_cut() {
    let mut tape = Tape::begin(1 << 40, 0, 1);
    tape.malloc(16_864, 0, 25_182_208, 2_516_582_400, Source::Grow);
    let model = Model::of(tape.records);
    for (wide, last) in [(480.0, "asked"), (640.0, "pool"), (1600.0, "label")] {
        let mut view = View::whole(&model, Size { w: wide, h: 700.0 });
        let texts = |view: &View| -> Vec<String> {
            let shapes = scene::build(&model, view).0.shapes;
            let text = |shape| if let Shape::Text(text) = shape { Some(text.text) } else { None };
            shapes.into_iter().filter_map(text).collect()
        };
        view.page = Page::Allocations;
        let shown = texts(&view);
        for text in ["16864", "2516582400", last] {
            assert!(shown.iter().any(|other| other == text), "{text} at {wide}: {shown:?}");
        }
        // What happened is told at any width.
        view.page = Page::Refusals;
        assert!(texts(&view).iter().any(|text| text == "what"), "{wide}");
    }
}
