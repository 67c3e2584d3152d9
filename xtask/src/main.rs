//! The project's commands: `cargo xtask`, and later the installed binary.

mod commands;
mod failure;
mod log;
mod packages;
mod panic_check;
mod project;
mod replay;
mod size;
mod step;

use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let matches = commands::parser().get_matches();
    match commands::run(&matches) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !matches!(failure, Failure::Said(_)) {
                eprintln!("error: {failure}");
            }
            failure.code()
        }
    }
}
