//! The project's commands as an installed program.

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::main(xtask::Name::Weir)
}
