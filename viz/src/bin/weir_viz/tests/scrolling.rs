//! Lists that are scrolled.

use super::*;

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
