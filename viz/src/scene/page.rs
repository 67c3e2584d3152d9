//! What the large panel shows. A further page is a file with a [`Panel`], and a line here.

use super::{Context, Frame, Paint, Pos, Selection, View};
use crate::model::Model;
use crate::table::Table;

/// What the large panel does for its page.
pub(super) trait Panel {
    /// Draws it.
    fn draw(&self, context: &Context<'_>, paint: &mut Paint);
    /// What a click there selects.
    fn at(&self, model: &Model, view: &View, frame: &Frame, at: Pos) -> Selection;
    /// What the pointer tells there, a line each.
    fn tell(&self, model: &Model, view: &View, frame: &Frame, at: Pos) -> Vec<String>;
}

macro_rules! pages {
    ($($(#[$doc:meta])* $page:ident $name:literal $title:literal over_x: $over:literal $panel:expr;)+) => {
        /// What the large panel shows.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum Page { $($(#[$doc])* $page,)+ }

        impl Page {
            /// All of them, in the order of their keys.
            pub const ALL: &'static [Self] = &[$(Self::$page),+];

            /// For the command line.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$page => $name,)+ }
            }

            /// For people.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$page => $title,)+ }
            }

            /// Whether it is drawn over the x axis of the other panels.
            #[must_use]
            pub const fn is_over_x(self) -> bool {
                match self { $(Self::$page => $over,)+ }
            }

            pub(super) fn panel(self) -> &'static dyn Panel {
                match self { $(Self::$page => &$panel,)+ }
            }
        }
    };
}
pages! {
    /// The address map.
    #[default]
    Addresses "map" "Address map" over_x: true super::map::AddressMap;
    /// What each stream did, and what orders one after another.
    Lanes "lanes" "Streams" over_x: true super::lanes::StreamLanes;
    /// Which stream handed memory to which.
    Flows "flows" "Reuse" over_x: false super::flows::ReuseFlows;
    /// The pool at the cursor: its free blocks, and what each waits for.
    State "state" "Pool at the cursor" over_x: false super::state::PoolState;
    /// All allocations.
    Allocations "allocations" "Allocations" over_x: false super::listing::TablePanel(Table::Allocations);
    /// All decisions of the pool.
    Decisions "decisions" "Decisions" over_x: false super::listing::TablePanel(Table::Decisions);
    /// All refusals.
    Refusals "refusals" "Refusals" over_x: false super::listing::TablePanel(Table::Refusals);
    /// What is wrong, and what else is worth a look.
    Findings "findings" "Findings" over_x: false super::notable::FindingsPage;
}

impl Page {
    /// The page of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|page| page.name() == name)
    }

    /// Whether it is a list that scrolls.
    #[must_use]
    pub fn is_list(self) -> bool {
        self.table().is_some() || self == Self::Findings
    }

    /// Whether its panel has something to scroll.
    #[must_use]
    pub fn scrolls(self) -> bool {
        self.is_list() || self == Self::State
    }

    /// The next one, around the end.
    #[must_use]
    pub fn next(self) -> Self {
        let now = Self::ALL.iter().position(|page| *page == self).unwrap_or(0);
        Self::ALL[(now + 1) % Self::ALL.len()]
    }
}
