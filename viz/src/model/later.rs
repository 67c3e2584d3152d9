//! Who got an allocation's memory next: "came from", turned around.

use super::{LifeIx, Link, Model};

/// The links of all lives, those of each together.
#[derive(Clone, Debug)]
pub(super) struct Later {
    pub(super) links: Vec<Link>,
    /// Where those of each life begin, and where the last one's end.
    pub(super) of: Vec<u32>,
}

impl Later {
    /// O(n).
    pub(super) fn build(model: &Model) -> Self {
        let mut of = vec![0_u32; model.lives.len() + 1];
        for link in &model.links {
            of[link.life.at() + 1] += 1;
        }
        for at in 0..model.lives.len() {
            of[at + 1] += of[at];
        }
        let mut next = of.clone();
        let mut links = vec![Link { life: LifeIx(0), bytes: 0 }; model.links.len()];
        for life in (0..model.lives.len()).map(LifeIx::next_of) {
            for link in model.came_from(life) {
                let slot = &mut next[link.life.at()];
                links[*slot as usize] = Link { life, bytes: link.bytes };
                *slot += 1;
            }
        }
        Self { links, of }
    }

    pub(super) fn of(&self, life: LifeIx) -> &[Link] {
        &self.links[self.of[life.at()] as usize..self.of[life.at() + 1] as usize]
    }
}
