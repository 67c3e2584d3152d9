//! `libweir_acl.so` itself: what it exports, and the emulation that answers where there is no vendor's library.
#![cfg(target_os = "linux")]

mod acl_support;
mod common;

use acl_support::{library, standin};
use common::{Language, file, program, says, scratch};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use weir::trace::{Reader, Record};
use weir::units::Bytes;

/// Every function that the library has: CANN's that matter to pools and their order, and what kernels of the emulation
/// need.
const EXPORTED: &str = "
    aclInit aclFinalize aclGetRecentErrMsg
    aclrtSetDevice aclrtResetDevice aclrtResetDeviceForce aclrtCreateContext aclrtDestroyContext aclrtGetMemInfo
    aclrtCreateStream aclrtCreateStreamWithConfig aclrtCtxGetCurrentDefaultStream aclrtDestroyStream
    aclrtDestroyStreamForce aclrtStreamAbort aclrtStreamStop aclrtPersistentTaskClean aclrtDeviceTaskAbort aclmdlRIAbort
    aclrtCreateEvent aclrtCreateEventWithFlag aclrtCreateEventExWithFlag aclrtDestroyEvent
    aclrtRecordEvent aclrtResetEvent aclrtStreamWaitEvent aclrtStreamWaitEventWithTimeout aclrtSetOpWaitTimeout
    aclrtQueryEventStatus aclrtStreamQuery
    aclrtSynchronizeStream aclrtSynchronizeStreamWithTimeout aclrtSynchronizeEvent aclrtSynchronizeEventWithTimeout
    aclrtSynchronizeDevice aclrtSynchronizeDeviceWithTimeout
    aclrtMalloc aclrtMallocAlign32 aclrtMallocCached aclrtMallocWithCfg aclrtFree
    aclmdlRICaptureBegin aclmdlRICaptureEnd
    aclrtMemcpy aclrtMemcpyAsync aclrtBinaryGetFunction aclrtLaunchKernel
    aclrtMemPoolCreate aclrtMemPoolDestroy aclrtMemPoolSetAttr aclrtMemPoolGetAttr aclrtMemPoolMallocAsync
    aclrtMemPoolFreeAsync aclrtMemPoolTrimTo
    weir_acl_register_kernel weir_acl_binary weir_kernel_bytes weir_kernel_fail
";

#[test]
fn it_exports_these_functions_and_nothing_else() {
    let made = library(&scratch("acl_exports"));
    let output = says(Command::new("nm").args(["-D", "--defined-only", "--format=posix"]).arg(&made));
    let exported: BTreeSet<_> = output.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(exported, EXPORTED.split_whitespace().collect());
    let dynamic = says(Command::new("readelf").arg("-d").arg(&made));
    assert!(dynamic.contains("soname: [libweir_acl.so]"), "{dynamic}");
    // Nothing is looked for where the program happens to run.
    assert!(!dynamic.contains("RPATH") && !dynamic.contains("RUNPATH"), "{dynamic}");
}

/// A program of the emulation's tests, linked with the library.
fn linked(folder: &Path, source: &str) -> Command {
    let made = program(
        Language::C11,
        &[&file(&format!("tests/c/{source}.c"))],
        folder,
        "libweir_acl.so",
        &format!("{source}_acl"),
    );
    let mut command = Command::new(made);
    command.env_remove("WEIR_LOG").env_remove("WEIR_HOST_BYTES").env_remove("WEIR_ACL_LIBRARY");
    command
}

#[test]
fn without_a_vendors_library_the_emulation_answers() {
    let folder = scratch("acl_emulation");
    library(&folder);
    for source in ["acl_codes", "acl_reuse"] {
        assert_eq!(says(&mut linked(&folder, source)), "ok\n", "{source}");
    }
    for source in ["acl_rows_pools", "acl_rows_memory", "acl_rows_reuse"] {
        let said = says(&mut linked(&folder, source));
        assert!(said.ends_with("ok\n") && said.lines().count() > 10, "{source}: {said}");
    }
}

#[test]
fn the_environment_says_which_library_and_a_bad_one_is_named() {
    let folder = scratch("acl_environment");
    library(&folder);
    let standin = standin("environment");
    let run = |value: &std::ffi::OsStr| {
        let output = linked(&folder, "acl_environment").env("WEIR_ACL_LIBRARY", value).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(run(standin.join("libascendcl.so").as_os_str()), "0 vendor\n");
    for bad in ["here/libascendcl.so", "./libascendcl.so", ""] {
        assert!(run(bad.as_ref()).starts_with("100003 WEIR_ACL_LIBRARY is "), "{bad}");
    }
    assert!(run("/nowhere/libascendcl.so".as_ref()).starts_with("100003 /nowhere/libascendcl.so: cannot open"));
    assert!(run("libnowhere.so".as_ref()).starts_with("100003 libnowhere.so: cannot open"));
    let said = says(&mut linked(&folder, "acl_environment"));
    assert_eq!(said, "0 emulation\n");
}

#[test]
fn a_child_has_no_emulation() {
    let folder = scratch("acl_fork");
    library(&folder);
    assert_eq!(says(&mut linked(&folder, "acl_fork")), "ok\n");
}

/// The names in the first column of the README's table of differences.
fn in_the_readme() -> BTreeSet<String> {
    let text = std::fs::read_to_string(file("../README.md")).unwrap();
    let table = text.split("| CANN's pools | there | here |").nth(1).expect("the README has the table");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with("| "));
    rows.map(|line| line.split('|').nth(1).unwrap().trim().to_owned()).collect()
}

#[test]
fn each_difference_of_the_readme_holds() {
    let folder = scratch("acl_differences");
    library(&folder);
    let said = says(&mut linked(&folder, "acl_differences"));
    assert_eq!(said.lines().map(str::to_owned).collect::<BTreeSet<_>>(), in_the_readme());
}

#[test]
fn the_log_says_what_a_destroyed_pool_leaked() {
    let folder = scratch("acl_leak");
    library(&folder);
    let log = scratch("acl_leak.log");
    assert_eq!(says(linked(&folder, "acl_leak").env("WEIR_LOG", &log)), "ok\n");
    let bytes = std::fs::read(&log).unwrap();
    let leaked = Reader::new(&bytes).filter_map(|found| match found.unwrap().record {
        Record::PoolDestroyed { leaked, .. } => Some(leaked),
        _ => None,
    });
    assert_eq!(leaked.collect::<Vec<_>>(), [Bytes(3 * 512), Bytes::ZERO]);
}

#[test]
fn a_process_with_more_rights_than_its_user_does_not_ask_the_environment() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let folder = scratch("acl_rights");
    library(&folder);
    let made = linked(&folder, "acl_environment").get_program().to_owned();
    let own = scratch("acl_environment_rights");
    std::fs::copy(&made, &own).unwrap();
    let ask = || says(Command::new(&own).env("WEIR_ACL_LIBRARY", "./libascendcl.so").env_remove("WEIR_LOG"));
    assert!(ask().starts_with("100003 WEIR_ACL_LIBRARY is "));
    // Only root can give the program to another user, and not everywhere.
    let given = chown(&own, Some(65_534), None).is_ok();
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o4755)).unwrap();
    if given && says(Command::new(&own).arg("secure")) == "secure 1\n" {
        assert_eq!(ask(), "0 emulation\n");
    } else {
        println!("no program with other rights can be made here: not asked");
    }
}
