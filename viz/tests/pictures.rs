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
    let model = Model::of([]);
    let scene =
        scene::build(&model, &View { title: "there is no such file".to_owned(), ..View::whole(&model, SIZE) }).0;
    let pixels = Pixmap::decode_png(&png::write(&scene, 1.0).unwrap()).unwrap();
    let dark = pixels.pixels().iter().filter(|p| p.red() < 120).count();
    assert!(dark > 300, "only {dark} dark pixels");
}

#[test]
fn impossible_sizes_are_refused() {
    let model = Model::of([]);
    let scene = scene::build(&model, &View::whole(&model, Size { w: 9000.0, h: 360.0 })).0;
    let error = png::write(&scene, 4.0).unwrap_err();
    assert!(error.to_string().contains("36000x1440"), "{error}");
}

#[test]
fn an_empty_model_has_a_picture_too() {
    let model = Model::of([]);
    let (scene, frame, view) = picture(&model, |v| v.parts = Parts::WithList);
    assert!(scene::hover(&model, &view, &frame, scene::pos(500.0, 400.0)).is_empty());
    assert!(!svg::write(&scene).is_empty());
}

/// Whose colour is on each device pixel of the map at two to a point: rectangles are painted one after another.
fn colors_in_map(scene: &Scene, area: Rect) -> std::collections::BTreeSet<Color> {
    let (columns, rows) = ((area.w * 2.0) as usize, (area.h * 2.0) as usize);
    let mut pixels = vec![None; columns * rows];
    for shape in &scene.shapes {
        let Shape::Rects { fill, rects } = shape else { continue };
        for rect in rects.iter().filter_map(|r| r.clip(&area)) {
            let first = |at: f32| (at * 2.0 - 0.5).ceil().max(0.0) as usize;
            let (x0, x1) = (first(rect.x - area.x), first(rect.right() - area.x).min(columns));
            for row in first(rect.y - area.y)..first(rect.bottom() - area.y).min(rows) {
                pixels[row * columns + x0.min(x1)..row * columns + x1].fill(Some(*fill));
            }
        }
    }
    pixels.into_iter().flatten().collect()
}

/// Every colour that the stream of this rank has in the map.
fn colors_of(rank: usize) -> Vec<Color> {
    let palette = Theme::Light.palette();
    let summed = (1..=4).map(|level| palette.free.mix(palette.stream(rank), 100 + level * 36));
    summed.chain((0..3).map(|s| palette.shade(rank, s))).collect()
}

/// Most allocations are the first stream's; those of the others are few or many, short or long.
fn crowded(seed: u64, count: u64) -> Model {
    let mut random = Random(seed);
    let mut tape = Tape::begin(64 * GIB, 0, 6);
    tape.map(0, 2048);
    let mut live: Vec<(u64, u64, u64)> = Vec::new();
    let same = seed % 4 > 1;
    let mut rare = [1, 2, 5].map(|others| if same { others } else { others * count / 200 });
    for id in 1..=count {
        let size = 512 * (1 + random.below(if id % 3 == 0 { 40_000 } else { 900 }));
        let mut at = random.below((4 * GIB - size) / 512) * 512;
        let mut size = size;
        if same {
            // Everybody at the same few addresses, one after another: many to a pixel.
            (at, size) = (random.below(2) * 640 * GRANULE, 60 * GRANULE);
        }
        let kind = random.below(3) as usize;
        let on = match random.below(30) {
            0 if rare[kind] > 0 => {
                rare[kind] -= 1;
                1 + kind as u64
            }
            1..10 => 4,
            _ => 0,
        };
        if live.iter().all(|l| l.1 + l.2 <= at || l.1 >= at + size) {
            tape.malloc(id, on, at, size, Source::Settled);
            live.push((id, at, size));
        }
        while live.len() > if same { 0 } else { 12 } || (on > 0 && random.below(4) > 0 && !live.is_empty()) {
            let (id, at, size) = live.swap_remove(random.below(live.len() as u64) as usize);
            tape.free(id, 0, at, size);
        }
    }
    Model::of(tape.records.iter().copied())
}

