//! The window, driven without one: egui runs, nothing is presented.

mod findings;
mod hover;
mod pointer;
mod scrolling;
mod session;

use crate::app::App;
use crate::bars::HEIGHT;
use crate::document::Document;
use crate::failure::Outcome;
use crate::loading::Loaded;
use crate::paint;
use crate::recent::Recent;
use eframe::egui::{self, Context, Event, Key, Modifiers, MouseWheelUnit, PointerButton, Pos2, RawInput, pos2, vec2};
use std::path::{Path, PathBuf};
use tempfile::{TempDir, tempdir};
use weir::id::{AllocId, DeviceId, LabelId, PoolId, StreamId};
use weir::policy::PoolConfig;
use weir::trace::{MapReason, Points, Record, Source, Stamped, text};
use weir::units::{Bytes, DevicePtr, MIB, Nanos, Seq};
use weir_viz::cli::{Picture, Sessions};
use weir_viz::font;
use weir_viz::model::{Axis, EventIx, FindingIx, LifeIx, Model};
use weir_viz::scene::{self, Frame, Selection, View};
use weir_viz::source::{self, Opened};

const SIZE: egui::Vec2 = vec2(1400.0, 900.0);

/// Forty allocations beside each other, each living for ten records.
pub(crate) fn log() -> Opened {
    let pool = PoolId::from_raw(1 << 32);
    let stream = StreamId::from_raw(1 << 32);
    let mut records = vec![
        Record::PoolDef { pool, base: DevicePtr(1 << 40), range: Bytes(1 << 32), config: PoolConfig::new(DeviceId(0)) },
        Record::PoolCreated { pool },
        Record::Mapped { pool, offset: Bytes(0), granules: 40, reason: MapReason::Grow },
    ];
    let at = |id: u64| Bytes((id - 1) * 2 * MIB);
    for step in 1..=50_u64 {
        if step <= 40 {
            records.push(Record::Malloc {
                pool,
                stream,
                seq: Seq(step),
                id: AllocId(step),
                asked: Bytes(2 * MIB),
                given: Bytes(2 * MIB),
                offset: at(step),
                source: Source::Grow,
                label: LabelId::NONE,
                points: Points::default(),
            });
        }
        if let Some(id) = step.checked_sub(10).filter(|id| *id > 0) {
            records.push(Record::Free {
                pool,
                stream,
                seq: Seq(step + 100),
                id: AllocId(id),
                offset: at(id),
                given: Bytes(2 * MIB),
            });
        }
    }
    let stamped = records.into_iter().enumerate().map(|(i, record)| Stamped {
        number: (i as u64).saturating_sub(1),
        time: Nanos(i as u64 * 1000),
        record,
    });
    let origin = weir_viz::origin::Origin::default();
    Opened { name: "test.log".to_owned(), model: Model::of(stamped), origin, damages: Vec::new(), damaged: 0 }
}

/// A window on a log, not checked yet.
pub(crate) fn app(opened: Opened, bytes: Vec<u8>, file: &Path, picture: &Picture) -> App {
    let document = Document::new(Loaded { opened, bytes }, file.to_owned(), picture.clone()).unwrap();
    App::with(document, Recent::default())
}

/// A window that nobody sees.
struct Window {
    context: Context,
    app: App,
    time: f64,
    size: egui::Vec2,
}

impl Window {
    fn new(app: App) -> Self {
        let mut window = Self { context: Context::default(), app, time: 0.0, size: SIZE };
        // The first frame lays out, the second knows where things are.
        window.frame(Vec::new());
        window.frame(Vec::new());
        window
    }

    fn open() -> Self {
        Self::new(app(log(), Vec::new(), Path::new("test.log"), &Picture::default()))
    }

    /// On a log in which three allocations are used after their free, once it was checked.
    fn checked(picture: &Picture) -> Self {
        let opened = log();
        let mut lines = format!("{}\n", text::HEADER);
        for event in (0..opened.model.events.len() as u32).map(EventIx) {
            text::write(&opened.model.record(event), &mut lines).unwrap();
            lines.push('\n');
        }
        for id in 1..4 {
            let (number, seq) = (opened.model.events.len() + id - 1, 300 + id);
            lines.push_str(&format!(
                "number={number} time=200000 record=use pool=0 stream=0 seq={seq} id={id} until=now\n"
            ));
        }
        let opened = source::read("used.log", lines.as_bytes()).unwrap();
        let mut window = Self::new(app(opened, lines.into_bytes(), Path::new("used.log"), picture));
        assert!(window.frame(Vec::new()).iter().any(|text| text == "checking ..."));
        let context = window.context.clone();
        let document = window.app.document_mut().unwrap();
        document.start_check(&context);
        document.check.wait();
        window.frame(Vec::new());
        window
    }

