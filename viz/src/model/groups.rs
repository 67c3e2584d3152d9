//! The used bytes of a pool by label, stream or size: who holds how much, at any record and over any range of them.
//!
//! The largest groups are told apart, the others are one. What each holds is kept for every few records together with its
//! extremes in between, so that a picture looks at no more than a few records for each of its columns, and at none of a
//! group's own.

use super::{Birth, Death, EventIx, Kind, Life, LifeIx, Model, Payload, PoolIx};

/// Groups that are told apart.
pub const MOST_GROUPS: usize = 7;
/// With the others.
const SLOTS: usize = MOST_GROUPS + 1;
/// Records whose sums are kept together.
const EVERY: usize = 64;
/// The largest sizes of the classes; each is sixteen times the one before.
const CLASSES: [(u64, &str); 6] = [
    (4 << 10, "up to 4 KiB"),
    (64 << 10, "up to 64 KiB"),
    (1 << 20, "up to 1 MiB"),
    (16 << 20, "up to 16 MiB"),
    (256 << 20, "up to 256 MiB"),
    (u64::MAX, "larger"),
];

/// What blocks are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum By {
    /// Their label.
    Label,
    /// The stream that allocated them.
    Stream,
    /// Their size, in steps of sixteen.
    Size,
}

impl By {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Label, Self::Stream, Self::Size];

    /// For the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Label => "label",
            Self::Stream => "stream",
            Self::Size => "size",
        }
    }

    fn key(self, life: &Life) -> usize {
        match self {
            Self::Label => life.name.at(),
            Self::Stream => life.stream.at(),
            Self::Size => CLASSES.iter().position(|class| life.given.0 <= class.0).unwrap_or(0),
        }
    }

    fn keys(self, model: &Model) -> usize {
        match self {
            Self::Label => model.name_count(),
            Self::Stream => model.streams.len(),
            Self::Size => CLASSES.len(),
        }
    }

    fn title(self, model: &Model, key: usize) -> String {
        match self {
            Self::Label => match model.name(super::NameIx::next_of(key)) {
                "" => "no label".to_owned(),
                name => name.to_owned(),
            },
            Self::Stream => format!("stream {}", model.streams[key].id),
            Self::Size => CLASSES[key].1.to_owned(),
        }
    }
}

/// A group of blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// What it is called.
    pub name: String,
    /// The most bytes that its blocks had together.
    pub peak: u64,
    /// The label, stream or class of size, by its number in the model; `None`: the others.
    key: Option<usize>,
}

impl Group {
    /// Its label, stream or class of size, by the number in the model; `None`: all that are not told apart.
    #[must_use]
    pub const fn key(&self) -> Option<usize> {
        self.key
    }
}

/// What each group holds; in the places of [`Groups::all`].
pub type Held = [u64; SLOTS];

/// A range of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// What each holds where they hold most together.
    pub top: Held,
    /// The most that each holds anywhere in the range.
    pub most: Held,
}

impl Span {
    fn of(held: Held) -> Self {
        Self { top: held, most: held }
    }

    fn take(&mut self, other: &Self) {
        if total(&other.top) > total(&self.top) {
            self.top = other.top;
        }
        for (most, other) in self.most.iter_mut().zip(other.most) {
            *most = (*most).max(other);
        }
    }
}

/// Bytes of all groups.
#[must_use]
pub fn total(held: &Held) -> u64 {
    held.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes))
}

/// The groups of a pool.
#[derive(Clone, Debug)]
pub struct Groups {
    by: By,
    pool: PoolIx,
    groups: Vec<Group>,
    /// The place of each key.
    place: Vec<u8>,
    /// What held before each stretch of records, and what its records made of that.
    stretches: Vec<(Held, Span)>,
    /// Changes at records that are no malloc or free of the block: record, place, bytes.
    unseen: Vec<(EventIx, u8, i64)>,
}

