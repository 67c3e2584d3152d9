//! The panic check: links what the pool's calls reach, as firmware would, and looks for whatever can panic, format or
//! allocate.
//!
//! A crate that cannot panic has no say in it; the linker decides. `xtask/probe` exports one function for each call of the
//! interface. Linked with everything else collected as garbage, the image must hold no part of `core::panicking`, no
//! `core::fmt`, and must not ask for an allocator.

use crate::cross::{self, Compiler};
use crate::failure::Failure;
use crate::firmware::archive::{self, Notes};
use crate::project;
use crate::step;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROBE_SOURCE: &str = include_str!("../probe/src/lib.rs");
const INTERFACE_SOURCE: &str = include_str!("../../ffi/src/capi/mod.rs");

/// What compilers call without being asked; the C library or `compiler_builtins` provides it.
const COMPILER_CALLS: [&str; 7] = ["memcpy", "memmove", "memset", "memcmp", "bcmp", "strlen", "rust_eh_personality"];

/// Parts of names that no call of the pool may reach. Every panic passes through the first.
const FORBIDDEN: [&str; 5] = ["core::panicking", "core::fmt", "rust_begin_unwind", "unwrap_failed", "expect_failed"];

/// Allocators of C's.
const ALLOCATORS: [&str; 5] = ["malloc", "calloc", "realloc", "free", "aligned_alloc"];

/// The same for the beginnings of names.
const FORBIDDEN_BEGINNINGS: [&str; 4] = ["alloc::", "<alloc::", "__rust_alloc", "__rust_realloc"];

/// For what the probe is built and linked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    /// The target's name; `None` for the host's own `core`, without its operating system.
    pub(crate) target: Option<&'static str>,
    /// The linker's name for it.
    emulation: &'static str,
}

/// Every machine that the check knows.
pub(crate) const BARE_METAL: [Machine; 4] = [
    Machine { target: Some("thumbv7em-none-eabihf"), emulation: "armelf" },
    Machine { target: Some("aarch64-unknown-none"), emulation: "aarch64elf" },
    Machine { target: Some("riscv64gc-unknown-none-elf"), emulation: "elf64lriscv" },
    // Without floating point in the processor: any use of it is a routine's name in the image.
    Machine { target: Some("thumbv7em-none-eabi"), emulation: "armelf" },
];

/// The machine of a target.
pub(crate) fn bare_metal(target: &str) -> Option<Machine> {
    BARE_METAL.into_iter().find(|machine| machine.target == Some(target))
}

/// The host, if its images are ELF.
pub(crate) const fn host() -> Option<Machine> {
    let emulation = if !cfg!(target_os = "linux") {
        return None;
    } else if cfg!(target_arch = "x86_64") {
        "elf_x86_64"
    } else if cfg!(target_arch = "aarch64") {
        "aarch64elf"
    } else {
        return None;
    };
    Some(Machine { target: None, emulation })
}

impl Machine {
    fn name(self) -> &'static str {
        self.target.unwrap_or("host")
    }
}

/// Whether the probe holds a planted fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    Honest,
    Planted,
    /// The C interface: the archive that firmware links, not the probe.
    Interface,
    /// What a program links of it that has one pool and its log.
    Pool,
}

/// Checks one machine: first that a planted fault is found, then that there is none.
pub(crate) fn run(machine: Machine, compiler: &Compiler) -> Result<(), Failure> {
    let Some(linker) = cross::linker() else {
        step::skip(
            &format!("panic check for {}", machine.name()),
            "no rust-lld or ld.lld; the toolchains of rustup have the first",
        );
        return Ok(());
    };
    let planted = findings((machine, compiler), Probe::Planted, &linker)?;
    if planted.is_empty() {
        return Err(Failure::Failed(format!(
            "the panic check for {} did not find the planted fault, so its silence means nothing",
            machine.name()
        )));
    }
    let mut found = findings((machine, compiler), Probe::Honest, &linker)?;
    // The host's archive is another one, with an operating system below it.
    if machine.target.is_some() {
        found.extend(findings((machine, compiler), Probe::Interface, &linker)?);
    }
    if found.is_empty() {
        let in_c = if machine.target.is_some() { entries(Probe::Interface).count() } else { 0 };
        say!(
            "    {}: {} calls in Rust, {in_c} in C reach no panic, no formatting, no allocator, no floating point routine",
            machine.name(),
            entries(Probe::Honest).count()
        );
        return Ok(());
    }
    Err(Failure::Failed(format!(
        "the panic check for {} found what firmware must not link:\n  {}\nrepeat it with: cargo xtask ci --only panics",
        machine.name(),
        found.join("\n  ")
    )))
}

