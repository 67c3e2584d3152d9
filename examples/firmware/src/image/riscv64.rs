//! QEMU's virt machine for RISC-V, in machine mode.

use super::handler;
use core::ptr;
use weir::units::Nanos;

// Every hart but the first waits for ever. Floating point is switched on because the compiler may copy by its registers.
core::arch::global_asm!(
    ".attribute arch, \"rv64gc\"",
    ".section .text.start, \"ax\"",
    ".globl weir_start",
    "weir_start:",
    "csrr t0, mhartid",
    "bnez t0, 3f",
    "la sp, weir_stack",
    "li t0, 0x6000",
    "csrs mstatus, t0",
    "la t0, weir_trap",
    "csrw mtvec, t0",
    "la t0, weir_bss",
    "la t1, weir_bss_end",
    "1: bgeu t0, t1, 2f",
    "sd zero, 0(t0)",
    "addi t0, t0, 8",
    "j 1b",
    "2: call weir_up",
    "3: wfi",
    "j 3b",
    // What a function may destroy is kept around the handler.
    ".balign 4",
    "weir_trap:",
    "addi sp, sp, -304",
    "sd ra, 0(sp)",
    "sd t0, 8(sp)",
    "sd t1, 16(sp)",
    "sd t2, 24(sp)",
    "sd t3, 32(sp)",
    "sd t4, 40(sp)",
    "sd t5, 48(sp)",
    "sd t6, 56(sp)",
    "sd a0, 64(sp)",
    "sd a1, 72(sp)",
    "sd a2, 80(sp)",
    "sd a3, 88(sp)",
    "sd a4, 96(sp)",
    "sd a5, 104(sp)",
    "sd a6, 112(sp)",
    "sd a7, 120(sp)",
    "fsd ft0, 128(sp)",
    "fsd ft1, 136(sp)",
    "fsd ft2, 144(sp)",
    "fsd ft3, 152(sp)",
    "fsd ft4, 160(sp)",
    "fsd ft5, 168(sp)",
    "fsd ft6, 176(sp)",
    "fsd ft7, 184(sp)",
    "fsd fa0, 192(sp)",
    "fsd fa1, 200(sp)",
    "fsd fa2, 208(sp)",
    "fsd fa3, 216(sp)",
    "fsd fa4, 224(sp)",
    "fsd fa5, 232(sp)",
    "fsd fa6, 240(sp)",
    "fsd fa7, 248(sp)",
    "fsd ft8, 256(sp)",
    "fsd ft9, 264(sp)",
    "fsd ft10, 272(sp)",
    "fsd ft11, 280(sp)",
    "csrr a0, mcause",
    "csrr a1, mepc",
    "csrr a2, mtval",
    "call weir_trapped",
    "ld ra, 0(sp)",
    "ld t0, 8(sp)",
    "ld t1, 16(sp)",
    "ld t2, 24(sp)",
    "ld t3, 32(sp)",
    "ld t4, 40(sp)",
    "ld t5, 48(sp)",
    "ld t6, 56(sp)",
    "ld a0, 64(sp)",
    "ld a1, 72(sp)",
    "ld a2, 80(sp)",
    "ld a3, 88(sp)",
    "ld a4, 96(sp)",
    "ld a5, 104(sp)",
    "ld a6, 112(sp)",
    "ld a7, 120(sp)",
    "fld ft0, 128(sp)",
    "fld ft1, 136(sp)",
    "fld ft2, 144(sp)",
    "fld ft3, 152(sp)",
    "fld ft4, 160(sp)",
    "fld ft5, 168(sp)",
    "fld ft6, 176(sp)",
    "fld ft7, 184(sp)",
    "fld fa0, 192(sp)",
    "fld fa1, 200(sp)",
    "fld fa2, 208(sp)",
    "fld fa3, 216(sp)",
    "fld fa4, 224(sp)",
    "fld fa5, 232(sp)",
    "fld fa6, 240(sp)",
    "fld fa7, 248(sp)",
    "fld ft8, 256(sp)",
    "fld ft9, 264(sp)",
    "fld ft10, 272(sp)",
    "fld ft11, 280(sp)",
    "addi sp, sp, 304",
    "mret",
);

const UART: usize = 0x1000_0000;
const FINISHER: usize = 0x10_0000;
const SOFTWARE: usize = 0x200_0000;
const COMPARE: usize = 0x200_4000;
const TIME: usize = 0x200_bff8;

/// The clock of QEMU's machine: 10 MHz.
const NANOS_A_TICK: u64 = 100;

/// A tick of the timer's interrupt: one millisecond.
const TICK: u64 = 1_000_000 / NANOS_A_TICK;

/// Reads a register of the machine.
fn read<T>(at: usize) -> T {
    // SAFETY: only called with the addresses above, which are registers of this machine of the type that is read.
    unsafe { ptr::read_volatile(ptr::with_exposed_provenance::<T>(at)) }
}

/// Writes a register of the machine.
fn write<T>(at: usize, value: T) {
    // SAFETY: as for `read`.
    unsafe { ptr::write_volatile(ptr::with_exposed_provenance_mut::<T>(at), value) }
}

/// Start-up code leads here.
#[unsafe(no_mangle)]
extern "C" fn weir_up() -> ! {
    next_tick();
    // SAFETY: enables the software and the timer interrupt; the trap vector is set.
    unsafe { core::arch::asm!("csrs mie, {}", in(reg) (1_u64 << 3) | (1 << 7)) };
    // SAFETY: enables interrupts, whose handler keeps all registers.
    unsafe { core::arch::asm!("csrsi mstatus, 8") };
    super::main()
}

fn next_tick() {
    write(COMPARE, read::<u64>(TIME) + TICK);
}

/// Every trap leads here.
#[unsafe(no_mangle)]
extern "C" fn weir_trapped(cause: u64, at: u64, value: u64) {
    const INTERRUPT: u64 = 1 << 63;
    match cause ^ INTERRUPT {
        3 => {
            write(SOFTWARE, 0_u32);
            handler::interrupted();
        }
        7 => next_tick(),
        _ => panic!("trap {cause:#x} at {at:#x}, value {value:#x}"),
    }
}

/// Interrupts the processor; returns when the handler has run.
pub(super) fn interrupt() {
    write(SOFTWARE, 1_u32);
    // The interrupt takes some instructions to arrive.
    while read::<u32>(SOFTWARE) != 0 {
        core::hint::spin_loop();
    }
}

/// Ends the machine with this status.
pub(super) fn exit(status: u8) -> ! {
    let word = if status == 0 { 0x5555 } else { (u32::from(status) << 16) | 0x3333 };
    write(FINISHER, word);
    loop {
        core::hint::spin_loop();
    }
}

/// Sends bytes along the serial line.
pub(super) fn send(bytes: &[u8]) {
    for byte in bytes {
        while read::<u8>(UART + 5) & 0x20 == 0 {}
        write(UART, *byte);
    }
}

/// Since the timer was started.
pub(super) fn now() -> Nanos {
    Nanos(read::<u64>(TIME) * NANOS_A_TICK)
}
