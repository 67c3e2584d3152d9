//! QEMU's mps2-an386: a Cortex-M4F.

use super::handler;
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};
use weir::units::Nanos;

// The table of vectors, and start-up: floating point on before any code of the compiler's, then .data and .bss.
core::arch::global_asm!(
    ".section .vectors, \"a\"",
    ".word weir_stack",
    ".word weir_start",
    ".rept 9",
    ".word weir_lost",
    ".endr",
    ".word weir_lost",
    ".word weir_lost",
    ".word weir_lost",
    ".word weir_software",
    ".word weir_tick",
    ".text",
    ".globl weir_start",
    ".thumb_func",
    "weir_start:",
    "ldr r0, =0xe000ed88",
    "ldr r1, [r0]",
    "orr r1, r1, #0xf00000",
    "str r1, [r0]",
    "dsb",
    "isb",
    "ldr r0, =weir_data",
    "ldr r1, =weir_data_end",
    "ldr r2, =weir_data_from",
    "1: cmp r0, r1",
    "bhs 2f",
    "ldr r3, [r2], #4",
    "str r3, [r0], #4",
    "b 1b",
    "2: ldr r0, =weir_bss",
    "ldr r1, =weir_bss_end",
    "movs r3, #0",
    "3: cmp r0, r1",
    "bhs 4f",
    "str r3, [r0], #4",
    "b 3b",
    "4: bl weir_up",
    ".ltorg",
);

const UART: usize = 0x4000_4000;
const SYSTICK: usize = 0xe000_e010;
const INTERRUPT_CONTROL: usize = 0xe000_ed04;

/// The processor's clock in ticks of a millisecond.
const RELOAD: u32 = 25_000 - 1;

/// Milliseconds since the start. This architecture has no 64-bit atomics: time wraps after 49 days.
static TICKS: AtomicU32 = AtomicU32::new(0);

/// Reads a register of the machine.
fn read(at: usize) -> u32 {
    // SAFETY: only called with registers of this machine.
    unsafe { ptr::read_volatile(ptr::with_exposed_provenance::<u32>(at)) }
}

/// Writes a register of the machine.
fn write(at: usize, value: u32) {
    // SAFETY: as for `read`.
    unsafe { ptr::write_volatile(ptr::with_exposed_provenance_mut::<u32>(at), value) }
}

/// Start-up code leads here.
#[unsafe(no_mangle)]
extern "C" fn weir_up() -> ! {
    // The UART's divisor must be at least 16 for it to send.
    write(UART + 0x10, 16);
    write(UART + 8, 1);
    write(SYSTICK + 4, RELOAD);
    write(SYSTICK + 8, 0);
    write(SYSTICK, 7);
    super::main()
}

/// The timer's handler. The processor keeps the registers that a function may destroy.
#[unsafe(no_mangle)]
extern "C" fn weir_tick() {
    TICKS.store(TICKS.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

/// The software interrupt's handler.
#[unsafe(no_mangle)]
extern "C" fn weir_software() {
    handler::interrupted();
}

/// Any other exception.
#[unsafe(no_mangle)]
extern "C" fn weir_lost() -> ! {
    panic!("exception {}", read(INTERRUPT_CONTROL) & 0x1ff)
}

/// Interrupts the processor; returns when the handler has run.
pub(super) fn interrupt() {
    write(INTERRUPT_CONTROL, 1 << 28);
    // SAFETY: barriers; after them the interrupt has been taken.
    unsafe { core::arch::asm!("dsb", "isb") };
}

/// Ends the machine with this status: semihosting's SYS_EXIT_EXTENDED.
pub(super) fn exit(status: u8) -> ! {
    let block = [0x20026_u32, u32::from(status)];
    // SAFETY: asks the debugger, here QEMU, to end the machine; it reads the two words.
    unsafe { core::arch::asm!("bkpt #0xab", in("r0") 0x20, in("r1") block.as_ptr()) };
    loop {
        core::hint::spin_loop();
    }
}

/// Sends bytes along the serial line.
pub(super) fn send(bytes: &[u8]) {
    for byte in bytes {
        while read(UART + 4) & 1 != 0 {}
        write(UART, u32::from(*byte));
    }
}

/// Sends bytes along the second serial line.
#[cfg(feature = "defmt")]
pub(super) fn send_frames(bytes: &[u8]) {
    const SECOND: usize = 0x4000_5000;
    write(SECOND + 0x10, 16);
    write(SECOND + 8, 1);
    for byte in bytes {
        while read(SECOND + 4) & 1 != 0 {}
        write(SECOND, u32::from(*byte));
    }
}

/// Since the timer was started.
pub(super) fn now() -> Nanos {
    Nanos(u64::from(TICKS.load(Ordering::Relaxed)) * 1_000_000)
}
