//! The project's commands: `cargo xtask`, and the installed binary `weir`. A library, so that what reads other people's
//! files can be given bytes that are none.

// They panic where nobody reads; `say!` and `tell!` do not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

#[macro_use]
mod say;

mod bench;
mod commands;
mod cross;
mod failure;
mod firmware;
mod follow;
mod footprint;
mod packages;
mod panic_check;
mod progress;
mod project;
mod replay;
mod size;
mod stack;
mod step;

pub use commands::replay_text;

use failure::Failure;
use std::process::ExitCode;

pub use commands::Name;

/// Does what the command line says, as the program of this name.
#[must_use]
pub fn main(name: Name) -> ExitCode {
    weir_viz::terminal::stop_cleanly();
    let outcome = match commands::parser(name).try_get_matches() {
        Ok(matches) => commands::run(&matches),
        Err(error) => {
            say::usage(&error);
            // Help was asked for, or the command line is wrong.
            if error.use_stderr() { Err(Failure::Said(2)) } else { Ok(()) }
        }
    };
    let mut code = ExitCode::SUCCESS;
    // What went wrong first decides the status.
    for failure in [say::finish().err(), outcome.err()].into_iter().flatten() {
        if !matches!(failure, Failure::Said(_)) {
            tell!("error: {failure}");
        }
        code = failure.code();
    }
    code
}
