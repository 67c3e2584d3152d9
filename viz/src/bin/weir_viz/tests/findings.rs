//! What is wrong with a log, or was wrong with a file.

use super::*;

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
