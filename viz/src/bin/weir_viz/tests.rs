//! The window, driven without one: egui runs, nothing is presented.

use crate::app::App;
use crate::bars::HEIGHT;
use crate::document::Document;
use crate::failure::Outcome;
use crate::loading::Loaded;
use crate::paint;
use crate::recent::Recent;
use eframe::egui::{self, Context, Event, Key, Modifiers, MouseWheelUnit, PointerButton, Pos2, RawInput, pos2, vec2};
use std::path::{Path, PathBuf};
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
fn a_click_selects_and_escape_clears() {
    let mut window = Window::open();
    for life in [0, 17, 39] {
        let at = middle_of(&window, life);
        let texts = window.click(at);
        assert_eq!(window.view().selection, Selection::Life(LifeIx(life)));
        let id = format!("#{}", life + 1);
        assert!(texts.contains(&id), "the details name it: {texts:?}");
        window.key(Key::Escape);
        assert_eq!(window.view().selection, Selection::Nothing);
    }
}

#[test]
fn a_click_on_a_row_selects_its_allocation() {
    let mut window = Window::open();
    let list = window.layout().list.unwrap();
    window.click(pos2(list.x + 30.0, list.y + 2.5 * scene::ROW));
    assert_eq!(window.view().selection, Selection::Life(LifeIx(0)), "record 2 is the first malloc");
}

#[test]
fn the_wheel_zooms_at_the_pointer() {
    let mut window = Window::open();
    let before = window.layout();
    let at = pos2(before.map.area.x + 300.0, before.map.area.y + 100.0);
    let value = before.map.x.value(at.x);
    window.wheel(at, 120.0);
    let after = window.layout();
    assert!(after.map.x.per_pixel() < before.map.x.per_pixel() * 0.9, "zoomed in");
    assert!((after.map.x.value(at.x) - value).abs() < 0.01, "{} was {value}", after.map.x.value(at.x));
}

#[test]
fn the_wheel_and_keys_scroll_the_details_and_the_free_blocks() {
    let mut window = Window::open();
    window.size = vec2(900.0, 460.0);
    window.frame(Vec::new());
    window.key(Key::Num4);
    let has = |texts: &[String], part: &str| texts.iter().any(|text| text.contains(part));
    let area = window.layout().map.area;
    let at = pos2(area.x + 50.0, area.bottom() - 20.0);
    window.app.document_mut().unwrap().view.selection = Selection::Event(EventIx(81));
    let texts = window.frame(vec![Event::PointerMoved(at)]);
    assert!(has(&texts, "was #1, ") && !has(&texts, "was #40, "), "{texts:?}");
    let texts = window.wheel(at, -2000.0);
    assert!(!has(&texts, "was #1, ") && has(&texts, "was #40, "), "{texts:?}");
    window.key_with(Modifiers::COMMAND, Key::PageUp);
    for _ in 0..5 {
        window.key_with(Modifiers::COMMAND, Key::PageUp);
    }
    let texts = window.frame(Vec::new());
    assert!(has(&texts, "was #1, "), "{texts:?}");
    let details = window.layout().details.unwrap();
    let top = pos2(details.x + 20.0, details.y + 20.0);
    window.app.document_mut().unwrap().view.selection = Selection::Life(LifeIx(20));
    let texts = window.frame(Vec::new());
    assert!(has(&texts, "allocation") && !has(&texts, "went to"), "{texts:?}");
    let texts = window.wheel(top, -2000.0);
    assert!(has(&texts, "went to"), "{texts:?}");
    let first = window.view().top;
    for _ in 0..4 {
        window.key_with(Modifiers::SHIFT, Key::PageUp);
    }
    let texts = window.frame(Vec::new());
    assert!(!has(&texts, "went to"), "{texts:?}");
    assert_eq!(window.view().top, first, "the list of records is another one");
}

#[test]
fn a_wheel_that_turns_by_less_than_a_row_scrolls_in_the_end() {
    let mut window = Window::open();
    window.size = vec2(900.0, 460.0);
    window.frame(Vec::new());
    let list = window.layout().list.unwrap();
    let at = pos2(list.x + 20.0, list.y + 20.0);
    for _ in 0..9 {
        window.wheel(at, -scene::ROW / 2.0);
    }
    assert_eq!(window.view().top, 4);
    for _ in 0..9 {
        window.wheel(at, scene::ROW / 2.0);
    }
    assert_eq!(window.view().top, 0);
}

