//! Decodes a log's pages on one thread while another works up what they say.
//!
//! Working up takes longer than decoding, so more threads that decode would only wait.

use crate::progress::{Progress, Stopped, Unit};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use weir::trace::{Damage, Pages, Reader, Stamped};

/// Logs of fewer bytes are decoded on the calling thread: a thread costs more than it saves.
const SHORT: usize = 1 << 20;
/// Records that are handed over at once: they fit into a core's cache.
const BATCH: usize = 1024;
/// Batches that wait at most, so that the memory for them does not grow with the log.
const WAITING: usize = 8;
/// Bytes at a log's end in which its last page is looked for.
const TAIL: usize = 64 << 10;

type Read<'a> = Result<Stamped<'a>, Damage>;

/// Shows all that [`Reader`] reads in these bytes to `take`, in order. O(bytes); the memory is that of a few batches. They
/// stay where they were decoded: most records fill a small part of their place, and the rest need not come over.
///
/// # Errors
/// Whoever waits for it stopped it.
pub(crate) fn each<'a>(
    what: &'static str,
    bytes: &'a [u8],
    progress: &Progress,
    mut take: impl FnMut(&Read<'a>),
) -> Result<(), Stopped> {
    if bytes.len() < SHORT {
        Reader::new(bytes).for_each(|read| take(&read));
        return Ok(());
    }
    each_batched(what, bytes, progress, take)
}

fn each_batched<'a>(
    what: &'static str,
    bytes: &'a [u8],
    progress: &Progress,
    mut take: impl FnMut(&Read<'a>),
) -> Result<(), Stopped> {
    let task = progress.begin(what, Unit::Records, records(bytes));
    std::thread::scope(|threads| {
        let (full, filled) = sync_channel(WAITING);
        let (empty, emptied) = channel();
        threads.spawn(move || decode(bytes, &full, &emptied));
        // Where it is stopped nobody takes batches any more, which ends the other thread, too.
        for mut batch in filled {
            let length = batch.len() as u64;
            batch.iter().for_each(&mut take);
            batch.clear();
            // Refused only where the other side has finished.
            let _ = empty.send(batch);
            task.more(length)?;
        }
        Ok(())
    })
}

/// Fills batches, empty ones again where there are any.
fn decode<'a>(bytes: &'a [u8], full: &SyncSender<Vec<Read<'a>>>, emptied: &Receiver<Vec<Read<'a>>>) {
    let mut reader = Reader::new(bytes);
    loop {
        let mut batch = emptied.try_recv().unwrap_or_else(|_| Vec::with_capacity(BATCH));
        batch.extend(reader.by_ref().take(BATCH));
        if batch.is_empty() || full.send(batch).is_err() {
            return;
        }
    }
}

/// How many records a log has, by its first and its last page; `None` for text.
fn records(bytes: &[u8]) -> Option<u64> {
    let first = Pages::new(bytes).flatten().next()?.header.first;
    let tail = bytes.get(bytes.len().saturating_sub(TAIL)..)?;
    let last = Pages::new(tail).flatten().last()?.header;
    last.first.checked_add(u64::from(last.records))?.checked_sub(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir::id::{PoolId, StreamId};
    use weir::trace::{Log, LogStamps, PAGE_BYTES, Page, Record, Spill};
    use weir::units::{Nanos, Seq};

    /// So many records in pages: synchronisations, and between them pools that come and go.
    fn log(records: u64) -> Vec<u8> {
        let (mut pages, mut streams, mut pools) = (vec![Page::EMPTY; 4], [0; 4], [0; 4]);
        let stamps = LogStamps { streams: &mut streams, pools: &mut pools, labels: &mut [] };
        let mut spill = Spill::EMPTY;
        let mut log = Log::new(&mut pages, stamps, &mut spill);
        let (mut out, mut page) = (Vec::new(), [0; PAGE_BYTES]);
        for number in 0..records {
            let record = match number % 3 {
                0 => Record::PoolCreated { pool: PoolId::from_raw(1 << 32) },
                _ => Record::StreamSynchronized { stream: StreamId::from_raw(1 << 32), seq: Seq(number) },
            };
            log.append(Nanos(number), record, &());
            if number + 1 == records {
                log.seal();
            }
            while let Some(length) = log.take_page(&mut page) {
                out.extend_from_slice(&page[..length]);
            }
        }
        out
    }

    fn read(bytes: &[u8]) -> Vec<Read<'_>> {
        let mut all = Vec::new();
        each_batched("reading", bytes, &Progress::default(), |read| all.push(*read)).expect("nobody stops it");
        all
    }

    #[test]
    fn two_threads_read_what_one_reads_damages_and_all() {
        for records in [0, 1, BATCH as u64 - 1, BATCH as u64, BATCH as u64 + 1, 40_000] {
            let mut bytes = log(records);
            assert_eq!(read(&bytes), Reader::new(&bytes).collect::<Vec<_>>(), "{records} records");
            for at in (0..bytes.len()).step_by(9973) {
                bytes[at] ^= 0x40;
            }
            let plain: Vec<_> = Reader::new(&bytes).collect();
            assert!(plain.iter().any(Result::is_err));
            assert_eq!(read(&bytes), plain, "{records} records, damaged");
        }
        let text = b"weir-log version=1\nnumber=0 time=0 record=pool_created pool=0\nnumber=1 time";
        assert_eq!(read(text), Reader::new(text).collect::<Vec<_>>());
    }

    #[test]
    fn progress_rises_to_the_number_of_records() {
        let records = 20 * BATCH as u64 + 5;
        let bytes = log(records);
        assert_eq!(super::records(&bytes), Some(records));
        let (progress, mut seen, mut count) = (Progress::default(), Vec::new(), 0);
        let take = |_: &Read<'_>| {
            count += 1;
            if count % BATCH == 0 {
                seen.extend(progress.seen());
            }
        };
        each_batched("reading", &bytes, &progress, take).expect("nobody stops it");
        assert!(seen.iter().all(|seen| (seen.what, seen.total) == ("reading", Some(records))), "{seen:?}");
        let done: Vec<u64> = seen.iter().map(|seen| seen.done).collect();
        assert_eq!(done, (0..20).map(|batch| batch * BATCH as u64).collect::<Vec<_>>());
        assert_eq!(progress.seen(), [], "it is over");
    }

    #[test]
    fn whoever_waits_can_stop_it() {
        let bytes = log(20 * BATCH as u64);
        let (progress, mut count) = (Progress::default(), 0);
        let take = |_: &Read<'_>| {
            count += 1;
            if count == BATCH {
                progress.stop();
            }
        };
        assert_eq!(each_batched("reading", &bytes, &progress, take), Err(Stopped));
        assert_eq!(count, BATCH);
    }
}
