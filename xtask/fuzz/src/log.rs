//! Event logs, as the viewer and `cargo xtask check` read them.

use std::hint::black_box;
use weir::trace::{Reader, Stamped, text};
use weir_viz::check::{self, Told};
use weir_viz::cli::{self, Picture};
use weir_viz::scene::{self, Along, Input, Pos, Size, pos};
use weir_viz::source::{self, Opened};
use weir_viz::svg;

/// The name of the log in texts.
const NAME: &str = "fuzzed.log";

/// A log in its binary form. The fuzzer's own programs make the checksums of pages right again after they changed them.
pub fn binary_log(bytes: &[u8]) {
    log(bytes);
}

/// A log in its text form.
pub fn text_log(bytes: &[u8]) {
    log(bytes);
}

/// Reads a log, checks it, and looks at it as a person with a window does.
fn log(bytes: &[u8]) {
    let mut readable = false;
    for stamped in Reader::new(bytes).flatten() {
        readable = true;
        says_the_same(&stamped);
    }
    for told in [Told::Accept, Told::Report] {
        let report = check::read(NAME, bytes, told);
        assert_eq!(report.is_ok(), readable, "a log is checked where a record can be read");
        if let Ok(report) = report {
            assert!(!report.to_string().is_empty(), "there is always a summary");
        }
    }
    match source::read(NAME, bytes) {
        Ok(opened) => look(&opened),
        Err(error) => assert!(!readable && !error.to_string().is_empty(), "{error}"),
    }
}

/// A record that was read can be written as a line, and that line says the same.
fn says_the_same(stamped: &Stamped<'_>) {
    let mut line = String::new();
    text::write(stamped, &mut line).expect("a string takes everything");
    assert_eq!(text::parse(&line).as_ref(), Ok(stamped), "{line}");
}

/// What a person does, from one picture to the next: looks at everything, points at it, clicks, and looks closer.
const LOOKS: [&[Input]; 3] = [
    &[Input::Click(MIDDLE), Input::SwitchAxis, Input::FitSelection],
    &[
        Input::Step(1),
        Input::Zoom { at: MIDDLE, factor: 0.01, along: Along::X },
        Input::Zoom { at: MIDDLE, factor: 0.01, along: Along::Y },
        Input::Drag { from: MIDDLE, by: pos(40.0, -40.0) },
    ],
    &[Input::NextPool, Input::SwitchAxis, Input::Scroll(1e9), Input::Step(-1)],
];

/// Somewhere in the picture's map.
const MIDDLE: Pos = pos(300.0, 400.0);

/// The smallest picture that has everything, the list of records included: it takes the least time.
const SIZE: Size = Size { w: 800.0, h: 560.0 };

fn look(opened: &Opened) {
    let model = &opened.model;
    let picture = Picture { size: SIZE, ..Picture::default() };
    let mut view = cli::view(opened, &picture).expect("nothing was asked for that a log can lack");
    let (scene, mut frame) = scene::build(model, &view);
    assert!(svg::write(&scene).starts_with("<svg"), "a picture");
    for inputs in LOOKS {
        for input in inputs {
            view.apply(model, &frame, *input);
        }
        frame = scene::build(model, &view).1;
        black_box(scene::hover(model, &view, &frame, MIDDLE));
    }
}
