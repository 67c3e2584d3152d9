//! What the C interface takes on a Cortex-M: code, and stack call by call.

use super::archive::Notes;
use crate::cross::Compiler;
use crate::failure::Failure;
use crate::packages::System;
use crate::panic_check;
use crate::stack::{Depth, Image};
use object::read::elf::ElfFile32;
use object::{Endianness, Object, ObjectSection, SectionKind};
use std::path::Path;

/// The target that sizes are stated for.
pub(crate) const TARGET: &str = "thumbv7em-none-eabihf";

/// The figures.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// Code and constants of all functions of `weir.h` for bare metal, log and all; optimised for size.
    pub(crate) text: u64,
    /// The worst stack use of each, deepest first.
    pub(crate) stack: Vec<Depth>,
    /// Who calls through pointers, and how often; stack uses do not count what is called: the program's own functions.
    pub(crate) indirect: Vec<(String, usize)>,
}

/// Builds and looks. An error in words where the target cannot be had.
pub(crate) fn measure(system: &System) -> Result<Measured, Failure> {
    let compiler = Compiler::find(system, TARGET).map_err(Failure::Failed)?;
    let machine = panic_check::bare_metal(TARGET)
        .ok_or_else(|| Failure::Failed(format!("the panic check does not know {TARGET}")))?;
    let plain = panic_check::interface(machine, &compiler, Notes::None)?;
    let text = text_of(&read(&plain)?)?;
    let noted = panic_check::interface(machine, &compiler, Notes::Stack)?;
    let image = Image::read(&read(&noted)?).map_err(Failure::Failed)?;
    // The program's functions are called by what was made for its driver and sink. Whoever else calls through a pointer calls what
    // is not counted.
    let strays: Vec<_> = image.indirect().into_iter().filter(|(name, _)| !name.contains("weir_")).collect();
    if !strays.is_empty() {
        return Err(Failure::Failed(format!("calls through pointers whose stack is not counted: {strays:?}")));
    }
    let mut stack = image.depths(panic_check::prototypes()).map_err(Failure::Failed)?;
    stack.sort_by(|one, other| other.bytes.cmp(&one.bytes).then_with(|| one.name.cmp(&other.name)));
    Ok(Measured { text, stack, indirect: image.indirect() })
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| Failure::file("read", path, error))
}

/// Bytes of instructions and constants.
fn text_of(image: &[u8]) -> Result<u64, Failure> {
    let file = ElfFile32::<Endianness>::parse(image).map_err(|error| Failure::Failed(error.to_string()))?;
    let kept = [SectionKind::Text, SectionKind::ReadOnlyData, SectionKind::ReadOnlyString];
    Ok(file.sections().filter(|section| kept.contains(&section.kind())).map(|section| section.size()).sum())
}
