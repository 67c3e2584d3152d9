//! The window on a real display: an X server without a screen, synthetic mouse and keys, and what is seen then, against
//! the picture that the scene says. Where there is no such server (`Xvfb`), this is left out and says so.

#![cfg(target_os = "linux")]

mod common;

use common::training;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tiny_skia::Pixmap;
use weir::trace::text;
use weir_viz::check::{self, Told};
use weir_viz::cli::{self, Picture};
use weir_viz::png;
use weir_viz::scene::{self, Frame, Input, Page, Size, Theme, View, pos};
use weir_viz::source::{self, Opened};
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{self, ConnectionExt as _, ImageFormat, InputFocus};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

/// The picture in the window; the bars stand below it.
const SIZE: Size = Size { w: 1200.0, h: 700.0 };
/// A slow machine draws the first picture in so much at most.
const PATIENCE: Duration = Duration::from_secs(60);
/// Of so many of a hundred pixels the colour is the scene's; the rest is letters, which another rasteriser draws.
const ALIKE: usize = 94;

/// A process that ends with its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("desktop");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn log() -> PathBuf {
    let mut lines = format!("{}\n", text::HEADER);
    for stamped in training(1, 2, 12) {
        text::write(&stamped, &mut lines).unwrap();
        lines.push('\n');
    }
    let path = folder().join("training.log");
    std::fs::write(&path, lines).unwrap();
    path
}

/// A display of its own, and its name; `None` where there is no server for one.
fn display() -> Option<(Running, String)> {
    let mut server = Command::new("Xvfb");
    server.args(["-displayfd", "1", "-screen", "0", "1300x900x24", "-nolisten", "tcp", "-noreset"]);
    let mut server = server.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let mut number = String::new();
    let read = server.stdout.take().map(|out| BufReader::new(out).read_line(&mut number));
    let server = Running(server);
    let named = read.is_some_and(|read| read.is_ok()) && !number.trim().is_empty();
    named.then(|| (server, format!(":{}", number.trim())))
}

/// Hands and eyes.
struct Person {
    display: RustConnection,
    root: xproto::Window,
}

impl Person {
    fn at(display: &str) -> Self {
        let (display, screen) = x11rb::connect(Some(display)).unwrap();
        let root = display.setup().roots[screen].root;
        Self { display, root }
    }

    /// What is on the screen where the picture should be: rows of red, green and blue.
    fn sees(&self) -> Vec<[u8; 3]> {
        let (w, h) = (SIZE.w as u16, SIZE.h as u16);
        let image = self.display.get_image(ImageFormat::Z_PIXMAP, self.root, 0, 0, w, h, !0).unwrap().reply().unwrap();
        image.data.chunks_exact(4).map(|bgr| [bgr[2], bgr[1], bgr[0]]).collect()
    }

