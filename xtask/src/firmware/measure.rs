//! What the C interface takes on a Cortex-M: code, and stack call by call.

use super::archive::Notes;
use crate::cross::Compiler;
use crate::failure::Failure;
use crate::packages::System;
use crate::panic_check;
use crate::stack::{Depth, Image};
use object::read::elf::ElfFile32;
use object::{Endianness, Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};
use std::collections::BTreeMap;
use std::path::Path;

/// The target that sizes are stated for.
pub(crate) const TARGET: &str = "thumbv7em-none-eabihf";

/// The figures.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// Code and constants of all functions of `weir.h` for bare metal, log and all; optimised for size.
    pub(crate) text: u64,
    /// The same of what a program links that has one pool and its log, and what of that is in each module, most first.
    pub(crate) pool: u64,
    pub(crate) modules: Vec<(String, u64)>,
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
    let pool = text_of(&read(&panic_check::pool(machine, &compiler, Notes::None)?)?)?;
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
    // With notes, names are written as `module` reads them.
    let modules = modules_of(&read(&panic_check::pool(machine, &compiler, Notes::Stack)?)?)?;
    Ok(Measured { text, pool, modules, stack, indirect: image.indirect() })
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| Failure::file("read", path, error))
}

/// Bytes of instructions by module of the core; without the nameless constants.
fn modules_of(image: &[u8]) -> Result<Vec<(String, u64)>, Failure> {
    let file = ElfFile32::<Endianness>::parse(image).map_err(|error| Failure::Failed(error.to_string()))?;
    let mut bytes = BTreeMap::new();
    for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text) {
        *bytes.entry(module(symbol.name().unwrap_or_default())).or_insert(0) += symbol.size();
    }
    let mut modules: Vec<_> = bytes.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect();
    modules.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    Ok(modules)
}

/// The module of the core in a mangled name: each part of a path has its length before it.
fn module(name: &str) -> &str {
    if name.starts_with("weir_") {
        return "the C functions";
    }
    let Some((crates, path)) = name.split_once("_4weir") else {
        return if name.contains("_8weir_ffi") { "the C functions" } else { "the compiler's routines" };
    };
    if crates.contains("_8weir_ffi") {
        return "the C functions";
    }
    let digits = path.len() - path.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let length = path[..digits].parse::<usize>().unwrap_or(0);
    path.get(digits..digits + length).filter(|name| !name.is_empty()).unwrap_or("others")
}

/// Bytes of instructions and constants.
fn text_of(image: &[u8]) -> Result<u64, Failure> {
    let file = ElfFile32::<Endianness>::parse(image).map_err(|error| Failure::Failed(error.to_string()))?;
    let kept = [SectionKind::Text, SectionKind::ReadOnlyData, SectionKind::ReadOnlyString];
    Ok(file.sections().filter(|section| kept.contains(&section.kind())).map(|section| section.size()).sum())
}

#[cfg(test)]
mod tests {
    use super::module;

    /// Names as the compiler writes them.
    #[test]
    fn names_tell_their_module() {
        assert_eq!(module("_RNvMs4_NtCs6orrkM7PBmV_4weir5arenaINtB5_5SlotsNtNtB7_4pool8PoolSlotE3getB7_"), "arena");
        assert_eq!(module("_RNvMs_NtCs6orrkM7PBmV_4weir10free_indexNtB5_9FreeIndex6bin_of"), "free_index");
        assert_eq!(module("_RNvNtNtCsjEsdmgb2ki8_8weir_ffi4capi8instance5enter"), "the C functions");
        assert_eq!(module("weir_event_record"), "the C functions");
        assert_eq!(module("__aeabi_memcpy8"), "the compiler's routines");
    }
}
