//! Pages of the log on the serial line, between lines of text: a reader looks for their beginnings and knows their lengths.

use super::machine;
use weir::trace::{Sink, SinkError};

/// The serial line.
#[derive(Debug)]
pub(super) struct Line;

impl Sink for Line {
    fn page(&mut self, page: &[u8]) -> Result<(), SinkError> {
        machine::send(page);
        #[cfg(all(feature = "defmt", target_arch = "arm"))]
        weir::trace::DefmtSink.page(page)?;
        Ok(())
    }
}
