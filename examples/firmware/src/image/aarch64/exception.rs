//! Exceptions, and accesses that may fault.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use weir_firmware::Fault;

// Of the 16 vectors two are used: a synchronous exception and an interrupt, from this level on its own stack. What a
// function may destroy is kept around the handler. The first returns where to go on.
core::arch::global_asm!(
    ".macro WEIR_KEEP",
    "sub sp, sp, #784",
    "stp x0, x1, [sp, #0]",
    "stp x2, x3, [sp, #16]",
    "stp x4, x5, [sp, #32]",
    "stp x6, x7, [sp, #48]",
    "stp x8, x9, [sp, #64]",
    "stp x10, x11, [sp, #80]",
    "stp x12, x13, [sp, #96]",
    "stp x14, x15, [sp, #112]",
    "stp x16, x17, [sp, #128]",
    "stp x18, x29, [sp, #144]",
    "mrs x0, elr_el1",
    "mrs x1, spsr_el1",
    "stp x30, x0, [sp, #160]",
    "mrs x0, fpsr",
    "stp x1, x0, [sp, #176]",
    "stp q0, q1, [sp, #192]",
    "stp q2, q3, [sp, #224]",
    "stp q4, q5, [sp, #256]",
    "stp q6, q7, [sp, #288]",
    "stp q16, q17, [sp, #320]",
    "stp q18, q19, [sp, #352]",
    "stp q20, q21, [sp, #384]",
    "stp q22, q23, [sp, #416]",
    "stp q24, q25, [sp, #448]",
    "stp q26, q27, [sp, #480]",
    "stp q28, q29, [sp, #512]",
    "stp q30, q31, [sp, #544]",
    ".endm",
    ".macro WEIR_BACK",
    "ldp q30, q31, [sp, #544]",
    "ldp q28, q29, [sp, #512]",
    "ldp q26, q27, [sp, #480]",
    "ldp q24, q25, [sp, #448]",
    "ldp q22, q23, [sp, #416]",
    "ldp q20, q21, [sp, #384]",
    "ldp q18, q19, [sp, #352]",
    "ldp q16, q17, [sp, #320]",
    "ldp q6, q7, [sp, #288]",
    "ldp q4, q5, [sp, #256]",
    "ldp q2, q3, [sp, #224]",
    "ldp q0, q1, [sp, #192]",
    "ldp x1, x0, [sp, #176]",
    "msr fpsr, x0",
    "msr spsr_el1, x1",
    "ldp x30, x0, [sp, #160]",
    "msr elr_el1, x0",
    "ldp x18, x29, [sp, #144]",
    "ldp x16, x17, [sp, #128]",
    "ldp x14, x15, [sp, #112]",
    "ldp x12, x13, [sp, #96]",
    "ldp x10, x11, [sp, #80]",
    "ldp x8, x9, [sp, #64]",
    "ldp x6, x7, [sp, #48]",
    "ldp x4, x5, [sp, #32]",
    "ldp x2, x3, [sp, #16]",
    "ldp x0, x1, [sp, #0]",
    "add sp, sp, #784",
    "eret",
    ".endm",
    ".macro WEIR_LOST number",
    ".balign 128",
    "mov x0, #\\number",
    "b weir_lost",
    ".endm",
    ".text",
    ".balign 2048",
    ".globl weir_vectors",
    "weir_vectors:",
    "WEIR_LOST 0",
    "WEIR_LOST 1",
    "WEIR_LOST 2",
    "WEIR_LOST 3",
    ".balign 128",
    "b weir_synchronous",
    ".balign 128",
    "b weir_interrupt",
    "WEIR_LOST 6",
    "WEIR_LOST 7",
    "WEIR_LOST 8",
    "WEIR_LOST 9",
    "WEIR_LOST 10",
    "WEIR_LOST 11",
    "WEIR_LOST 12",
    "WEIR_LOST 13",
    "WEIR_LOST 14",
    "WEIR_LOST 15",
    "weir_synchronous:",
    "WEIR_KEEP",
    "mrs x0, esr_el1",
    "mrs x1, far_el1",
    "mrs x2, elr_el1",
    "bl weir_faulted",
    "str x0, [sp, #168]",
    "WEIR_BACK",
    "weir_interrupt:",
    "WEIR_KEEP",
    "bl weir_interrupted",
    "WEIR_BACK",
);

/// Whether the access under way may fault, and whether and where it did.
static ALLOWED: AtomicBool = AtomicBool::new(false);
static FAULTED: AtomicBool = AtomicBool::new(false);
static ADDRESS: AtomicU64 = AtomicU64::new(0);

/// A synchronous exception. Returns where to go on: behind an access that was allowed to fault.
#[unsafe(no_mangle)]
extern "C" fn weir_faulted(syndrome: u64, address: u64, at: u64) -> u64 {
    const DATA_ABORT: u64 = 0x25;
    if syndrome >> 26 == DATA_ABORT && ALLOWED.load(Ordering::Relaxed) {
        ADDRESS.store(address, Ordering::Relaxed);
        FAULTED.store(true, Ordering::Relaxed);
        return at + 4;
    }
    panic!("exception {syndrome:#x} at {at:#x}, address {address:#x}");
}

/// An interrupt.
#[unsafe(no_mangle)]
extern "C" fn weir_interrupted() {
    super::interrupted();
}

/// An exception that nothing here makes.
#[unsafe(no_mangle)]
extern "C" fn weir_lost(vector: u64) -> ! {
    panic!("vector {vector}")
}

/// Makes an access of one instruction that may fault.
fn access<T>(work: impl FnOnce() -> T) -> Result<T, Fault> {
    FAULTED.store(false, Ordering::Relaxed);
    ALLOWED.store(true, Ordering::Relaxed);
    let value = work();
    ALLOWED.store(false, Ordering::Relaxed);
    if FAULTED.load(Ordering::Relaxed) { Err(Fault { at: ADDRESS.load(Ordering::Relaxed) }) } else { Ok(value) }
}

/// Whether only the device's memory can be behind an address.
fn inside(at: u64) -> Result<(), Fault> {
    weir_firmware::machine::place(at).filter(|_| at.is_multiple_of(8)).map(|_| ()).ok_or(Fault { at })
}

/// Writes a word of the device's memory.
pub(super) fn store(at: u64, word: u64) -> Result<(), Fault> {
    inside(at)?;
    // SAFETY: an aligned word among the device's addresses, where nothing of this program lies; where nothing is mapped
    // the exception's handler steps over the instruction.
    access(|| unsafe { core::arch::asm!("str {}, [{}]", in(reg) word, in(reg) at) })
}

/// Reads a word of the device's memory.
pub(super) fn load(at: u64) -> Result<u64, Fault> {
    inside(at)?;
    access(|| {
        let mut word = 0_u64;
        // SAFETY: as for `store`.
        unsafe { core::arch::asm!("ldr {}, [{}]", inlateout(reg) word, in(reg) at) };
        word
    })
}
