//! Two threads of which one runs at a time, and every order in which they can take turns.
//!
//! A thread may be interrupted before it takes the runtime's lock and before each driver call: between two of these
//! points it does one thing that the other thread can see, so that no order is left out. What is chosen at each point is
//! kept in a [`Path`], and the next run takes the next path, until all were taken.

use std::cell::RefCell;
use std::fmt::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// More waits than this in one run, and the threads wait for each other.
const PATIENCE: u32 = 1000;

/// What was chosen in a run, and what has not been chosen yet.
#[derive(Debug)]
pub struct Path {
    /// What was taken, of how many.
    choices: Vec<(u8, u8)>,
    at: usize,
    interruptions: u32,
    most: u32,
}

impl Path {
    /// The first of all paths with at most so many interruptions.
    pub fn new(most: u32) -> Self {
        Self { choices: Vec::new(), at: 0, interruptions: 0, most }
    }

    fn choose(&mut self) -> bool {
        if self.at == self.choices.len() {
            self.choices.push((0, 2));
        }
        let (taken, _) = self.choices[self.at];
        self.at += 1;
        taken == 1
    }

    fn interrupt(&mut self) -> bool {
        let chosen = self.interruptions < self.most && self.choose();
        self.interruptions += u32::from(chosen);
        chosen
    }

    /// Goes on to the next path. `None`: that was the last.
    pub fn next(mut self) -> Option<Self> {
        while self.choices.last().is_some_and(|(taken, ways)| taken + 1 == *ways) {
            self.choices.pop();
        }
        self.choices.last_mut()?.0 += 1;
        Some(Self { at: 0, interruptions: 0, ..self })
    }
}

struct Board {
    path: Path,
    turn: usize,
    done: [bool; 2],
    waits: u32,
    story: Vec<(usize, &'static str)>,
}

struct Turns {
    board: Mutex<Board>,
    changed: Condvar,
}

/// A thread's place, which it gives up at its end, however it ends.
struct Seat {
    turns: Arc<Turns>,
    me: usize,
}

thread_local! {
    static SEAT: RefCell<Option<Seat>> = const { RefCell::new(None) };
}

impl Turns {
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hand_over<'b>(&'b self, mut board: MutexGuard<'b, Board>, me: usize) {
        board.turn = 1 - me;
        self.changed.notify_all();
        self.await_turn(board, me);
    }

    fn await_turn<'b>(&'b self, mut board: MutexGuard<'b, Board>, me: usize) {
        while board.turn != me {
            board = self.changed.wait(board).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn point(&self, me: usize, before: &'static str) {
        let mut board = self.board();
        if !board.done[1 - me] && board.path.interrupt() {
            self.hand_over(board, me);
            board = self.board();
        }
        board.story.push((me, before));
    }

    fn wait(&self, me: usize) {
        let mut board = self.board();
        board.waits += 1;
        let stuck = board.waits > PATIENCE;
        if !stuck && !board.done[1 - me] {
            return self.hand_over(board, me);
        }
        drop(board);
        assert!(!stuck, "nobody does what this thread waits for");
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut board = self.turns.board();
        board.done[self.me] = true;
        board.turn = 1 - self.me;
        self.turns.changed.notify_all();
    }
}

/// The thread is about to do something that another one can see.
pub fn point(before: &'static str) {
    SEAT.with_borrow(|seat| {
        if let Some(Seat { turns, me }) = seat {
            turns.point(*me, before);
        }
    });
}

/// The thread can do nothing before the other one has done something.
pub fn wait() {
    SEAT.with_borrow(|seat| match seat {
        Some(Seat { turns, me }) => turns.wait(*me),
        None => panic!("a call waits for one that nobody makes"),
    });
}

/// Does something that is no part of the program, without a point at which it could be interrupted.
pub fn uninterrupted<T>(act: impl FnOnce() -> T) -> T {
    let seat = SEAT.take();
    let result = act();
    SEAT.set(seat);
    result
}

/// Runs both threads along the path. Answers the path, what went wrong on either thread, and the order in which things
/// were done.
pub fn run(mut path: Path, thread: impl Fn(usize) -> Result<(), String> + Sync) -> (Path, Result<(), String>, String) {
    let turn = usize::from(path.choose());
    let board = Board { path, turn, done: [false; 2], waits: 0, story: Vec::new() };
    let turns = Arc::new(Turns { board: Mutex::new(board), changed: Condvar::new() });
    let sit = &|me| {
        turns.await_turn(turns.board(), me);
        SEAT.set(Some(Seat { turns: Arc::clone(&turns), me }));
        let result = thread(me);
        SEAT.set(None);
        result
    };
    let outcome = std::thread::scope(|scope| {
        let threads = [0, 1].map(|me| scope.spawn(move || sit(me)));
        let ended = threads.map(|thread| thread.join().unwrap_or_else(|panic| Err(text(panic.as_ref()))));
        ended.into_iter().collect::<Result<(), String>>()
    });
    let mut board = turns.board();
    let story = tell(&board.story);
    (std::mem::replace(&mut board.path, Path::new(0)), outcome, story)
}

fn text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a thread panicked".to_owned())
}

fn tell(story: &[(usize, &'static str)]) -> String {
    let mut told = String::new();
    for turn in story.chunk_by(|(a, _), (b, _)| a == b) {
        let who = ["A", "B"][turn[0].0];
        let what: Vec<&str> = turn.iter().map(|(_, what)| *what).collect();
        let _ = writeln!(told, "  {who}: {}", what.join(", "));
    }
    told
}
