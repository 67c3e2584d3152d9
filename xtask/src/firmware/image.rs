//! Building the image.

use super::Board;
use crate::cross::Compiler;
use crate::failure::Failure;
use crate::project;
use std::path::PathBuf;

/// Builds the image and puts it at `target/firmware/TARGET.elf`.
pub(crate) fn build(board: &Board, compiler: &Compiler) -> Result<PathBuf, Failure> {
    let words = ["build", "--package", "weir-firmware", "--bin", "weir-firmware", "--profile", "firmware"];
    let files = project::built(&mut compiler.cargo(board.target, words))?;
    let image = files.iter().find(|file| file.file_stem().is_some_and(|name| name == "weir-firmware"));
    let image = image.ok_or_else(|| Failure::Failed("cargo built the image but did not name it".into()))?;
    let place = project::output("firmware").join(format!("{}.elf", board.target));
    project::copy(image, &place)?;
    Ok(place)
}
