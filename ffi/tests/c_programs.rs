//! Programs in C and C++ against the headers and both libraries.
#![cfg(target_os = "linux")]

mod common;

use common::{Language, compiler, file, libraries, program, quietly, says, scratch};
use std::collections::BTreeSet;
use std::process::Command;
use weir::slots::Singles;
use weir::trace::{Reader, Record};

#[test]
fn the_example_runs_as_c_and_as_cpp_with_either_library() {
    let libraries = libraries("example");
    let source = file("../examples/c/two_streams.c");
    for (language, library, name) in [
        (Language::C11, "libweir.a", "two_streams_c_a"),
        (Language::C11, "libweir.so", "two_streams_c_so"),
        (Language::Cpp17, "libweir.a", "two_streams_cpp_a"),
        (Language::Cpp17, "libweir.so", "two_streams_cpp_so"),
    ] {
        let made = program(language, &[&source], &libraries, library, name);
        let output = says(&mut Command::new(made));
        assert!(output.ends_with("rounds=50 wrong=0\n"), "{name}: {output}");
        // One block of 1 MiB at a time fits a granule twice, so one granule is all that is ever mapped, and what is
        // not new comes along the event: nothing else is switched on.
        assert!(output.contains("mallocs=50 frees=50 used_high=1048576 reserved_high=2097152"), "{output}");
        assert!(output.contains("opportunistic=0 internal=0 grow=1"), "{output}");
    }
}

