//! Where the bytes of a growing log come from.

use crate::source::SourceError;
use std::ffi::OsStr;
use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

/// Bytes that are read at once.
const PIECE: usize = 1 << 20;
/// Pieces that wait to be taken.
const WAITING: usize = 8;
/// Bytes by which a file's beginning is known again.
const HEAD: usize = 256;
/// Between two looks whether anybody connects or sends.
const PAUSE: Duration = Duration::from_millis(50);

/// What to follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Feed {
    /// A file, or a named pipe.
    File(PathBuf),
    /// Standard input.
    Stdin,
    /// Whoever connects to this port of this machine; 0 for any that is free.
    Tcp(u16),
}

impl Feed {
    /// What a word of a command line means: `-`, `tcp:PORT`, or a file's name.
    ///
    /// # Errors
    /// Says what is wrong with the port.
    pub fn parse(word: &OsStr) -> Result<Self, String> {
        match word.to_str().map(|word| (word, word.strip_prefix("tcp:"))) {
            Some(("-", _)) => Ok(Self::Stdin),
            Some((word, Some(port))) => port.parse().map(Self::Tcp).map_err(|_| {
                format!("{word}: expected a port from 0 to 65535 behind `tcp:`; it listens on 127.0.0.1 only")
            }),
            _ => Ok(Self::File(PathBuf::from(word))),
        }
    }
}

impl fmt::Display for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => write!(f, "{}", file.display()),
            Self::Stdin => f.write_str("-"),
            Self::Tcp(port) => write!(f, "tcp:{port}"),
        }
    }
}

/// What came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// Nothing new yet.
    Nothing,
    /// Bytes.
    Bytes,
    /// Another log begins, for this reason; what came before is complete.
    Another(&'static str),
    /// Nothing more will come.
    Ended,
}

/// An open feed.
#[derive(Debug)]
pub struct Source {
    name: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    File(Grown),
    Pipe { pieces: Receiver<Sent>, _stop: Stop },
}

/// Stops a thread once nobody wants its bytes.
#[derive(Debug)]
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What the thread of a pipe or connection sends.
#[derive(Debug)]
enum Sent {
    Bytes(Vec<u8>),
    Another(&'static str),
    Failed(io::Error),
}

/// A file that grows.
#[derive(Debug)]
struct Grown {
    path: PathBuf,
    file: File,
    /// Bytes that were read.
    read: u64,
    /// Its first bytes.
    head: Vec<u8>,
}

impl Source {
    /// Opens a feed. A file is read from its beginning.
    ///
    /// # Errors
    /// The file cannot be read, or the port not listened on.
    pub fn open(feed: &Feed) -> Result<Self, SourceError> {
        let mut name = feed.to_string();
        let fail = |what: String, advice: &str| SourceError { name: feed.to_string(), what, advice: advice.to_owned() };
        let unreadable = |e: io::Error| fail(format!("cannot be read: {e}"), "Check its path and permissions.");
        let thread =
            |e: io::Error| fail(format!("no thread to read it: {e}"), "Try again when the machine is less busy.");
        let kind = match feed {
            Feed::File(path) => {
                let found = std::fs::metadata(path).map_err(unreadable)?;
                if found.is_dir() {
                    return Err(fail("this is a directory, not a log".to_owned(), "Name the log's file."));
                }
                if found.is_file() {
                    Kind::File(Grown::open(path).map_err(unreadable)?)
                } else {
                    // Opening a pipe waits for its writer: that is for the thread, too.
                    let path = path.clone();
                    pipe(move || File::open(path)).map_err(thread)?
                }
            }
            Feed::Stdin => pipe(|| Ok(io::stdin())).map_err(thread)?,
            Feed::Tcp(port) => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).and_then(|listener| {
                    listener.set_nonblocking(true)?;
                    name = format!("{}", listener.local_addr()?);
                    Ok(listener)
                });
                let advice = "Name a port that is free, or 0 for any.";
                let listener = listener.map_err(|e| fail(format!("cannot listen on 127.0.0.1:{port}: {e}"), advice))?;
                spawn(move |send, stop| connections(&listener, send, stop)).map_err(thread)?
            }
        };
        Ok(Self { name, kind })
    }

    /// What it is called: the file, or the address that it listens on.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds what is new to `into`, a piece at most. Never waits. A file is looked at by its size, its first bytes and
    /// which file its name means now, so that one that was cut or replaced is read from its beginning.
    ///
    /// # Errors
    /// It cannot be read any more.
    pub fn poll(&mut self, into: &mut Vec<u8>) -> Result<Came, SourceError> {
        let came = match &mut self.kind {
            Kind::File(file) => file.poll(into),
            Kind::Pipe { pieces, .. } => match pieces.try_recv() {
                Ok(Sent::Bytes(bytes)) => {
                    into.extend_from_slice(&bytes);
                    Ok(Came::Bytes)
                }
                Ok(Sent::Another(why)) => Ok(Came::Another(why)),
                Ok(Sent::Failed(error)) => Err(error),
                Err(TryRecvError::Empty) => Ok(Came::Nothing),
                Err(TryRecvError::Disconnected) => Ok(Came::Ended),
            },
        };
        came.map_err(|error| SourceError {
            name: self.name.clone(),
            what: format!("cannot be read any more: {error}"),
            advice: "What was read is shown; open it again once it can be.".to_owned(),
        })
    }
}

