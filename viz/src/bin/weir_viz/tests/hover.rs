//! What the pointer tells.

use super::*;

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
fn words_and_signs_around_the_panels_are_explained() {
    let mut window = Window::open();
    let shapes = scene::build(window.model(), window.view()).0.shapes;
    let place = |word: &str| {
        let of = |shape: &scene::Shape| match shape {
            scene::Shape::Text(text) if text.text == word => Some(pos2(text.at.x, text.at.y - 4.0)),
            _ => None,
        };
        shapes.iter().find_map(of).unwrap()
    };
    // On the word in the legend, on the sign before it, and on the sign behind a row's name.
    for (word, by, told) in [
        ("reserved", 4.0, "Physical memory that is mapped"),
        ("reserved", -12.0, "Physical memory that is mapped"),
        ("settled", -4.0, "All work that was done with the block is known"),
        ("settled", 12.0, "All work that was done with the block is known"),
    ] {
        let at = place(word) + vec2(by, 0.0);
        let texts = window.frame(vec![Event::PointerMoved(at)]);
        assert!(texts.iter().any(|text| text.starts_with(told)), "{word}: {texts:?}");
    }
}
