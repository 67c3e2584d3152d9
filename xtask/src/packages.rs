//! System packages: what a part of the project needs beyond Rust, whether it is there, and how it gets there.

use crate::project::{find_program, first_line};
use crate::step;
use std::cell::Cell;
use std::process::Command;

/// How to tell that a package is there.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Probe {
    /// A program in PATH, by any of these names.
    Program(&'static [&'static str]),
    /// A shared library that the dynamic linker knows, by the beginning of its name.
    Library(&'static str),
    /// A file or folder at this place.
    File(&'static str),
    /// A module of Python's; its package is pip's.
    Module(&'static str),
}

/// Something that a part of the project needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    /// What it is, for people.
    pub(crate) what: &'static str,
    /// What it is needed for.
    pub(crate) why: &'static str,
    /// How to tell that it is there.
    pub(crate) probe: Probe,
    /// The Debian package that has it, or pip's.
    pub(crate) package: &'static str,
}

/// A C compiler.
pub(crate) const C_COMPILER: Need = Need {
    what: "a C compiler",
    why: "the C programs and the C driver of the tests",
    probe: Probe::Program(&["gcc"]),
    package: "gcc libc6-dev",
};

/// A C++ compiler.
pub(crate) const CXX_COMPILER: Need = Need {
    what: "a C++ compiler",
    why: "compiling the C programs again as C++",
    probe: Probe::Program(&["g++"]),
    package: "g++",
};

/// The parser behind bindgen, opened at run time.
pub(crate) const LIBCLANG: Need = Need {
    what: "libclang",
    why: "generating the Rust side of the C headers",
    probe: Probe::Library("libclang"),
    package: "libclang1",
};

/// What counts instructions.
pub(crate) const VALGRIND: Need =
    Need { what: "valgrind", why: "counting instructions", probe: Probe::Program(&["valgrind"]), package: "valgrind" };

/// A browser, which looks at the report's page. Large, so that only `ci` installs it.
pub(crate) const BROWSER: Need = Need {
    what: "a browser",
    why: "looking at the report's page",
    probe: Probe::Program(&["chromium", "chromium-browser", "google-chrome"]),
    package: "chromium",
};

/// What else reads the exports. Used where it is and never installed.
pub(crate) const READERS: [Need; 3] = [
    Need { what: "python3", why: "unpickling exports", probe: Probe::Program(&["python3"]), package: "python3" },
    module("pyarrow"),
    module("duckdb"),
];

const fn module(name: &'static str) -> Need {
    Need { what: name, why: "reading exported tables", probe: Probe::Module(name), package: name }
}

/// A display without a screen.
pub(crate) const DISPLAY: Need =
    Need { what: "Xvfb", why: "a look at the viewer's window", probe: Probe::Program(&["Xvfb"]), package: "xvfb" };

/// What the window opens at run time.
pub(crate) const WINDOW: [Need; 8] = [
    window_library("libGL.so.1", "libgl1"),
    window_library("libEGL.so.1", "libegl1"),
    window_library("libX11.so.6", "libx11-6"),
    window_library("libX11-xcb.so.1", "libx11-xcb1"),
    window_library("libXcursor.so.1", "libxcursor1"),
    window_library("libXi.so.6", "libxi6"),
    window_library("libXrandr.so.2", "libxrandr2"),
    window_library("libxkbcommon-x11.so.0", "libxkbcommon-x11-0"),
];

const fn window_library(name: &'static str, package: &'static str) -> Need {
    Need { what: name, why: "the viewer's window", probe: Probe::Library(name), package }
}

/// Whether system packages may be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    /// As root on Debian.
    Install,
    /// Never.
    Forbidden,
}

impl Permission {
    /// What the command line says.
    pub(crate) fn of(arguments: &clap::ArgMatches) -> Self {
        if arguments.get_flag("no-install") {
            return Self::Forbidden;
        }
        Self::Install
    }
}

/// Knows what is there and installs what may be installed.
pub(crate) struct System {
    permission: Permission,
    updated: Cell<bool>,
}

impl System {
    pub(crate) fn new(permission: Permission) -> Self {
        Self { permission, updated: Cell::new(false) }
    }

    pub(crate) const fn permission(&self) -> Permission {
        self.permission
    }

    /// Whether all of `needs` are there, after an attempt to install what is missing. Where something stays missing, one
    /// line names it and the line to run.
    pub(crate) fn ensure(&self, needs: &[Need]) -> Result<(), String> {
        let missing = missing(needs);
        if missing.is_empty() {
            return Ok(());
        }
        if self.may_install() {
            self.install(&missing);
        }
        match describe(&self::missing(needs)) {
            None => Ok(()),
            Some(line) => Err(line),
        }
    }

    /// Whether the nightly toolchain is there with all of `components`, after an attempt to get what is missing.
    pub(crate) fn ensure_nightly(&self, components: &[&str]) -> Result<(), String> {
        if components.is_empty() || nightly_has(components) {
            return Ok(());
        }
        let mut arguments = match first_line("rustup", &["run", "nightly", "rustc", "--version"]) {
            Some(_) => vec!["component", "add", "--toolchain", "nightly"],
            None => vec!["toolchain", "install", "nightly", "--profile", "minimal"],
        };
        // `toolchain install` wants its option before each, `component add` the names alone.
        let option = (arguments[0] == "toolchain").then_some("--component");
        arguments.extend(components.iter().flat_map(|component| option.into_iter().chain([*component])));
        if self.permission == Permission::Install {
            // Whether it worked is seen by looking again.
            let _ = step::run("the nightly toolchain", Command::new("rustup").args(&arguments));
        }
        if nightly_has(components) {
            return Ok(());
        }
        Err(format!("the nightly toolchain lacks {}; run: rustup {}", components.join(" or "), arguments.join(" ")))
    }