impl Grown {
    fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), file: File::open(path)?, read: 0, head: Vec::new() })
    }

    fn poll(&mut self, into: &mut Vec<u8>) -> io::Result<Came> {
        if self.is_cut()? {
            self.file.seek(SeekFrom::Start(0))?;
            (self.read, self.head) = (0, Vec::new());
            return Ok(Came::Another("the file was cut: read from its beginning"));
        }
        let before = into.len();
        self.file.by_ref().take(PIECE as u64).read_to_end(into)?;
        let came = &into[before..];
        if !came.is_empty() {
            self.read += came.len() as u64;
            let more = HEAD.saturating_sub(self.head.len()).min(came.len());
            self.head.extend_from_slice(&came[..more]);
            return Ok(Came::Bytes);
        }
        // What is left of the old file was read before the new one is.
        match std::fs::metadata(&self.path) {
            Ok(now) if !is_same(&self.file.metadata()?, &now) => {
                *self = Self::open(&self.path)?;
                Ok(Came::Another("another file took its place: read from its beginning"))
            }
            _ => Ok(Came::Nothing),
        }
    }

    /// Whether it is shorter than what was read, or begins otherwise.
    fn is_cut(&mut self) -> io::Result<bool> {
        if self.file.metadata()?.len() < self.read {
            return Ok(true);
        }
        let mut now = vec![0; self.head.len()];
        self.file.seek(SeekFrom::Start(0))?;
        let same = self.file.read_exact(&mut now).is_ok() && now == self.head;
        self.file.seek(SeekFrom::Start(self.read))?;
        Ok(!same)
    }
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    // There a file that is open is not replaced.
    true
}

/// Reads on a thread, because it waits.
fn pipe<R: Read>(open: impl FnOnce() -> io::Result<R> + Send + 'static) -> io::Result<Kind> {
    spawn(move |send, stop| {
        let outcome = open().and_then(|from| copy(from, send, stop));
        if let Err(error) = outcome {
            let _ = send.send(Sent::Failed(error));
        }
    })
}

fn spawn(run: impl FnOnce(&SyncSender<Sent>, &AtomicBool) + Send + 'static) -> io::Result<Kind> {
    let (send, pieces) = sync_channel(WAITING);
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    std::thread::Builder::new().name("follow".to_owned()).spawn(move || run(&send, &stopped))?;
    Ok(Kind::Pipe { pieces, _stop: Stop(stop) })
}

/// One connection after the other, each a log of its own.
fn connections(listener: &TcpListener, send: &SyncSender<Sent>, stop: &AtomicBool) {
    let mut before = false;
    while !stop.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, _)) => {
                if before && send.send(Sent::Another("another connection: a log of its own")).is_err() {
                    return;
                }
                before = true;
                // A connection that breaks ends its log, and the next one is waited for.
                let _ = timed(&stream).and_then(|()| copy(stream, send, stop));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(PAUSE),
            Err(error) => {
                let _ = send.send(Sent::Failed(error));
                return;
            }
        }
    }
}

/// So that a silent connection can be given up.
fn timed(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PAUSE))
}

