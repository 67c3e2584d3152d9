//! The stacked chart and the colours of the address map, against a recount of the log.

mod common;

use common::{GRANULE, Tape, labelled};
use std::collections::BTreeMap;
use weir::id::LabelId;
use weir::trace::{Record, Source, Stamped};
use weir::units::GIB;
use weir_viz::model::{Axis, By, EventIx, Life, LifeIx, MOST_GROUPS, Model};
use weir_viz::scene::{self, Color, ColorBy, Frame, Pos, Scene, Shape, Size, View, pos};

fn picture(model: &Model, set: impl FnOnce(&mut View)) -> (Scene, Frame, View) {
    let mut view = View::whole(model, Size { w: 1200.0, h: 800.0 });
    set(&mut view);
    let (scene, frame) = scene::build(model, &view);
    (scene, frame, view)
}

/// The colour that is seen at a place, of what covers all below it.
fn seen(scene: &Scene, at: Pos) -> Color {
    let mut color = scene.ground;
    for shape in &scene.shapes {
        match shape {
            Shape::Rects { fill, rects } if fill.a == 255 && rects.iter().any(|r| r.contains(at)) => color = *fill,
            Shape::Area { fill, points, base } if fill.a == 255 => {
                let level = points.windows(2).filter(|p| p[0].x <= at.x && at.x < p[1].x).map(|p| p[0].y).next();
                if level.is_some_and(|level| level <= at.y && at.y < *base) {
                    color = *fill;
                }
            }
            _ => {}
        }
    }
    color
}

/// One label after another, each with its bytes at one record.
fn held(model: &Model, event: EventIx) -> BTreeMap<String, u64> {
    let mut held = BTreeMap::new();
    for life in model.lives.iter().filter(|life| life.live_after(event)) {
        *held.entry(model.name(life.name).to_owned()).or_default() += life.given.0;
    }
    held
}

#[test]
fn each_column_shows_the_groups_where_they_hold_most_together() {
    let model = Model::of(labelled(5, 9));
    let (scene, frame, view) = picture(&model, |view| view.stack = Some(By::Label));
    let palette = view.theme.palette();
    // The largest by their peaks, counted here.
    let all: Vec<BTreeMap<String, u64>> = (0..model.events.len() as u32).map(|e| held(&model, EventIx(e))).collect();
    let mut peaks: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, bytes) in all.iter().flatten() {
        let peak = peaks.entry(name).or_default();
        *peak = (*peak).max(*bytes);
    }
    let mut order: Vec<(&str, u64)> = peaks.into_iter().collect();
    order.sort_by_key(|(_, peak)| std::cmp::Reverse(*peak));
    let top = frame.chart.bottom();
    // 0 is at the foot; the scale follows from the highest column of all.
    let total = |held: &BTreeMap<String, u64>| held.values().sum::<u64>();
    let peak = all.iter().map(total).max().unwrap() as f64;
    let ring = model.pool(view.pool).used.peak();
    assert_eq!(ring.0 as f64, peak);
    let column_of = |event: usize| (frame.map.x.pixel(event as f64) - frame.chart.x).max(0.0) as usize;
    let peak_x = frame.chart.x + column_of(ring.1.unwrap().at()) as f32 + 0.5;
    let high = (0..frame.chart.h as usize).rev().map(|up| pos(peak_x, top - up as f32 - 0.5));
    let reached = high.clone().find(|at| (0..8).any(|rank| seen(&scene, *at) == palette.stream(rank))).unwrap();
    let per_byte = f64::from(top - reached.y) / peak;
    let mut looked = 0;
    for column in (0..frame.chart.w as usize).step_by(7) {
        let inside: Vec<usize> = (1..all.len()).filter(|event| column_of(*event) == column).collect();
        let Some(first) = inside.first() else { continue };
        let moment = inside.iter().copied().chain([first - 1]).max_by_key(|e| total(&all[*e])).unwrap();
        let mut below = 0.0;
        for (rank, (name, _)) in order.iter().enumerate().take(MOST_GROUPS) {
            let bytes = all[moment].get(*name).copied().unwrap_or(0) as f64;
            let middle = top - ((below + bytes / 2.0) * per_byte) as f32;
            below += bytes;
            // Several moments of a column may hold alike, and the scale is read off pixels.
            if bytes * per_byte > 12.0 {
                let color = seen(&scene, pos(frame.chart.x + column as f32 + 0.5, middle));
                assert_eq!(color, palette.stream(rank), "column {column}, {name}");
                looked += 1;
            }
        }
    }
    assert!(looked > 100, "{looked}");
}

