//! Pictures of logs: nothing is lost in them, they are bounded, and the same log gives the same bytes.

mod common;

use common::{GRANULE, Random, Tape, training};
use tiny_skia::Pixmap;
use weir::id::LabelId;
use weir::trace::{Record, Source, Stamped};
use weir::units::GIB;
use weir_viz::model::{Axis, EventIx, LifeIx, Model};
use weir_viz::scene::{self, Color, Frame, Parts, Rect, Scene, Selection, Shape, Size, Theme, View};
use weir_viz::{png, svg};

const SIZE: Size = Size { w: 1000.0, h: 700.0 };

fn picture(model: &Model, change: impl FnOnce(&mut View)) -> (Scene, Frame, View) {
    let mut view = View::whole(model, SIZE);
    change(&mut view);
    let (scene, frame) = scene::build(model, &view);
    (scene, frame, view)
}

/// The level of an area of this colour over a pixel.
fn level(scene: &Scene, fill: Color, x: f32) -> Option<f32> {
    let mut areas = scene.shapes.iter().filter_map(|s| match s {
        Shape::Area { fill: f, points, .. } if *f == fill => Some(points),
        _ => None,
    });
    let points = areas.next_back()?;
    let pair = points.windows(2).find(|p| p[0].x <= x && x < p[1].x)?;
    Some(pair[0].y)
}

/// Used bytes after each record, recounted.
fn used(records: &[Stamped<'_>]) -> Vec<u64> {
    let mut now = 0;
    let mut all = Vec::new();
    for stamped in records {
        match stamped.record {
            Record::Malloc { given, .. } => now += given.0,
            Record::Free { given, .. } => now -= given.0,
            Record::DeviceDef { .. } | Record::StreamDef { .. } | Record::PoolDef { .. } => continue,
            _ => {}
        }
        all.push(now);
    }
    all
}

/// Random sizes, most of them small, a few spikes of one record.
fn spiky(seed: u64, count: u64) -> Vec<Stamped<'static>> {
    let mut random = Random(seed);
    let mut tape = Tape::begin(64 * GIB, 0, 2);
    tape.map(0, 4096);
    for id in 1..=count {
        let spike = random.below(count / 5) == 0;
        let size = if spike { 2 * GIB } else { 512 * (1 + random.below(64)) };
        tape.time += random.below(1000);
        tape.malloc(id, id % 2, if spike { 4 * GIB } else { 0 }, size, Source::Settled);
        tape.time += 1;
        tape.free(id, id % 2, if spike { 4 * GIB } else { 0 }, size);
    }
    tape.records
}

#[test]
fn each_column_of_the_chart_shows_the_largest_value_in_it() {
    let fill = Theme::Light.palette().used.fade(110);
    for (seed, axis) in [(1, Axis::Record), (2, Axis::Time), (3, Axis::Record)] {
        let records = spiky(seed, 20_000);
        let model = Model::of(records.iter().copied());
        let all = used(&records);
        let (scene, frame, view) = picture(&model, |v| {
            v.axis = axis;
            v.fit(&model);
        });
        // The axis as the picture's own labels have it: zero at the bottom, the peak's ring at the peak.
        let peak = *all.iter().max().unwrap() as f64;
        let y_peak = (0..frame.chart.w as usize)
            .filter_map(|c| level(&scene, fill, frame.chart.x + c as f32 + 0.5))
            .fold(f32::INFINITY, f32::min);
        let per_byte = f64::from(frame.chart.bottom() - y_peak) / peak;
        let place = |i: usize| frame.map.x.pixel(model.events.position(view.axis, EventIx(i as u32)) as f64);
        let mut largest = vec![0_u64; frame.chart.w as usize];
        for (i, value) in all.iter().enumerate() {
            // What held just before the record ends in its column, and what it made begins there.
            let column = ((place(i) - frame.chart.x).max(0.0) as usize).min(largest.len() - 1);
            let before = if i == 0 { 0 } else { all[i - 1] };
            largest[column] = largest[column].max(*value).max(before);
        }
        let mut spikes = 0;
        for (column, want) in largest.iter().enumerate() {
            let x = frame.chart.x + column as f32 + 0.5;
            let shown = f64::from(frame.chart.bottom() - level(&scene, fill, x).unwrap()) / per_byte;
            assert!(shown >= *want as f64 - peak * 1e-4, "column {column}: {shown} shown, {want} there");
            spikes += usize::from(*want > GIB);
        }
        assert!((2..40).contains(&spikes), "{spikes} columns with a spike");
    }
}

