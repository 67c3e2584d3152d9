//! Records of a log whose bytes come piece by piece.

use weir::trace::{Damage, DamageKind, Form, HEADER_BYTES, MAGIC, Pages, Reader, Stamped, sniff, text};

/// In so many bytes a log has to begin.
const SNIFFED: usize = 64 << 10;
/// So much that is no page is waited for a page behind.
const MOST_NOISE: usize = 64 << 10;
/// A record's line is not longer; nor are a name's line breaks further apart.
const LONGEST_LINE: usize = 4 << 10;

/// Takes a log's bytes in pieces of any size, and hands out what [`Reader`] would of the whole, as soon as it is there: a
/// page once it is complete, a line once its end is. A ring as it lay in memory is read in the order of its bytes.
///
/// The memory is that of a page or a line, the time linear in the bytes.
#[derive(Debug, Default)]
pub struct Tail {
    form: Option<Form>,
    /// What was not handed out yet. Of a text, a header line stands before it, so that every piece is a log.
    unread: Vec<u8>,
    /// Where in the input that begins.
    offset: u64,
    /// Lines before it.
    lines: u64,
    /// Number of the record expected next.
    expected: u64,
    /// What comes next was reported as damage, up to the next page.
    reported: bool,
}

/// What was read of a piece.
struct Piece<'t, F> {
    tail: &'t mut Tail,
    each: F,
}

