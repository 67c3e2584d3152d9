//! Compilers for targets without an operating system.
//!
//! The toolchain in use, where it has the target's `core` or `rustup target add` can bring it. Else Debian's compiler,
//! which brings the sources of `core` and compiles them first; that takes two minutes a target, once.

use crate::packages::{Need, Permission, Probe, System};
use crate::project;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Debian's compiler for browsers, the newest that it has, with the sources of `core`.
const DEBIAN: [Need; 3] = [
    debian("Debian's rustc", "/usr/bin/rustc", "rustc-web"),
    debian("Debian's cargo", "/usr/bin/cargo", "cargo-web"),
    debian("the sources of core", "/usr/lib/rustlib/src", "rust-web-src"),
];

const fn debian(what: &'static str, file: &'static str, package: &'static str) -> Need {
    Need { what, why: "building for bare metal without rustup's targets", probe: Probe::File(file), package }
}

/// What compiles for a target.
#[derive(Clone, Debug)]
pub(crate) enum Compiler {
    /// The toolchain in use.
    Here,
    /// Debian's, with a linker of ours.
    Debian {
        /// `rust-lld`.
        linker: PathBuf,
    },
}

impl Compiler {
    /// A compiler for the target, after an attempt to get one. Else what is missing.
    pub(crate) fn find(system: &System, target: &str) -> Result<Self, String> {
        if has_core(target) {
            return Ok(Self::Here);
        }
        let missing = format!("the compiler lacks the target; run: rustup target add {target}");
        if system.permission() == Permission::Forbidden {
            return Err(missing);
        }
        say!("adding the target {target}, to build without an operating system: rustup target add {target}");
        // Whether it worked is seen by looking again.
        let _ = Command::new("rustup").args(["target", "add", target]).status();
        if has_core(target) {
            return Ok(Self::Here);
        }
        let linker = linker().ok_or_else(|| format!("{missing} (and there is no rust-lld for Debian's compiler)"))?;
        system.ensure(&DEBIAN).map_err(|reason| format!("{missing}; or Debian's compiler: {reason}"))?;
        Ok(Self::Debian { linker })
    }

    /// A cargo command for the target. What it builds for the host is apart from what other commands build.
    pub(crate) fn cargo<S: AsRef<OsStr>>(&self, target: &str, words: impl IntoIterator<Item = S>) -> Command {
        let Self::Debian { linker } = self else {
            let mut command = project::cargo(words);
            command.args(["--target", target]);
            return command;
        };
        let mut command = Command::new("/usr/bin/cargo");
        command.args(words).args(["--target", target, "-Zbuild-std=core"]).current_dir(project::root());
        command.env("CARGO_TARGET_DIR", project::output("debian"));
        let variable = target.to_ascii_uppercase().replace('-', "_");
        command.env(format!("CARGO_TARGET_{variable}_LINKER"), linker);
        // Building `core` is not for users of a stable compiler; this says that we know.
        command.env("RUSTC_BOOTSTRAP", "1").env("RUSTC", "/usr/bin/rustc").env("RUSTDOC", "/usr/bin/rustdoc");
        for name in ["RUSTUP_TOOLCHAIN", "CARGO", "RUSTUP_HOME"] {
            command.env_remove(name);
        }
        command
    }
}

fn has_core(target: &str) -> bool {
    let folder = project::first_line("rustc", &["--print", "target-libdir", "--target", target]);
    folder.is_some_and(|folder| Path::new(&folder).is_dir())
}

/// The linker that comes with rustup's toolchains, or one in PATH.
pub(crate) fn linker() -> Option<PathBuf> {
    let library = project::first_line("rustc", &["--print", "target-libdir"])?;
    let bundled = Path::new(&library).parent()?.join("bin/rust-lld");
    if bundled.is_file() {
        return Some(bundled);
    }
    project::find_program("rust-lld")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step;

    const NOWHERE: &str = "pdp11-unknown-none";

    #[test]
    fn without_permission_the_line_to_run_is_named() {
        let reason = Compiler::find(&System::new(Permission::Forbidden), NOWHERE).expect_err("there is one");
        assert_eq!(reason, "the compiler lacks the target; run: rustup target add pdp11-unknown-none");
    }

    #[test]
    fn debians_compiler_builds_core_and_links_with_ours() {
        let compiler = Compiler::Debian { linker: "/x/rust-lld".into() };
        let text = step::typed(&compiler.cargo("thumbv7em-none-eabihf", ["build"]));
        assert!(text.contains("CARGO_TARGET_THUMBV7EM_NONE_EABIHF_LINKER=/x/rust-lld"), "{text}");
        assert!(text.contains("cargo build --target thumbv7em-none-eabihf -Zbuild-std=core"), "{text}");
    }
}
