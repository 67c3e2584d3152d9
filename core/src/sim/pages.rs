//! Which granule is at which address: as planned by the calls, and as it stands on the device.

use super::order::Order;
use super::storage::{Link, SimPage, Stamp};
use super::violation::{SimArena, SimError};

/// The table of mappings: open addressing, probing the next place, deletion by shifting back.
///
/// An entry stays when its address is unmapped in the order of a stream, until the host knows that to be complete: it
/// tells who may map the address anew, and what the device has there meanwhile.
pub(super) struct Pages<'a> {
    slots: &'a mut [SimPage],
    used: usize,
    /// Where [`tidy`](Self::tidy) goes on.
    next: usize,
}

impl<'a> Pages<'a> {
    pub(super) fn new(slots: &'a mut [SimPage]) -> Self {
        slots.fill(SimPage::EMPTY);
        Self { slots, used: 0, next: 0 }
    }

    fn home(&self, at: u64) -> usize {
        let mixed = at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        mixed.checked_rem(self.slots.len() as u64).map_or(0, |n| n as usize)
    }

    fn after(&self, index: usize) -> usize {
        let next = index + 1;
        if next < self.slots.len() { next } else { 0 }
    }

    /// The place that holds this address, or the free one where it would go.
    fn probe(&self, at: u64) -> Option<(usize, SimPage)> {
        let mut index = self.home(at);
        for _ in 0..self.slots.len() {
            let page = *self.slots.get(index)?;
            if page.at == at || page.at == 0 {
                return Some((index, page));
            }
            index = self.after(index);
        }
        None
    }

    fn entry(&self, at: u64) -> SimPage {
        self.probe(at).map_or(SimPage::EMPTY, |(_, page)| page)
    }

    /// The granule that is at this address when everything queued has run.
    pub(super) fn planned(&self, at: u64) -> Link {
        self.entry(at).planned
    }

    /// The granule that the device has at this address now.
    pub(super) fn actual(&self, at: u64) -> Link {
        self.entry(at).actual
    }

    /// The last map or unmap at this address in the order of a stream, unless the host knew it to be complete.
    pub(super) fn last(&self, at: u64) -> Stamp {
        self.entry(at).last
    }

    /// Plans a mapping that `by` makes, or that is made at once.
    pub(super) fn plan(&mut self, at: u64, granule: Link, by: Stamp, order: &Order<'_>) -> Result<(), SimError> {
        if self.entry(at).at == 0 && self.is_full() {
            self.tidy(self.slots.len(), order);
        }
        let full = SimError::Full(SimArena::Pages);
        let (index, page) = self.probe(at).ok_or(full)?;
        if page.at == 0 {
            if self.is_full() {
                return Err(full);
            }
            self.used += 1;
        }
        self.put(index, SimPage { at, planned: granule, last: by, ..page });
        Ok(())
    }

    /// Plans that nothing is here any more.
    pub(super) fn unplan(&mut self, at: u64, by: Stamp) -> Result<(), SimError> {
        let page = self.mapped(at)?;
        (page.planned, page.last) = (Link::NONE, by);
        Ok(())
    }

    /// The device maps a granule, as was planned.
    pub(super) fn arrive(&mut self, at: u64, granule: Link) -> Result<(), SimError> {
        let page = self.mapped(at)?;
        if page.actual != Link::NONE {
            return Err(SimError::Corrupt("the device maps where it has something mapped"));
        }
        page.actual = granule;
        Ok(())
    }

    /// The device unmaps a granule, as was planned.
    pub(super) fn leave(&mut self, at: u64, granule: Link) -> Result<(), SimError> {
        let page = self.mapped(at)?;
        if page.actual != granule {
            return Err(SimError::Corrupt("the device unmaps what it does not have mapped"));
        }
        page.actual = Link::NONE;
        let SimPage { planned, last, .. } = *page;
        if planned == Link::NONE && last.issue == 0 {
            self.remove(at);
        }
        Ok(())
    }

    fn mapped(&mut self, at: u64) -> Result<&mut SimPage, SimError> {
        let found = self.probe(at).filter(|(_, page)| page.at != 0);
        let page = found.and_then(|(index, _)| self.slots.get_mut(index));
        page.ok_or(SimError::Corrupt("a mapping has no entry"))
    }

    /// The first entry within these addresses that only remembers an unmap, which the host does not know to be
    /// complete. Linear in the table.
    pub(super) fn leaving(&self, base: u64, bytes: u64, order: &Order<'_>) -> Option<SimPage> {
        let within = |page: &&SimPage| page.at.checked_sub(base).is_some_and(|offset| offset < bytes);
        self.slots.iter().filter(within).find(|page| !order.follows(None, page.last)).copied()
    }

    /// Looks at the next `count` places and drops the entries that only remember an unmap which the host knows to be
    /// complete. A few at each unmap keep the table short; all of them are looked at where it is full.
    pub(super) fn tidy(&mut self, count: usize, order: &Order<'_>) {
        for _ in 0..count {
            // What shifts back into the place is looked at as well.
            while let Some(page) = self.slots.get(self.next).copied()
                && page.at != 0
                && page.planned == Link::NONE
                && order.follows(None, page.last)
            {
                self.remove(page.at);
            }
            self.next = self.after(self.next);
        }
    }

    /// One place stays free, so that probing ends.
    fn is_full(&self) -> bool {
        self.used + 1 >= self.slots.len()
    }

    fn remove(&mut self, at: u64) {
        let Some((mut hole, page)) = self.probe(at) else { return };
        if page.at == 0 {
            return;
        }
        self.used -= 1;
        let mut index = hole;
        for _ in 0..self.slots.len() {
            index = self.after(index);
            let Some(&page) = self.slots.get(index) else { break };
            if page.at == 0 {
                break;
            }
            let home = self.home(page.at);
            if self.distance(home, index) >= self.distance(hole, index) {
                self.put(hole, page);
                hole = index;
            }
        }
        self.put(hole, SimPage::EMPTY);
    }

    fn distance(&self, from: usize, to: usize) -> usize {
        if to >= from { to - from } else { to + self.slots.len() - from }
    }

    fn put(&mut self, index: usize, page: SimPage) {
        if let Some(place) = self.slots.get_mut(index) {
            *place = page;
        }
    }
}
