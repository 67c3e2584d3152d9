//! Translation tables: the machine as it is, and 1 GiB of the device's addresses in granules of 2 MiB.
//!
//! The first level (each entry 1 GiB) maps the machine's registers and its RAM onto themselves, and at the device's
//! addresses leads to one table of the second level, whose entries are granules.

use core::ptr;
use weir_firmware::machine::{GRANULE, PLACES, SPACE};

/// Granules of physical memory, from `weir_frames` on.
pub(super) const FRAMES: usize = 16;

/// Attributes of a block entry: normal memory, inner shareable, accessed, never executed.
const NORMAL: u64 = 1 | (1 << 2) | (3 << 8) | (1 << 10) | (1 << 53) | (1 << 54);

// The first-level index of the device's addresses, as the assembler writes it below.
const _: () = assert!(SPACE >> 30 == 64 && PLACES == 512);

// Start-up. Tables lie ready in .data; attributes 0 are a device's (nGnRnE), 1 normal memory (write-back). 39 bits of
// addresses, 4 KiB pages, 40 bits of physical addresses. Caches and translation are switched on before the compiler's code
// runs, because it may access memory unaligned, which only works on normal memory.
core::arch::global_asm!(
    ".section .data.tables, \"aw\"",
    ".balign 4096",
    "weir_level1:",
    ".quad 0x0060000000000401",
    ".quad 0x0000000040000705",
    ".zero 62 * 8",
    ".quad weir_level2 + 3",
    ".zero 447 * 8",
    ".globl weir_level2",
    "weir_level2:",
    ".zero 4096",
    ".section .text.start, \"ax\"",
    ".globl weir_start",
    "weir_start:",
    "adrp x0, weir_stack",
    "add x0, x0, :lo12:weir_stack",
    "mov sp, x0",
    "mov x0, #(3 << 20)",
    "msr cpacr_el1, x0",
    "adrp x0, weir_vectors",
    "add x0, x0, :lo12:weir_vectors",
    "msr vbar_el1, x0",
    "ldr x0, =0xff00",
    "msr mair_el1, x0",
    "ldr x0, =0x200803519",
    "msr tcr_el1, x0",
    "adrp x0, weir_level1",
    "msr ttbr0_el1, x0",
    "dsb sy",
    "tlbi vmalle1",
    "ic iallu",
    "dsb sy",
    "isb",
    "mrs x0, sctlr_el1",
    "ldr x1, =0x1005",
    "orr x0, x0, x1",
    "msr sctlr_el1, x0",
    "isb",
    "adrp x0, weir_bss",
    "add x0, x0, :lo12:weir_bss",
    "adrp x1, weir_bss_end",
    "add x1, x1, :lo12:weir_bss_end",
    "1: cmp x0, x1",
    "b.hs 2f",
    "stp xzr, xzr, [x0], #16",
    "b 1b",
    "2: bl weir_up",
    ".ltorg",
);

unsafe extern "C" {
    static mut weir_level2: [u64; PLACES];
    static weir_frames: u8;
}

/// Writes one entry. The board has checked the place.
fn set(place: usize, entry: u64) {
    assert!(place < PLACES, "outside the device's addresses");
    let entries = (&raw mut weir_level2).cast::<u64>();
    // SAFETY: an entry of the table; the walker reads it at any time, hence volatile. Only the board's driver calls this,
    // one call at a time.
    unsafe { ptr::write_volatile(entries.wrapping_add(place), entry) };
    // SAFETY: makes the entry visible to the walker before anything that follows.
    unsafe { core::arch::asm!("dsb ishst", "isb") };
}

/// Maps a frame. The entry was invalid, so no translation of it can be cached.
pub(super) fn map(place: usize, frame: usize) {
    assert!(frame < FRAMES, "outside the device's memory");
    let physical = (&raw const weir_frames).expose_provenance() as u64 + frame as u64 * GRANULE;
    set(place, physical | NORMAL);
}

/// Ends a mapping: the entry goes first, then whatever the processor has cached of it, and both are waited for.
pub(super) fn unmap(place: usize) {
    set(place, 0);
    let page = (SPACE + place as u64 * GRANULE) >> 12;
    // SAFETY: forgets the translations of one address, in all processors, and waits until that is done.
    unsafe { core::arch::asm!("tlbi vaae1is, {}", "dsb ish", "isb", in(reg) page) };
}
