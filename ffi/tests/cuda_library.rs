//! `libweir_cuda.so` itself: what it exports, what it reads, and what it says.
#![cfg(target_os = "linux")]

mod common;
mod cuda_support;

use common::{file, says, scratch};
use cuda_support::{CUDA, library, plain, program, shared, standins};
use std::collections::BTreeSet;
use std::process::Command;
use weir::trace::{Reader, Record};

/// Every function that the library has.
const EXPORTED: &str = "
    cuCtxDestroy cuCtxDestroy_v2 cuCtxRecordEvent cuCtxSynchronize cuCtxSynchronize_v2 cuDeviceGetDefaultMemPool
    cuDeviceGetMemPool cuDevicePrimaryCtxReset cuDevicePrimaryCtxReset_v2 cuDeviceSetMemPool cuEventCreate
    cuEventCreateFromEGLSync cuEventDestroy cuEventDestroy_v2 cuEventQuery cuEventRecord cuEventRecordWithFlags
    cuEventRecordWithFlags_ptsz cuEventRecord_ptsz cuEventSynchronize cuGraphAddEventRecordNode cuGraphAddNode
    cuGraphAddNode_v2 cuGraphEventRecordNodeSetEvent cuGraphExecEventRecordNodeSetEvent cuGraphExecNodeSetParams
    cuGraphKernelNodeSetAttribute cuGraphNodeSetParams cuGreenCtxRecordEvent cuGreenCtxStreamCreate
    cuIpcOpenEventHandle cuLaunchKernelEx cuLaunchKernelEx_ptsz cuMemAllocAsync cuMemAllocAsync_ptsz
    cuMemAllocFromPoolAsync cuMemAllocFromPoolAsync_ptsz cuMemAllocPitch_v2 cuMemAlloc_v2 cuMemCreate cuMemFreeAsync
    cuMemFreeAsync_ptsz cuMemFree_v2 cuMemGetDefaultMemPool cuMemGetMemPool cuMemPoolCreate cuMemPoolDestroy
    cuMemPoolExportPointer cuMemPoolExportToShareableHandle cuMemPoolGetAccess cuMemPoolGetAttribute
    cuMemPoolImportPointer cuMemPoolSetAccess cuMemPoolSetAttribute cuMemPoolTrimTo cuMemSetMemPool cuStreamCreate
    cuStreamCreateWithPriority cuStreamDestroy cuStreamDestroy_v2 cuStreamQuery cuStreamQuery_ptsz cuStreamSynchronize
    cuStreamSynchronize_ptsz cuStreamWaitEvent cuStreamWaitEvent_ptsz cudaDeviceGetDefaultMemPool cudaDeviceGetMemPool
    cudaDeviceReset cudaDeviceSetMemPool cudaDeviceSynchronize cudaEventCreate cudaEventCreateFromEGLSync
    cudaEventCreateWithFlags cudaEventDestroy cudaEventQuery cudaEventRecord cudaEventRecordWithFlags
    cudaEventRecordWithFlags_ptsz cudaEventRecord_ptsz cudaEventSynchronize cudaFree cudaFreeAsync cudaFreeAsync_ptsz
    cudaGetLastError cudaGraphAddEventRecordNode cudaGraphAddNode cudaGraphAddNode_v2 cudaGraphEventRecordNodeSetEvent
    cudaGraphExecEventRecordNodeSetEvent cudaGraphExecNodeSetParams cudaGraphKernelNodeSetAttribute
    cudaGraphNodeSetParams cudaIpcOpenEventHandle cudaLaunchKernelExC cudaLaunchKernelExC_ptsz cudaMalloc cudaMalloc3D
    cudaMallocAsync cudaMallocAsync_ptsz cudaMallocFromPoolAsync cudaMallocFromPoolAsync_ptsz cudaMallocPitch
    cudaMemGetDefaultMemPool cudaMemGetMemPool cudaMemPoolCreate cudaMemPoolDestroy cudaMemPoolExportPointer
    cudaMemPoolExportToShareableHandle cudaMemPoolGetAccess cudaMemPoolGetAttribute cudaMemPoolImportPointer
    cudaMemPoolSetAccess cudaMemPoolSetAttribute cudaMemPoolTrimTo cudaMemSetMemPool cudaPeekAtLastError
    cudaStreamCreate cudaStreamCreateWithFlags cudaStreamCreateWithPriority cudaStreamDestroy cudaStreamQuery
    cudaStreamQuery_ptsz cudaStreamSynchronize cudaStreamSynchronize_ptsz cudaStreamWaitEvent cudaStreamWaitEvent_ptsz
    cudaThreadExit cudaThreadSynchronize
";

#[test]
fn it_exports_these_functions_and_nothing_else() {
    let made = library(&scratch("cuda_exports"));
    let output = says(Command::new("nm").args(["-D", "--defined-only", "--format=posix"]).arg(&made));
    let exported: BTreeSet<_> = output.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(exported, EXPORTED.split_whitespace().collect());
    let dynamic = says(Command::new("readelf").arg("-d").arg(&made));
    assert!(dynamic.contains("soname: [libweir_cuda.so]"), "{dynamic}");
    // Nothing is looked for where the program happens to run.
    assert!(!dynamic.contains("RPATH") && !dynamic.contains("RUNPATH"), "{dynamic}");
}

/// What a program says on both streams.
fn both(command: &mut Command) -> (String, String) {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (said, wrong) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{command:?}: {wrong}");
    (said, wrong)
}