/// A label that is there for one record among 60,000, with a millionth of the memory.
#[test]
fn a_group_that_is_hardly_there_has_a_pixel() {
    let mut tape = Tape::begin(64 * GIB, 0, 1);
    tape.push(Record::LabelDef { label: LabelId(1), name: "rare" });
    tape.map(0, 2048);
    tape.malloc(1, 0, 0, 4 * GIB, Source::Grow);
    for id in 2..30_000 {
        tape.malloc(id, 0, 4 * GIB, 4096, Source::Grow);
        if id == 20_000
            && let Some(Stamped { record: Record::Malloc { label, .. }, .. }) = tape.records.last_mut()
        {
            *label = LabelId(1);
        }
        tape.free(id, 0, 4 * GIB, 4096);
    }
    let model = Model::of(tape.records.iter().copied());
    let (scene, frame, view) = picture(&model, |view| view.stack = Some(By::Label));
    let born = model.life(model.life_of_id(20_000).unwrap()).born().unwrap();
    let x = frame.map.x.pixel(model.events.position(Axis::Record, born) as f64).floor() + 0.5;
    let rare = view.theme.palette().stream(1);
    let column =
        |x: f32| (0..frame.chart.h as usize).any(|dy| seen(&scene, pos(x, frame.chart.y + dy as f32 + 0.5)) == rare);
    let lit = |from: f32| (-1..=1).any(|dx| column(from + dx as f32));
    assert!(lit(x), "where it is");
    assert!(!lit(x + 200.0) && !lit(x - 200.0), "and nowhere else");
}

#[test]
fn a_stack_is_bounded_by_pixels() {
    let mut tape = Tape::begin(64 * GIB, 0, 8);
    tape.map(0, 20_000);
    for id in 1..40_000 {
        tape.malloc(id, id % 8, (id % 5000) * GRANULE, 512 << (id % 11), Source::Grow);
        tape.free(id, id % 8, (id % 5000) * GRANULE, 512 << (id % 11));
    }
    let model = Model::of(tape.records.iter().copied());
    let plain: usize = picture(&model, |_| {}).0.shapes.iter().map(Shape::primitives).sum();
    for by in By::ALL {
        let (scene, frame, _) = picture(&model, |view| view.stack = Some(by));
        let more = scene.shapes.iter().map(Shape::primitives).sum::<usize>().saturating_sub(plain);
        let most = (MOST_GROUPS + 1) * 3 * frame.chart.w as usize + 100;
        assert!(more <= most, "{by:?}: {more} more primitives");
    }
}

fn shades(view: &View, plain: Color) -> Vec<Color> {
    (0..3).map(|shade| view.theme.palette().varied(plain, shade)).collect()
}

/// Every block that is large enough to be drawn as it is has the colour of its class.
fn colored(model: &Model, axis: Axis, by: ColorBy, want: impl Fn(&View, &Life) -> Color) {
    let (scene, frame, view) = picture(model, |view| {
        (view.axis, view.color) = (axis, by);
        view.fit(model);
    });
    let (mut looked, mut different) = (0, Vec::new());
    for at in (0..model.lives.len() as u32).map(LifeIx) {
        let Some(rect) = frame.life_rect(model, &view, at).clip(&frame.map.area) else { continue };
        if rect.w < 30.0 || rect.h < 3.0 {
            continue;
        }
        let want = want(&view, model.life(at));
        // The smallest blocks of a rare class are painted larger than they are, over their neighbours.
        let places = [0.3, 0.5, 0.7, 0.9].map(|part| pos(rect.x + rect.w * part, rect.y + rect.h * 0.5));
        let right = places.iter().filter(|place| shades(&view, want).contains(&seen(&scene, **place))).count();
        assert!(right >= 3, "#{} {by:?} over {axis:?}: {want:?}", model.life(at).id);
        looked += 1;
        if !different.contains(&want) {
            different.push(want);
        }
    }
    assert!(looked > 20 && different.len() > 1, "{looked} looked at, {} colours", different.len());
}

