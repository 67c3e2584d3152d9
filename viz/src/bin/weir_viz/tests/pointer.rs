//! Clicks, drags and the wheel.

use super::*;

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
