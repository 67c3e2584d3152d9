//! Following a log that grows, until it ends or Ctrl-C does.

use crate::failure::Failure;
use crate::say;
use clap::ArgMatches;
use std::ffi::OsString;
use std::time::Duration;
use weir::trace::{Damage, Stamped};
use weir_viz::follow::{Came, Feed, Source, Tail};
use weir_viz::terminal;

/// Between two looks whether something came.
const PAUSE: Duration = Duration::from_millis(50);

/// What there is to be told of a log.
pub(crate) enum News<'n> {
    /// A record, or damage.
    Read(Result<Stamped<'n>, Damage>),
    /// All that came was read.
    Pause,
    /// This log is complete: another begins, or nothing more will come.
    End,
}

/// What a word of the command line means.
pub(crate) fn feed(arguments: &ArgMatches, name: &str) -> Result<Feed, Failure> {
    let word = arguments.get_one::<OsString>(name).cloned().unwrap_or_default();
    Feed::parse(&word).map_err(Failure::Unreadable)
}

/// Follows until nothing more comes, nobody reads what is printed, or Ctrl-C is pressed; the last news is an end.
pub(crate) fn each(feed: &Feed, mut take: impl FnMut(News<'_>)) -> Result<(), Failure> {
    let unreadable = |error: weir_viz::source::SourceError| Failure::Unreadable(error.to_string());
    let mut source = Source::open(feed).map_err(unreadable)?;
    terminal::stop_softly();
    tell!("following {}; Ctrl-C ends it", source.name());
    let (mut tail, mut bytes) = (Tail::default(), Vec::new());
    while !terminal::is_asked_to_stop() && !say::is_unread() {
        bytes.clear();
        let came = source.poll(&mut bytes).map_err(unreadable)?;
        let name = source.name();
        let foreign =
            |damage: Damage| Failure::Unreadable(format!("{name}: {damage}\nA log of weir is followed as it grows."));
        tail.take(&bytes, |read| take(News::Read(read))).map_err(foreign)?;
        match came {
            Came::Bytes => {}
            Came::Nothing => {
                take(News::Pause);
                std::thread::sleep(PAUSE);
            }
            Came::Another(why) => {
                // Where nothing was read of the one before there is no damage to tell.
                let _ = tail.finish(|read| take(News::Read(read)));
                take(News::End);
                tell!("note: {why}");
                tail = Tail::default();
            }
            Came::Ended => break,
        }
    }
    let _ = tail.finish(|read| take(News::Read(read)));
    take(News::End);
    Ok(())
}