impl Groups {
    /// The groups, the largest by their peaks first; the others last, where there are any.
    #[must_use]
    pub fn all(&self) -> &[Group] {
        &self.groups
    }

    /// The group of a life of the pool, by its place.
    #[must_use]
    pub fn of(&self, life: &Life) -> usize {
        usize::from(self.place.get(self.by.key(life)).copied().unwrap_or(0))
    }

    /// What each group holds just before a record.
    #[must_use]
    pub fn before(&self, model: &Model, event: EventIx) -> Held {
        let stretch = event.at() / EVERY;
        let Some((mut held, _)) = self.stretches.get(stretch).copied() else {
            return self.stretches.last().map_or([0; SLOTS], |last| last.0);
        };
        self.replay(model, stretch * EVERY, event.at(), &mut held, |_| {});
        held
    }

    /// What the records of a range make of what held before them. O(1) in the records of the first and last few, and in
    /// a 64th of those between.
    #[must_use]
    pub fn span(&self, model: &Model, from: EventIx, to: EventIx) -> Span {
        let mut held = self.before(model, from);
        let mut span = Span::of(held);
        let (from, to) = (from.at(), to.at().min(model.events.len()));
        let whole = from.next_multiple_of(EVERY)..to / EVERY * EVERY;
        if whole.start >= whole.end {
            self.replay(model, from, to, &mut held, |held| span.take(&Span::of(*held)));
            return span;
        }
        self.replay(model, from, whole.start, &mut held, |held| span.take(&Span::of(*held)));
        for (_, stretch) in &self.stretches[whole.start / EVERY..whole.end / EVERY] {
            span.take(stretch);
        }
        let mut held = self.stretches[whole.end / EVERY].0;
        self.replay(model, whole.end, to, &mut held, |held| span.take(&Span::of(*held)));
        span
    }

    fn replay(&self, model: &Model, from: usize, to: usize, held: &mut Held, mut seen: impl FnMut(&Held)) {
        let mut unseen = self.unseen[self.unseen.partition_point(|u| u.0.at() < from)..].iter().peekable();
        for event in (from..to.min(model.events.len())).map(EventIx::next_of) {
            let own = change(model, event).filter(|c| model.life(c.0).pool == self.pool);
            let mut changed = own.is_some();
            while let Some((_, place, bytes)) = unseen.next_if(|u| u.0 == event) {
                add(&mut held[usize::from(*place)], *bytes);
                changed = true;
            }
            if let Some((life, bytes)) = own {
                add(&mut held[self.of(model.life(life))], bytes);
            }
            if changed {
                seen(held);
            }
        }
    }

    fn new(model: &Model, pool: PoolIx, by: By) -> Self {
        let peaks = peaks(model, pool, by);
        let mut order: Vec<usize> = (0..peaks.len()).filter(|key| peaks[*key] > 0).collect();
        order.sort_by_key(|key| (std::cmp::Reverse(peaks[*key]), *key));
        let rest = order.split_off(order.len().min(MOST_GROUPS));
        let mut place = vec![MOST_GROUPS as u8; peaks.len()];
        let group = |key: &usize| Group { name: by.title(model, *key), peak: peaks[*key], key: Some(*key) };
        let mut groups: Vec<Group> = order.iter().map(group).collect();
        for (at, key) in order.iter().enumerate() {
            place[*key] = u8::try_from(at).unwrap_or(0);
        }
        if !rest.is_empty() {
            let others = if rest.len() == 1 { "other" } else { "others" };
            groups.push(Group { name: format!("{} {others}", rest.len()), peak: 0, key: None });
        }
        let unseen = unseen(model, pool).map(|(event, life, bytes)| (event, place[by.key(model.life(life))], bytes));
        let mut unseen: Vec<(EventIx, u8, i64)> = unseen.collect();
        unseen.sort_by_key(|u| u.0);
        let mut start = [0; SLOTS];
        // What was there before the log.
        for (_, place, bytes) in unseen.drain(..unseen.partition_point(|u| u.0 == EventIx(0))) {
            add(&mut start[usize::from(place)], bytes);
        }
        let mut made = Self { by, pool, groups, unseen, place, stretches: Vec::new() };
        made.sum(model, start);
        made
    }

