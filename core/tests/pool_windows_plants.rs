//! The windows are really looked into: each fault that is planted in one of them is found, by some program in some order.
//! In a file of its own, because a plant is for the whole process.
#![cfg(all(feature = "sim", feature = "plant"))]

mod pool_windows_support;

use pool_windows_support::explore::explore;
use pool_windows_support::programs::{SETTINGS, WINDOWS};
use weir::plant::{self, Plant};

fn find() -> Option<(&'static str, String)> {
    WINDOWS.into_iter().find_map(|(name, program)| {
        SETTINGS.into_iter().find_map(|setting| explore(program, setting, 2).err()).map(|what| (name, what))
    })
}

#[test]
fn every_window_that_is_left_open_is_found() {
    assert_eq!(find(), None, "nothing is planted");
    for &planted in Plant::WINDOWS {
        plant::set(Some(planted));
        let found = find();
        plant::set(None);
        let (window, what) = found.unwrap_or_else(|| panic!("{} is not found", planted.name()));
        println!("{}: {window}\n{what}", planted.name());
    }
}