#[test]
fn the_environment_says_which_driver_and_a_bad_one_is_named() {
    let folder = standins("environment");
    let library = library(&folder);
    let made = program(&folder, "environment", &["cuda_environment.c"], &CUDA);
    let run = |value: &str| both(plain(&made).env("LD_PRELOAD", &library).env("WEIR_CUDA_LIBRARY", value));
    let pooled = ("0 4096\n".to_owned(), String::new());
    assert_eq!(both(plain(&made).env("LD_PRELOAD", &library)), pooled);
    assert_eq!(run(folder.join("libcuda.so.1").to_str().unwrap()), pooled);
    for bad in ["here/libcuda.so.1", "./libcuda.so.1", ""] {
        let (said, wrong) = run(bad);
        assert_eq!(said, "3 0\n", "{bad}");
        assert!(wrong.starts_with("weir: WEIR_CUDA_LIBRARY is ") && wrong.lines().count() == 1, "{bad}: {wrong}");
    }
    let (said, wrong) = run("/nowhere/libcuda.so.1");
    assert!(said == "3 0\n" && wrong.contains("/nowhere/libcuda.so.1"), "{wrong}");
}

#[test]
fn a_log_that_cannot_be_written_is_named_and_one_that_can_is_whole() {
    let folder = standins("log");
    let library = library(&folder);
    let made = program(&folder, "log", &["cuda_environment.c"], &CUDA);
    let (said, wrong) = both(plain(&made).env("LD_PRELOAD", &library).env("WEIR_LOG", "/nowhere/a.log"));
    assert!(said == "304 0\n" && wrong.starts_with("weir: WEIR_LOG is \"/nowhere/a.log\""), "{said}{wrong}");
    let log = folder.join("{device}.log");
    assert_eq!(both(plain(&made).env("LD_PRELOAD", &library).env("WEIR_LOG", &log)).0, "0 4096\n");
    let bytes = std::fs::read(folder.join("0.log")).unwrap();
    let records: Vec<Record> = Reader::new(&bytes).map(|found| found.unwrap().record).collect();
    let count = |wanted: fn(&Record) -> bool| records.iter().filter(|record| wanted(record)).count();
    assert_eq!(count(|record| matches!(record, Record::PoolCreated { .. })), 1);
    // The last thing that the program does.
    assert_eq!(count(|record| matches!(record, Record::Free { .. })), 1);
}

/// The names in the first column of the README's table of differences.
fn in_the_readme() -> BTreeSet<String> {
    let text = std::fs::read_to_string(file("../README.md")).unwrap();
    let table = text.split("| CUDA's pools | there | here |").nth(1).expect("the README has the table");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with("| "));
    rows.map(|line| line.split('|').nth(1).unwrap().trim().to_owned()).collect()
}

#[test]
fn each_difference_of_the_readme_holds() {
    let folder = standins("differences");
    let library = library(&folder);
    let made = program(&folder, "differences", &["cuda_differences.c"], &CUDA);
    let (said, wrong) = both(plain(&made).env("LD_PRELOAD", library));
    assert_eq!(wrong, "");
    assert_eq!(said.lines().map(str::to_owned).collect::<BTreeSet<_>>(), in_the_readme());
}

/// A program, and an extension that it loads.
fn with_extension(test: &str, from: &[&str], options: &[&str]) -> (String, String) {
    let folder = standins(test);
    let library = library(&folder);
    let extension = shared(&folder, "extension.so", &["cuda_static.c"], &["-DEXTENSION", CUDA[0], CUDA[1], CUDA[2]]);
    let made = program(&folder, "program", from, options);
    both(plain(&made).arg(extension).env("LD_PRELOAD", &library).env("LD_LIBRARY_PATH", &folder))
}

#[test]
fn extensions_that_are_loaded_later_are_seen() {
    assert_eq!(with_extension("later", &["cuda_static.c"], &[]), ("1\n".to_owned(), String::new()));
}

#[test]
fn a_static_runtime_is_noticed_and_no_event_is_believed() {
    let (said, wrong) = with_extension("static", &["cuda_static.c", "standin_cudart.c"], &["-DSTATIC"]);
    assert_eq!(said, "0\n");
    assert!(wrong.starts_with("weir: the program has the CUDA runtime linked statically"), "{wrong}");
    assert_eq!(wrong.lines().count(), 1, "{wrong}");
}

#[test]
fn programs_without_cuda_hear_nothing() {
    let made = library(&scratch("cuda_others"));
    assert_eq!(both(Command::new("true").env("LD_PRELOAD", made)), (String::new(), String::new()));
}

#[test]
fn a_process_with_more_rights_than_its_user_does_not_ask_the_environment() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let folder = standins("rights");
    library(&folder);
    // The system preloads nothing into such a process: it is linked in front.
    let front = ["-l:libweir_cuda.so", CUDA[0], CUDA[1], CUDA[2]];
    let made = program(&folder, "rights", &["cuda_environment.c"], &front);
    let ask = || both(plain(&made).env("WEIR_CUDA_LIBRARY", "./libcuda.so.1"));
    assert_eq!(ask().0, "3 0\n");
    // Only root can give the program to another user, and not everywhere.
    let given = chown(&made, Some(65_534), None).is_ok();
    std::fs::set_permissions(&made, std::fs::Permissions::from_mode(0o4755)).unwrap();
    if given && says(plain(&made).arg("secure")) == "secure 1\n" {
        assert_eq!(ask(), ("0 4096\n".to_owned(), String::new()));
    } else {
        println!("no program with other rights can be made here: not asked");
    }
}
