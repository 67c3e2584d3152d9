//! QEMU's virt machine for AArch64: the architecture of Ascend's AI CPU.

mod exception;
mod mmu;

use super::handler;
use core::ptr;
use weir::units::Nanos;
use weir_firmware::{Fault, Machine};

const UART: usize = 0x0900_0000;
const DISTRIBUTOR: usize = 0x0800_0000;
const INTERFACE: usize = 0x0801_0000;

/// The virtual timer's interrupt, and the one that the software makes.
const TIMER: u32 = 27;
const SOFTWARE: u32 = 0;

/// Reads a register of the machine.
fn read(at: usize) -> u32 {
    // SAFETY: only called with registers of this machine, which are mapped as a device's.
    unsafe { ptr::read_volatile(ptr::with_exposed_provenance::<u32>(at)) }
}

/// Writes a register of the machine.
fn write(at: usize, value: u32) {
    // SAFETY: as for `read`.
    unsafe { ptr::write_volatile(ptr::with_exposed_provenance_mut::<u32>(at), value) }
}

/// Start-up code leads here, with the memory management unit on.
#[unsafe(no_mangle)]
extern "C" fn weir_up() -> ! {
    write(DISTRIBUTOR, 1);
    write(DISTRIBUTOR + 0x100, (1 << TIMER) | (1 << SOFTWARE));
    // Every priority is let through.
    write(INTERFACE + 4, 0xff);
    write(INTERFACE, 1);
    next_tick();
    // SAFETY: starts the timer; its interrupt has a handler.
    unsafe { core::arch::asm!("msr cntv_ctl_el0, {}", in(reg) 1_u64) };
    // SAFETY: enables interrupts, whose handler keeps all registers.
    unsafe { core::arch::asm!("msr daifclr, #2") };
    super::main()
}

fn frequency() -> u64 {
    let frequency: u64;
    // SAFETY: reads a register.
    unsafe { core::arch::asm!("mrs {}, cntfrq_el0", out(reg) frequency) };
    frequency
}

/// The timer comes again in a millisecond.
fn next_tick() {
    // SAFETY: sets the timer.
    unsafe { core::arch::asm!("msr cntv_tval_el0, {}", in(reg) frequency() / 1_000) };
}

/// An interrupt leads here.
fn interrupted() {
    let which = read(INTERFACE + 0xc);
    match which & 0x3ff {
        SOFTWARE => handler::interrupted(),
        TIMER => next_tick(),
        // Spurious: it was gone before it was asked for.
        _ => return,
    }
    write(INTERFACE + 0x10, which);
}

/// Interrupts the processor; returns when the handler has run.
pub(super) fn interrupt() {
    // To this processor alone.
    write(DISTRIBUTOR + 0xf00, (2 << 24) | SOFTWARE);
    let pending = || read(DISTRIBUTOR + 0x200) & (1 << SOFTWARE) != 0;
    while pending() {
        core::hint::spin_loop();
    }
    // SAFETY: barriers; after them the interrupt has been taken.
    unsafe { core::arch::asm!("dsb sy", "isb") };
}

/// Ends the machine with this status: semihosting's SYS_EXIT.
pub(super) fn exit(status: u8) -> ! {
    let block = [0x20026_u64, u64::from(status)];
    // SAFETY: asks the debugger, here QEMU, to end the machine; it reads the two words.
    unsafe { core::arch::asm!("hlt #0xf000", in("x0") 0x18, in("x1") block.as_ptr()) };
    loop {
        core::hint::spin_loop();
    }
}

/// Sends bytes along the serial line.
pub(super) fn send(bytes: &[u8]) {
    for byte in bytes {
        while read(UART + 0x18) & 0x20 != 0 {}
        write(UART, u32::from(*byte));
    }
}

/// The machine.
pub(super) struct Hardware(());

impl Hardware {
    pub(super) const fn new() -> Self {
        Self(())
    }
}

impl Machine for Hardware {
    const FRAMES: usize = mmu::FRAMES;
    fn map(&self, place: usize, frame: usize) {
        mmu::map(place, frame);
    }
    fn unmap(&self, place: usize) {
        mmu::unmap(place);
    }
    fn store(&self, at: u64, word: u64) -> Result<(), Fault> {
        exception::store(at, word)
    }
    fn load(&self, at: u64) -> Result<u64, Fault> {
        exception::load(at)
    }
    fn now(&self) -> Nanos {
        let count: u64;
        // SAFETY: reads a register.
        unsafe { core::arch::asm!("isb", "mrs {}, cntvct_el0", out(reg) count) };
        Nanos((u128::from(count) * 1_000_000_000 / u128::from(frequency())) as u64)
    }
    fn sleep(&self) {
        // SAFETY: waits for an interrupt, of which the timer has one coming.
        unsafe { core::arch::asm!("wfi") };
    }
}