fn findings((machine, compiler): (Machine, &Compiler), probe: Probe, linker: &Path) -> Result<Vec<String>, Failure> {
    let archive = build(machine, compiler, probe)?;
    let link = Link { machine, probe, archive: &archive, linker };
    link.findings()
}

/// The functions that the probe exports, as its source names them.
fn entries(probe: Probe) -> impl Iterator<Item = &'static str> {
    let meant = move |name: &&str| match probe {
        Probe::Honest => *name != "probe_planted",
        Probe::Planted => true,
        Probe::Interface | Probe::Pool => false,
    };
    let of_the_probe = PROBE_SOURCE.lines().filter_map(entry).filter(meant);
    let of_c = prototypes().filter(move |name| match probe {
        Probe::Interface => true,
        Probe::Pool => POOL.contains(name),
        Probe::Honest | Probe::Planted => false,
    });
    of_the_probe.chain(of_c)
}

/// The functions that the archive for bare metal has, as the C interface lists them: not those for hosted programs.
pub(crate) fn prototypes() -> impl Iterator<Item = &'static str> {
    let (hosted, list) = ("#[cfg(feature = \"std\")]\nprototypes! {", "prototypes! {");
    let blocks = INTERFACE_SOURCE.split(hosted).enumerate().flat_map(move |(index, text)| {
        // What a hosted list begins with is skipped up to its end.
        let text = if index == 0 { text } else { text.split_once('}').map_or("", |(_, rest)| rest) };
        text.split(list).skip(1)
    });
    let words = blocks.filter_map(|text| text.split('}').next()).flat_map(str::split_whitespace);
    words.filter(|word| word.starts_with("weir_"))
}

/// The name in a line such as `probe_free(rt: ...` or `pub extern "C" fn probe_new(...`.
fn entry(line: &'static str) -> Option<&'static str> {
    let line = line.trim_start();
    let line = line.strip_prefix("pub extern \"C\" fn ").unwrap_or(line);
    let (name, _) = line.split_once('(')?;
    let named = name.starts_with("probe_") && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    named.then_some(name)
}

/// What a program calls that makes a runtime and a pool, allocates, frees, orders its streams by events, synchronises, trims,
/// looks at attributes and drains the log.
const POOL: [&str; 19] = [
    "weir_config_init",
    "weir_create_static",
    "weir_destroy",
    "weir_log_flush",
    "weir_pool_config_init",
    "weir_pool_create",
    "weir_pool_destroy",
    "weir_pool_get_attribute",
    "weir_pool_set_attribute",
    "weir_pool_trim",
    "weir_stream_register",
    "weir_stream_destroy",
    "weir_stream_synchronize",
    "weir_malloc_async",
    "weir_free_async",
    "weir_event_create",
    "weir_event_destroy",
    "weir_event_record",
    "weir_stream_wait_event",
];

/// As [`interface`], of what a program links that has one pool.
pub(crate) fn pool(machine: Machine, compiler: &Compiler, notes: Notes) -> Result<PathBuf, Failure> {
    linked(machine, compiler, notes, Probe::Pool)
}

/// Links the C interface for a machine and returns the image; with the compiler's notes on stack use where `notes` says so.
pub(crate) fn interface(machine: Machine, compiler: &Compiler, notes: Notes) -> Result<PathBuf, Failure> {
    linked(machine, compiler, notes, Probe::Interface)
}

fn linked(machine: Machine, compiler: &Compiler, notes: Notes, probe: Probe) -> Result<PathBuf, Failure> {
    let target = machine.target.ok_or_else(|| Failure::Failed("the host has no image of the interface".into()))?;
    let linker = cross::linker().ok_or_else(|| Failure::Failed("no rust-lld to link the interface".into()))?;
    let archive = archive::build(target, compiler, notes)?;
    let link = Link { machine, probe, archive: &archive, linker: &linker };
    let found = link.findings()?;
    if found.is_empty() {
        return Ok(link.image());
    }
    Err(Failure::Failed(format!("the interface for {target} holds what it must not: {}", found.join(" "))))
}

fn build(machine: Machine, compiler: &Compiler, probe: Probe) -> Result<PathBuf, Failure> {
    let features = match (probe, machine.target) {
        (Probe::Interface | Probe::Pool, Some(target)) => return archive::build(target, compiler, Notes::None),
        (Probe::Planted, _) => "image,planted",
        _ => "image",
    };
    let words = ["rustc", "--package", "weir-probe", "--lib", "--profile", "firmware", "--features", features];
    let words = words.into_iter().chain(["--crate-type", "staticlib"]);
    let mut command = match machine.target {
        Some(target) => compiler.cargo(target, words),
        None => project::cargo(words),
    };
    let files = project::built(&mut command)?;
    let archive = files.into_iter().find(|file| file.extension().is_some_and(|extension| extension == "a"));
    archive.ok_or_else(|| Failure::Failed("cargo built the probe but named no archive".into()))
}

/// One way to link the probe.
struct Link<'a> {
    machine: Machine,
    probe: Probe,
    archive: &'a Path,
    linker: &'a Path,
}

