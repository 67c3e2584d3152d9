//! Every measurement runs, in its smallest form and without a profiler, and does what it says.

use weir_bench::contender::{Effort, What, Who, ready};
use weir_bench::special;
use weir_bench::worst::{Size, scenes};

#[test]
fn every_allocator_goes_through_every_loop() {
    for who in Who::ALL {
        assert_eq!(Who::named(who.name()), Some(who));
        for (what, pairs) in [(What::Loop, 3), (What::Churn(50), 3)] {
            let mut contest = ready(who, &what, Effort::least()).unwrap_or_else(|error| panic!("{who:?}: {error}"));
            assert_eq!(contest.count(), Ok(pairs), "{who:?} {what:?}");
            let (done, _) = contest.round().unwrap_or_else(|error| panic!("{who:?} {what:?}: {error}"));
            assert_eq!(done, pairs, "{who:?} {what:?}");
        }
    }
}

#[test]
fn every_allocator_goes_through_a_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("a.csv");
    let text = "Thread,Time,Action,Pointer,Size,Stream\n\
                1,1,allocate,0x1,4000000,0\n\
                1,2,allocate,0x2,1000,0\n\
                1,3,free,0x1,4000000,0\n\
                1,4,record,0x7,0,0\n\
                1,5,wait,0x7,0,1\n\
                1,6,allocate,0x3,4000000,1\n\
                1,7,sync,0x0,0,0\n";
    std::fs::write(&log, text).expect("the folder can be written to");
    for who in Who::ALL {
        let what = What::named(&log.display().to_string());
        let mut contest = ready(who, &what, Effort::least()).unwrap_or_else(|error| panic!("{who:?}: {error}"));
        // Two blocks are live at its end and freed then, so that it can be gone through again.
        assert_eq!(contest.count(), Ok(3), "{who:?}");
        assert_eq!(contest.count(), Ok(3), "{who:?}");
        // Four megabytes and a thousand bytes are live at the most.
        let held = contest.footprint().expect("the allocator decides");
        assert!((1.0..2.2).contains(&held), "{who:?}: {held}");
    }
}

#[test]
fn what_only_weir_does_runs() {
    let done = |name: &str| {
        let special = special::ALL.iter().find(|special| special.name == name).expect("is one");
        (special.run)(2).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    assert_eq!(["malloc_event", "record", "wait", "unlogged"].map(done), [10, 20, 20, 400]);
    // A pair is a record of each call.
    assert_eq!(done("logged"), 800);
}

#[test]
fn every_scene_can_be_played() {
    let mut names: Vec<&str> = scenes().map(|scene| scene.name).collect();
    for scene in scenes() {
        let called = scene.count(Size::LEAST, None).unwrap_or_else(|error| panic!("{}: {error}", scene.name));
        assert!(!called.is_empty() && !called.contains(&"aside"), "{}: {called:?}", scene.name);
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), scenes().count());
}

#[test]
fn a_search_names_calls_of_the_program() {
    let scene = scenes().find(|scene| scene.length() == "long").expect("there is one");
    let numbers = scene.search(Size::LEAST).expect("can be played");
    let called = scene.count(Size::LEAST, Some(&numbers)).expect("can be played");
    assert_eq!(called.len(), numbers.len());
    // The same numbers name the same calls.
    assert_eq!(scene.count(Size::LEAST, Some(&numbers)), Ok(called.clone()));
    for verb in ["malloc", "free", "use", "record", "wait"] {
        assert!(called.contains(&verb), "{verb}");
    }
}
