//! `ci`: everything that must hold before a change goes in.

use crate::commands::{bench, bindgen, explore, no_install, sanitize, sim, size, test};
use crate::cross::Compiler;
use crate::failure::Failure;
use crate::packages::{BROWSER, LIBCLANG, Permission, System};
use crate::panic_check;
use crate::project;
use crate::step;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command};

/// A named part of `ci`, so that a failing one can be repeated alone.
struct Part {
    name: &'static str,
    run: fn(&System) -> Result<(), Failure>,
}

const PARTS: [Part; 11] = [
    Part { name: "fmt", run: |_| fmt() },
    Part { name: "clippy", run: |_| clippy() },
    Part { name: "docs", run: |_| docs() },
    Part { name: "no_std", run: no_std },
    Part { name: "panics", run: panics },
    Part { name: "size", run: size::regressions },
    Part { name: "generated", run: generated },
    Part { name: "sim", run: |_| simulation() },
    Part { name: "sanitize", run: sanitize::affordable },
    Part { name: "bench", run: bench::regressions },
    // Last: the output ends with the test runner's summary.
    Part { name: "test", run: tests },
];

pub(crate) fn parser() -> Command {
    Command::new("ci")
        .about("Format, lints, documentation, no_std, panic check, generated files, simulation, sanitizers, instruction counts, then every test")
        .arg(
            Arg::new("only")
                .long("only")
                .value_name("PART")
                .action(ArgAction::Append)
                .value_parser(PossibleValuesParser::new(PARTS.iter().map(|part| part.name)))
                .help("Run only this part; may be given several times"),
        )
        .arg(no_install())
        .after_help("Example:\n  cargo xtask ci --only fmt --only panics")
}

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    let only: Vec<&String> = arguments.get_many("only").unwrap_or_default().collect();
    let system = System::new(Permission::of(arguments));
    for part in &PARTS {
        if only.is_empty() || only.iter().any(|name| *name == part.name) {
            (part.run)(&system)?;
        }
    }
    Ok(())
}

/// Every test, the browser's look at the report too: here it is worth the download. Where it cannot be had, the tests say
/// so.
fn tests(system: &System) -> Result<(), Failure> {
    let _ = system.ensure(&[BROWSER]);
    test::all(system)
}

fn fmt() -> Result<(), Failure> {
    step::run("format", &mut project::cargo(["fmt", "--all", "--check"]))
}

fn clippy() -> Result<(), Failure> {
    let warnings = ["--", "-D", "warnings"];
    for (name, what) in [
        ("lints", ["--workspace", "--all-targets"].as_slice()),
        ("lints of the core's features", &["--package", "weir", "--all-features", "--all-targets"]),
        ("lints of the window", &["--package", "weir-viz", "--features", "drive,parquet", "--all-targets"]),
    ] {
        step::run(name, project::cargo(["clippy"]).args(what).args(warnings))?;
    }
    Ok(())
}

fn docs() -> Result<(), Failure> {
    for (name, what) in [
        ("documentation", ["--workspace"].as_slice()),
        ("documentation of the core's features", &["--package", "weir", "--all-features"]),
    ] {
        let mut command = project::cargo(["doc", "--no-deps"]);
        step::run(name, command.args(what).env("RUSTDOCFLAGS", "-D warnings"))?;
    }
    Ok(())
}

/// Faults planted in the pool are found, and the pool as it is passes two million steps, and all small programs.
fn simulation() -> Result<(), Failure> {
    let mut command = project::cargo(["test", "--release", "--package", "weir-sim-run", "--features", "plant"]);
    step::run("planted faults are found", &mut command)?;
    let mut command = project::cargo(["test", "--release", "--package", "weir-explore", "--features", "plant"]);
    step::run("small programs show planted faults", &mut command)?;
    let mut command = project::cargo(["test", "--package", "weir-gpu", "--features", "plant", "--test", "plants"]);
    step::run("programs with real bytes show planted faults", &mut command)?;
    let mut command = project::cargo(["test", "--release", "--package", "weir", "--features", "sim"]);
    step::run("every order of two threads", command.args(["--test", "pool_windows"]))?;
    let mut command = project::cargo(["test", "--release", "--package", "weir", "--features", "sim,plant"]);
    step::run("windows that are left open are found", command.args(["--test", "pool_windows_plants"]))?;
    step::run("two million steps of simulation", &mut sim::steps(1, 2_000_000))?;
    step::run("every small program", &mut explore::explorer(explore::CI_DEPTH))
}

/// Builds the core where there is no std to lean on.
fn no_std(system: &System) -> Result<(), Failure> {
    for machine in panic_check::BARE_METAL {
        let Some(target) = machine.target else { continue };
        match Compiler::find(system, target) {
            Err(reason) => step::skip(&format!("the core for {target}"), &reason),
            Ok(compiler) => {
                let words = ["build", "--package", "weir", "--profile", "firmware", "--features", "sim,defmt"];
                let mut command = compiler.cargo(target, words);
                step::run(&format!("the core for {target}"), &mut command)?;
            }
        }
    }
    Ok(())
}

fn panics(system: &System) -> Result<(), Failure> {
    step::header("panic check");
    match panic_check::host() {
        Some(host) => panic_check::run(host, &Compiler::Here)?,
        None => step::skip("panic check for the host", "its images are not ELF"),
    }
    for machine in panic_check::BARE_METAL {
        let Some(target) = machine.target else { continue };
        match Compiler::find(system, target) {
            Err(reason) => step::skip(&format!("panic check for {target}"), &reason),
            Ok(compiler) => panic_check::run(machine, &compiler)?,
        }
    }
    Ok(())
}

fn generated(system: &System) -> Result<(), Failure> {
    match system.ensure(&[LIBCLANG]) {
        Err(reason) => step::skip("whether the generated bindings are fresh", &reason),
        Ok(()) => step::run("generated bindings are fresh", &mut bindgen::generator(Some("--check")))?,
    }
    Ok(())
}