impl<F: FnMut(Result<Stamped<'_>, Damage>)> Piece<'_, F> {
    /// A record, and before it that its number is not the expected one.
    fn record(&mut self, stamped: Stamped<'_>, offset: u64) {
        let (number, expected) = (stamped.number, self.tail.expected);
        self.tail.expected = number.wrapping_add(u64::from(!stamped.record.is_definition()));
        if number > expected {
            self.damage(DamageKind::Missing { first: expected, records: number - expected }, offset);
        } else if number < expected {
            self.damage(DamageKind::OutOfOrder { number, expected }, offset);
        }
        (self.each)(Ok(stamped));
    }

    fn damage(&mut self, kind: DamageKind, offset: u64) {
        (self.each)(Err(Damage { offset, kind }));
    }
}

impl Tail {
    /// Takes the next bytes, and hands out what is complete with them.
    ///
    /// # Errors
    /// There is no log in the first bytes; as the damage says.
    pub fn take(&mut self, bytes: &[u8], each: impl FnMut(Result<Stamped<'_>, Damage>)) -> Result<(), Damage> {
        self.unread.extend_from_slice(bytes);
        let form = match self.form {
            Some(form) => form,
            None => match sniff(&self.unread) {
                Ok(form) => self.begin(form),
                Err(damage) if self.unread.len() >= SNIFFED => return Err(damage),
                Err(_) => return Ok(()),
            },
        };
        self.read(form, each, false);
        Ok(())
    }

    /// No more will come: what waits is damage, or a last line without its end.
    ///
    /// # Errors
    /// There is no log in all of it.
    pub fn finish(&mut self, each: impl FnMut(Result<Stamped<'_>, Damage>)) -> Result<(), Damage> {
        let form = match self.form {
            Some(form) => form,
            None => {
                let form = sniff(&self.unread)?;
                self.begin(form)
            }
        };
        self.read(form, each, true);
        Ok(())
    }

    /// Bytes that wait for more.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.unread.len() - if self.form == Some(Form::Text) { HEADER.len() } else { 0 }
    }

    /// What came last and makes no sense so far: all of it, or lines behind the last record. It may yet, as the beginning of a
    /// log with something before it, or a name with a line break in it. Empty where nothing is wrong.
    #[must_use]
    pub fn foreign(&self) -> &[u8] {
        match self.form {
            None => {
                let begun = HEADER.starts_with(&self.unread);
                let foreign = !begun && sniff(&self.unread).is_err_and(|damage| damage.kind == DamageKind::Foreign);
                if foreign { &self.unread } else { &[] }
            }
            Some(Form::Text) => {
                let waiting = self.unread.get(HEADER.len()..).unwrap_or_default();
                waiting
                    .get(..waiting.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1))
                    .unwrap_or_default()
            }
            Some(Form::Binary) => &[],
        }
    }

    fn begin(&mut self, form: Form) -> Form {
        self.form = Some(form);
        if form == Form::Text {
            self.unread.splice(..0, HEADER.iter().copied());
        }
        form
    }

    fn read(&mut self, form: Form, each: impl FnMut(Result<Stamped<'_>, Damage>), ends: bool) {
        let unread = std::mem::take(&mut self.unread);
        let mut piece = Piece { tail: self, each };
        let read = match form {
            Form::Binary => piece.pages(&unread, ends),
            Form::Text => piece.lines(&unread, ends),
        };
        self.unread = unread;
        match form {
            Form::Binary => drop(self.unread.drain(..read)),
            Form::Text => {
                let lines = self.unread[HEADER.len()..HEADER.len() + read].iter().filter(|byte| **byte == b'\n');
                self.lines += lines.count() as u64;
                drop(self.unread.drain(HEADER.len()..HEADER.len() + read));
            }
        }
        self.offset += read as u64;
    }
}

/// Stands before every piece of a text.
const HEADER: &[u8] = b"weir-log version=1\n";
const _: () = assert!(HEADER.len() == text::HEADER.len() + 1);

impl<F: FnMut(Result<Stamped<'_>, Damage>)> Piece<'_, F> {
    /// The complete pages. Answers how many bytes are done with.
    fn pages(&mut self, bytes: &[u8], ends: bool) -> usize {
        let base = self.tail.offset;
        let mut end = 0;
        for page in Pages::new(bytes) {
            match page {
                Ok(page) => {
                    self.tail.reported = false;
                    end = page.offset as usize + page.bytes().len();
                    for record in page.records() {
                        match record {
                            Ok(stamped) => self.record(stamped, base + page.offset + HEADER_BYTES as u64),
                            Err(damage) => self.damage(damage.kind, base + damage.offset),
                        }
                    }
                }
                Err(damage) => {
                    let at = damage.offset as usize;
                    let rest = bytes.len() - at;
                    let waits = match damage.kind {
                        DamageKind::Cut { .. } => true,
                        DamageKind::Noise { bytes } => bytes as usize >= rest && rest < MOST_NOISE,
                        _ => false,
                    };
                    if waits && !ends {
                        return at;
                    }
                    let noise = match damage.kind {
                        DamageKind::Noise { .. } => true,
                        DamageKind::Cut { has, .. } => has < MAGIC.len() as u64,
                        _ => false,
                    };
                    if !(noise && self.tail.reported) {
                        self.damage(damage.kind, base + damage.offset);
                    }
                    self.tail.reported = true;
                }
            }
        }
        // What looks like the beginning of a page may be one.
        let begun = (1..MAGIC.len()).rev().find(|length| bytes[end..].ends_with(&MAGIC[..*length]));
        bytes.len() - if ends { 0 } else { begun.unwrap_or(0) }
    }

    /// The complete lines. Answers how many bytes behind the header are done with.
    fn lines(&mut self, bytes: &[u8], ends: bool) -> usize {
        let whole = if ends { bytes.len() } else { bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1) };
        if whole <= HEADER.len() {
            // A line without an end is none.
            return if bytes.len() > HEADER.len() + SNIFFED { bytes.len() - HEADER.len() } else { 0 };
        }
        let (base, lines) = (self.tail.offset, self.tail.lines);
        // Lines that make no sense at the end: of a name with a line break in it, perhaps.
        let mut bad: Vec<Damage> = Vec::new();
        let mut place = base;
        for read in Reader::new(&bytes[..whole]) {
            match read {
                Ok(stamped) => {
                    bad.drain(..).for_each(|damage| self.damage(damage.kind, damage.offset));
                    self.record(stamped, place);
                }
                // Of a piece, the reader takes the first number for wrong; but it knows where the record stands.
                Err(Damage { offset, kind: DamageKind::Missing { .. } | DamageKind::OutOfOrder { .. } }) => {
                    place = base + offset - HEADER.len() as u64;
                }
                Err(Damage { offset, kind: DamageKind::BadLine { line, key, expected } }) => bad.push(Damage {
                    offset: base + offset - HEADER.len() as u64,
                    kind: DamageKind::BadLine { line: lines + line - 1, key, expected },
                }),
                Err(damage) => self.damage(damage.kind, base + damage.offset.saturating_sub(HEADER.len() as u64)),
            }
        }
        let done = whole - HEADER.len();
        if let Some(first) = bad.first() {
            let from = (first.offset - base) as usize;
            if !ends && done - from < LONGEST_LINE {
                return from;
            }
        }
        bad.into_iter().for_each(|damage| self.damage(damage.kind, damage.offset));
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir::id::{LabelId, PoolId};
    use weir::trace::{Log, LogStamps, PAGE_BYTES, Page, Record, Spill};
    use weir::units::Nanos;

    /// So many records, marks with line breaks in their names among them.
    fn records(count: u64) -> impl Iterator<Item = Record<'static>> {
        (0..count).map(|number| match number % 5 {
            0 => Record::Mark { label: LabelId::NONE, name: "two\nlines" },
            _ => Record::PoolCreated { pool: PoolId::from_raw(1 << 32) },
        })
    }

    fn binary(count: u64) -> Vec<u8> {
        let (mut pages, mut streams, mut pools) = (vec![Page::EMPTY; 4], [0; 4], [0; 4]);
        let stamps = LogStamps { streams: &mut streams, pools: &mut pools, labels: &mut [] };
        let mut spill = Spill::EMPTY;
        let mut log = Log::new(&mut pages, stamps, &mut spill);
        let (mut out, mut page) = (Vec::new(), [0; PAGE_BYTES]);
        for (number, record) in records(count).enumerate() {
            log.append(Nanos(number as u64), record, &());
            if number as u64 + 1 == count {
                log.seal();
            }
            while let Some(length) = log.take_page(&mut page) {
                out.extend_from_slice(&page[..length]);
            }
        }
        out
    }

    fn lines(count: u64) -> Vec<u8> {
        let mut out = format!("{}\n# a comment\n", text::HEADER);
        for (number, record) in records(count).enumerate() {
            let stamped = Stamped { number: number as u64, time: Nanos(number as u64), record };
            text::write(&stamped, &mut out).unwrap();
            out.push('\n');
        }
        out.into_bytes()
    }

    /// What is read in pieces of these lengths, around and around, in words.
    fn in_pieces(bytes: &[u8], lengths: &[usize]) -> Vec<String> {
        let (mut tail, mut out, mut rest) = (Tail::default(), Vec::new(), bytes);
        let mut keep = |read: Result<Stamped<'_>, Damage>| out.push(format!("{read:?}"));
        for length in lengths.iter().cycle() {
            let (piece, left) = rest.split_at((*length).min(rest.len()));
            tail.take(piece, &mut keep).unwrap();
            rest = left;
            if rest.is_empty() {
                break;
            }
        }
        tail.finish(&mut keep).unwrap();
        out
    }

    fn at_once(bytes: &[u8]) -> Vec<String> {
        Reader::new(bytes).map(|read| format!("{read:?}")).collect()
    }

    #[test]
    fn pieces_of_any_size_give_what_the_whole_gives() {
        for log in [binary(3000), lines(300)] {
            let whole = at_once(&log);
            assert!(whole.len() >= 300);
            for lengths in [&[1][..], &[7, 1000], &[4096], &[5000, 3], &[1 << 20]] {
                assert!(in_pieces(&log, lengths) == whole, "in pieces of {lengths:?}");
            }
        }
    }

    #[test]
    fn damage_in_pages_is_told_as_of_the_whole() {
        let mut log = binary(3000);
        log[5000] ^= 1;
        log.splice(0..0, *b"noise from a serial line");
        log.extend_from_slice(&binary(10)[..100]);
        let whole = at_once(&log);
        assert!(whole.iter().filter(|read| read.starts_with("Err")).count() >= 3);
        for lengths in [&[1][..], &[7, 1000], &[4096], &[1 << 20]] {
            let read = in_pieces(&log, lengths);
            let first = read.iter().zip(&whole).find(|(a, b)| a != b);
            assert_eq!((first, read.len()), (None, whole.len()), "in pieces of {lengths:?}");
        }
    }

    #[test]
    fn damage_in_lines_is_told_as_of_the_whole() {
        let mut log = lines(40);
        let middle = log.len() / 2;
        log.splice(middle..middle, *b"\nnumber=7 nonsense\nmore of it\n");
        let records = |read: &[String]| read.iter().filter(|read| read.starts_with("Ok")).cloned().collect::<Vec<_>>();
        let whole = at_once(&log);
        for lengths in [&[1][..], &[7, 1000], &[4096]] {
            let read = in_pieces(&log, lengths);
            assert!(records(&read) == records(&whole), "in pieces of {lengths:?}");
            assert!(read.iter().any(|read| read.contains("BadLine")));
        }
    }

    #[test]
    fn a_page_is_there_as_soon_as_its_last_byte_is() {
        let log = binary(3000);
        let first = Pages::new(&log).next().unwrap().unwrap();
        let (length, records) = (first.bytes().len(), first.records().count());
        let (mut tail, mut seen) = (Tail::default(), 0);
        tail.take(&log[..length - 1], |_| seen += 1).unwrap();
        assert_eq!((seen, tail.waiting()), (0, length - 1));
        tail.take(&log[length - 1..length], |_| seen += 1).unwrap();
        assert_eq!((seen, tail.waiting()), (records, 0));
    }

    #[test]
    fn what_makes_no_sense_so_far_is_known() {
        let log = lines(7);
        let mut tail = Tail::default();
        for piece in log.chunks(1) {
            tail.take(piece, |_| {}).unwrap();
            // The first line of a name of two lines is waited for.
            let begun = tail.foreign();
            assert!(begun.is_empty() || begun.ends_with(b"name=two\n"), "{}", String::from_utf8_lossy(begun));
        }
        assert_eq!(tail.foreign(), b"");
        // Cut, and something else behind it.
        tail.take(b"number=7 ti", |_| {}).unwrap();
        assert_eq!(tail.foreign(), b"", "the rest of the line may come");
        tail.take(b"hello\nthere", |_| {}).unwrap();
        assert_eq!(tail.foreign(), b"number=7 tihello\n");
        let mut tail = Tail::default();
        tail.take(b"GET / HTTP/1.1\r\n", |_| {}).unwrap();
        assert_eq!(tail.foreign(), b"GET / HTTP/1.1\r\n");
        tail.take(&binary(10), |_| {}).unwrap();
        assert_eq!(tail.foreign(), b"", "noise before a page");
    }

    #[test]
    fn what_is_no_log_is_refused_once_that_is_clear() {
        let mut tail = Tail::default();
        assert_eq!(tail.take(b"a,b,c\n1,2,3\n", |_| {}), Ok(()));
        let refused = tail.take(&[b'x'; SNIFFED], |_| {}).unwrap_err();
        assert_eq!(refused.kind, DamageKind::Foreign);
        assert_eq!(Tail::default().finish(|_| {}).unwrap_err().kind, DamageKind::Empty);
    }
}
