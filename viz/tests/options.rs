//! Options of the command line that say what a picture shows, and what is said where they make no sense.

use std::ffi::OsString;
use weir_viz::cli::{Command, Picture};
use weir_viz::model::By;
use weir_viz::scene::{ColorBy, Page};

fn parsed(words: &str) -> Result<Picture, String> {
    let words = format!("some.log --screenshot out.png {words}");
    match Command::parse(words.split_whitespace().map(OsString::from)) {
        Ok(Command::Screenshot { asked, .. }) => Ok(asked.picture),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn stacks_colours_and_selections_are_understood() {
    for by in By::ALL {
        assert_eq!(parsed(&format!("--stack {}", by.name())).unwrap().stack, Some(by));
    }
    for by in ColorBy::ALL {
        assert_eq!(parsed(&format!("--color {}", by.name())).unwrap().color, by);
    }
    assert_eq!(parsed("--free 0x200000@812").unwrap().free, Some((2 << 20, 812)));
    assert_eq!(parsed("--free 512@3").unwrap().free, Some((512, 3)));
    assert_eq!(parsed("--record 17").unwrap().record, Some(17));
    assert_eq!(parsed("--view findings").unwrap().page, Page::Findings);
    let plain = parsed("").unwrap();
    assert_eq!((plain.stack, plain.color, plain.record, plain.free), (None, ColorBy::Stream, None, None));
}

#[test]
fn what_makes_no_sense_is_named_with_what_was_expected() {
    for (words, said) in [
        ("--stack colour", "--stack colour: expected `label`, `stream` or `size`"),
        ("--color red", "--color red: expected `stream`, `label`, `age` or `source`"),
        ("--free 12", "--free 12: expected ADDRESS@RECORD"),
        ("--free x@1", "--free x@1: expected ADDRESS@RECORD"),
        ("--record first", "first"),
    ] {
        let error = parsed(words).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}