    /// Walks over all records once.
    fn sum(&mut self, model: &Model, start: Held) {
        let mut held = start;
        // One more than is full, so that every range ends in front of one.
        for stretch in 0..=model.events.len() / EVERY {
            let before = held;
            let mut span = Span::of(held);
            self.replay(model, stretch * EVERY, (stretch + 1) * EVERY, &mut held, |held| span.take(&Span::of(*held)));
            self.stretches.push((before, span));
        }
        if let Some(others) = self.groups.last_mut().filter(|group| group.key.is_none()) {
            others.peak = self.stretches.iter().map(|(_, span)| span.most[MOST_GROUPS]).max().unwrap_or(0);
        }
    }
}

fn add(held: &mut u64, bytes: i64) {
    *held = held.saturating_add_signed(bytes);
}

/// What a malloc or free changes, and whose.
fn change(model: &Model, event: EventIx) -> Option<(LifeIx, i64)> {
    let Payload::Life(at) = model.events.payload(event) else { return None };
    let life = model.life(at);
    let bytes = i64::try_from(life.given.0).unwrap_or(i64::MAX);
    match model.events.kind(event) {
        Kind::Malloc => Some((at, bytes)),
        _ => matches!(life.death, Death::Free { event: freed, .. } if freed == event).then_some((at, -bytes)),
    }
}

/// Beginnings and ends of lives that no record of theirs tells of.
fn unseen(model: &Model, pool: PoolIx) -> impl Iterator<Item = (EventIx, LifeIx, i64)> {
    model.pool(pool).lives.iter().flat_map(|at| {
        let life = model.life(*at);
        let bytes = i64::try_from(life.given.0).unwrap_or(i64::MAX);
        let began = match life.birth {
            Birth::NotRecorded(event) => Some((event, *at, bytes)),
            Birth::Malloc(_) => None,
        };
        let ended = match life.death {
            Death::Destroyed(event) | Death::NotRecorded(event) => Some((event, *at, -bytes)),
            Death::Live | Death::Free { .. } => None,
        };
        [began, ended].into_iter().flatten()
    })
}

/// The most bytes of each key.
fn peaks(model: &Model, pool: PoolIx, by: By) -> Vec<u64> {
    let mut now = vec![(0_u64, 0_u64); by.keys(model)];
    let mut take = |life: LifeIx, bytes: i64| {
        if let Some((held, peak)) = now.get_mut(by.key(model.life(life))) {
            add(held, bytes);
            *peak = (*peak).max(*held);
        }
    };
    let mut unseen: Vec<_> = unseen(model, pool).collect();
    unseen.sort_by_key(|u| u.0);
    let mut unseen = unseen.into_iter().peekable();
    for event in (0..model.events.len()).map(EventIx::next_of) {
        while let Some((_, life, bytes)) = unseen.next_if(|u| u.0 == event) {
            take(life, bytes);
        }
        if let Some((life, bytes)) = change(model, event).filter(|c| model.life(c.0).pool == pool) {
            take(life, bytes);
        }
    }
    now.into_iter().map(|(_, peak)| peak).collect()
}

impl Model {
    /// The groups of a pool. O(n) in the log's records the first time, then at hand.
    #[must_use]
    pub fn groups(&self, pool: PoolIx, by: By) -> &Groups {
        self.pool(pool).groups[by as usize].get_or_init(|| Groups::new(self, pool, by))
    }

    /// Whether they are at hand.
    #[must_use]
    pub fn has_groups(&self, pool: PoolIx, by: By) -> bool {
        self.pool(pool).groups[by as usize].get().is_some()
    }
}
