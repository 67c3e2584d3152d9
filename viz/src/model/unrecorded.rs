//! What a log of another program does not record, although weir's own would.

use std::fmt;

/// A kind of fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Fact {
    /// Where each allocation's memory came from, and what it had waited for.
    Source,
    /// Events, waits and synchronisations: what comes before what on different streams.
    Order,
    /// How much physical memory is held, and where it is mapped.
    Reserved,
    /// Where the blocks lie.
    Addresses,
    /// What a block takes beyond what was asked for.
    Rounding,
    /// Which stream allocates and frees.
    Streams,
    /// When it was, on any clock.
    Times,
    /// The pool's limit.
    Limit,
    /// Single allocations; there are only sums.
    Blocks,
    /// Which allocations failed.
    Refusals,
}

impl Fact {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Source,
        Self::Order,
        Self::Reserved,
        Self::Addresses,
        Self::Rounding,
        Self::Streams,
        Self::Times,
        Self::Limit,
        Self::Blocks,
        Self::Refusals,
    ];

    /// The fact in a word or two.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Order => "order",
            Self::Reserved => "reserved",
            Self::Addresses => "addresses",
            Self::Rounding => "rounding",
            Self::Streams => "streams",
            Self::Times => "times",
            Self::Limit => "limit",
            Self::Blocks => "blocks",
            Self::Refusals => "refusals",
        }
    }
}

/// The facts that a log lacks throughout; none in weir's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unrecorded(u16);

impl Unrecorded {
    /// These.
    #[must_use]
    pub const fn of(facts: &[Fact]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < facts.len() {
            bits |= 1 << facts[at] as u16;
            at += 1;
        }
        Self(bits)
    }

    /// Whether that fact is missing.
    #[must_use]
    pub const fn has(self, fact: Fact) -> bool {
        self.0 & (1 << fact as u16) != 0
    }

    /// With that fact, too.
    #[must_use]
    pub const fn and(self, fact: Fact) -> Self {
        Self(self.0 | 1 << fact as u16)
    }

    /// Without that fact.
    #[must_use]
    pub const fn but(self, fact: Fact) -> Self {
        Self(self.0 & !(1 << fact as u16))
    }

    /// Whether nothing is.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Fact::ALL.into_iter().filter(move |fact| self.has(*fact)).map(Fact::name)
    }

    /// The facts that [`Display`](fmt::Display) wrote. Words that are none of them are left out.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let words = text.split(',').map(str::trim);
        let facts = words.filter_map(|word| Fact::ALL.into_iter().find(|fact| fact.name() == word));
        facts.fold(Self::default(), Self::and)
    }
}

impl fmt::Display for Unrecorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names().collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_read_back() {
        let some = Unrecorded::of(&[Fact::Order, Fact::Limit, Fact::Blocks]);
        assert_eq!(some.to_string(), "order, limit, blocks");
        assert_eq!(Unrecorded::parse("order, limit, nonsense, blocks"), some);
        assert!(Unrecorded::parse("").is_empty() && !some.has(Fact::Source) && some.has(Fact::Limit));
        assert_eq!(some.but(Fact::Limit).and(Fact::Source).to_string(), "source, order, blocks");
    }
}
