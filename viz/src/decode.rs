//! Decodes a log's pages on one thread while another works up what they say; and tells how far it is.
//!
//! Working up takes longer than decoding, so more threads that decode would only wait.

use crate::watch;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use weir::trace::{Damage, Pages, Reader, Stamped};

/// Logs of fewer bytes are decoded on the calling thread: a thread costs more than it saves.
const SHORT: usize = 1 << 20;
/// Records that are handed over at once: they fit into a core's cache.
const BATCH: usize = 1024;
/// Batches that wait at most, so that the memory for them does not grow with the log.
const WAITING: usize = 8;
/// Batches between two tellings of how far it is.
const TOLD: u64 = 64;
/// Bytes at a log's end in which its last page is looked for.
const TAIL: usize = 64 << 10;

/// How far reading a long log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done, such as `reading`.
    pub what: &'static str,
    /// Records done.
    pub done: u64,
    /// Records in all, where the log's end says it, or where all are done.
    pub total: Option<u64>,
}

static LISTENER: OnceLock<fn(Progress)> = OnceLock::new();

/// From now on, whoever reads a long log in this process tells this function how far it is, from any thread. The first
/// call counts.
pub fn tell_progress(listener: fn(Progress)) {
    let _ = LISTENER.set(listener);
}

type Read<'a> = Result<Stamped<'a>, Damage>;

/// Gives all that [`Reader`] reads in these bytes to `take`, in order; or only some of it, where who watches stops the
/// work. O(bytes); the memory is that of a few batches.
pub(crate) fn each<'a>(what: &'static str, bytes: &'a [u8], take: impl FnMut(Read<'a>)) {
    if bytes.len() < SHORT {
        return Reader::new(bytes).for_each(take);
    }
    each_batched(what, bytes, LISTENER.get().copied(), take);
}

fn each_batched<'a>(
    what: &'static str,
    bytes: &'a [u8],
    listener: Option<fn(Progress)>,
    mut take: impl FnMut(Read<'a>),
) {
    let told = listener.is_some() || watch::is_watched();
    let total = if told { records(bytes) } else { None };
    let tell = |progress: Progress| {
        watch::tell(progress);
        listener.into_iter().for_each(|listener| listener(progress));
    };
    let (mut batches, mut done) = (0_u64, 0_u64);
    std::thread::scope(|threads| {
        let (full, filled) = sync_channel(WAITING);
        let (empty, emptied) = channel();
        threads.spawn(move || decode(bytes, &full, &emptied));
        for mut batch in filled {
            done += batch.len() as u64;
            batch.drain(..).for_each(&mut take);
            // Refused only where the other side has finished.
            let _ = empty.send(batch);
            batches += 1;
            if told && batches.is_multiple_of(TOLD) {
                tell(Progress { what, done: total.map_or(done, |total| done.min(total)), total });
                if watch::is_stopped() {
                    break;
                }
            }
        }
    });
    if told {
        let all = total.unwrap_or(done);
        tell(Progress { what, done: all, total: Some(all) });
    }
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
    use std::sync::Mutex;
    use weir::id::{PoolId, StreamId};
    use weir::trace::{Log, LogStamps, PAGE_BYTES, Page, Record};
    use weir::units::{Nanos, Seq};

    /// So many records in pages: synchronisations, and between them pools that come and go.
    fn log(records: u64) -> Vec<u8> {
        let (mut pages, mut streams, mut pools) = (vec![Page::EMPTY; 4], [0; 4], [0; 4]);
        let stamps = LogStamps { streams: &mut streams, pools: &mut pools, labels: &mut [] };
        let mut log = Log::new(&mut pages, stamps);
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

    fn read<'a>(bytes: &'a [u8], listener: Option<fn(Progress)>) -> Vec<Read<'a>> {
        let mut all = Vec::new();
        each_batched("reading", bytes, listener, |read| all.push(read));
        all
    }

    #[test]
    fn two_threads_read_what_one_reads_damages_and_all() {
        for records in [0, 1, BATCH as u64 - 1, BATCH as u64, BATCH as u64 + 1, 40_000] {
            let mut bytes = log(records);
            assert_eq!(read(&bytes, None), Reader::new(&bytes).collect::<Vec<_>>(), "{records} records");
            for at in (0..bytes.len()).step_by(9973) {
                bytes[at] ^= 0x40;
            }
            let plain: Vec<_> = Reader::new(&bytes).collect();
            assert!(plain.iter().any(Result::is_err));
            assert_eq!(read(&bytes, None), plain, "{records} records, damaged");
        }
        let text = b"weir-log version=1\nnumber=0 time=0 record=pool_created pool=0\nnumber=1 time";
        assert_eq!(read(text, None), Reader::new(text).collect::<Vec<_>>());
    }

    static TOLD_OF: Mutex<Vec<Progress>> = Mutex::new(Vec::new());

    fn listen(progress: Progress) {
        TOLD_OF.lock().expect("no listener panicked").push(progress);
    }

    #[test]
    fn progress_rises_to_the_number_of_records() {
        let records = 4 * TOLD * BATCH as u64 + 5;
        let bytes = log(records);
        assert_eq!(super::records(&bytes), Some(records));
        read(&bytes, Some(listen));
        let told = TOLD_OF.lock().expect("no listener panicked");
        assert!(told.len() >= 5 && told.is_sorted_by_key(|progress| progress.done), "{told:?}");
        assert!(told.iter().all(|progress| progress.total == Some(records)));
        assert_eq!(told.last().map(|progress| progress.done), Some(records));
    }
}
