//! Measures the window without one: the log is opened, egui lays out and tessellates every frame of a fixed walk of zooms
//! and pans over all pages, and nothing is presented.

use crate::app::App;
use crate::bars::HEIGHT;
use crate::command::Does;
use crate::document::Document;
use crate::loading::Loaded;
use crate::recent::Recent;
use eframe::egui::epaint::{Primitive, Vertex};
use eframe::egui::{
    self, Context, Event, Key, Modifiers, MouseWheelSource, MouseWheelUnit, PointerButton, Pos2, RawInput, TouchPhase,
    pos2, vec2,
};
use rustix::time::{ClockId, clock_gettime};
use std::fmt;
use std::path::Path;
use std::time::Instant;
use weir_viz::cli::Picture;
use weir_viz::model::{EventIx, Model, PoolIx};
use weir_viz::progress::Progress;
use weir_viz::scene::{Input, Page};
use weir_viz::source::SourceError;

/// Between two frames, in seconds.
const FRAME: f64 = 1.0 / 60.0;
/// Frames that one turn of the wheel glides over.
const GLIDE: usize = 3;
/// Turns of the wheel in each direction.
const TURNS: usize = 9;
/// Points of one turn: a quarter of what was in sight remains.
const TURN: f32 = 400.0;
/// Moments at which the state of the pool is asked for.
const MOMENTS: u64 = 400;

/// What was measured. Times are of this thread alone, but the first picture's, which several threads work on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Figures {
    events: usize,
    /// By the clock on the wall, from the file on disk on.
    first_picture_ms: f64,
    frame_p50_ms: f64,
    frame_max_ms: f64,
    quads_max: usize,
    vertex_bytes_max: usize,
    state_at_ms_max: f64,
    /// The most that the process ever had in memory.
    rss_bytes: u64,
}

impl fmt::Display for Figures {
    /// A line each: its name and its number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "events {}", self.events)?;
        writeln!(f, "first_picture_ms {:.1}", self.first_picture_ms)?;
        writeln!(f, "frame_p50_ms {:.2}", self.frame_p50_ms)?;
        writeln!(f, "frame_max_ms {:.2}", self.frame_max_ms)?;
        writeln!(f, "quads_max {}", self.quads_max)?;
        writeln!(f, "vertex_bytes_max {}", self.vertex_bytes_max)?;
        writeln!(f, "state_at_ms_max {:.2}", self.state_at_ms_max)?;
        writeln!(f, "rss_bytes {}", self.rss_bytes)
    }
}

/// Measures with this log. `told` hears of each page how dear its frames were.
///
/// # Errors
/// The log cannot be read.
pub(crate) fn measure(file: &Path, mut told: impl FnMut(&str)) -> Result<Figures, SourceError> {
    let begun = Instant::now();
    let progress = Progress::default();
    let picture = Picture::default();
    let loaded = Loaded::of(file, &picture, &progress)?;
    let document = Document::new(loaded, file.to_owned(), picture.clone()).map_err(|error| SourceError {
        name: file.display().to_string(),
        what: error.to_string(),
        advice: String::new(),
    })?;
    let app = App::with(document, Recent::default());
    let mut window = Window::new(app, vec2(picture.size.w, picture.size.h + HEIGHT));
    window.frame(Vec::new());
    let first_picture_ms = begun.elapsed().as_secs_f64() * 1e3;
    told(&format!("first picture: {first_picture_ms:.0} ms; of this thread {:.0} ms", thread_ms()));
    // Its frame lays out every text anew, and counts with what was waited for.
    window.frames.clear();
    // The pages that need more are measured as they are once that is at hand.
    window.app.document().map(Document::model).into_iter().for_each(Model::prepare);
    told(&format!("everything at hand: {:.0} ms", begun.elapsed().as_secs_f64() * 1e3));
    let events = window.app.document().map(Document::model).map_or(0, |model| model.events.len());
    for key in [None, Some(Key::T)] {
        key.into_iter().for_each(|key| window.key(key));
        for page in Page::ALL {
            window.walk(*page);
            told(&window.told(page.name()));
        }
    }
    let state_at_ms_max = window.app.document().map(Document::model).map_or(0.0, state_at);
    let (frame_p50_ms, frame_max_ms) = middle_and_most(&mut window.frames);
    let Window { quads: quads_max, vertex_bytes: vertex_bytes_max, .. } = window;
    let rss_bytes = most_memory();
    Ok(Figures {
        events,
        first_picture_ms,
        frame_p50_ms,
        frame_max_ms,
        quads_max,
        vertex_bytes_max,
        state_at_ms_max,
        rss_bytes,
    })
}

/// A window that nobody sees.
pub(crate) struct Window {
    context: Context,
    app: App,
    size: egui::Vec2,
    time: f64,
    /// What each frame took, in milliseconds.
    frames: Vec<f64>,
    /// Frames that were told of.
    told: usize,
    /// The most that a frame had.
    quads: usize,
    vertex_bytes: usize,
    /// The same since the last telling.
    page: (usize, usize),
}

impl Window {
    pub(crate) fn new(app: App, size: egui::Vec2) -> Self {
        let context = Context::default();
        Self { context, app, size, time: 0.0, frames: Vec::new(), told: 0, quads: 0, vertex_bytes: 0, page: (0, 0) }
    }

