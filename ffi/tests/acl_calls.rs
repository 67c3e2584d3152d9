//! What the calls of CANN's interface return, and when memory is used again, from C and from C++.
#![cfg(target_os = "linux")]

mod common;

use common::{Language, file, libraries, program, says};
use std::process::Command;

fn passes(source: &str) {
    let libraries = libraries(source);
    for (language, library, name) in
        [(Language::C11, "libweir.a", format!("{source}_c")), (Language::Cpp17, "libweir.so", format!("{source}_cpp"))]
    {
        let source = file(&format!("tests/c/{source}.c"));
        let made = program(language, &[&source], &libraries, library, &name);
        assert_eq!(says(Command::new(made).env_remove("WEIR_LOG")), "ok\n", "{name}");
    }
}

#[test]
fn each_call_returns_the_code_of_its_case_and_changes_nothing_when_it_refuses() {
    passes("acl_codes");
}

#[test]
fn memory_is_used_again_exactly_as_the_attributes_allow() {
    passes("acl_reuse");
}