    /// One frame with these events; answers the texts that it shows.
    fn frame(&mut self, events: Vec<Event>) -> Vec<String> {
        self.time += 0.05;
        let output = self.output(events);
        let texts = output.shapes.into_iter().filter_map(|s| match s.shape {
            egui::Shape::Text(text) => Some(text.galley.text().to_owned()),
            _ => None,
        });
        texts.collect()
    }

    /// One frame, now.
    fn output(&mut self, events: Vec<Event>) -> egui::FullOutput {
        let input = RawInput {
            screen_rect: Some(egui::Rect::from_min_size(Pos2::ZERO, self.size)),
            time: Some(self.time),
            events,
            focused: true,
            ..RawInput::default()
        };
        let mut output = self.context.run_ui(input, |ui| self.app.show(ui));
        // Nobody uploads textures here.
        output.textures_delta.clear();
        output
    }

    /// The frames that the window asks for while nobody touches anything, as long as it asks for any.
    fn idle(&mut self) {
        for _ in 0..100 {
            let output = self.output(Vec::new());
            let wait = output.viewport_output[&egui::ViewportId::ROOT].repaint_delay.as_secs_f64();
            if wait > 60.0 {
                return;
            }
            self.time += wait.max(0.001);
        }
        panic!("it never rests");
    }

    fn view(&self) -> &View {
        &self.app.document().unwrap().view
    }

    fn model(&self) -> &Model {
        self.app.document().unwrap().model()
    }

    fn layout(&self) -> Frame {
        scene::build(self.model(), self.view()).1
    }

    fn click(&mut self, at: Pos2) -> Vec<String> {
        self.frame(vec![Event::PointerMoved(at)]);
        self.frame(vec![press(at, true)]);
        self.frame(vec![press(at, false)])
    }

    fn key(&mut self, key: Key) -> Vec<String> {
        self.key_with(Modifiers::NONE, key)
    }

    fn key_with(&mut self, modifiers: Modifiers, key: Key) -> Vec<String> {
        self.frame(vec![Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers }])
    }

    /// Turns the wheel by so many points over a place. Answers the texts that are shown then.
    fn wheel(&mut self, at: Pos2, by: f32) -> Vec<String> {
        self.frame(vec![Event::PointerMoved(at)]);
        self.frame(vec![Event::MouseWheel {
            unit: MouseWheelUnit::Point,
            delta: vec2(0.0, by),
            phase: egui::TouchPhase::Move,
            source: egui::MouseWheelSource::Unknown,
            modifiers: Modifiers::NONE,
        }]);
        for _ in 0..20 {
            self.frame(Vec::new());
        }
        self.frame(Vec::new())
    }
}

fn press(at: Pos2, pressed: bool) -> Event {
    Event::PointerButton { pos: at, button: PointerButton::Primary, pressed, modifiers: Modifiers::NONE }
}

fn middle_of(window: &Window, life: u32) -> Pos2 {
    let rect = window.layout().life_rect(window.model(), window.view(), LifeIx(life));
    pos2(rect.x + rect.w / 2.0, rect.y + rect.h / 2.0)
}

#[test]
fn the_picture_fills_the_window_above_the_bar() {
    let window = Window::open();
    let size = window.view().size;
    assert_eq!((size.w, size.h), (SIZE.x, SIZE.y - HEIGHT));
}

#[test]
fn keys_switch_axis_theme_and_step() {
    let mut window = Window::open();
    window.key(Key::T);
    assert_eq!(window.view().axis, Axis::Time);
    let theme = window.view().theme;
    window.key(Key::L);
    assert_eq!(window.view().theme, theme.other());
    window.key(Key::ArrowDown);
    assert!(window.view().selected_event(window.model()).is_some());
}

/// The scene measures with the font that the window draws with.
#[test]
fn texts_are_as_wide_as_the_scene_takes_them() {
    let window = Window::open();
    for text in ["Records", "allocation 4,711 of stream 3", "0x7f000035fa00 (+3.37 MiB)"] {
        let galley = window.context.fonts_mut(|f| {
            f.layout_no_wrap(text.to_owned(), egui::FontId::proportional(12.0), paint::color(scene::Color::hex(0)))
        });
        let (drawn, measured) = (galley.size().x, font::width(text, 12.0));
        assert!((drawn - measured).abs() < measured * 0.06, "{text}: {drawn} drawn, {measured} measured");
    }
}
