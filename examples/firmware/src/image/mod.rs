//! What is the same on all machines.

#[cfg(not(target_arch = "aarch64"))]
mod flat;
#[cfg(all(feature = "defmt", target_arch = "arm"))]
mod frames;
mod handler;
mod lock;
mod sink;

#[cfg_attr(target_arch = "aarch64", path = "aarch64/mod.rs")]
#[cfg_attr(target_arch = "arm", path = "arm.rs")]
#[cfg_attr(target_arch = "riscv64", path = "riscv64.rs")]
mod machine;

use core::fmt::{self, Write};
#[cfg(not(target_arch = "aarch64"))]
use flat::Hardware;
use lock::Interrupted;
#[cfg(target_arch = "aarch64")]
use machine::Hardware;
use sink::Line;
use spin::{Mutex, MutexGuard, Once};
use weir::agent::Place;
use weir::{Runtime, State};
use weir_firmware::agent;
use weir_firmware::board::Board;
use weir_firmware::checks::Checks;
use weir_firmware::programs::{Bench, Room};

/// The serial line.
#[derive(Debug)]
struct Serial;

impl Write for Serial {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        machine::send(text.as_bytes());
        Ok(())
    }
}

/// The runtime of the image.
type OnHardware = Runtime<'static, Board<'static, Hardware>, Line, Interrupted<State<'static>>>;

static HARDWARE: Hardware = Hardware::new();
static PLACES: Mutex<[Place; agent::FRAMES]> = Mutex::new([Place::EMPTY; agent::FRAMES]);
static ROOM: Mutex<Room> = Mutex::new(Room::new());
static RUNTIME: Once<OnHardware> = Once::new();

/// Where start-up code leads to: with a stack, memory that holds what it should, and interrupts.
fn main() -> ! {
    let mut checks = Checks::new(Serial);
    // Leaking the guard lends the storage for ever.
    let rt = RUNTIME.call_once(|| {
        let room = MutexGuard::leak(ROOM.lock());
        let places = MutexGuard::leak(PLACES.lock());
        OnHardware::new(room.arenas(), Board::new(&HARDWARE, places), Line)
    });
    checks.say(format_args!("weir {}.{}.{}", weir::trace::VERSION.0, weir::trace::VERSION.1, weir::trace::VERSION.2));
    if let Some(mut bench) = Bench::new(rt, &mut checks) {
        bench.all();
        handler::run(&mut bench);
    }
    rt.flush();
    let lost = rt.counters().records_lost;
    checks.same(lost, 0, "records of the log that were lost");
    let holds = checks.end();
    machine::exit(u8::from(!holds))
}

#[panic_handler]
fn panicked(info: &core::panic::PanicInfo<'_>) -> ! {
    // The exit status tells, whatever becomes of the text.
    let _ = writeln!(Serial, "panic: {info}");
    machine::exit(101)
}
