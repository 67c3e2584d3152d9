//! `fuzz`: hostile bytes for whatever reads them, made by libFuzzer.

use crate::commands::no_install;
use crate::failure::Failure;
use crate::packages::{CXX_COMPILER, Permission, System};
use crate::{project, step};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Something to fuzz: a program of the package in `xtask/fuzz`.
struct Target {
    name: &'static str,
    /// Where there is unsafe code, every access is checked; elsewhere that would only take time.
    sanitizer: &'static str,
    /// Bytes of the longest input.
    longest: u32,
}

const TARGETS: [Target; 4] = [
    Target { name: "binary_log", sanitizer: "none", longest: 8_192 },
    Target { name: "text_log", sanitizer: "none", longest: 8_192 },
    Target { name: "replay_csv", sanitizer: "none", longest: 4_096 },
    Target { name: "c_calls", sanitizer: "address", longest: 2_048 },
];

/// How the files of a corpus begin that stay although others reach as much: what showed a defect, found or planted.
const KEPT: &str = "kept-";

pub(crate) fn parser() -> Command {
    Command::new("fuzz")
        .about("Feed hostile bytes to the log reader and viewer, the replay and the C interface, with libFuzzer")
        .arg(
            Arg::new("target")
                .value_name("TARGET")
                .value_parser(PossibleValuesParser::new(TARGETS.iter().map(|target| target.name)))
                .help("What to feed [default: one after the other]"),
        )
        .arg(
            Arg::new("seconds")
                .long("seconds")
                .value_name("N")
                .default_value("60")
                .value_parser(clap::value_parser!(u32).range(1..))
                .help("How long, each"),
        )
        .arg(Arg::new("minimise").long("minimise").action(ArgAction::SetTrue).help(
            "Do not fuzz, but add what was found to the corpora in xtask/fuzz/corpus, and keep of them what reaches most",
        ))
        .arg(no_install())
        .after_help(
            "Example:\n  cargo xtask fuzz text_log --seconds 600\n\n\
             Inputs that reach something new go to target/fuzz/found/TARGET, those that show a defect to\n\
             target/fuzz/defects/TARGET. The corpora go through the same functions with `cargo xtask test`.\n\n\
             Exit status: 0, or 1 where an input showed a defect or the fuzzer cannot be had.",
        )
}

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    let permission = Permission::of(arguments);
    let only = arguments.get_one::<String>("target");
    let seconds = arguments.get_one::<u32>("seconds").copied().unwrap_or(60);
    System::new(permission).ensure(&[CXX_COMPILER]).map_err(Failure::Failed)?;
    ensure_cargo_fuzz(permission)?;
    for target in TARGETS.iter().filter(|target| only.is_none_or(|name| name == target.name)) {
        let program = build(target)?;
        if arguments.get_flag("minimise") {
            minimise(target, &program)?;
        } else {
            fuzz(target, &program, seconds)?;
        }
    }
    Ok(())
}

/// Programs that this command installed for itself.
fn tools() -> PathBuf {
    project::output("tools")
}

/// Cargo with the subcommands in [`tools`].
fn cargo<const N: usize>(arguments: [&str; N]) -> std::process::Command {
    let mut command = project::cargo(arguments);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([tools().join("bin")]);
    command.env("PATH", std::env::join_paths(folders).unwrap_or(path));
    command
}

/// Gets cargo-fuzz, which knows the compiler's flags, where it is not there.
fn ensure_cargo_fuzz(permission: Permission) -> Result<(), Failure> {
    let has = || cargo(["fuzz", "--version"]).output().is_ok_and(|output| output.status.success());
    if has() {
        return Ok(());
    }
    if permission == Permission::Install {
        let mut command = project::cargo(["install", "--debug", "--locked", "cargo-fuzz", "--root"]);
        // Whether it worked is seen by looking again.
        let _ = step::run("cargo-fuzz", command.arg(tools()));
    }
    if has() {
        return Ok(());
    }
    Err(Failure::Failed("fuzzing needs cargo-fuzz; run: cargo install --locked cargo-fuzz".into()))
}