#[test]
fn the_interface_refuses_and_works_as_its_header_says() {
    let libraries = libraries("api");
    let (test, toy) = (file("tests/c/api_test.c"), file("tests/c/toy_driver.c"));
    let made = program(Language::C11, &[&test, &toy], &libraries, "libweir.a", "api_test");
    let log = scratch("api_test.log");
    let output = says(Command::new(made).arg(&log).env_remove("WEIR_HOST_BYTES"));
    assert!(output.ends_with("\nok\n"), "{output}");
    // The file has what the function was given.
    let bytes = std::fs::read(&log).unwrap();
    assert!(output.contains(&format!(" bytes={}\n", bytes.len())), "{output}, and a file of {}", bytes.len());
    let records: Vec<_> = Reader::new(&bytes).map(|found| found.unwrap().record).collect();
    let count = |kind: fn(&Record<'_>) -> bool| records.iter().filter(|r| kind(r)).count();
    assert_eq!(count(|r| matches!(r, Record::Malloc { .. })), 2);
    assert_eq!(count(|r| matches!(r, Record::Free { .. })), 2);
    assert_eq!(count(|r| matches!(r, Record::Mark { .. })), 1);
    assert_eq!(count(|r| matches!(r, Record::PoolDestroyed { .. })), 1);
}

#[test]
fn the_end_waits_for_calls_in_flight_and_tells_of_a_log_that_is_not_whole() {
    let libraries = libraries("end");
    let (test, toy) = (file("tests/c/end_test.c"), file("tests/c/toy_driver.c"));
    let made = program(Language::C11, &[&test, &toy], &libraries, "libweir.a", "end_test");
    let output = says(Command::new(made).arg(scratch("end_test.log")).env_remove("WEIR_HOST_BYTES"));
    assert_eq!(output, "ok\n");
}

#[test]
fn the_settings_of_a_pool_do_what_the_header_says_in_c_and_in_cpp() {
    let libraries = libraries("pool");
    let test = file("tests/c/pool_test.c");
    for (language, name) in [(Language::C11, "pool_test_c"), (Language::Cpp17, "pool_test_cpp")] {
        let made = program(language, &[&test], &libraries, "libweir.a", name);
        assert_eq!(says(&mut Command::new(made)), "ok\n", "{name}");
    }
}

#[test]
fn a_program_may_give_memory_back_before_an_allocation_is_refused() {
    let libraries = libraries("pressure");
    let (test, toy) = (file("tests/c/pressure_test.c"), file("tests/c/toy_driver.c"));
    let made = program(Language::C11, &[&test, &toy], &libraries, "libweir.a", "pressure_test");
    assert_eq!(says(&mut Command::new(made)), "ok\n");
}

#[test]
fn the_headers_compile_alone_in_both_languages() {
    for language in [Language::C11, Language::Cpp17] {
        for header in ["weir.h", "weir_driver.h", "weir_torch.h"] {
            let source = scratch(&format!("{header}_{language:?}.c"));
            std::fs::write(&source, format!("#include \"{header}\"\n#include \"{header}\"\n")).unwrap();
            quietly(compiler(language).args(["-c", "-o", "/dev/null"]).arg(source));
        }
    }
}

/// The functions that a header declares: names before a parenthesis, at the start of a declaration.
fn declared(header: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(file(header)).unwrap();
    let names =
        text.lines().filter(|line| !line.starts_with([' ', '*', '/', '#', '}']) && !line.starts_with("typedef"));
    let names = names.filter(|line| !line.starts_with("WEIR_ACL_CHECK"));
    let names = names.filter_map(|line| line.split_once('(')).map(|(before, _)| before);
    names.filter_map(|before| before.rsplit([' ', '*']).next()).map(str::to_owned).collect()
}

#[test]
fn the_shared_library_exports_the_interface_and_nothing_else() {
    let libraries = libraries("exports");
    let shared = libraries.join("libweir.so");
    let output = says(Command::new("nm").args(["-D", "--defined-only", "--format=posix"]).arg(&shared));
    let exported: BTreeSet<_> = output.lines().filter_map(|l| l.split(' ').next()).map(str::to_owned).collect();
    let headers = ["weir.h", "weir_torch.h", "acl/acl.h", "acl/acl_rt.h", "acl/acl_rt_memory_soma.h", "acl/weir_acl.h"];
    let named: BTreeSet<_> = headers.iter().flat_map(|header| declared(&format!("include/{header}"))).collect();
    // What only the archive for bare metal has.
    let bare = BTreeSet::from(["weir_create_static".to_owned()]);
    assert_eq!(exported, &named - &bare);
    assert!(bare.is_subset(&named));
    let dynamic = says(Command::new("readelf").arg("-d").arg(&shared));
    assert!(dynamic.contains("soname: [libweir.so]"), "{dynamic}");
}

/// `WEIR_STORAGE_BYTES` is enough for the arenas and the runtime, and at most two thirds more: the number of heads in an
/// index is a power of two, which the macro rounds up.
#[test]
fn the_storage_that_the_header_states_is_what_arenas_take() {
    use weir::Capacities;
    use weir_ffi::arenas::HeapArenas;
    let of = |[streams, events, markers, pools, blocks, granules, labels, pages]: [usize; 8]| Capacities {
        streams,
        events,
        markers,
        pools,
        blocks,
        granules,
        labels,
        pages,
    };
    let all = [
        [2, 8, 16, 1, 64, 16, 4, 2],
        [4, 8, 8, 1, 64, 32, 0, 0],
        [8, 32, 16, 2, 1024, 512, 16, 4],
        [64, 256, 256, 16, 4096, 4096, 1024, 64],
        [256, 1024, 512, 32, 1 << 16, 1 << 14, 4096, 64],
        [0, 0, 0, 0, 0, 0, 0, 0],
        [16, 0, 0, 1, 3000, 10, 0, 1],
    ];
    let prints = all.map(|numbers| {
        let numbers = numbers.map(|number| format!("{number}ull")).join(", ");
        format!("    printf(\"%llu\\n\", (unsigned long long)WEIR_STORAGE_BYTES({numbers}));\n")
    });
    let text = format!("#include <stdio.h>\n#include \"weir.h\"\nint main(void) {{\n{}}}\n", prints.concat());
    let source = scratch("storage_bytes.c");
    std::fs::write(&source, text).unwrap();
    let made = program(Language::C11, &[&source], &libraries("storage"), "libweir.a", "storage_bytes");
    let output = says(&mut Command::new(made));
    let stated: Vec<usize> = output.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(stated.len(), all.len());
    for (numbers, stated) in all.into_iter().zip(stated) {
        let capacities = of(numbers);
        let arenas = HeapArenas::bytes(capacities).unwrap();
        // The runtime with what it has one of, and a number for each pool and stream stand beside the other arenas.
        let others = arenas - size_of::<Singles>();
        let least = others + 10_752 + 8 * (capacities.pools + capacities.streams);
        assert!(
            (least..least + 2 * least / 3 + 1024).contains(&stated),
            "{capacities:?}: {stated}, and {least} are taken"
        );
    }
}