    /// Waits for the window, and puts the keyboard there: nobody manages windows here.
    fn finds_the_window(&self) {
        let begun = Instant::now();
        loop {
            let tree = self.display.query_tree(self.root).unwrap().reply().unwrap();
            for window in tree.children {
                let shown = self.display.get_window_attributes(window).unwrap().reply();
                let size = self.display.get_geometry(window).unwrap().reply();
                let (Ok(shown), Ok(size)) = (shown, size) else { continue };
                if shown.map_state == xproto::MapState::VIEWABLE && f32::from(size.width) == SIZE.w {
                    let focus = self.display.set_input_focus(InputFocus::PARENT, window, x11rb::CURRENT_TIME);
                    return focus.unwrap().check().unwrap();
                }
            }
            assert!(begun.elapsed() < PATIENCE, "no window came");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn event(&self, kind: u8, detail: u8, x: i16, y: i16) {
        self.display.xtest_fake_input(kind, detail, 0, self.root, x, y, 0).unwrap().check().unwrap();
        // As slow as a quick person.
        std::thread::sleep(Duration::from_millis(60));
    }

    fn moves(&self, x: f32, y: f32) {
        self.event(xproto::MOTION_NOTIFY_EVENT, 0, x as i16, y as i16);
    }

    fn clicks(&self, button: u8) {
        self.event(xproto::BUTTON_PRESS_EVENT, button, 0, 0);
        self.event(xproto::BUTTON_RELEASE_EVENT, button, 0, 0);
    }

    /// The key of a letter or digit.
    fn presses(&self, letter: char) {
        let setup = self.display.setup();
        let (first, count) = (setup.min_keycode, setup.max_keycode - setup.min_keycode + 1);
        let keys = self.display.get_keyboard_mapping(first, count).unwrap().reply().unwrap();
        let each = usize::from(keys.keysyms_per_keycode);
        let at = keys.keysyms.chunks(each).position(|syms| syms[0] == letter as u32).expect("a key");
        let code = first + u8::try_from(at).unwrap();
        self.event(xproto::KEY_PRESS_EVENT, code, 0, 0);
        self.event(xproto::KEY_RELEASE_EVENT, code, 0, 0);
    }

    /// Looks until the screen shows this picture; answers what it shows then.
    fn waits_for(&self, what: &str, wanted: &Pixmap) -> Vec<[u8; 3]> {
        let begun = Instant::now();
        loop {
            let seen = self.sees();
            let part = alike(&seen, wanted);
            if part >= ALIKE {
                eprintln!("{what}: {part} % of the pixels are the scene's");
                return seen;
            }
            if begun.elapsed() > PATIENCE {
                let shot = save(&seen, "failed.png");
                panic!("{what}: {part} % of the pixels are the scene's; see {}", shot.display());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// How many of a hundred pixels have the colour, nearly, that the picture has there or one pixel beside: the two draw
/// letters and slant edges by different rasterisers.
fn alike(seen: &[[u8; 3]], wanted: &Pixmap) -> usize {
    let (w, h) = (SIZE.w as usize, SIZE.h as usize);
    let near = |a: [u8; 3], at: usize| {
        let b = wanted.pixels()[at];
        a[0].abs_diff(b.red()).max(a[1].abs_diff(b.green())).max(a[2].abs_diff(b.blue())) <= 8
    };
    let same = |at: usize| {
        let (x, y) = (at % w, at / w);
        let around = (y.saturating_sub(1)..(y + 2).min(h))
            .flat_map(|y| (x.saturating_sub(1)..(x + 2).min(w)).map(move |x| y * w + x));
        near(seen[at], at) || around.into_iter().any(|beside| near(seen[at], beside))
    };
    (0..w * h).filter(|at| same(*at)).count() * 100 / (w * h)
}

/// The picture itself, as if it were seen.
fn as_seen(picture: &Pixmap) -> Vec<[u8; 3]> {
    picture.pixels().iter().map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]).collect()
}

fn save(seen: &[[u8; 3]], name: &str) -> PathBuf {
    let mut pixels = Pixmap::new(SIZE.w as u32, SIZE.h as u32).unwrap();
    for (to, [r, g, b]) in pixels.pixels_mut().iter_mut().zip(seen) {
        *to = tiny_skia::PremultipliedColorU8::from_rgba(*r, *g, *b, 255).unwrap();
    }
    let path = folder().join(name);
    std::fs::write(&path, pixels.encode_png().unwrap()).unwrap();
    path
}

fn opened(log: &Path) -> Opened {
    let bytes = std::fs::read(log).unwrap();
    let mut opened = source::read("training.log", &bytes).unwrap();
    opened.model.take_findings(check::read("training.log", &bytes, Told::Accept).unwrap());
    opened
}

fn picture(opened: &Opened, view: &View) -> (Pixmap, Frame) {
    let (scene, frame) = scene::build(&opened.model, view);
    (Pixmap::decode_png(&png::write(&scene, 1.0).unwrap()).unwrap(), frame)
}

#[test]
fn a_person_sees_what_the_scene_says_and_works_on_it() {
    let Some((_server, display)) = display() else {
        eprintln!("skipped: there is no Xvfb, so that the window is not looked at (on Debian: apt-get install xvfb)");
        return;
    };
    let log = log();
    let opened = opened(&log);
    let mut view = cli::view(&opened, &Picture { size: SIZE, ..Picture::default() }).unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_weir-viz"));
    program.arg(&log).args(["--size", "1200x700", "--theme", "light", "--no-session"]);
    program.env("DISPLAY", &display).env_remove("WAYLAND_DISPLAY").env("LIBGL_ALWAYS_SOFTWARE", "1");
    program.env("XDG_RUNTIME_DIR", folder()).env("XDG_CONFIG_HOME", folder());
    let _program = Running(program.stderr(Stdio::null()).spawn().unwrap());
    let person = Person::at(&display);
    person.finds_the_window();
    // Away from the blocks, so that nothing is told at the pointer.
    person.moves(4.0, 4.0);

    let (whole, frame) = picture(&opened, &view);
    let lanes = picture(&opened, &View { page: Page::Lanes, ..view.clone() }).0;
    let apart = alike(&as_seen(&lanes), &whole);
    assert!(apart < ALIKE, "another page is told apart: {apart} %");
    let seen = person.waits_for("the address map", &whole);
    let shot = save(&seen, "window.png");
    eprintln!("the window: {}", shot.display());
    // Blocks have their streams' colours exactly, but where a letter or a sign stands in their middle.
    let (mut compared, mut same) = (0, 0);
    for at in 0..opened.model.lives.len() {
        let rect = frame.life_rect(&opened.model, &view, weir_viz::model::LifeIx::next_of(at));
        if rect.w >= 6.0 && rect.h >= 6.0 {
            let (x, y) = ((rect.x + rect.w / 2.0) as usize, (rect.y + rect.h / 2.0) as usize);
            let (s, w) = (seen[y * SIZE.w as usize + x], whole.pixel(x as u32, y as u32).unwrap());
            same += usize::from(s == [w.red(), w.green(), w.blue()]);
            compared += 1;
        }
    }
    assert!(compared > 20 && same * 4 >= compared * 3, "of {compared} large blocks {same} have their colour");

    // A key: another page.
    person.presses('2');
    person.waits_for("the streams", &lanes);
    person.presses('1');
    person.waits_for("the address map again", &whole);

    // The wheel zooms at the pointer; a key shows all again.
    person.moves(frame.map.area.x + 200.0, frame.map.area.y + 50.0);
    person.clicks(4);
    let begun = Instant::now();
    while alike(&person.sees(), &whole) >= ALIKE {
        assert!(begun.elapsed() < PATIENCE, "the wheel does nothing");
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_millis(500));
    person.presses('0');
    // Away, so that nothing is told at the pointer.
    person.moves(4.0, 4.0);
    person.waits_for("all of it", &whole);

    // A click selects: the details are there, and the block is framed.
    let large = (0..opened.model.lives.len()).map(weir_viz::model::LifeIx::next_of).max_by(|a, b| {
        let area = |life| frame.life_rect(&opened.model, &view, life).clip(&frame.map.area).map_or(0.0, |r| r.w * r.h);
        area(*a).total_cmp(&area(*b))
    });
    let block = frame.life_rect(&opened.model, &view, large.unwrap()).clip(&frame.map.area).unwrap();
    let (x, y) = ((block.x + block.w / 2.0).floor(), (block.y + block.h / 2.0).floor());
    person.moves(x, y);
    person.clicks(1);
    person.moves(4.0, 4.0);
    view.apply(&opened.model, &frame, Input::Click(pos(x, y)));
    person.waits_for("the selected block", &picture(&opened, &view).0);

    // And dark.
    person.presses('l');
    view.theme = Theme::Dark;
    let seen = person.waits_for("the dark theme", &picture(&opened, &view).0);
    save(&seen, "window-dark.png");
}