/// Builds a target's program.
fn build(target: &Target) -> Result<PathBuf, Failure> {
    let folder = project::output("fuzz").join("build").join(target.sanitizer);
    let machine = host()?;
    let mut command = cargo(["fuzz", "build", "--fuzz-dir", "xtask/fuzz", "--features", "libfuzzer", "--sanitizer"]);
    command.args([target.sanitizer, "--target", &machine, "--target-dir"]).arg(&folder).arg(target.name);
    // The flags that let the fuzzer see where an input gets are hidden in stable compilers, not absent.
    command.env("RUSTC_BOOTSTRAP", "1");
    step::run(&format!("the program of {}", target.name), &mut command)?;
    Ok(folder.join(machine).join("release").join(target.name))
}

/// The machine that the compiler makes programs for: this one.
fn host() -> Result<String, Failure> {
    let output = std::process::Command::new("rustc").arg("-vV").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| Failure::Failed("`rustc -vV` does not say for which machine it builds".into()))
}

/// The inputs that are kept.
fn corpus(target: &Target) -> PathBuf {
    project::root().join("xtask/fuzz/corpus").join(target.name)
}

/// A folder of this target for what comes of fuzzing.
fn folder(what: &str, target: &Target) -> Result<PathBuf, Failure> {
    let folder = project::output("fuzz").join(what).join(target.name);
    fs::create_dir_all(&folder).map_err(|error| Failure::file("create", &folder, error))?;
    Ok(folder)
}

fn fuzz(target: &Target, program: &Path, seconds: u32) -> Result<(), Failure> {
    let (found, defects) = (folder("found", target)?, folder("defects", target)?);
    let mut prefix = OsString::from("-artifact_prefix=");
    prefix.push(defects.join(""));
    let mut command = std::process::Command::new(program);
    // What is new goes to the first folder.
    command.arg(&found).arg(corpus(target)).arg(prefix);
    command.arg(format!("-max_len={}", target.longest)).arg(format!("-max_total_time={seconds}"));
    // Seconds for one input, and what the process may take of memory.
    command.args(["-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1"]);
    step::last(&format!("fuzzing {}", target.name), &mut command).map_err(|failure| {
        let (defects, corpus) = (project::shown(&defects), project::shown(&corpus(target)));
        Failure::Failed(format!(
            "{failure}\nthe input is in {defects}; repeat it with: {} FILE\n\
             once it is mended, move it to {corpus}/{KEPT}WHAT",
            project::shown(program)
        ))
    })?;
    say!("    what reaches something new: {}; keep it with --minimise", project::shown(&found));
    Ok(())
}

/// Makes the corpus, with what was found, as small as it can be and still reach every place that it reaches.
fn minimise(target: &Target, program: &Path) -> Result<(), Failure> {
    let (found, least, corpus) = (folder("found", target)?, folder("least", target)?, corpus(target));
    for old in files(&least)? {
        fs::remove_file(&old).map_err(|error| Failure::file("remove", &old, error))?;
    }
    let mut command = std::process::Command::new(program);
    command.args(["-set_cover_merge=1", "-use_counters=0", "-timeout=20"]).arg(format!("-max_len={}", target.longest));
    step::last(&format!("minimising {}", target.name), command.args([&least, &corpus, &found]))?;
    let kept = |file: &PathBuf| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(KEPT));
    for old in files(&corpus)?.into_iter().filter(|file| !kept(file)) {
        fs::remove_file(&old).map_err(|error| Failure::file("remove", &old, error))?;
    }
    for new in files(&least)? {
        let place = corpus.join(new.file_name().unwrap_or_default());
        fs::copy(&new, &place).map_err(|error| Failure::file("write", &place, error))?;
    }
    say!("    {}: {} files", project::shown(&corpus), files(&corpus)?.len());
    Ok(())
}

/// The files in a folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |error| Failure::file("read", folder, error);
    let entries = fs::read_dir(folder).map_err(unreadable)?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(unreadable)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_a_program_and_has_a_corpus() {
        let manifest = fs::read_to_string(project::root().join("xtask/fuzz/Cargo.toml")).expect("is there");
        let programs = manifest.lines().filter(|line| line.starts_with("path = \"fuzz_targets/")).count();
        assert_eq!(programs, TARGETS.len());
        for target in &TARGETS {
            assert!(manifest.contains(&format!("path = \"fuzz_targets/{}.rs\"", target.name)), "{}", target.name);
            for file in files(&corpus(target)).expect("is there") {
                let bytes = fs::metadata(&file).expect("is there").len();
                assert!(bytes <= u64::from(target.longest), "{} is too long to be read whole", file.display());
            }
        }
    }
}
