//! Work on pieces of a log, on several threads. What comes of the pieces is taken in their order, so that a log of any
//! length needs no more memory than a few pieces.

use std::io::Result;
use std::ops::Range;
use std::sync::mpsc::sync_channel;
use std::thread::{self, available_parallelism};

/// Threads that make something of pieces; more would only wait for whoever writes.
const MOST_THREADS: usize = 4;

/// Gives what `make` makes of each piece to `take`, in order.
///
/// # Errors
/// Those of `take`; what is not taken by then is dropped.
pub(super) fn ordered<P: Send, M: Send>(
    pieces: impl Iterator<Item = P> + Send,
    make: impl Fn(P) -> M + Sync,
    mut take: impl FnMut(M) -> Result<()>,
) -> Result<()> {
    let count = available_parallelism().map_or(1, |count| count.get().min(MOST_THREADS));
    let make = &make;
    thread::scope(|threads| {
        let (mut giving, mut taking) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let (give, given) = sync_channel(1);
            let (done, made) = sync_channel(1);
            // Where nobody takes any more, each side ends the next one.
            threads.spawn(move || given.iter().try_for_each(|piece| done.send(make(piece))));
            giving.push(give);
            taking.push(made);
        }
        threads.spawn(move || pieces.zip(giving.iter().cycle()).try_for_each(|(piece, to)| to.send(piece)));
        // The first thread that has no more is the one whose turn it is.
        taking.iter().cycle().map_while(|made| made.recv().ok()).try_for_each(&mut take)
    })
}

/// So many things in pieces of so many.
pub(super) fn ranges(count: usize, piece: usize) -> impl Iterator<Item = Range<usize>> + Send {
    (0..count).step_by(piece).map(move |from| from..count.min(from + piece))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Error;

    #[test]
    fn pieces_are_taken_in_order_however_long_each_takes() {
        for count in [0, 1, 2, 3, 1000] {
            let mut taken = Vec::new();
            let make = |range: Range<usize>| {
                if range.start.is_multiple_of(7) {
                    thread::yield_now();
                }
                range.collect::<Vec<_>>()
            };
            ordered(ranges(count, 3), make, |made| {
                taken.extend(made);
                Ok(())
            })
            .expect("all are taken");
            assert_eq!(taken, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_error_ends_it() {
        let mut taken = 0;
        let outcome = ordered(
            0..,
            |number: u64| number,
            |number| {
                taken = number;
                if number == 9 { Err(Error::other("full")) } else { Ok(()) }
            },
        );
        assert_eq!((outcome.map_err(|error| error.to_string()), taken), (Err("full".to_owned()), 9));
    }
}
