//! The image's programs on a machine in the test's own memory.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use weir::agent::Place;
use weir::trace::NullSink;
use weir::units::Nanos;
use weir::{Arenas, Local};
use weir_firmware::agent;
use weir_firmware::board::Board;
use weir_firmware::checks::Checks;
use weir_firmware::machine::{Flat, Frames, GRANULE};
use weir_firmware::programs::{Bench, Room};
use weir_firmware::{Fault, Machine};

const FRAMES: usize = 8;

/// Frames in a vector.
struct Heap(Mutex<Vec<u64>>);

impl Heap {
    fn word(frame: usize, offset: u64) -> usize {
        (frame as u64 * GRANULE + offset) as usize / 8
    }
}

impl Frames for Heap {
    fn store(&self, frame: usize, offset: u64, word: u64) {
        self.0.lock().expect("one thread")[Self::word(frame, offset)] = word;
    }
    fn load(&self, frame: usize, offset: u64) -> u64 {
        self.0.lock().expect("one thread")[Self::word(frame, offset)]
    }
}

/// Time goes on whenever somebody looks or sleeps.
struct Simulated {
    memory: Flat<Heap>,
    time: AtomicU64,
    fault: Planted,
}

/// What is wrong with a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Planted {
    Nothing,
    /// Memory stays mapped where it was unmapped, as if the processor still had the translation.
    StaleTranslation,
    /// Every frame is another one than was asked for, which no program can tell.
    Renumbered,
    /// Two frames are one.
    SharedFrame,
}

impl Simulated {
    fn new(fault: Planted) -> Self {
        let words = FRAMES * GRANULE as usize / 8;
        Self { memory: Flat::new(Heap(Mutex::new(vec![0; words]))), time: AtomicU64::new(0), fault }
    }
}

impl Machine for Simulated {
    const FRAMES: usize = FRAMES;
    fn map(&self, place: usize, frame: usize) {
        let frame = match self.fault {
            Planted::Renumbered => FRAMES - 1 - frame,
            Planted::SharedFrame => frame & !1,
            Planted::Nothing | Planted::StaleTranslation => frame,
        };
        self.memory.map(place, frame);
    }
    fn unmap(&self, place: usize) {
        if self.fault != Planted::StaleTranslation {
            self.memory.unmap(place);
        }
    }
    fn store(&self, at: u64, word: u64) -> Result<(), Fault> {
        self.memory.store(at, word)
    }
    fn load(&self, at: u64) -> Result<u64, Fault> {
        self.memory.load(at)
    }
    fn now(&self) -> Nanos {
        Nanos(self.time.fetch_add(1_000, Ordering::Relaxed))
    }
    fn sleep(&self) {
        self.time.fetch_add(1_000_000, Ordering::Relaxed);
    }
}

/// Runs everything; the lines that were written, and how many checks were made and failed.
fn run(arenas: Arenas<'_>, machine: Simulated) -> (String, u32, u32) {
    let mut places = [Place::EMPTY; agent::FRAMES];
    let rt = Local::new(arenas, Board::new(&machine, &mut places), NullSink);
    let mut text = String::new();
    let mut checks = Checks::new(&mut text);
    Bench::new(&rt, &mut checks).expect("four streams").all();
    let (made, failed) = checks.counts();
    (text, made, failed)
}

#[test]
fn every_program_holds() {
    let mut room = Box::new(Room::new());
    let (text, made, failed) = run(room.arenas(), Simulated::new(Planted::Nothing));
    assert_eq!(failed, 0, "{text}");
    assert!(made > 500, "{made}");
}

/// A machine that maps wrongly is found by the programs' own checks. Another numbering of the frames is no fault.
#[test]
fn faults_of_the_machine_are_found() {
    for (fault, found) in
        [(Planted::StaleTranslation, true), (Planted::SharedFrame, true), (Planted::Renumbered, false)]
    {
        let mut room = Box::new(Room::new());
        let (text, _, failed) = run(room.arenas(), Simulated::new(fault));
        assert_eq!(failed > 0, found, "{fault:?}: {text}");
    }
}