    fn may_install(&self) -> bool {
        self.permission == Permission::Install
            && find_program("apt-get").is_some()
            && first_line("id", &["-u"]).as_deref() == Some("0")
    }

    fn install(&self, missing: &[Need]) {
        for need in missing {
            say!("installing {} for {}: {}", need.what, need.why, need.package);
        }
        if !self.updated.replace(true) {
            apt(&["update", "-qq"]);
        }
        let mut arguments = vec!["install", "-y", "-qq", "--no-install-recommends"];
        arguments.extend(missing.iter().flat_map(|need| need.package.split_whitespace()));
        apt(&arguments);
    }
}

/// Runs apt-get. Whether it helped is seen by looking again, so its status only makes a message.
fn apt(arguments: &[&str]) {
    let mut command = Command::new("apt-get");
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    if let Err(failure) = step::run("system packages", &mut command) {
        tell!("warning: {failure}");
    }
}

/// Whether the nightly toolchain has all of these components.
fn nightly_has(components: &[&str]) -> bool {
    let listing = Command::new("rustup").args(["component", "list", "--installed", "--toolchain", "nightly"]).output();
    let Some(listing) = listing.ok().filter(|listing| listing.status.success()) else { return false };
    let installed = String::from_utf8_lossy(&listing.stdout).into_owned();
    components.iter().all(|component| installed.lines().any(|line| line.starts_with(component)))
}

fn missing(needs: &[Need]) -> Vec<Need> {
    needs.iter().filter(|need| !present(need.probe)).copied().collect()
}

fn present(probe: Probe) -> bool {
    match probe {
        Probe::Program(names) => names.iter().any(|name| find_program(name).is_some()),
        Probe::Library(name) => library_known(name),
        Probe::File(path) => std::path::Path::new(path).exists(),
        Probe::Module(name) => has_module(name),
    }
}

fn has_module(name: &str) -> bool {
    let output = Command::new("python3").args(["-c", &format!("import {name}")]).output();
    output.is_ok_and(|output| output.status.success())
}

fn library_known(name: &str) -> bool {
    // ldconfig is often outside an ordinary user's PATH.
    let listing = ["ldconfig", "/sbin/ldconfig", "/usr/sbin/ldconfig"]
        .iter()
        .find_map(|program| Command::new(program).arg("-p").output().ok());
    let Some(listing) = listing else {
        return false;
    };
    String::from_utf8_lossy(&listing.stdout).lines().any(|line| is_library(line.trim_start(), name))
}

/// `libclang` is also met by `libclang-14.so.13` and `libclang.so`, but not by `libclang-cpp.so.14`.
fn is_library(line: &str, name: &str) -> bool {
    let file = line.split_whitespace().next().unwrap_or_default();
    match file.strip_prefix(name) {
        None => false,
        Some("") => true,
        Some(rest) => {
            let version = rest.strip_prefix('-').unwrap_or(rest);
            let version = version.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
            version.starts_with("so") && (rest.starts_with('-') || rest.starts_with('.'))
        }
    }
}

fn describe(missing: &[Need]) -> Option<String> {
    if missing.is_empty() {
        return None;
    }
    let names: Vec<_> = missing.iter().map(|need| need.what).collect();
    let packages = |of_python: bool| -> Vec<&str> {
        let of = |need: &&Need| matches!(need.probe, Probe::Module(_)) == of_python;
        missing.iter().filter(of).map(|need| need.package).collect()
    };
    let lines = [("; on Debian, run: apt-get install ", packages(false)), ("; run: pip install ", packages(true))];
    let lines = lines.into_iter().filter(|(_, packages)| !packages.is_empty());
    let lines: String = lines.map(|(line, packages)| line.to_owned() + &packages.join(" ")).collect();
    Some(format!("missing: {}{lines}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOWHERE: Need = Need {
        what: "a program of the future",
        why: "this test",
        probe: Probe::Program(&["no-such-program-anywhere"]),
        package: "no-such-package",
    };

    #[test]
    fn what_is_missing_is_named_with_the_line_to_run() {
        let line = System::new(Permission::Forbidden).ensure(&[NOWHERE]).expect_err("it is there");
        assert_eq!(line, "missing: a program of the future; on Debian, run: apt-get install no-such-package");
    }

    #[test]
    fn modules_of_python_come_from_pip() {
        let module = Need { what: "reader", probe: Probe::Module("no_such_module"), package: "reader", ..NOWHERE };
        let line = System::new(Permission::Forbidden).ensure(&[module, NOWHERE]).expect_err("they are there");
        assert!(line.ends_with("on Debian, run: apt-get install no-such-package; run: pip install reader"), "{line}");
    }

    #[test]
    fn what_is_there_needs_no_package() {
        let shell = Need { probe: Probe::Program(&["sh"]), ..NOWHERE };
        assert_eq!(System::new(Permission::Forbidden).ensure(&[shell]), Ok(()));
    }

    #[test]
    fn library_names_are_told_apart() {
        assert!(is_library("libclang-14.so.13 (libc6,x86-64) => /usr/lib/libclang-14.so.13", "libclang"));
        assert!(is_library("libclang.so.1 (libc6,x86-64) => /usr/lib/libclang.so.1", "libclang"));
        assert!(!is_library("libclang-cpp.so.14 (libc6,x86-64) => /usr/lib/libclang-cpp.so.14", "libclang"));
        assert!(is_library("libGL.so.1 (libc6,x86-64) => /lib/libGL.so.1", "libGL.so.1"));
        assert!(!is_library("libGLX.so.0 (libc6,x86-64) => /lib/libGLX.so.0", "libGL.so.1"));
    }
}