fn copy(mut from: impl Read, send: &SyncSender<Sent>, stop: &AtomicBool) -> io::Result<()> {
    let mut piece = vec![0; 64 << 10];
    while !stop.load(Ordering::Relaxed) {
        match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(length) => {
                if send.send(Sent::Bytes(piece[..length].to_vec())).is_err() {
                    return Ok(());
                }
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// All that comes until something else does than bytes.
    fn rest(source: &mut Source) -> (Vec<u8>, Came) {
        let mut bytes = Vec::new();
        loop {
            match source.poll(&mut bytes).unwrap() {
                Came::Bytes => {}
                came => return (bytes, came),
            }
        }
    }

    /// The same of what comes from elsewhere.
    fn soon(source: &mut Source, wanted: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < wanted {
            assert_ne!(source.poll(&mut bytes).unwrap(), Came::Ended);
            std::thread::yield_now();
        }
        bytes
    }

    #[test]
    fn words_name_feeds() {
        assert_eq!(Feed::parse(OsStr::new("-")), Ok(Feed::Stdin));
        assert_eq!(Feed::parse(OsStr::new("tcp:4711")), Ok(Feed::Tcp(4711)));
        assert_eq!(Feed::parse(OsStr::new("a.log")), Ok(Feed::File("a.log".into())));
        assert!(Feed::parse(OsStr::new("tcp:host:1")).unwrap_err().contains("127.0.0.1 only"));
    }

    #[test]
    fn a_file_is_followed_as_it_grows_is_cut_and_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["file", "other"].map(|name| folder.path().join(name));
        std::fs::write(&path, "one").unwrap();
        let mut source = Source::open(&Feed::File(path.clone())).unwrap();
        assert_eq!(rest(&mut source), (b"one".to_vec(), Came::Nothing));
        File::options().append(true).open(&path).unwrap().write_all(b" two").unwrap();
        assert_eq!(rest(&mut source), (b" two".to_vec(), Came::Nothing));
        std::fs::write(&path, "1").unwrap();
        assert!(matches!(rest(&mut source), (bytes, Came::Another(why)) if bytes.is_empty() && why.contains("cut")));
        assert_eq!(rest(&mut source), (b"1".to_vec(), Came::Nothing));
        // Cut and grown again between two looks.
        std::fs::write(&path, "another log, longer than before").unwrap();
        assert!(matches!(rest(&mut source), (_, Came::Another(why)) if why.contains("cut")));
        rest(&mut source);
        // The old file grows once more before the new one takes its place.
        File::options().append(true).open(&path).unwrap().write_all(b"!").unwrap();
        std::fs::write(&other, "new").unwrap();
        std::fs::rename(&other, &path).unwrap();
        let (bytes, came) = rest(&mut source);
        assert_eq!(
            (bytes, came),
            (b"!".to_vec(), Came::Another("another file took its place: read from its beginning"))
        );
        assert_eq!(rest(&mut source), (b"new".to_vec(), Came::Nothing));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(rest(&mut source), (Vec::new(), Came::Nothing), "it may come again");
    }

    #[test]
    fn whoever_connects_to_this_machine_is_read() {
        let mut source = Source::open(&Feed::Tcp(0)).unwrap();
        let address = source.name().to_owned();
        assert!(address.starts_with("127.0.0.1:"), "{address}");
        for (at, words) in ["first", "second"].into_iter().enumerate() {
            TcpStream::connect(&address).unwrap().write_all(words.as_bytes()).unwrap();
            if at > 0 {
                let mut none = Vec::new();
                while source.poll(&mut none).unwrap() == Came::Nothing {}
                assert!(none.is_empty(), "the next log is told apart");
            }
            assert_eq!(soon(&mut source, words.len()), words.as_bytes());
        }
    }

    #[test]
    fn what_cannot_be_followed_is_said() {
        let missing = Source::open(&Feed::File("no-such.log".into())).unwrap_err();
        assert!(missing.what.contains("cannot be read"), "{missing}");
        let folder = Source::open(&Feed::File(std::env::temp_dir())).unwrap_err();
        assert!(folder.what.contains("directory"), "{folder}");
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        assert!(Source::open(&Feed::Tcp(port)).unwrap_err().what.contains("cannot listen"));
    }
}