#[test]
fn no_stream_with_an_allocation_in_view_is_without_its_colour() {
    let mut rare = 0;
    for seed in 0..24 {
        let model = crowded(seed, 400 + seed * if seed % 4 > 1 { 500 } else { 90 });
        let mut random = Random(seed + 500);
        let (scene, frame, view) = picture(&model, |v| {
            v.size = Size { w: 480.0 + random.below(700) as f32, h: 360.0 + random.below(300) as f32 };
            if seed % 2 == 1 {
                let (x, y) = (v.x.to, v.y.to);
                v.x = scene::Range { from: x * 0.3, to: x * (0.35 + random.below(60) as f64 / 100.0) };
                v.y = scene::Range { from: y * 0.2, to: y * (0.25 + random.below(70) as f64 / 100.0) };
            }
        });
        let area = frame.map.area;
        let shown = colors_in_map(&scene, area);
        for (stream, found) in model.streams.iter().map(|s| (s, colors_of(s.rank))) {
            let lives = model.pools[0].lives.iter().filter(|l| model.stream(model.life(**l).stream).id == stream.id);
            let in_view = lives.filter(|l| frame.life_rect(&model, &view, **l).clip(&area).is_some()).count();
            rare += usize::from((1..20).contains(&in_view));
            assert!(
                in_view == 0 || found.iter().any(|c| shown.contains(c)),
                "seed {seed}: {in_view} allocations of stream {} in view",
                stream.rank
            );
        }
    }
    assert!(rare > 24, "only {rare} times was a stream rare");
}

/// As in a training run: copies and buckets that live for three records among thousands of others.
#[test]
fn each_allocation_of_a_rare_stream_is_seen() {
    let mut tape = Tape::begin(64 * GIB, 0, 3);
    tape.map(0, 512);
    let mut id = 0;
    for round in 0..20_u64 {
        for _ in 0..600 {
            id += 1;
            tape.malloc(id, 0, id % 97 * 4 * GRANULE, 3 * GRANULE, Source::SameStream);
            tape.free(id, 0, id % 97 * 4 * GRANULE, 3 * GRANULE);
        }
        id += 1;
        tape.malloc(id, 1, (round * 4 + 3) * GRANULE, GRANULE, Source::Settled);
        tape.free(id, 0, (round * 4 + 3) * GRANULE, GRANULE);
    }
    let model = Model::of(tape.records.iter().copied());
    let (scene, frame, view) = picture(&model, |_| {});
    let color = Theme::Light.palette().stream(1);
    let rects: Vec<Rect> = scene
        .shapes
        .iter()
        .filter_map(|s| match s {
            Shape::Rects { fill, rects } if *fill == color => Some(rects.clone()),
            _ => None,
        })
        .flatten()
        .collect();
    for life in model.lives.iter().enumerate().filter(|l| model.stream(l.1.stream).rank == 1).map(|l| l.0) {
        let at = frame.life_rect(&model, &view, LifeIx(life as u32));
        let seen = rects.iter().any(|r| r.w >= 1.0 && r.h >= 1.0 && r.grown(0.1).clip(&at).is_some());
        assert!(seen, "allocation {life} at {at:?}");
    }
}

#[test]
fn missing_records_are_a_band_and_nothing_is_made_up_there() {
    let all = training(4, 6, 30);
    let missing = 700..1400;
    let kept = all.iter().copied().filter(|r| r.record.is_definition() || !missing.contains(&r.number));
    let model = Model::of(kept);
    assert!(model.oddities.is_empty(), "{:?}", model.oddities);
    for axis in [Axis::Record, Axis::Time] {
        let (scene, frame, _) = picture(&model, |v| {
            v.axis = axis;
            v.fit(&model);
        });
        let x = &frame.map.x;
        let notice = Theme::Light.palette().notice;
        let last = EventIx(model.gaps[0].event.0 - 1);
        let from = model.events.position(axis, last) as f64 + if axis == Axis::Record { 1.0 } else { 0.0 };
        let to = model.events.position(axis, model.gaps[0].event) as f64;
        for panel in [frame.chart, frame.strip, frame.map.area] {
            let band = Rect::between(x.pixel(from), panel.y, x.pixel(to), panel.bottom());
            let is_band = |s: &Shape| matches!(s, Shape::Rects { fill, rects } if *fill == notice && rects[0] == band);
            let at = scene.shapes.iter().position(is_band).expect("a band over the panel");
            let later = &scene.shapes[at + 1..];
            // The ground of the peak's label is as high as a line of text.
            let label = |r: &Rect| panel == frame.chart && r.h <= 14.0;
            let covered = later.iter().any(|s| match s {
                Shape::Rects { rects, .. } => rects.iter().any(|r| !label(r) && r.clip(&band).is_some()),
                Shape::Area { .. } => true,
                _ => false,
            });
            assert!(!covered, "{axis:?}: something is painted over it");
        }
        let texts: Vec<&str> = texts(&scene).map(|t| t.text.as_str()).collect();
        assert!(texts.contains(&"700 records lost"), "{texts:?}");
    }
}

