//! `report` from the outside: what a script sees, and what a browser shows.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::{TempDir, tempdir};

fn xtask(words: &[&str], files: &[&Path]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let mut files = files.iter();
    for word in words {
        match *word {
            "FILE" => command.arg(files.next().expect("a file")),
            word => command.arg(word),
        };
    }
    command.output().expect("xtask runs")
}

/// The event log of a replay at a limit that refuses some.
fn log(folder: &TempDir) -> PathBuf {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/traces/producer_consumer.csv");
    let log = folder.path().join("trace.log");
    let words = ["replay", "FILE", "--policy", "internal", "--lag", "300", "--limit", "60MiB", "--log", "FILE"];
    let output = xtask(&words, &[&trace, &log]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    log
}

#[test]
fn the_object_agrees_with_the_replay_that_wrote_the_log() {
    let folder = tempdir().expect("a folder");
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/traces/producer_consumer.csv");
    let log = folder.path().join("trace.log");
    let words =
        ["replay", "FILE", "--policy", "internal", "--lag", "300", "--limit", "60MiB", "--json", "--log", "FILE"];
    let replayed: Value = serde_json::from_slice(&xtask(&words, &[&trace, &log]).stdout).expect("JSON");
    let output = xtask(&["report", "FILE", "--json"], &[&log]);
    assert!(output.status.success());
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for name in ["peak_used_bytes", "peak_reserved_bytes", "refused", "waits_inserted", "mallocs", "reuse"] {
        assert_eq!(report[name], replayed[name], "{name}");
    }
    assert!(report["refused"].as_u64() > Some(0) && report["waits_inserted"].as_u64() > Some(0));
    assert_eq!((&report["leaks"], &report["ordered_floor_is"]), (&0.into(), &"exact".into()));
}

#[test]
fn conditions_decide_the_exit_status() {
    let folder = tempdir().expect("a folder");
    let log = log(&folder);
    let status = |conditions: &[&str]| {
        let mut words = vec!["report", "FILE", "--json"];
        conditions.iter().for_each(|condition| words.extend(["--fail-if", condition]));
        let output = xtask(&words, &[&log]);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(status(&["leaks>0", "peak_reserved>1.05*peak_used"]), (Some(0), String::new()));
    let (code, text) = status(&["leaks>0", "refused>0"]);
    assert_eq!(code, Some(1));
    assert!(text.contains("refused>0") && !text.contains("leaks"), "{text}");
    for wrong in ["refused >", "refusals > 0", "refused > 0 >"] {
        let (code, text) = status(&[wrong]);
        assert_eq!(code, Some(2), "{wrong}");
        assert!(text.contains('^') && text.contains("expected"), "{text}");
    }
    assert_eq!(xtask(&["report", "/no/such/file"], &[]).status.code(), Some(2));
}

#[cfg(unix)]
#[test]
fn no_output_takes_the_place_of_the_log() {
    let folder = tempdir().expect("a folder");
    let log = log(&folder);
    let before = std::fs::read(&log).expect("is there");
    let link = folder.path().join("link.svg");
    std::os::unix::fs::symlink(&log, &link).expect("a link");
    let refused = |words: &[&str], files: &[&Path]| {
        let output = xtask(words, files);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && text.contains("name another file"), "{words:?}: {text}");
        assert_eq!(std::fs::read(&log).expect("is there"), before, "{words:?}");
    };
    for option in ["--html", "--svg"] {
        refused(&["report", "FILE", option, "FILE"], &[&log, &log]);
        refused(&["report", "FILE", option, "FILE"], &[&log, &link]);
    }
    let out = folder.path().join("both");
    refused(&["report", "FILE", "--html", "FILE", "--svg", "FILE"], &[&log, &out, &out]);
}

#[test]
fn what_is_written_is_the_same_every_time() {
    let folder = tempdir().expect("a folder");
    let log = log(&folder);
    let write = |name: &str| {
        let (html, svg) = (folder.path().join(format!("{name}.html")), folder.path().join(format!("{name}.svg")));
        let output = xtask(&["report", "FILE", "--html", "FILE", "--svg", "FILE"], &[&log, &html, &svg]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (std::fs::read(html).expect("a page"), std::fs::read(svg).expect("a picture"))
    };
    let (one, two) = (write("one"), write("two"));
    assert!(one == two, "the second run wrote something else");
    assert!(one.1.starts_with(b"<svg"));
}

/// A browser, if one is installed.
fn browser() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    names.into_iter().find(|name| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success()))
}

fn browse(browser: &str, folder: &TempDir, words: &[&str], page: &Path) -> Output {
    let mut command = Command::new(browser);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]);
    command.arg(format!("--user-data-dir={}", folder.path().join("profile").display()));
    command.args(words).arg(format!("file://{}", page.display()));
    command.output().expect("the browser runs")
}

#[test]
fn a_browser_shows_the_page_on_light_and_on_dark_ground() {
    let Some(browser) = browser() else {
        eprintln!("skipped: no chromium in PATH; on Debian, run: apt-get install chromium");
        return;
    };
    let folder = tempdir().expect("a folder");
    let (log, page) = (log(&folder), folder.path().join("report.html"));
    assert!(xtask(&["report", "FILE", "--html", "FILE"], &[&log, &page]).status.success());
    let dom = browse(browser, &folder, &["--dump-dom"], &page).stdout;
    let dom = String::from_utf8_lossy(&dom);
    for words in ["peak reserved", "ordered floor", "Who held the peak", "From stream to stream", "out of memory"] {
        assert!(dom.contains(words), "{words}");
    }
    // `0` is dark, `1` light, as the browser numbers them.
    let grounds = ["1", "0"].map(|scheme| {
        let picture = folder.path().join(format!("{scheme}.png"));
        let words = [
            "--window-size=1100,2400".to_owned(),
            format!("--blink-settings=preferredColorScheme={scheme}"),
            format!("--screenshot={}", picture.display()),
        ];
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        browse(browser, &folder, &words, &page);
        let picture = tiny_skia::Pixmap::load_png(&picture).expect("a picture");
        let pixels = picture.pixels();
        let first = pixels[0];
        let other = pixels.iter().filter(|pixel| **pixel != first).count();
        assert!(other > pixels.len() / 20, "{other} of {} pixels are not the ground", pixels.len());
        (first.red(), first.green(), first.blue())
    });
    assert_eq!(grounds, [(255, 255, 255), (16, 20, 26)]);
}
