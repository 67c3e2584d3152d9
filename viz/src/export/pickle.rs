//! A writer for pickles of protocol 2 with the few opcodes that viewers of PyTorch's snapshots know, and no others: nothing
//! that a reader could run.

use std::io::{Result, Write};

/// Writes values one after the other; lists and dicts are opened and closed.
pub(super) struct Pickle<'w, W: Write> {
    out: &'w mut W,
}

impl<'w, W: Write> Pickle<'w, W> {
    pub(super) fn begin(out: &'w mut W) -> Result<Self> {
        out.write_all(&[0x80, 2])?;
        Ok(Self { out })
    }

    /// What goes on in a pickle that was begun elsewhere.
    pub(super) fn amid(out: &'w mut W) -> Self {
        Self { out }
    }

    /// What was written [`amid`](Self::amid).
    pub(super) fn written(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes)
    }

    pub(super) fn end(self) -> Result<()> {
        self.out.write_all(b".")
    }

    /// A dict; its keys and values follow, until [`close_dict`](Self::close_dict).
    pub(super) fn open_dict(&mut self) -> Result<()> {
        self.out.write_all(b"}(")
    }

    pub(super) fn close_dict(&mut self) -> Result<()> {
        self.out.write_all(b"u")
    }

    pub(super) fn open_list(&mut self) -> Result<()> {
        self.out.write_all(b"](")
    }

    pub(super) fn close_list(&mut self) -> Result<()> {
        self.out.write_all(b"e")
    }

    pub(super) fn text(&mut self, text: &str) -> Result<()> {
        let length = u32::try_from(text.len()).map_err(std::io::Error::other)?;
        self.out.write_all(b"X")?;
        self.out.write_all(&length.to_le_bytes())?;
        self.out.write_all(text.as_bytes())
    }

    pub(super) fn number(&mut self, number: u64) -> Result<()> {
        if let Ok(small) = i32::try_from(number) {
            self.out.write_all(b"J")?;
            return self.out.write_all(&small.to_le_bytes());
        }
        // Two's complement: a ninth byte where the highest bit is set.
        let bytes = u128::from(number).to_le_bytes();
        let length = if number >> 63 == 1 { 9 } else { 8 };
        self.out.write_all(&[0x8a, length])?;
        self.out.write_all(&bytes[..usize::from(length)])
    }

    pub(super) fn truth(&mut self, truth: bool) -> Result<()> {
        self.out.write_all(&[if truth { 0x88 } else { 0x89 }])
    }

    /// The tuple of the last two values.
    pub(super) fn pair(&mut self) -> Result<()> {
        self.out.write_all(&[0x86])
    }

    pub(super) fn entry(&mut self, key: &str, text: &str) -> Result<()> {
        self.text(key)?;
        self.text(text)
    }

    pub(super) fn count(&mut self, key: &str, number: u64) -> Result<()> {
        self.text(key)?;
        self.number(number)
    }
}
