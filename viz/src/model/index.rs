//! Indices into the model's tables. Small on purpose: a log holds millions of them.

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// As a position in a slice.
            #[must_use]
            pub const fn at(self) -> usize {
                self.0 as usize
            }

            /// The index of the element that is pushed next onto something of this length.
            ///
            /// # Panics
            /// From 2^32 elements on, which no log that fits into memory reaches.
            #[must_use]
            pub fn next_of(length: usize) -> Self {
                Self(u32::try_from(length).expect("a log of more than 2^32 records"))
            }
        }
    };
}

index!(
    /// A record of the log, in its order. Definitions that pages repeat are no records of their own.
    EventIx
);
index!(
    /// An allocation from its malloc to its free.
    LifeIx
);
index!(
    /// A pool.
    PoolIx
);
index!(
    /// A stream.
    StreamIx
);
index!(
    /// A finding of the detector.
    FindingIx
);
index!(
    /// A name of a label or mark. Zero is the empty name.
    NameIx
);