fn texts(scene: &Scene) -> impl Iterator<Item = &scene::Text> {
    scene.shapes.iter().filter_map(|s| match s {
        Shape::Text(text) => Some(text),
        _ => None,
    })
}

#[test]
fn the_x_axis_has_numbers_at_every_zoom() {
    let model = Model::of(training(2, 6, 40));
    let extent = model.events.extent(Axis::Record) as f64;
    for (from, length) in [(0.0, extent), (100.0, 8.0), (100.4, 8.0), (333.3, 4.0), (17.0, 13.0), (250.0, 60.0)] {
        let (scene, frame, _) = picture(&model, |v| v.x = scene::Range { from, to: from + length });
        let below = frame.map.area.bottom() + 17.0;
        let numbers: Vec<(f64, f32)> = texts(&scene)
            .filter(|t| t.at.y == below && t.at.x > frame.map.area.x - 1.0)
            .map(|t| (t.text.replace(',', "").parse().expect("a record's number"), t.at.x))
            .collect();
        assert!(numbers.len() >= 2, "{from} {length}: {numbers:?}");
        for (number, x) in numbers {
            assert!((frame.map.x.pixel(number) - x).abs() < 0.01, "{number} at {x}");
        }
    }
}

/// Texts stay where they belong, down to the smallest picture.
#[test]
fn small_pictures_have_no_texts_over_each_other() {
    let model = Model::of(training(2, 6, 40));
    let mut sizes =
        vec![(480.0, 360.0), (500.0, 400.0), (640.0, 400.0), (799.0, 500.0), (800.0, 500.0), (1000.0, 700.0)];
    sizes.extend((0..40).map(|i| (480.0 + i as f32 * 13.0, 360.0 + i as f32 * 7.0)));
    for (w, h) in sizes {
        for parts in [Parts::Panels, Parts::WithList] {
            let (scene, frame, _) = picture(&model, |v| {
                v.size = Size { w, h };
                v.parts = parts;
                v.title = "a name that is rather long for a picture of so little width".repeat(3);
            });
            let right = frame.list.map_or(w, |l| l.x);
            for text in texts(&scene) {
                let wide = weir_viz::font::width(&text.text, text.size);
                let left = match text.anchor {
                    scene::Anchor::Start => text.at.x,
                    scene::Anchor::Middle => text.at.x - wide / 2.0,
                    scene::Anchor::End => text.at.x - wide,
                };
                assert!(left >= 0.0 && left + wide <= w, "{w}x{h}: {text:?} is {wide} wide");
                assert!(left >= right || left + wide <= right, "{w}x{h}: {text:?} runs under the list");
                if text.text.starts_with("peak ") && !text.text.contains('·') {
                    assert!(left >= frame.chart.x && left + wide <= frame.chart.right(), "{w}x{h}: {text:?}");
                }
            }
            for pair in lines_of_legend(&scene).windows(2) {
                assert!(pair[0].1 <= pair[1].0, "{w}x{h}: {pair:?}");
            }
        }
    }
}

/// Left and right of the legend's texts.
fn lines_of_legend(scene: &Scene) -> Vec<(f32, f32)> {
    let of_legend = texts(scene).filter(|t| t.size == 12.0 && t.at.y == 78.0);
    of_legend.map(|t| (t.at.x, t.at.x + weir_viz::font::width(&t.text, t.size))).collect()
}
