//! Lists that are longer than their place: all of them is reached.

mod common;

use common::training;
use std::collections::BTreeSet;
use weir_viz::model::{EventIx, LifeIx, Model};
use weir_viz::scene::{self, Frame, Input, Page, Parts, Rect, Scene, Selection, Shape, Size, Text, View, pos};

fn looked_at(model: &Model) -> View {
    let mut view = View::whole(model, Size { w: 900.0, h: 500.0 });
    view.parts = Parts::WithList;
    view
}

fn texts<'s>(scene: &'s Scene, area: &Rect) -> Vec<&'s Text> {
    let of = |shape: &'s Shape| match shape {
        Shape::Text(text) if area.contains(pos(text.at.x + 1.0, text.at.y - 3.0)) => Some(text),
        _ => None,
    };
    scene.shapes.iter().filter_map(of).collect()
}

/// Everything that comes into this area while `input` is done again and again, and what stood there at first.
fn seen(model: &Model, view: &mut View, area: fn(&Frame) -> Rect, input: Input) -> (Vec<String>, BTreeSet<String>) {
    let (mut first, mut all) = (Vec::new(), BTreeSet::new());
    for _ in 0..2000 {
        let (scene, frame) = scene::build(model, view);
        let now: Vec<String> = texts(&scene, &area(&frame)).into_iter().map(|text| text.text.clone()).collect();
        if first.is_empty() {
            first.clone_from(&now);
        }
        all.extend(now);
        let before = view.clone();
        view.apply(model, &frame, input);
        if *view == before {
            return (first, all);
        }
    }
    panic!("it never ends");
}

#[test]
fn all_of_the_details_are_reached() {
    let model = Model::of(training(3, 6, 30));
    let lives = (0..model.lives.len() as u32).map(LifeIx);
    let life = lives.max_by_key(|life| scene::details(&model, Selection::Life(*life)).len()).unwrap();
    let mut view = looked_at(&model);
    view.selection = Selection::Life(life);
    let (first, all) = seen(&model, &mut view, |frame| frame.details.unwrap(), Input::ScrollDetails(2.0));
    let keys: Vec<&str> = scene::details(&model, view.selection).iter().map(|line| line.key).collect();
    assert!(keys.iter().any(|key| !first.iter().any(|text| text == key)), "too short a list for this test");
    for line in scene::details(&model, view.selection) {
        assert!(line.key.is_empty() || all.contains(line.key), "{}: {all:?}", line.key);
        for word in line.value.split_whitespace() {
            assert!(all.iter().any(|text| text.contains(word)), "{word}: {all:?}");
        }
    }
    assert!(!all.contains("…"), "nothing is cut");
    // Those of another selection begin at their beginning.
    view.selection = Selection::Event(EventIx(5));
    let (scene, frame) = scene::build(&model, &view);
    assert_eq!(texts(&scene, &frame.details.unwrap())[0].text, "record");
}

#[test]
fn all_free_blocks_are_reached_and_selected_where_they_stand() {
    let model = Model::of(training(3, 6, 30));
    let mut view = looked_at(&model);
    view.page = Page::State;
    let events = (0..model.events.len() as u32).map(EventIx);
    let event = events.max_by_key(|event| model.free_blocks(view.pool, *event).len()).unwrap();
    view.selection = Selection::Event(event);
    let blocks = model.free_blocks(view.pool, event);
    let (first, all) = seen(&model, &mut view, |frame| frame.map.area, Input::ScrollTable(1.0));
    let listed = |texts: &mut dyn Iterator<Item = &String>| texts.filter(|text| text.contains(" at ")).count();
    assert!(listed(&mut first.iter()) < blocks.len(), "too short a list for this test");
    // Two blocks have the same words only where they have the same rounded size and place.
    let words: BTreeSet<&String> = all.iter().filter(|text| text.contains(", was #")).collect();
    let used: BTreeSet<u32> = blocks.iter().filter_map(|block| block.last).map(|life| life.0).collect();
    for life in used {
        let id = format!(", was #{}, after ", model.life(LifeIx(life)).id);
        assert!(words.iter().any(|text| text.contains(&id)), "{id}: {words:?}");
    }
    // At a place in the middle, what is clicked is what stands there.
    view.free = Default::default();
    for _ in 0..20 {
        let frame = scene::build(&model, &view).1;
        view.apply(&model, &frame, Input::ScrollTable(1.0));
    }
    let (scene, frame) = scene::build(&model, &view);
    let rows: Vec<Text> = texts(&scene, &frame.map.area).into_iter().cloned().collect();
    let last =
        rows.iter().filter(|text| text.text.contains(", was #")).max_by(|a, b| a.at.y.total_cmp(&b.at.y)).unwrap();
    view.apply(&model, &frame, Input::Click(pos(last.at.x + 5.0, last.at.y - 3.0)));
    let Selection::Free(_, block) = view.selection else { panic!("{:?}", view.selection) };
    let id = format!(", was #{}, after ", model.life(block.last.unwrap()).id);
    assert!(last.text.contains(&id), "{} is not {id}", last.text);
    let (scene, frame) = scene::build(&model, &view);
    let now = texts(&scene, &frame.map.area);
    assert!(now.iter().any(|text| text.text == last.text && text.at == last.at), "it stays where it was");
}