#[test]
fn dragging_pans_and_a_double_click_shows_all() {
    let mut window = Window::open();
    let whole = window.view().x;
    for _ in 0..4 {
        window.key(Key::W);
    }
    let zoomed = window.view().x;
    assert!(zoomed.to - zoomed.from < (whole.to - whole.from) * 0.5);
    let area = window.layout().map.area;
    let from = pos2(area.x + 400.0, area.y + 50.0);
    window.frame(vec![Event::PointerMoved(from)]);
    window.frame(vec![press(from, true)]);
    window.frame(vec![Event::PointerMoved(from + vec2(80.0, 0.0))]);
    window.frame(vec![press(from + vec2(80.0, 0.0), false)]);
    let moved = zoomed.from - window.view().x.from;
    let want = 80.0 * window.layout().map.x.per_pixel();
    assert!((moved - want).abs() < want * 0.05, "moved {moved}, wanted {want}");
    let at = pos2(area.x + 200.0, area.y + 20.0);
    let twice = vec![Event::PointerMoved(at), press(at, true), press(at, false), press(at, true), press(at, false)];
    window.frame(twice);
    window.frame(Vec::new());
    assert_eq!(window.view().x, whole);
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

#[test]
fn hovering_tells_what_is_there() {
    let mut window = Window::open();
    let at = middle_of(&window, 20);
    let texts = window.frame(vec![Event::PointerMoved(at)]);
    assert!(texts.iter().any(|t| t.starts_with("#21  2 MiB")), "{texts:?}");
}

#[test]
fn nothing_is_told_beside_a_dialog() {
    let mut window = Window::open();
    let at = middle_of(&window, 2);
    let tells = |texts: &[String]| texts.iter().any(|text| text.starts_with("#3  2 MiB"));
    assert!(tells(&window.frame(vec![Event::PointerMoved(at)])));
    for key in [Key::Questionmark, Key::O] {
        window.key(key);
        assert!(!tells(&window.frame(Vec::new())), "{key:?}");
        window.key(Key::Escape);
        assert!(tells(&window.frame(Vec::new())), "it is told again");
    }
}

#[test]
fn what_is_told_of_the_map_does_not_cover_the_list() {
    let window = Window::open();
    let (frame, model, view) = (window.layout(), window.model(), window.view());
    let area = frame.map.area;
    for x in [area.x + 2.0, area.x + area.w / 2.0, area.right() - 2.0] {
        let shapes = scene::hover(model, view, &frame, scene::pos(x, area.y + 40.0));
        let rects = shapes.iter().filter_map(|shape| match shape {
            scene::Shape::Rects { rects, .. } => Some(rects),
            _ => None,
        });
        let rects: Vec<&scene::Rect> = rects.flatten().collect();
        assert!(!rects.is_empty());
        for rect in rects {
            assert!(rect.x >= 0.0 && rect.right() < frame.list.unwrap().x, "{rect:?}");
        }
    }
}

#[test]
fn what_the_check_finds_comes_into_the_window_and_keys_lead_there() {
    let mut window = Window::checked(&Picture::default());
    let texts = window.frame(Vec::new());
    let found = window.model().findings.flags().len();
    assert!(found > 0 && texts.contains(&format!("checked: {found} found")), "{texts:?}");
    assert!(texts.contains(&format!("{found} findings")), "the picture was drawn anew: {texts:?}");
    window.key(Key::N);
    assert_eq!(window.view().selection, Selection::Finding(FindingIx(0)));
    window.key(Key::N);
    assert_eq!(window.view().selection, Selection::Finding(FindingIx(1)));
    let list = window.layout().findings.unwrap();
    window.click(pos2(list.x + 30.0, list.y + 0.5 * scene::ROW));
    assert_eq!(window.view().selection, Selection::Finding(FindingIx(0)));
}

#[test]
fn the_window_goes_to_the_finding_that_is_asked_for() {
    let window = Window::checked(&Picture { finding: Some(2), ..Picture::default() });
    assert_eq!(window.view().selection, Selection::Finding(FindingIx(1)));
    let window = Window::checked(&Picture { finding: Some(99), ..Picture::default() });
    assert!(window.view().notices.iter().any(|n| n.starts_with("there is no finding 99")));
}

#[test]
fn a_failure_is_told_in_the_window() {
    let outcome = Outcome::default();
    let mut window = Window::new(App::new(Picture::default(), Sessions::Kept, Recent::default(), outcome.clone()));
    let context = window.context.clone();
    window.app.open(PathBuf::from("gone.log"), &context);
    window.app.wait_for_loading();
    window.frame(Vec::new());
    let texts = window.frame(Vec::new());
    for text in ["Cannot show gone.log", "there is no such file", "Check the path."] {
        assert!(texts.iter().any(|t| t.starts_with(text)), "{text}: {texts:?}");
    }
    assert!(outcome.is_unreadable(), "the program's exit status says it");
}

/// A log in a folder of its own, in a window that keeps its session: the window, the folder, the session's file.
fn kept(name: &str) -> (Window, PathBuf, PathBuf) {
    let folder = std::env::temp_dir().join(format!("weir-viz-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut app = app(log(), Vec::new(), &folder.join("a.log"), &Picture::default());
    assert_eq!(app.document_mut().unwrap().keep_session(), None);
    let mut window = Window::new(app);
    window.idle();
    let file = folder.join("a.log.weir-session.json");
    assert!(!file.exists(), "nothing was changed yet");
    (window, folder, file)
}

#[test]
fn the_session_is_written_while_nobody_touches_the_window() {
    let (mut window, folder, file) = kept("idle");
    window.key(Key::L);
    window.idle();
    assert!(std::fs::read_to_string(&file).unwrap().contains("\"theme\": \"dark\""));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_session_is_written_when_the_window_is_to_close() {
    let (mut window, folder, file) = kept("close");
    window.key(Key::L);
    assert!(!file.exists(), "a moment later");
    let mut input = RawInput { time: Some(window.time), ..RawInput::default() };
    input.viewports.entry(egui::ViewportId::ROOT).or_default().events.push(egui::ViewportEvent::Close);
    window.context.run_ui(input, |ui| window.app.show(ui)).textures_delta.clear();
    assert!(file.exists());
    std::fs::remove_dir_all(folder).unwrap();
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
