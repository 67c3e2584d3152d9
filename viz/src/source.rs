//! Opens logs. All reading goes through [`weir::trace::Reader`].

use crate::decode;
use crate::import;
use crate::model::{Builder, Model};
use crate::origin::{DAMAGED, Origin, more_damaged};
use crate::part::Part;
use crate::progress::{Counted, Progress, Stopped, Unit};
use crate::unpack::{Packing, unpack};
use std::fmt;
use std::io::{ErrorKind, Read};
use std::path::Path;
use weir::trace::{Damage, DamageKind, MAGIC, Reader, Stamped, sniff, text};

/// Damages that are kept one by one; the rest are counted.
const MOST_DAMAGES: usize = 1000;

/// Bytes at the beginning of a file among which a log has to begin. A file that is not longer is read as a whole.
const SNIFFED: u64 = 4 << 20;
/// Damages that a summary tells one by one.
const MOST_TOLD: usize = 5;

/// A log that could be read, at least in part.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The file's name.
    pub name: String,
    /// What could be read.
    pub model: Model,
    /// Where the log comes from.
    pub origin: Origin,
    /// What could not, in words; not every one, where they are very many.
    pub damages: Vec<String>,
    /// How many there are.
    pub damaged: u64,
}

impl Opened {
    /// The first damages, and how many more there are: what to say on a terminal.
    #[must_use]
    pub fn summary(&self) -> Vec<String> {
        self.first_damages(MOST_TOLD)
    }

    /// So many damages at most, and how many more there are.
    #[must_use]
    pub fn first_damages(&self, most: usize) -> Vec<String> {
        let mut lines: Vec<String> = self.damages.iter().take(most).cloned().collect();
        let told = lines.len() as u64;
        if self.damaged > told {
            lines.push(more_damaged(self.damaged - told));
        }
        lines
    }
}

/// A log of which nothing could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError {
    /// What was to be read.
    pub name: String,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub advice: String,
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n{}", self.name, self.what, self.advice)
    }
}

impl std::error::Error for SourceError {}

impl SourceError {
    /// Whoever waited for the log stopped it.
    pub(crate) fn stopped(name: &str, stopped: Stopped) -> Self {
        Self { name: name.to_owned(), what: stopped.to_string(), advice: "Nothing was kept of it.".to_owned() }
    }
}

const COPY_AGAIN: &str = "Copy it again from where it was written.";
const HOW_TO_LOG: &str = "`cargo xtask demo` writes one to target/demo/trace.log, and `cargo xtask replay FILE --log OUT` \
                          turns an allocation log (CSV) into one.";

/// Opens the log at this path.
///
/// # Errors
/// It does not exist, cannot be read, is empty, or is no log. A damaged one is opened as far as it goes.
pub fn open(path: &Path) -> Result<Opened, SourceError> {
    open_part(path, &Part::default(), &Progress::default())
}

/// Opens a part of the log at this path.
///
/// # Errors
/// As [`open`]; or there is no such part, or it was stopped.
pub fn open_part(path: &Path, part: &Part, progress: &Progress) -> Result<Opened, SourceError> {
    read_file(path, &load_part(path, part, progress)?, progress)
}

/// Reads the log that was loaded from this path.
///
/// # Errors
/// As [`open`]; or it was stopped.
pub fn read_file(path: &Path, bytes: &[u8], progress: &Progress) -> Result<Opened, SourceError> {
    let short = path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned());
    read_with(&short, bytes, progress).map_err(|e| SourceError { name: path.display().to_string(), ..e })
}

/// The path that stands for the standard input.
pub const STDIN: &str = "-";

/// The bytes of the log at this path, or of the standard input. A large file is read only if its beginning looks like a
/// log's.
///
/// # Errors
/// It does not exist, is no file, or cannot be read; or it is large, and there is no log at its beginning; or it was
/// stopped.
pub fn load(path: &Path, progress: &Progress) -> Result<Vec<u8>, SourceError> {
    let name = path.display().to_string();
    if path == Path::new(STDIN) {
        return load_from(&name, std::io::stdin().lock(), None, progress);
    }
    let fail = |what: String, advice: &str| SourceError { name: name.clone(), what, advice: advice.to_owned() };
    // Before it is opened: opening a pipe waits for its writer.
    let found = std::fs::metadata(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => fail("there is no such file".to_owned(), &format!("Check the path. {HOW_TO_LOG}")),
        _ => unreadable(&name, &error, progress),
    })?;
    if found.is_dir() {
        return Err(fail("this is a directory, not a log".to_owned(), "Name the log's file."));
    }
    if !found.is_file() {
        let what = "this is a device or a pipe, not a file".to_owned();
        return Err(fail(
            what,
            "Write what it gives to a file, and name that; or name `-`, and give it as the standard input.",
        ));
    }
    let file = std::fs::File::open(path).map_err(|error| unreadable(&name, &error, progress))?;
    load_from(&name, file, Some((path, found.len())), progress)
}

