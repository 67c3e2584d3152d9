//! Records in little room: a log holds millions, and most of them are far smaller than the largest.

use super::owned::owned;
use weir::trace::{Packer, Record};

/// Records one after the other, packed.
#[derive(Clone, Debug, Default)]
pub(super) struct Packed {
    bytes: Vec<u8>,
    packer: Packer,
}

impl Packed {
    /// Keeps a record; answers its place. O(1).
    pub(super) fn keep(&mut self, record: &Record<'_>) -> u64 {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(self.packer.pack(record));
        at as u64
    }

    /// The record that was kept at this place, without its name.
    pub(super) fn get(&self, at: u64) -> Record<'static> {
        let bytes = usize::try_from(at).ok().and_then(|at| self.bytes.get(at..));
        owned(bytes.and_then(Record::unpack).expect("what was kept is there"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir::trace::{Reader, text};

    /// One record of each kind that is kept so, with numbers from small to as large as there are.
    const RECORDS: &str = "\
        begin version=0.1.0 policy=4 streams=16 events=32 markers=64 pools=2 blocks=1024 granules=512\n\
        pool_created pool=3.4294967295\n\
        pool_destroyed pool=3 leaked=18446744073709551615\n\
        stream_created stream=4294967295.7\n\
        event_created event=5.2\n\
        use pool=1 stream=2 seq=9 id=18446744073709551615 until=free\n\
        recorded event=1 stream=2.3 seq=18446744073709551615 number=4\n\
        waited stream=2 seq=10 event=1 number=18446744073709551615\n\
        queried event=1 number=4 complete=yes\n\
        marker_laid marker=4294967295 stream=2 seq=11\n\
        asked stream=2 seq=11 complete=no\n\
        wait_inserted stream=2 seq=12 marker=7 on=9.2@5\n\
        grow_planned pool=1 stream=2 call=3 offset=9223372036854775809 granules=4294967295\n\
        trimmed pool=1 target=0 reached=513 live=512 pending=512 partial=1024\n\
        lost records=18446744073709551615\n";

    #[test]
    fn what_is_kept_is_what_comes_back() {
        let lines = RECORDS.lines().enumerate().map(|(at, line)| format!("number={at} time={at} record={line}\n"));
        let log = format!("{}\n{}", text::HEADER, lines.collect::<String>());
        let records: Vec<Record<'_>> = Reader::new(log.as_bytes()).map(|read| read.expect("a record").record).collect();
        assert_eq!(records.len(), RECORDS.lines().count());
        let mut packed = Packed::default();
        let places: Vec<u64> = records.iter().map(|record| packed.keep(record)).collect();
        // From the last on: none rests on the one before.
        for (place, record) in places.into_iter().zip(&records).rev() {
            assert_eq!(packed.get(place), *record);
        }
    }
}
