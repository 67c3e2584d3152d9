//! Records by themselves in few bytes, for readers that keep very many of them.

use super::Record;
use super::field::Field;
use super::wire::{Context, Cursor, WINDOW, Writer};

/// Packs records, one at a time: each as the first one of a page, without its time. What it is packed to is not part of
/// the log's format.
#[derive(Clone, Debug)]
pub struct Packer {
    window: [u8; WINDOW],
}

impl Default for Packer {
    fn default() -> Self {
        Self { window: [0; WINDOW] }
    }
}

impl Packer {
    /// The bytes of a record. Names longer than [`MAX_NAME`](super::MAX_NAME) are cut.
    pub fn pack(&mut self, record: &Record<'_>) -> &[u8] {
        let mut context = Context::new(0);
        let mut writer = Writer::new(&mut self.window, &mut context);
        record.put(&mut writer);
        let length = writer.written();
        self.window.get(..length).unwrap_or_default()
    }
}

impl<'a> Record<'a> {
    /// The record that these bytes begin with, as a [`Packer`] gave them; `None` where they are none.
    #[must_use]
    pub fn unpack(bytes: &'a [u8]) -> Option<Self> {
        Self::get("record", &mut Cursor::new(bytes, 0)).ok()
    }
}
