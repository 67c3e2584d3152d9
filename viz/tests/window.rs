//! The program that opens windows, on a machine without a display.

mod common;

use common::training;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use weir::trace::text;

fn log(name: &str) -> PathBuf {
    let mut lines = format!("{}\n", text::HEADER);
    for stamped in training(1, 2, 12) {
        text::write(&stamped, &mut lines).unwrap();
        lines.push('\n');
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, lines).unwrap();
    path
}

fn run(args: &[&Path]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir-viz"));
    command.args(args).env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    command.output().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn without_a_display_one_line_says_what_to_do() {
    let output = run(&[&log("headless.log")]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.contains("--screenshot") && stderr.contains("report"), "{stderr}");
}

#[test]
fn a_screenshot_needs_no_display() {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("headless.png");
    let _ = std::fs::remove_file(&out);
    let output = run(&[&log("screenshot.log"), Path::new("--screenshot"), &out]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let pixels = tiny_skia::Pixmap::decode_png(&std::fs::read(&out).unwrap()).unwrap();
    assert_eq!((pixels.width(), pixels.height()), (1600, 1000));
}

#[test]
fn an_unreadable_log_is_refused_without_a_picture() {
    let missing = Path::new("no-such-trace.log");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("refused.png");
    for args in [&[missing, Path::new("--screenshot"), &out][..], &[missing][..]] {
        let output = run(args);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.starts_with("weir-viz: no-such-trace.log: there is no such file\n"), "{stderr}");
        assert!(!out.exists());
    }
}
