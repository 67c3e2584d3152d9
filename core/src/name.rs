//! Names of labels, each kept once.

use crate::arena::Empty;
use crate::error::{Arena, ArenaFull, LabelError};
use crate::id::LabelId;
use crate::trace::MAX_NAME;

/// One name.
#[derive(Clone, Debug)]
pub struct Name(heapless::String<MAX_NAME>);

impl Empty for Name {
    const EMPTY: Self = Self(heapless::String::new());
}

/// The table of names, filled from the front.
pub(crate) struct Names<'a> {
    names: &'a mut [Name],
}

impl<'a> Names<'a> {
    pub(crate) fn new(names: &'a mut [Name]) -> Self {
        Self { names }
    }

    pub(crate) fn get(&self, label: LabelId) -> Option<&str> {
        let slot = (label.0 as usize).checked_sub(1)?;
        self.names.get(slot).map(|name| name.0.as_str())
    }

    /// The label of a name: O(labels). An empty name is no label.
    pub(crate) fn intern(&mut self, text: &str) -> Result<LabelId, LabelError> {
        if text.len() > MAX_NAME {
            return Err(LabelError::TooLong { length: text.len() });
        }
        if text.is_empty() {
            return Ok(LabelId::NONE);
        }
        let capacity = self.names.len();
        for (slot, name) in self.names.iter_mut().enumerate() {
            let fresh = name.0.is_empty();
            if fresh {
                // Cannot fail: the length was checked.
                let _ = name.0.push_str(text);
            }
            if fresh || name.0.as_str() == text {
                return Ok(LabelId((slot as u32).wrapping_add(1)));
            }
        }
        Err(ArenaFull { arena: Arena::Labels, capacity }.into())
    }
}
