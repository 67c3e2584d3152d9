//! The image in C: compiled by a C compiler for the machine, linked with `libweir.a` and nothing else.

use super::archive::{self, Notes};
use crate::cross::{self, Compiler};
use crate::failure::Failure;
use crate::packages::{Need, Probe};
use crate::panic_check;
use crate::project;
use crate::step;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The machine of the image.
pub(crate) const TARGET: &str = "thumbv7em-none-eabihf";

/// What compiles it.
pub(crate) const COMPILER: Need = Need {
    what: "a C compiler for Cortex-M",
    why: "the firmware image in C",
    probe: Probe::Program(&["arm-none-eabi-gcc"]),
    package: "gcc-arm-none-eabi",
};

const FLAGS: [&str; 12] = [
    "-mcpu=cortex-m4",
    "-mthumb",
    "-mfloat-abi=hard",
    "-mfpu=fpv4-sp-d16",
    "-std=c11",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Os",
    "-ffreestanding",
    "-ffunction-sections",
    "-c",
];

const SOURCES: [&str; 3] = ["start_arm.S", "board.c", "main.c"];

/// Builds the image and puts it at `target/firmware/c.elf`. What must not be in it is an error.
pub(crate) fn build(compiler: &Compiler) -> Result<PathBuf, Failure> {
    let linker = cross::linker().ok_or_else(|| Failure::Failed("no rust-lld to link the image".into()))?;
    let archive = archive::build(TARGET, compiler, Notes::None)?;
    let (root, folder) = (project::root(), project::output("firmware"));
    std::fs::create_dir_all(&folder).map_err(|error| Failure::file("create", &folder, error))?;
    let image = folder.join("c.elf");
    let mut link = Command::new(linker);
    link.args(["-flavor", "gnu", "-m", "armelf", "--gc-sections", "-T"]);
    link.arg(root.join("examples/firmware/link/arm.ld")).arg("-o").arg(&image);
    for source in SOURCES {
        link.arg(object(&root, source, &folder)?);
    }
    let map = image.with_extension("map");
    quietly(link.arg(&archive).arg("-Map").arg(&map))?;
    let text = std::fs::read_to_string(&map).map_err(|error| Failure::file("read", &map, error))?;
    let found = panic_check::forbidden_in(&text);
    if found.is_empty() {
        return Ok(image);
    }
    Err(Failure::Failed(format!("the image in C holds what firmware must not link:\n  {}", found.join("\n  "))))
}

/// Compiles one file.
fn object(root: &Path, source: &str, folder: &Path) -> Result<PathBuf, Failure> {
    let from = root.join("examples/c/firmware").join(source);
    let to = folder.join(source).with_extension("o");
    let mut command = Command::new("arm-none-eabi-gcc");
    command.args(FLAGS).arg("-I").arg(root.join("ffi/include")).arg(&from).arg("-o").arg(&to);
    quietly(&mut command)?;
    Ok(to)
}

/// Runs a command whose output matters only where it fails.
fn quietly(command: &mut Command) -> Result<(), Failure> {
    let typed = step::typed(command);
    let output = command.output().map_err(|error| Failure::Failed(format!("cannot run `{typed}`: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::Failed(format!("{said}repeat it with: {typed}")))
}
