//! Faults that are planted on purpose, to see that the tests find them. Without the feature `plant` every question is
//! answered "no" at compile time, and nothing of this is left in the code.

macro_rules! plants {
    (
        one_thread { $($plant:ident = $name:literal, $what:literal;)+ }
        two_threads { $($window:ident = $window_name:literal, $window_what:literal;)+ }
    ) => {
        /// A fault that can be planted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        #[cfg_attr(not(feature = "plant"), allow(unreachable_pub, reason = "public with the feature"))]
        pub enum Plant {
            $(#[doc = $what] $plant,)+
            $(#[doc = $window_what] $window,)+
        }

        #[cfg(feature = "plant")]
        impl Plant {
            /// All that a single thread can stumble over.
            pub const ALL: &[Self] = &[$(Self::$plant,)+];

            /// Those that show only where another thread's call comes between a call and its driver call.
            pub const WINDOWS: &[Self] = &[$(Self::$window,)+];

            /// Its name on the command line.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$plant => $name,)+ $(Self::$window => $window_name,)+ }
            }

            /// What it breaks.
            #[must_use]
            pub const fn what(self) -> &'static str {
                match self { $(Self::$plant => $what,)+ $(Self::$window => $window_what,)+ }
            }
        }
    };
}

plants! {
    one_thread {
        FreeOnAllocator = "free-on-allocator", "A free counts on the stream that allocated, not on the one that frees.";
        StaleEvent = "stale-event", "A wait for an event takes what its stream did since, not what it did before the record.";
        RerecordedEvent = "rerecorded-event", "An event that is recorded again still stands for its earlier record too.";
        RemainderWithoutPoints = "remainder-without-points", "The rest of a block that was cut waits for nothing.";
        ReleasePending = "release-pending", "Memory is moved and released although its work may be unfinished.";
        ReusedStreamId = "reused-stream-id", "A destroyed stream's place is given away while its work is unfinished.";
        DoubleMap = "double-map", "The second granule of a growth is mapped where the first one is.";
        LostUndo = "lost-undo", "A growth that fails half way leaves its granules mapped.";
        LostUse = "lost-use", "A free replaces the recorded uses instead of adding to them.";
        MarkerCoversAll = "marker-covers-all", "An inserted wait counts for what its stream did since the marker, too.";
        PendingIsComplete = "pending-is-complete", "A stream that the driver calls pending counts as complete.";
        SwitchIgnored = "switch-ignored", "Reuse along events does not ask for switch 1.";
        MergeTooFar = "merge-too-far", "Neighbours merge although a stream may use one and not the other.";
        NoRuns = "no-runs", "Adjacent usable blocks do not count as one.";
        SecondBest = "second-best", "The next larger block is taken where one of the closest size is there.";
        OldestFirst = "oldest-first", "Of blocks that are alike the one is taken that was freed first.";
        CostlierFirst = "costlier-first", "Of blocks of one size the one is taken that is reached in the costliest way.";
        DeviceSyncForAll = "device-sync-for-all", "A synchronisation of one device counts for the streams of all.";
        LegacyEverywhere = "legacy-everywhere", "A legacy default stream orders the blocking streams of every device.";
        ImpliedIsNotOwn = "implied-is-not-own", "What a stream freed after others, by the legacy stream's rules, is not its own.";
        ReservedTwice = "reserved-twice", "A granule that is created is counted twice.";
        AbandonedElsewhere = "abandoned-elsewhere", "Live blocks of a destroyed pool do not wait for other devices' streams.";
    }
    two_threads {
        LateRecord = "late-record", "A record's clock is read after the driver call.";
        LateSynchronise = "late-synchronise", "A synchronisation's clock is read after the driver call.";
        MovedEvent = "moved-event", "A wait counts although its event was recorded again meanwhile.";
        MovedAnswer = "moved-answer", "A query's answer counts although its event was recorded again meanwhile.";
        MurkyEvent = "murky-event", "Two records of one event at once are believed, although nobody knows which came last.";
        UncountedTransit = "uncounted-transit", "What one call is about to create leaves another one as much room.";
    }
}

#[cfg(feature = "plant")]
mod planted {
    use super::Plant;
    use core::sync::atomic::{AtomicU8, Ordering};

    /// The planted fault's number, from 1.
    static PLANTED: AtomicU8 = AtomicU8::new(0);

    impl Plant {
        /// The plant of this name.
        #[must_use]
        pub fn named(name: &str) -> Option<Self> {
            Self::ALL.iter().copied().find(|plant| plant.name() == name)
        }
    }

    /// Breaks every runtime of the process in this way from now on; `None` mends them.
    pub fn set(plant: Option<Plant>) {
        PLANTED.store(plant.map_or(0, |plant| plant as u8 + 1), Ordering::Relaxed);
    }

    /// Whether this fault is planted.
    pub(crate) fn on(plant: Plant) -> bool {
        PLANTED.load(Ordering::Relaxed) == plant as u8 + 1
    }
}

#[cfg(feature = "plant")]
pub(crate) use planted::on;
#[cfg(feature = "plant")]
pub use planted::set;

/// Whether this fault is planted: no fault is.
#[cfg(not(feature = "plant"))]
pub(crate) const fn on(_: Plant) -> bool {
    false
}
