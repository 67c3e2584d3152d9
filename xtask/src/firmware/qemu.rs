//! Booting an image.

use super::Board;
use crate::failure::Failure;
use crate::step;
use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// An image that runs longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a run left.
pub(crate) struct Run {
    /// All bytes of the serial line.
    pub(crate) serial: Vec<u8>,
    /// QEMU's status, which is the image's.
    pub(crate) status: ExitStatus,
    /// The command, to repeat it.
    pub(crate) typed: String,
}

/// Boots the image and waits for its end. What comes along its second serial line goes to a file, if one is given.
pub(crate) fn boot(board: &Board, image: &Path, second: Option<&Path>) -> Result<Run, Failure> {
    let [program, arguments @ ..] = board.qemu else {
        return Err(Failure::Failed("no program boots this machine".into()));
    };
    let mut command = Command::new(program);
    command.args(arguments).args(["-display", "none", "-monitor", "none", "-serial", "stdio"]);
    if let Some(file) = second {
        command.arg("-serial").arg(format!("file:{}", file.display()));
    }
    command.arg("-kernel").arg(image);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let typed = step::typed(&command);
    let failed = |error| Failure::Failed(format!("QEMU could not run: {error}\nrepeat it with: {typed}"));
    let mut child = command.spawn().map_err(failed)?;
    let mut line = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What came until the line broke is what there is.
        let _ = line.as_mut().map(|line| line.read_to_end(&mut bytes));
        bytes
    });
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().map_err(failed)? {
            Some(status) => break status,
            None if begun.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(20)),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                let seconds = PATIENCE.as_secs();
                return Err(Failure::Failed(format!(
                    "the image hangs: no end after {seconds} s\nrepeat it with: {typed}"
                )));
            }
        }
    };
    Ok(Run { serial: reader.join().unwrap_or_default(), status, typed })
}