impl Link<'_> {
    fn image(&self) -> PathBuf {
        self.archive.with_extension(if self.probe == Probe::Pool { "pool.elf" } else { "elf" })
    }

    /// Everything but what no exported function reaches.
    fn command(&self) -> Command {
        let mut command = Command::new(self.linker);
        command.args(["-flavor", "gnu", "-m", self.machine.emulation, "--gc-sections", "-e", "0"]);
        command.arg(self.archive).arg("-o").arg(self.image());
        for entry in entries(self.probe) {
            command.args(["-u", entry]);
        }
        for name in COMPILER_CALLS {
            command.arg(format!("--defsym={name}=0"));
        }
        command
    }

    /// What should not be in the image.
    fn findings(&self) -> Result<Vec<String>, Failure> {
        let map = self.archive.with_extension("map");
        let output = self.run(self.command().arg("-Map").arg(&map))?;
        let messages = String::from_utf8_lossy(&output.stderr);
        let missing = undefined(&messages);
        if !missing.is_empty() {
            return Ok(missing);
        }
        if !output.status.success() {
            return Err(Failure::Failed(format!("the linker failed: {messages}")));
        }
        let text = std::fs::read_to_string(&map).map_err(|error| Failure::file("read", &map, error))?;
        let mut found = suspects(self.probe, &text)?;
        if self.probe != Probe::Planted && !found.is_empty() {
            found.extend(self.reasons()?);
        }
        Ok(found)
    }

    /// Who refers to the first panic, step by step up to an exported function. Nothing where the linker is too old to say.
    fn reasons(&self) -> Result<Vec<String>, Failure> {
        let output = self.run(self.command().arg("--why-live=*panic_fmt*"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(text.lines().filter_map(reason).collect())
    }

    fn run(&self, command: &mut Command) -> Result<std::process::Output, Failure> {
        command.output().map_err(|error| Failure::file("run", self.linker, error))
    }
}

/// `>>> referenced by: lib.a(x.o):(name)` without the file.
fn reason(line: &str) -> Option<String> {
    let name = line.strip_prefix(">>> referenced by: ")?;
    let name = name.split_once(":(").map_or(name, |(_, name)| name);
    Some(format!("because of {}", name.trim_end_matches(')')))
}

/// Symbols that the linker missed: an allocator, the operating system.
fn undefined(messages: &str) -> Vec<String> {
    let name = |line: &str| line.split_once("undefined symbol: ").map(|(_, name)| name.trim().to_owned());
    let mut names: Vec<_> = messages.lines().filter_map(name).collect();
    names.dedup();
    names
}

/// Names in the linker's map that no call may reach; an error if a call of the interface is not there at all.
fn suspects(probe: Probe, map: &str) -> Result<Vec<String>, Failure> {
    let symbols: Vec<_> = map.lines().filter_map(symbol).collect();
    for entry in entries(probe) {
        if !symbols.contains(&entry) {
            return Err(Failure::Failed(format!("the panic check's image lacks `{entry}`")));
        }
    }
    Ok(forbidden_in(map))
}

/// Names in a linker's map that no firmware may hold.
pub(crate) fn forbidden_in(map: &str) -> Vec<String> {
    let forbidden = |name: &&str| {
        FORBIDDEN.iter().any(|part| name.contains(part))
            || FORBIDDEN_BEGINNINGS.iter().any(|part| name.starts_with(part))
            || ALLOCATORS.contains(name)
            || is_floating(name)
    };
    let mut found: Vec<_> = map.lines().filter_map(symbol).filter(forbidden).map(str::to_owned).collect();
    found.sort();
    found.dedup();
    found
}

/// Whether a routine of the compiler's does floating point: what it calls where the processor has no instruction for it, as
/// for 64 bits on a Cortex-M4F and for all on `thumbv7em-none-eabi`.
fn is_floating(name: &str) -> bool {
    let arm = name.strip_prefix("__aeabi_").unwrap_or_default();
    let others = name.strip_prefix("__").unwrap_or_default();
    // sf, df, tf: a float of 32, 64, 128 bits among the operands; ARM's begin with f or d, or convert to one.
    let operands = ["sf", "df", "tf"];
    (arm.starts_with('f') || arm.starts_with('d') || arm.contains("2f") || arm.contains("2d"))
        || operands.iter().any(|operand| others.contains(operand) && !others.contains("aeabi"))
}

/// The symbol of a map's line: four numbers, then, indented most, the name.
fn symbol(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    for _ in 0..4 {
        let (number, tail) = rest.split_once(' ')?;
        if !number.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        rest = tail.trim_start();
    }
    // What stands there for a whole file or section has a colon and a parenthesis.
    Some(rest.trim_end()).filter(|name| !name.is_empty() && !name.contains(":("))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_read() {
        let map = "             VMA              LMA     Size Align Out     In      Symbol\n\
          201120           201120       2a    16 .text\n\
          201120           201120       2a    16         /x/libprobe.a(probe.o):(.text.probe_free)\n\
          201120           201120       2a     1                 probe_free\n\
          201150           201150       10     1                 core::panicking::panic_bounds_check::h1234\n";
        let names: Vec<_> = map.lines().filter_map(symbol).collect();
        assert!(names.contains(&"probe_free"), "{names:?}");
        assert!(names.contains(&"core::panicking::panic_bounds_check::h1234"), "{names:?}");
    }

    #[test]
    fn floating_point_is_told_by_its_routines() {
        for name in ["__aeabi_dadd", "__aeabi_fmul", "__aeabi_ul2d", "__aeabi_i2f", "__muldf3", "__floatundisf"] {
            assert!(is_floating(name), "{name}");
        }
        for name in ["__aeabi_uldivmod", "__aeabi_memcpy", "__aeabi_lmul", "__udivdi3", "probe_default_pool"] {
            assert!(!is_floating(name), "{name}");
        }
    }

    #[test]
    fn the_lists_of_the_c_interface_are_read() {
        let names: Vec<_> = prototypes().collect();
        assert!(names.len() > 30, "{names:?}");
        assert!(names.contains(&"weir_malloc_async") && names.contains(&"weir_create_static"), "{names:?}");
        assert!(!names.contains(&"weir_create_host") && !names.contains(&"weir_torch_malloc"), "{names:?}");
    }

    #[test]
    fn missing_symbols_are_findings() {
        let messages = "rust-lld: error: undefined symbol: __rust_alloc\n>>> referenced by x\n";
        assert_eq!(undefined(messages), ["__rust_alloc"]);
    }

    /// Every public method of the runtime has a function in the probe, so that a new one cannot be forgotten.
    #[test]
    fn the_probe_covers_the_interface() {
        let probed: Vec<_> = entries(Probe::Honest).collect();
        let mut methods = 0;
        let folder = project::root().join("core/src/runtime");
        for entry in std::fs::read_dir(folder).expect("is there") {
            let path = entry.expect("is there").path();
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("is text");
            for method in text.split("impl<").flat_map(methods_of_the_runtime) {
                methods += 1;
                let name = format!("probe_{method}");
                assert!(probed.contains(&name.as_str()), "{method} of {} is not probed", path.display());
            }
        }
        assert!(methods > 30, "only {methods} methods were found");
    }

    /// The public methods in an `impl` block, without the word.
    fn methods_of_the_runtime(block: &str) -> Vec<&str> {
        let header = block.lines().next().unwrap_or_default();
        if !header.contains("> Runtime<") {
            return Vec::new();
        }
        let names = block.lines().filter_map(|line| line.strip_prefix("    pub fn "));
        names.filter_map(|rest| rest.split(['(', '<']).next()).collect()
    }
}