    /// Looks at the log otherwise. Answers what the next frame has: quads, and bytes of vertices.
    #[cfg(test)]
    pub(crate) fn look(&mut self, change: impl FnOnce(&mut Document)) -> (usize, usize) {
        self.app.document_mut().map(change);
        self.page = (0, 0);
        self.frame(Vec::new());
        self.page
    }

    /// One frame with these events, up to the triangles that a renderer would be given.
    fn frame(&mut self, events: Vec<Event>) {
        self.time += FRAME;
        let input = RawInput {
            screen_rect: Some(egui::Rect::from_min_size(Pos2::ZERO, self.size)),
            time: Some(self.time),
            events,
            focused: true,
            ..RawInput::default()
        };
        let begun = thread_ms();
        let mut output = self.context.run_ui(input, |ui| self.app.show(ui));
        let primitives = self.context.tessellate(output.shapes, output.pixels_per_point);
        self.frames.push(thread_ms() - begun);
        // Nobody uploads textures here.
        output.textures_delta.clear();
        let (mut quads, mut bytes) = (0, 0);
        for clipped in &primitives {
            if let Primitive::Mesh(mesh) = &clipped.primitive {
                quads += mesh.indices.len().div_ceil(6);
                bytes += mesh.vertices.len() * size_of::<Vertex>();
            }
        }
        self.quads = self.quads.max(quads);
        self.vertex_bytes = self.vertex_bytes.max(bytes);
        self.page = (self.page.0.max(quads), self.page.1.max(bytes));
    }

    fn key(&mut self, key: Key) {
        let event = Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers: Modifiers::NONE };
        self.frame(vec![event]);
    }

    /// All of a page, closer and closer, to the side, away again, and what is shown at a click.
    fn walk(&mut self, page: Page) {
        self.app.perform(Does::View(Input::Show(page)), &self.context.clone());
        self.key(Key::Num0);
        let at = pos2(self.size.x * 0.31, self.size.y * 0.68);
        self.turn(at, TURN, Modifiers::NONE);
        self.drag(at, vec2(-90.0, 40.0));
        (0..2).for_each(|_| self.turn(at, TURN, Modifiers::ALT));
        self.drag(at, vec2(60.0, -80.0));
        (1..TURNS).for_each(|_| self.turn(at, TURN, Modifiers::NONE));
        self.drag(at, vec2(200.0, 10.0));
        self.frame(vec![press(at, true)]);
        self.frame(vec![press(at, false)]);
        for key in [Key::Period, Key::D, Key::A, Key::S] {
            self.key(key);
        }
        (0..TURNS).for_each(|_| self.turn(at, -TURN, Modifiers::NONE));
        self.key(Key::Num0);
        self.key(Key::Escape);
    }

    /// Turns the wheel, and lets it glide.
    fn turn(&mut self, at: Pos2, by: f32, modifiers: Modifiers) {
        let wheel = Event::MouseWheel {
            unit: MouseWheelUnit::Point,
            delta: vec2(0.0, by),
            phase: TouchPhase::Move,
            source: MouseWheelSource::Unknown,
            modifiers,
        };
        self.frame(vec![Event::PointerMoved(at), wheel]);
        (0..GLIDE).for_each(|_| self.frame(Vec::new()));
    }

    /// Drags in four steps, and back.
    fn drag(&mut self, from: Pos2, by: egui::Vec2) {
        self.frame(vec![Event::PointerMoved(from), press(from, true)]);
        for part in [0.25, 0.5, 1.0, 0.5] {
            self.frame(vec![Event::PointerMoved(from + by * part)]);
        }
        self.frame(vec![press(from + by * 0.5, false)]);
    }

    /// What the frames took that were not told of yet.
    fn told(&mut self, page: &str) -> String {
        let mut new = self.frames[self.told..].to_vec();
        self.told = self.frames.len();
        let dearest = new.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(at, _)| at + 1);
        let (middle, most) = middle_and_most(&mut new);
        let (quads, bytes) = std::mem::take(&mut self.page);
        format!(
            "{page}: {} frames, median {middle:.2} ms, at most {most:.2} ms in frame {dearest}, {quads} quads, \
             {bytes} bytes of vertices",
            new.len()
        )
    }
}

fn press(at: Pos2, pressed: bool) -> Event {
    Event::PointerButton { pos: at, button: PointerButton::Primary, pressed, modifiers: Modifiers::NONE }
}

/// Sorts.
fn middle_and_most(times: &mut [f64]) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    (times.get(times.len() / 2).copied().unwrap_or(0.0), times.last().copied().unwrap_or(0.0))
}

/// The longest that the state of a pool took, at moments all over the log.
fn state_at(model: &Model) -> f64 {
    let (events, pools) = (model.events.len() as u64, model.pools.len() as u64);
    let mut most = 0.0_f64;
    for moment in 0..MOMENTS {
        // Without a pattern, and the same in every run.
        let scattered = moment.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let event = EventIx((scattered % events.max(1)) as u32);
        let pool = model.busiest_pool().filter(|_| moment % 4 > 0).unwrap_or(PoolIx((moment % pools.max(1)) as u32));
        if pool.at() >= model.pools.len() {
            continue;
        }
        let begun = thread_ms();
        std::hint::black_box((model.state(pool, event), model.free_blocks(pool, event)));
        most = most.max(thread_ms() - begun);
    }
    most
}

/// What this thread has computed since it began, in milliseconds.
fn thread_ms() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
}

/// The most memory that the process ever had; 0 where the system does not tell.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|words| words.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
