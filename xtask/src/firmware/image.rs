//! Building the image.

use super::Board;
use crate::cross::Compiler;
use crate::failure::Failure;
use crate::project;
use std::path::PathBuf;

/// Whether the image sends its log through defmt as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frames {
    None,
    Defmt,
}

/// Builds the image and puts it at `target/firmware/TARGET.elf`, the one with defmt at `target/firmware/defmt.elf`.
pub(crate) fn build(board: &Board, compiler: &Compiler, frames: Frames) -> Result<PathBuf, Failure> {
    let words = ["build", "--package", "weir-firmware", "--bin", "weir-firmware", "--profile", "firmware"];
    let mut command = compiler.cargo(board.target, words);
    let name = match frames {
        Frames::None => board.target,
        Frames::Defmt => {
            command.args(["--features", "defmt"]);
            "defmt"
        }
    };
    let files = project::built(&mut command)?;
    let image = files.iter().find(|file| file.file_stem().is_some_and(|name| name == "weir-firmware"));
    let image = image.ok_or_else(|| Failure::Failed("cargo built the image but did not name it".into()))?;
    let place = project::output("firmware").join(format!("{name}.elf"));
    project::copy(image, &place)?;
    Ok(place)
}
