//! The text of the kernels and who launches them agree. (The text cannot be run without a device.)
#![cfg(target_os = "linux")]

use weir_gpu_device::{ENTRIES, PTX};

/// The entries of a text in PTX: names, and each parameter's type.
fn entries(text: &str) -> Vec<(&str, Vec<&str>)> {
    let heads = text.split(".entry ").skip(1).map(|rest| rest.split_once('{').expect("an entry has a body").0);
    heads
        .map(|head| {
            let (name, parameters) = head.trim_end().trim_end_matches(')').split_once('(').expect("parameters");
            let parameters = parameters.split(',').map(str::trim);
            let types = parameters.map(|parameter| {
                let kind = parameter.strip_prefix(".param ").expect("a parameter");
                kind.split_whitespace().next().expect("a type")
            });
            (name, types.collect())
        })
        .collect()
}

#[test]
fn every_kernel_is_launched_with_its_parameters() {
    let text = PTX.to_str().expect("plain text");
    let launched: Vec<_> = ENTRIES.map(|(name, count)| (name.to_str().expect("plain"), vec![".u64"; count])).into();
    assert_eq!(entries(text), launched);
}

/// What devices from compute capability 5.2 and drivers from 10.2 on take.
#[test]
fn the_text_asks_for_no_more_than_old_drivers_have() {
    let text = PTX.to_str().expect("plain text");
    let line = |wanted: &str| text.lines().any(|line| line == wanted);
    assert!(line(".version 6.4") && line(".target sm_52") && line(".address_size 64"));
    assert!(text.is_ascii() && text.ends_with("}\n"), "nothing behind the last kernel");
}

/// Each parameter is loaded by its own name, and each label that is jumped to is there.
#[test]
fn bodies_name_what_is_there() {
    let text = PTX.to_str().expect("plain text");
    for body in text.split(".entry ").skip(1) {
        let (head, body) = body.split_once('{').expect("a body");
        let names = head.split(".u64 ").skip(1).map(|rest| rest.split([',', ')']).next().expect("a name"));
        for name in names {
            assert_eq!(body.matches(&format!("[{name}]")).count(), 1, "{name}");
        }
        for jump in body.split("bra ").skip(1) {
            let label = jump.split(';').next().expect("a label");
            assert!(body.contains(&format!("\n{label}:\n")), "{label}");
        }
    }
}
