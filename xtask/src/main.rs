//! The project's commands as a program.

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::main(xtask::Name::Xtask)
}
