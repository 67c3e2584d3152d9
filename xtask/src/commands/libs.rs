//! `libs`: the C library and its headers in one place.

use crate::commands::no_install;
use crate::cross::Compiler;
use crate::failure::Failure;
use crate::firmware::archive::{self, Notes};
use crate::packages::{Permission, System};
use crate::project;
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::path::{Path, PathBuf};

pub(crate) fn parser() -> Command {
    Command::new("libs")
        .about(
            "Put libweir.a, libweir.so, libweir_acl.so, libweir_cuda.so and the headers into target/weir/{lib,include}",
        )
        .arg(Arg::new("release").long("release").action(ArgAction::SetTrue).help("Build with optimisation"))
        .arg(
            Arg::new("target")
                .long("target")
                .value_name("TARGET")
                .help("For bare metal: only libweir.a, small and without heap, in target/weir/lib/TARGET"),
        )
        .arg(no_install())
        .after_help("Example:\n  cargo xtask libs --release")
}

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    if let Some(target) = arguments.get_one::<String>("target") {
        return bare_metal(&System::new(Permission::of(arguments)), target);
    }
    let mut packages = vec!["build", "--package", "weir-archive", "--package", "weir-shared"];
    for (package, _) in IN_FRONT {
        packages.extend(["--package", package]);
    }
    let mut command = project::cargo(packages);
    if arguments.get_flag("release") {
        command.arg("--release");
    }
    let files = project::built(&mut command)?;
    let lib = project::output("weir/lib");
    let include = project::output("weir/include");
    install(&files, "weir_archive", "a", &lib.join("libweir.a"))?;
    install(&files, "weir_shared", shared_extension(), &lib.join(format!("libweir.{}", shared_extension())))?;
    for (package, name) in IN_FRONT {
        install(&files, &package.replace('-', "_"), "so", &lib.join(name))?;
    }
    let headers = copy_headers(&project::root().join("ffi/include"), &include)?;
    let in_front: String = IN_FRONT.iter().map(|(_, name)| format!(" {name}")).collect();
    say!("{}: libweir.a libweir.{}{in_front}", project::shown(&lib), shared_extension());
    say!("{}: {}", project::shown(&include), headers.join(" "));
    say!("a program uses them with: cc -Itarget/weir/include main.c target/weir/lib/libweir.a -lpthread -ldl -lm");
    Ok(())
}

/// The libraries that stand in front of a vendor's, by package: they are Linux's alone.
const IN_FRONT: &[(&str, &str)] =
    if cfg!(target_os = "linux") { &[("weir-acl", "libweir_acl.so"), ("weir-cuda", "libweir_cuda.so")] } else { &[] };

/// The archive for firmware.
fn bare_metal(system: &System, target: &str) -> Result<(), Failure> {
    let compiler = Compiler::find(system, target).map_err(Failure::Failed)?;
    let (lib, include) = (project::output("weir/lib").join(target), project::output("weir/include"));
    project::copy(&archive::build(target, &compiler, Notes::None)?, &lib.join("libweir.a"))?;
    copy_headers(&project::root().join("ffi/include"), &include)?;
    say!("{}: libweir.a", project::shown(&lib));
    say!("{}: weir.h weir_driver.h", project::shown(&include));
    Ok(())
}

const fn shared_extension() -> &'static str {
    if cfg!(target_os = "macos") { "dylib" } else { "so" }
}

/// Copies the library that cargo built for the package to its place.
fn install(files: &[PathBuf], package: &str, extension: &str, to: &Path) -> Result<(), Failure> {
    let wanted = |file: &&PathBuf| {
        let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        name.ends_with(package) && file.extension().is_some_and(|found| found == extension)
    };
    let from = files
        .iter()
        .find(wanted)
        .ok_or_else(|| Failure::Failed(format!("cargo built no .{extension} of {package}")))?;
    project::copy(from, to)
}

/// Copies all headers, those in folders of their own too.
fn copy_headers(from: &Path, to: &Path) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    let entries = std::fs::read_dir(from).map_err(|error| Failure::file("read", from, error))?;
    for entry in entries {
        let path = entry.map_err(|error| Failure::file("read", from, error))?.path();
        let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else {
            continue;
        };
        if path.is_dir() {
            let inner = copy_headers(&path, &to.join(&name))?;
            names.extend(inner.iter().map(|header| format!("{name}/{header}")));
        } else if path.extension().is_some_and(|extension| extension == "h" || extension == "hpp") {
            project::copy(&path, &to.join(&name))?;
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