/// One allocation of one record among 100,000 changes pixels of the full view.
#[test]
fn a_single_short_allocation_is_visible_zoomed_out() {
    let log = |with: bool| {
        let mut tape = Tape::begin(64 * GIB, 0, 2);
        tape.map(0, 1024);
        for id in 1..50_000 {
            let odd = with && id == 31_234;
            let (at, size) = if odd { (1024 * GRANULE / 2, 512) } else { (0, 512 * 1024) };
            tape.malloc(id, u64::from(odd), at, size, Source::Grow);
            tape.free(id, 0, at, size);
        }
        Model::of(tape.records.iter().copied())
    };
    let (with, without) = (log(true), log(false));
    let render = |model: &Model| Pixmap::decode_png(&png::write(&picture(model, |_| {}).0, 1.0).unwrap()).unwrap();
    let (a, b) = (render(&with), render(&without));
    let (_, frame, view) = picture(&with, |_| {});
    let life = with.life_of_id(31_234).unwrap();
    let at = frame.life_rect(&with, &view, life);
    let pixel = |p: &Pixmap| p.pixel(at.x as u32, at.y as u32).unwrap();
    assert_ne!(pixel(&a), pixel(&b), "at {at:?}");
}

#[test]
fn the_same_log_gives_the_same_bytes() {
    let draw = || {
        let model = Model::of(training(4, 6, 30));
        let (scene, ..) = picture(&model, |v| {
            v.parts = Parts::WithList;
            v.selection = Selection::Life(LifeIx(300));
        });
        (svg::write(&scene), png::write(&scene, 1.0).unwrap())
    };
    let (first, second) = (draw(), draw());
    assert!(first == second);
}

#[test]
fn a_picture_of_many_allocations_is_bounded() {
    let model = Model::of(training(9, 180, 40));
    assert!(model.lives.len() > 35_000);
    for axis in [Axis::Record, Axis::Time] {
        let (scene, ..) = picture(&model, |v| {
            v.size = Size { w: 1600.0, h: 1000.0 };
            v.parts = Parts::WithList;
            v.axis = axis;
            v.fit(&model);
        });
        let text = svg::write(&scene);
        assert!(text.len() < 3_000_000, "{} bytes", text.len());
        let primitives: usize = scene.shapes.iter().map(Shape::primitives).sum();
        assert!(primitives < 90_000, "{primitives}");
    }
}

#[test]
fn an_allocation_has_its_streams_colour_where_it_lies() {
    let mut tape = Tape::begin(GIB, 0, 2);
    tape.map(0, 4);
    tape.malloc(1, 0, 0, 2 * GRANULE, Source::Grow);
    tape.malloc(2, 1, 2 * GRANULE, GRANULE, Source::Grow);
    for _ in 0..6 {
        tape.push(Record::Mark { label: LabelId::NONE, name: "" });
    }
    let model = Model::of(tape.records.iter().copied());
    for theme in [Theme::Light, Theme::Dark] {
        let (scene, frame, view) = picture(&model, |v| v.theme = theme);
        let pixels = Pixmap::decode_png(&png::write(&scene, 2.0).unwrap()).unwrap();
        assert_eq!((pixels.width(), pixels.height()), (2000, 1400));
        let color = |rect: Rect| {
            let (x, y) = (rect.x + rect.w * 0.45, rect.y + rect.h * 0.5);
            let pixel = pixels.pixel((x * 2.0) as u32, (y * 2.0) as u32).unwrap().demultiply();
            Color::hex(u32::from_be_bytes([0, pixel.red(), pixel.green(), pixel.blue()]))
        };
        let palette = theme.palette();
        for (life, rank) in [(0, 0), (1, 1)] {
            let found = color(frame.life_rect(&model, &view, LifeIx(life)));
            let shades: Vec<Color> = (0..3).map(|s| palette.shade(rank, s)).collect();
            assert!(shades.contains(&found), "{found:?} is not of stream {rank}");
        }
        let free = frame.map.pixels(7.0, 12.0, 3 * GRANULE, 4 * GRANULE);
        assert_eq!(color(free), palette.free, "mapped and free");
    }
}

#[test]
fn text_in_a_picture_is_drawn_without_system_fonts() {
    let scene = scene::message(SIZE, Theme::Light, "Cannot show x", &["there is no such file".to_owned()]);
    let pixels = Pixmap::decode_png(&png::write(&scene, 1.0).unwrap()).unwrap();
    let dark = pixels.pixels().iter().filter(|p| p.red() < 120).count();
    assert!(dark > 300, "only {dark} dark pixels");
}

#[test]
fn impossible_sizes_are_refused() {
    let scene = scene::message(Size { w: 9000.0, h: 300.0 }, Theme::Light, "x", &[]);
    let error = png::write(&scene, 4.0).unwrap_err();
    assert!(error.to_string().contains("36000x1200"), "{error}");
}

#[test]
fn an_empty_model_has_a_picture_too() {
    let model = Model::of([]);
    let (scene, frame, view) = picture(&model, |v| v.parts = Parts::WithList);
    assert!(scene::hover(&model, &view, &frame, scene::pos(500.0, 400.0)).is_empty());
    assert!(!svg::write(&scene).is_empty());
}
