//! CANN's sample as C and as C++, and what the environment says to it.
#![cfg(target_os = "linux")]

mod common;

use common::{Language, compiler, file, libraries, program, quietly, says, scratch};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::OnceLock;
use weir::trace::{Reader, Record};

/// What the sample prints. Blocks are 512 bytes apart; a granule of 2 MiB holds them all, comes with the first one, and
/// goes back at the synchronisation because the threshold is 0.
const SAYS: &str = "\
before                   used=0 used_high=0 reserved=0 reserved_high=0
addresses from x on: y=+512 z=+1024 args=+1536
after four allocations   used=2048 used_high=2048 reserved=2097152 reserved_high=2097152
after four frees         used=0 used_high=2048 reserved=2097152 reserved_high=2097152
after synchronisation    used=0 used_high=2048 reserved=0 reserved_high=2097152
result checked: 42 3000000000
";

fn sample(language: Language, library: &str, name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| libraries("acl_sample"));
    program(language, &[&file("../examples/c/aclrt_sample.c")], folder, library, name)
}

/// The sample as the environment of the tests leaves it.
fn alone(program: &PathBuf) -> Command {
    let mut command = Command::new(program);
    command.env_remove("WEIR_HOST_BYTES").env_remove("WEIR_LOG");
    command
}

#[test]
fn the_sample_runs_as_c_and_as_cpp_with_either_library() {
    for (language, library, name) in [
        (Language::C11, "libweir.a", "aclrt_sample_c_a"),
        (Language::C11, "libweir.so", "aclrt_sample_c_so"),
        (Language::Cpp17, "libweir.a", "aclrt_sample_cpp_a"),
        (Language::Cpp17, "libweir.so", "aclrt_sample_cpp_so"),
    ] {
        assert_eq!(says(&mut alone(&sample(language, library, name))), SAYS, "{name}");
    }
}

#[test]
fn the_log_has_what_the_sample_does() {
    let program = sample(Language::C11, "libweir.a", "aclrt_sample_log");
    let path = scratch("aclrt_sample.log");
    assert_eq!(says(alone(&program).env("WEIR_LOG", &path).env("WEIR_HOST_BYTES", "14GiB")), SAYS);
    let bytes = std::fs::read(&path).unwrap();
    let records: Vec<_> = Reader::new(&bytes).map(|found| found.unwrap().record).collect();
    let asked = records.iter().filter_map(|r| match r {
        Record::Malloc { asked, given, .. } => Some((asked.0, given.0)),
        _ => None,
    });
    assert_eq!(asked.collect::<Vec<_>>(), [(8, 512), (8, 512), (8, 512), (24, 512)]);
    let count = |kind: fn(&Record<'_>) -> bool| records.iter().filter(|r| kind(r)).count();
    assert_eq!(count(|r| matches!(r, Record::Free { .. })), 4);
    assert_eq!(count(|r| matches!(r, Record::StreamCreated { .. })), 1);
    assert_eq!(count(|r| matches!(r, Record::StreamSynchronized { .. })), 1);
    assert_eq!(count(|r| matches!(r, Record::Mapped { .. })), 1);
    assert_eq!(count(|r| matches!(r, Record::Unmapped { .. })), 1);
    assert_eq!(count(|r| matches!(r, Record::PoolDestroyed { .. })), 1);
    assert_eq!(count(|r| matches!(r, Record::Refused { .. })), 0);
}

/// The sample with one variable set; it must not get through.
fn refused(program: &PathBuf, variable: &str, value: &str) -> String {
    let Output { status, stdout, stderr } = alone(program).env(variable, value).output().unwrap();
    assert_eq!(status.code(), Some(1), "{variable}={value}");
    assert!(stdout.is_empty(), "{}", String::from_utf8_lossy(&stdout));
    String::from_utf8(stderr).unwrap()
}

#[test]
fn a_bad_environment_is_named_with_what_is_expected() {
    let program = sample(Language::C11, "libweir.so", "aclrt_sample_environment");
    for value in ["lots", "", "0", "-1", "12 parsecs", "99999999TiB"] {
        let said = refused(&program, "WEIR_HOST_BYTES", value);
        let line = said.lines().next().unwrap();
        assert!(line.starts_with(&format!("weir: WEIR_HOST_BYTES is {value:?}: expected a number of bytes")), "{said}");
        assert!(said.contains("aclInit(NULL): error 100000:"), "{said}");
    }
    let said = refused(&program, "WEIR_HOST_BYTES", "1000");
    assert!(said.starts_with("weir: a device of 1000 B (WEIR_HOST_BYTES) cannot be made:"), "{said}");
    let said = refused(&program, "WEIR_LOG", "/nowhere/at/all");
    assert!(said.starts_with("weir: WEIR_LOG is \"/nowhere/at/all\": expected a file that can be written"), "{said}");
    assert!(said.contains("aclInit(NULL): error 100003:"), "{said}");
}

#[test]
fn a_log_that_is_not_whole_is_reported_at_the_end() {
    let program = sample(Language::C11, "libweir.so", "aclrt_sample_full");
    let Output { status, stdout, stderr } = alone(&program).env("WEIR_LOG", "/dev/full").output().unwrap();
    assert_eq!(status.code(), Some(1));
    assert_eq!(String::from_utf8(stdout).unwrap(), SAYS);
    let said = String::from_utf8(stderr).unwrap();
    assert!(said.starts_with("weir: ") && said.contains("writing \"/dev/full\": No space left on device"), "{said}");
    assert!(said.contains("aclFinalize(): error 100003:"), "{said}");
}

#[test]
fn a_device_that_is_too_small_refuses_the_pool_with_both_numbers() {
    let program = sample(Language::C11, "libweir.a", "aclrt_sample_small");
    let said = refused(&program, "WEIR_HOST_BYTES", "13GiB");
    assert!(said.starts_with("aclrtMemPoolCreate(&pool, &props): error 107000:"), "{said}");
    assert!(said.contains("15032385536 B") && said.contains("13958643712 B"), "{said}");
}

#[test]
fn each_header_compiles_alone_in_both_languages() {
    for language in [Language::C11, Language::Cpp17] {
        for name in ["acl", "acl_base", "acl_rt", "acl_rt_memory_soma", "weir_acl"] {
            let source = scratch(&format!("{name}_{language:?}.c"));
            std::fs::write(&source, format!("#include \"acl/{name}.h\"\n#include \"acl/{name}.h\"\n")).unwrap();
            quietly(compiler(language).args(["-c", "-o", "/dev/null"]).arg(source));
        }
    }
}