#[test]
fn blocks_are_coloured_by_what_was_asked_for() {
    let model = Model::of(labelled(5, 9));
    colored(&model, Axis::Record, ColorBy::Stream, |view, life| {
        view.theme.palette().stream(model.stream(life.stream).rank)
    });
    colored(&model, Axis::Record, ColorBy::Source, |view, life| {
        view.theme.palette().stream(life.source.unwrap() as usize)
    });
    let groups = model.groups(weir_viz::model::PoolIx(0), By::Label);
    colored(&model, Axis::Record, ColorBy::Label, |view, life| {
        let name = model.name(life.name);
        match groups.all().iter().take(MOST_GROUPS).position(|group| group.name == name) {
            Some(rank) => view.theme.palette().stream(rank),
            None => view.theme.palette().other,
        }
    });
}

#[test]
fn ages_are_steps_of_ten_in_records_or_in_time() {
    let model = Model::of(labelled(5, 9));
    colored(&model, Axis::Record, ColorBy::Age, |view, life| {
        let end = life.died().map_or(model.events.len() as u64, |died| u64::from(died.0));
        let length = end - u64::from(life.since().0);
        view.theme.palette().age((length.max(1).ilog10() as usize).min(5))
    });
    colored(&model, Axis::Time, ColorBy::Age, |view, life| {
        let end = match life.died() {
            Some(died) => model.events.time(died),
            None => model.events.time(EventIx(0)) + model.events.extent(Axis::Time),
        };
        let micros = (end - model.events.time(life.since())) / 1000;
        view.theme.palette().age((micros.max(1).ilog10() as usize).min(5))
    });
}

#[test]
fn the_legend_names_what_the_colours_mean() {
    let model = Model::of(labelled(5, 9));
    let texts = |set: &dyn Fn(&mut View)| -> Vec<String> {
        let shapes = picture(&model, |view| set(view)).0.shapes;
        shapes.into_iter().filter_map(|s| if let Shape::Text(text) = s { Some(text.text) } else { None }).collect()
    };
    for (by, name) in [
        (ColorBy::Stream, "stream 2"),
        (ColorBy::Label, "2 others"),
        (ColorBy::Age, "lived < 10 records"),
        (ColorBy::Source, "same stream"),
    ] {
        let with = texts(&|view| view.color = by);
        let times = |list: &[String]| list.iter().filter(|text| *text == name).count();
        let without = texts(&|view| view.color = if by == ColorBy::Stream { ColorBy::Age } else { ColorBy::Stream });
        assert_eq!(times(&with), times(&without) + 1, "{name}");
    }
    let stacked = texts(&|view| view.stack = Some(By::Size));
    assert!(stacked.contains(&"by size".to_owned()) && stacked.contains(&"up to 1 MiB".to_owned()));
}

/// A block of another label, and one of another source, among 80,000 of the same stream that come summed up.
#[test]
fn one_block_of_another_colour_is_seen_zoomed_out() {
    let mut tape = Tape::begin(64 * GIB, 0, 1);
    tape.push(Record::LabelDef { label: LabelId(1), name: "rare" });
    tape.map(0, 64);
    tape.malloc(1, 0, 0, 32 * GRANULE, Source::Grow);
    for id in 2..80_000 {
        let odd = id == 12_345;
        let size = if odd { 512 } else { 64 * 1024 };
        tape.malloc(id, 0, 32 * GRANULE, size, if odd { Source::Settled } else { Source::SameStream });
        if odd && let Some(Stamped { record: Record::Malloc { label, .. }, .. }) = tape.records.last_mut() {
            *label = LabelId(1);
        }
        tape.free(id, 0, 32 * GRANULE, size);
    }
    let model = Model::of(tape.records.iter().copied());
    for (by, class) in [(ColorBy::Label, 1), (ColorBy::Source, Source::Settled as usize)] {
        let (scene, frame, view) = picture(&model, |view| view.color = by);
        let color = view.theme.palette().stream(class);
        let born = model.life(model.life_of_id(12_345).unwrap()).born().unwrap();
        let x = frame.map.x.pixel(f64::from(born.0));
        let near = |shape: &Shape| match shape {
            Shape::Rects { fill, rects } => {
                *fill == color && rects.iter().any(|r| frame.map.area.contains(pos(r.x, r.y)) && (r.x - x).abs() < 6.0)
            }
            _ => false,
        };
        assert!(scene.shapes.iter().any(near), "{by:?}");
    }
}