fn unreadable(name: &str, error: &std::io::Error, progress: &Progress) -> SourceError {
    let advice = "Check the file's permissions.".to_owned();
    match progress.look() {
        Err(stopped) => SourceError::stopped(name, stopped),
        Ok(()) => SourceError { name: name.to_owned(), what: format!("cannot be read: {error}"), advice },
    }
}

/// The bytes of a log; where it is a file, with its path and length.
fn load_from(
    name: &str,
    input: impl Read,
    file: Option<(&Path, u64)>,
    progress: &Progress,
) -> Result<Vec<u8>, SourceError> {
    let unreadable = |error: std::io::Error| unreadable(name, &error, progress);
    let mut input = Counted::new(input, progress.begin("loading", Unit::Bytes, file.map(|(_, length)| length)));
    let mut bytes = Vec::new();
    input.by_ref().take(SNIFFED).read_to_end(&mut bytes).map_err(unreadable)?;
    if let Some(packing) = Packing::of(&bytes) {
        let unpacked = unpack(packing, bytes.as_slice().chain(input));
        progress.look().map_err(|stopped| SourceError::stopped(name, stopped))?;
        return match unpacked.damage {
            Some(what) if unpacked.bytes.is_empty() => {
                Err(SourceError { name: name.to_owned(), what, advice: COPY_AGAIN.to_owned() })
            }
            damage => as_log(name, unpacked.bytes, damage.as_deref(), progress),
        };
    }
    if bytes.len() as u64 == SNIFFED
        && file.is_none_or(|(_, length)| length > SNIFFED)
        && !import::knows(&bytes)
        && let Err(damage) = sniff(&bytes)
    {
        let error = nothing(name, &bytes, Some(damage));
        let of = file.map_or(String::new(), |(_, length)| format!("of its {length} bytes, "));
        let what = format!("{} ({of}the first {SNIFFED} were looked at)", error.what);
        return Err(SourceError { what, ..error });
    }
    // All at once, or a buffer that doubles takes more than the file. Where there is no room, reading says so.
    let rest = file.map_or(0, |(_, length)| length.saturating_sub(bytes.len() as u64));
    let _ = usize::try_from(rest).map(|rest| bytes.try_reserve_exact(rest));
    input.read_to_end(&mut bytes).map_err(unreadable)?;
    let beside = file.and_then(|(path, _)| beside(path, &bytes));
    as_log(name, bytes, beside.as_deref(), progress)
}

/// What of a file lies in another one: SQLite's newest pages, as long as a program writes.
fn beside(path: &Path, bytes: &[u8]) -> Option<String> {
    if !import::is_sqlite(bytes) {
        return None;
    }
    let mut name = path.file_name()?.to_owned();
    name.push("-wal");
    let wal = path.with_file_name(&name);
    let bytes = std::fs::metadata(&wal).ok().map(|found| found.len()).filter(|bytes| *bytes > 0)?;
    Some(format!(
        "{bytes} bytes of it are in {} and are not read; `sqlite3 FILE 'PRAGMA wal_checkpoint(TRUNCATE)'` brings them in",
        name.display()
    ))
}

/// As [`load`], but of the log only a part.
///
/// # Errors
/// As [`load`]; or there is no such part.
pub fn load_part(path: &Path, part: &Part, progress: &Progress) -> Result<Vec<u8>, SourceError> {
    let bytes = load(path, progress)?;
    if part.is_whole() {
        return Ok(bytes);
    }
    // What is wrong with the whole is said as such.
    if Reader::new(&bytes).all(|read| read.is_err()) {
        return read_file(path, &bytes, progress).map(|_| bytes);
    }
    let _task = progress.begin("taking out the part", Unit::Nothing, None);
    part.of(&bytes).map_err(|error| SourceError {
        name: path.display().to_string(),
        what: error.to_string(),
        advice: "Name a record by its number, a time since the first record (such as 20ms), or a mark.".to_owned(),
    })
}

/// A file's bytes as a log: themselves, or what they are translated to where another allocator wrote them.
fn as_log(name: &str, bytes: Vec<u8>, damage: Option<&str>, progress: &Progress) -> Result<Vec<u8>, SourceError> {
    let _task = progress.begin("translating", Unit::Nothing, None);
    let Some(translated) = import::translate(&bytes, damage) else {
        return Ok(with_note(bytes, damage));
    };
    translated.map_err(|error| {
        let advice = damage.map_or_else(|| COPY_AGAIN.to_owned(), |damage| format!("Besides: {damage}."));
        SourceError { name: name.to_owned(), what: error.to_string(), advice }
    })
}

