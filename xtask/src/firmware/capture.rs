//! A capture of the serial line: pages of the log and lines of text, in whatever order and with whatever noise.

use weir::trace::Pages;

/// What was found in a capture.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Capture {
    /// The pages whose checksums are right, one after the other: a log.
    pub(crate) log: Vec<u8>,
    /// How many there are.
    pub(crate) pages: usize,
    /// Everything else.
    rest: Vec<u8>,
}

/// The last line of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) made: u32,
    pub(crate) failed: u32,
}

impl Capture {
    /// Takes a capture apart.
    pub(crate) fn read(serial: &[u8]) -> Self {
        let mut capture = Self::default();
        let mut from = 0;
        for page in Pages::new(serial).flatten() {
            let at = usize::try_from(page.offset).unwrap_or(usize::MAX);
            capture.rest.extend_from_slice(serial.get(from..at).unwrap_or_default());
            capture.log.extend_from_slice(page.bytes());
            capture.pages += 1;
            from = at.saturating_add(page.bytes().len());
        }
        capture.rest.extend_from_slice(serial.get(from..).unwrap_or_default());
        capture
    }

    /// The lines of text, without those that noise is in.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &str> {
        let lines = self.rest.split(|byte| *byte == b'\n').filter_map(|line| str::from_utf8(line).ok());
        let printable = |line: &&str| !line.is_empty() && line.chars().all(|c| c == '\t' || !c.is_control());
        lines.map(|line| line.trim_end_matches('\r')).filter(printable)
    }

    /// `weir: N checks, M failed`, if that is the last thing on the line.
    pub(crate) fn ending(&self) -> Option<Ending> {
        let text = self.rest.rsplit(|byte| *byte == b'\n').find(|line| !line.is_empty())?;
        let text = String::from_utf8_lossy(text);
        // A page whose end was lost may stand before it in the same line.
        let (_, counts) = text.trim_end().rsplit_once("weir: ")?;
        let (made, failed) = counts.strip_suffix(" failed")?.split_once(" checks, ")?;
        Some(Ending { made: made.parse().ok()?, failed: failed.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir::id::DeviceId;
    use weir::policy::PoolConfig;
    use weir::sim::{DeviceConfig, Sim, SimStorage};
    use weir::trace::{Reader, WriterSink};
    use weir::units::Bytes;
    use weir::{Local, Storage, StreamConfig};

    /// A serial line: text, and the pages of a run between it; where each page begins.
    fn line() -> (Vec<u8>, Vec<usize>) {
        let mut device = Box::new(SimStorage::<1, 1, 32, 4, 12, 64, 256>::new());
        let sim = Sim::new(device.arenas(), &[DeviceConfig::new(Bytes::mib(64))], 1).expect("a device");
        let native = sim.create_stream(DeviceId(0)).expect("a stream");
        let mut storage = Box::new(Storage::<4, 4, 8, 1, 64, 32, 8, 2>::new());
        let (mut bytes, mut starts) = (b"weir 0.1.0\nprogram: one\n".to_vec(), Vec::new());
        let sink = WriterSink(|page: &[u8]| {
            starts.push(bytes.len());
            bytes.extend_from_slice(page);
            bytes.extend_from_slice(b"between pages\n");
            Ok(())
        });
        let rt = Local::new(storage.arenas(), sim, sink);
        let pool = rt.create_pool(PoolConfig::new(DeviceId(0))).expect("a pool");
        let stream = rt.create_stream(StreamConfig::new(DeviceId(0), native)).expect("a stream");
        for size in 1..1600 {
            let block = rt.malloc_async(pool, Bytes(size * 512), stream).expect("memory");
            rt.free_async(block, stream).expect("was given");
        }
        rt.flush();
        drop(rt);
        bytes.extend_from_slice(b"weir: 12 checks, 0 failed\n");
        (bytes, starts)
    }

    fn records(log: &[u8]) -> usize {
        Reader::new(log).flatten().count()
    }

    #[test]
    fn pages_and_text_are_told_apart() {
        let (bytes, starts) = line();
        assert!(starts.len() > 4, "{}", starts.len());
        let capture = Capture::read(&bytes);
        assert_eq!(capture.pages, starts.len());
        assert!(Reader::new(&capture.log).all(|record| record.is_ok()));
        let lines: Vec<_> = capture.lines().collect();
        assert_eq!(lines[..3], ["weir 0.1.0", "program: one", "between pages"]);
        assert_eq!(lines.len(), 3 + starts.len());
        assert_eq!(capture.ending(), Some(Ending { made: 12, failed: 0 }));
    }

    /// Bytes that are changed, lost or added cost the pages that they hit, and no other one.
    #[test]
    fn a_noisy_line_costs_the_pages_that_it_hits() {
        let (bytes, starts) = line();
        let whole = records(&Capture::read(&bytes).log);
        for (hit, start) in starts.iter().enumerate() {
            for at in [0, 3, 9, 15, 40, 60] {
                let place = start + at;
                let (mut changed, mut lost, mut added) = (bytes.clone(), bytes.clone(), bytes.clone());
                changed[place] ^= 0x10;
                lost.remove(place);
                added.splice(place..place, *b"\x89weir\r\n\x1a noise");
                for (what, noisy) in [("changed", &changed), ("lost", &lost), ("added", &added)] {
                    let capture = Capture::read(noisy);
                    // What is added before a page's first byte hits none.
                    let costs = usize::from(what != "added" || at != 0);
                    assert_eq!(capture.pages, starts.len() - costs, "page {hit}, byte {at} {what}");
                    assert_eq!(capture.ending(), Some(Ending { made: 12, failed: 0 }), "page {hit}, byte {at} {what}");
                    if costs > 0 {
                        let left = records(&capture.log);
                        assert!(left < whole && left > whole / 2, "page {hit}, byte {at} {what}: {left} of {whole}");
                    }
                }
            }
        }
    }

    #[test]
    fn an_ending_is_whole_and_last() {
        let ending = |text: &str| Capture::read(text.as_bytes()).ending();
        assert_eq!(ending("a\nweir: 3 checks, 1 failed\n"), Some(Ending { made: 3, failed: 1 }));
        assert_eq!(ending("weir: 3 checks, 0 failed\nand on\n"), None);
        assert_eq!(ending("weir: 3 checks, 0 fai"), None);
        assert_eq!(ending(""), None);
    }
}
