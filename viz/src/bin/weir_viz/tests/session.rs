//! What is kept beside a log.

use super::*;

/// A log in a folder of its own, in a window that keeps its session: the window, the folder, the session's file.
fn kept() -> (Window, TempDir, PathBuf) {
    let folder = tempdir().unwrap();
    let mut app = app(log(), Vec::new(), &folder.path().join("a.log"), &Picture::default());
    assert_eq!(app.document_mut().unwrap().keep_session(), None);
    let mut window = Window::new(app);
    window.idle();
    let file = folder.path().join("a.log.weir-session.json");
    assert!(!file.exists(), "nothing was changed yet");
    (window, folder, file)
}

#[test]
fn the_session_is_written_while_nobody_touches_the_window() {
    let (mut window, _folder, file) = kept();
    window.key(Key::L);
    window.idle();
    assert!(std::fs::read_to_string(&file).unwrap().contains("\"theme\": \"dark\""));
}

#[test]
fn the_session_is_written_when_the_window_is_to_close() {
    let (mut window, _folder, file) = kept();
    window.key(Key::L);
    assert!(!file.exists(), "a moment later");
    let mut input = RawInput { time: Some(window.time), ..RawInput::default() };
    input.viewports.entry(egui::ViewportId::ROOT).or_default().events.push(egui::ViewportEvent::Close);
    window.context.run_ui(input, |ui| window.app.show(ui)).textures_delta.clear();
    assert!(file.exists());
}