/// A log with a line behind it that says what is wrong with the file: no record of either form, so that a reader tells it
/// as damage.
fn with_note(mut bytes: Vec<u8>, damage: Option<&str>) -> Vec<u8> {
    if let Some(damage) = damage {
        bytes.extend_from_slice(b"\n");
        bytes.extend_from_slice(DAMAGED.as_bytes());
        bytes.extend_from_slice(damage.as_bytes());
        bytes.extend_from_slice(b"\n");
    }
    bytes
}

/// Reads a log from memory.
///
/// # Errors
/// As [`open`].
pub fn read(name: &str, bytes: &[u8]) -> Result<Opened, SourceError> {
    read_with(name, bytes, &Progress::default())
}

fn read_with(name: &str, bytes: &[u8], progress: &Progress) -> Result<Opened, SourceError> {
    let origin = Origin::of(bytes);
    let mut builder = Builder::without(origin.unrecorded);
    let mut damages = Damages::default();
    let mut records = 0_u64;
    let mut first = None;
    let take = |read: &Result<Stamped<'_>, Damage>| match read {
        Ok(stamped) => {
            records += 1;
            builder.push(stamped);
        }
        Err(damage) if origin.expects(damage) => builder.gap(),
        Err(damage) => {
            builder.gap();
            first.get_or_insert(*damage);
            damages.push(*damage);
        }
    };
    decode::each("reading", bytes, progress, take).map_err(|stopped| SourceError::stopped(name, stopped))?;
    if records == 0 {
        return Err(nothing(name, bytes, first));
    }
    Ok(opened(name, builder, origin, damages))
}

/// What was wrong while a log was read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Damages {
    told: Vec<String>,
    more: u64,
}

impl Damages {
    /// One more.
    pub(crate) fn push(&mut self, damage: Damage) {
        if self.told.len() < MOST_DAMAGES {
            self.told.push(damage.to_string());
        } else {
            self.more += 1;
        }
    }
}

/// The log of these records.
pub(crate) fn opened(name: &str, builder: Builder, origin: Origin, read: Damages) -> Opened {
    let model = builder.finish();
    let mut damages = origin.damages.clone();
    damages.extend(read.told);
    let damaged = damages.len() as u64 + read.more + model.odd;
    if read.more > 0 {
        damages.push(more_damaged(read.more));
    }
    damages.extend(model.oddities.iter().map(|o| format!("record {}: {}", model.events.number(o.event), o.what)));
    Opened { name: name.to_owned(), model, origin, damages, damaged }
}

/// Why nothing was read.
fn nothing(name: &str, bytes: &[u8], damage: Option<Damage>) -> SourceError {
    let (what, advice) = match damage.map(|d| d.kind) {
        _ if bytes.is_empty() => (
            "the file is empty (0 bytes)".to_owned(),
            format!("The log was never flushed, or nothing was logged. {HOW_TO_LOG}"),
        ),
        Some(DamageKind::Empty) => (
            format!("the file holds {} bytes, all of them zero", bytes.len()),
            format!("The log was never flushed, or nothing was logged. {HOW_TO_LOG}"),
        ),
        None => {
            ("the log holds no records".to_owned(), format!("Nothing was logged, or what was is cut off. {HOW_TO_LOG}"))
        }
        Some(DamageKind::Foreign) => (
            format!("this is not an event log of weir; it begins with {}", beginning(bytes)),
            format!(
                "Expected: pages that begin with `{}`, text that begins with `{}`, or a log of another allocator: {}. \
                 {HOW_TO_LOG}",
                hex(&MAGIC),
                text::HEADER,
                import::FORMATS
            ),
        ),
        Some(DamageKind::UnknownVersion { version }) => (
            format!("the log is of format version {version}, which this viewer does not know"),
            "Read it with the weir that wrote it, or a newer one.".to_owned(),
        ),
        Some(_) => (
            format!("no record could be read: {}", damage.map_or(String::new(), |d| d.to_string())),
            "The file is cut or damaged from its beginning on: copy it again from where it was written.".to_owned(),
        ),
    };
    SourceError { name: name.to_owned(), what, advice }
}

/// The first bytes for people: as text where they are text.
pub(crate) fn beginning(bytes: &[u8]) -> String {
    let first = &bytes[..bytes.len().min(24)];
    let line = first.split(|b| *b == b'\n').next().unwrap_or(first);
    if !line.is_empty() && line.iter().all(|b| (b' '..=b'~').contains(b)) {
        return format!("`{}`", String::from_utf8_lossy(line));
    }
    format!("the bytes `{}`", hex(&first[..first.len().min(8)]))
}

fn hex(bytes: &[u8]) -> String {
    let bytes: Vec<String> = bytes.iter().map(|b| format!("{b:02x}")).collect();
    bytes.join(" ")
}
