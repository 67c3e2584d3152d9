//! What commands print. Where nobody reads any more, the work goes on quietly; any other trouble is said at the end.

use crate::failure::Failure;
use std::fmt::Arguments;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use weir_viz::terminal;

/// Prints a line on standard output; takes what `format!` takes.
macro_rules! say {
    ($($text:tt)*) => { $crate::say::line(format_args!($($text)*)) };
}

/// Prints a line on standard error.
macro_rules! tell {
    ($($text:tt)*) => { $crate::say::aside(format_args!("{}\n", format_args!($($text)*))) };
}

/// The first thing that standard output refused.
static TROUBLE: Mutex<Option<io::Error>> = Mutex::new(None);

/// Nobody reads standard output any more.
static UNREAD: AtomicBool = AtomicBool::new(false);

/// Whether nobody reads standard output any more: what has no end can end.
pub(crate) fn is_unread() -> bool {
    UNREAD.load(Ordering::Relaxed)
}

/// A line on standard output.
pub(crate) fn line(text: Arguments<'_>) {
    terminal::clear();
    keep(writeln!(io::stdout().lock(), "{text}"));
}

/// Text on standard output, as it is.
pub(crate) fn text(text: &str) {
    terminal::clear();
    keep(io::stdout().lock().write_all(text.as_bytes()));
}

/// What is written bit by bit on standard output.
pub(crate) fn with(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
    terminal::clear();
    let mut out = BufWriter::new(io::stdout().lock());
    keep(write(&mut out).and_then(|()| out.flush()));
}

/// Text on standard error, as it is. Where that cannot be written there is nowhere left to say so.
pub(crate) fn aside(text: Arguments<'_>) {
    terminal::clear();
    let _ = io::stderr().lock().write_fmt(text);
}

/// Prints help, or what is wrong with a command line.
pub(crate) fn usage(error: &clap::Error) {
    let printed = error.print();
    if !error.use_stderr() {
        keep(printed);
    }
}

/// Whether all that was said on standard output went there.
pub(crate) fn finish() -> Result<(), Failure> {
    keep(io::stdout().lock().flush());
    let trouble = TROUBLE.lock().ok().and_then(|mut trouble| trouble.take());
    match trouble {
        Some(error) => Err(Failure::Failed(format!("cannot write to standard output: {error}"))),
        None => Ok(()),
    }
}

fn keep(outcome: io::Result<()>) {
    match outcome {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => UNREAD.store(true, Ordering::Relaxed),
        Err(error) => {
            if let Ok(mut trouble) = TROUBLE.lock() {
                trouble.get_or_insert(error);
            }
        }
    }
}
