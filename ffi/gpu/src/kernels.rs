//! The kernels, as the vendor's driver takes them, and how they are launched.

use crate::calls::{Calls, Handle, done};
use crate::error::GpuError;
use core::ffi::{CStr, c_uint, c_void};
use core::ptr;

/// The kernels' text.
pub const PTX: &CStr = match CStr::from_bytes_with_nul(concat!(include_str!("kernels.ptx"), "\0").as_bytes()) {
    Ok(text) => text,
    Err(_) => panic!("the text has no 0 in it"),
};

/// Each kernel's name and how many parameters it is launched with, all of 64 bits.
pub const ENTRIES: [(&CStr, usize); 3] = [(c"weir_fill", 3), (c"weir_check", 4), (c"weir_hold", 3)];

const THREADS: u64 = 256;
/// Enough to keep any device busy; each thread goes on to the words that are left.
const MOST_BLOCKS: u64 = 2048;

/// The kernels of a context, loaded.
pub(crate) struct Kernels {
    fill: Handle,
    check: Handle,
    hold: Handle,
}

/// A pattern in memory: its place and its first word.
#[derive(Clone, Copy)]
pub(crate) struct Pattern {
    pub(crate) at: u64,
    pub(crate) bytes: u64,
    pub(crate) first: u64,
}

impl Kernels {
    /// Loads them into the current context.
    pub(crate) fn load(calls: &Calls) -> Result<Self, GpuError> {
        let mut module = ptr::null_mut();
        // SAFETY: a place for the answer, and a text that ends with 0.
        let code = unsafe { (calls.module_load)(&raw mut module, PTX.as_ptr().cast()) };
        done("cuModuleLoadData", code)?;
        let function = |(name, _): (&CStr, usize)| {
            let mut found = ptr::null_mut();
            // SAFETY: a place for the answer, the module that was just loaded, and a string.
            let code = unsafe { (calls.module_function)(&raw mut found, module, name.as_ptr()) };
            done("cuModuleGetFunction", code).map(|()| found)
        };
        let [fill, check, hold] = ENTRIES.map(function);
        Ok(Self { fill: fill?, check: check?, hold: hold? })
    }

    pub(crate) fn fill(&self, calls: &Calls, on: Handle, pattern: Pattern) -> Result<(), GpuError> {
        let Pattern { at, bytes, first } = pattern;
        launch(calls, self.fill, blocks(bytes), on, [at, bytes, first])
    }

    pub(crate) fn check(&self, calls: &Calls, on: Handle, pattern: Pattern, wrong: u64) -> Result<(), GpuError> {
        let Pattern { at, bytes, first } = pattern;
        launch(calls, self.check, blocks(bytes), on, [at, bytes, first, wrong])
    }

    pub(crate) fn hold(&self, calls: &Calls, on: Handle, open: u64, most: u64, ran_out: u64) -> Result<(), GpuError> {
        launch(calls, self.hold, Grid { blocks: 1, threads: 1 }, on, [open, most, ran_out])
    }
}

struct Grid {
    blocks: c_uint,
    threads: c_uint,
}

fn blocks(bytes: u64) -> Grid {
    let blocks = bytes.div_ceil(8 * THREADS).clamp(1, MOST_BLOCKS);
    Grid { blocks: c_uint::try_from(blocks).unwrap_or(1), threads: c_uint::try_from(THREADS).unwrap_or(1) }
}

fn launch<const N: usize>(
    calls: &Calls,
    kernel: Handle,
    grid: Grid,
    on: Handle,
    mut arguments: [u64; N],
) -> Result<(), GpuError> {
    let mut places = arguments.each_mut().map(|argument| ptr::from_mut(argument).cast::<c_void>());
    let Grid { blocks, threads } = grid;
    // SAFETY: a kernel of the current context with N parameters of 64 bits, which the call copies before it returns. That
    // the kernel touches memory of the device alone is checked by whoever gives the addresses.
    let code = unsafe {
        let places = places.as_mut_ptr();
        (calls.launch)(kernel, blocks, 1, 1, threads, 1, 1, 0, on, places, ptr::null_mut())
    };
    done("cuLaunchKernel", code)
}

/// The first word of a seed's pattern: seeds that are close give patterns that are not (the finish of SplitMix64).
pub(crate) const fn first_word(seed: u64) -> u64 {
    let a = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let b = (a ^ (a >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    b ^ (b >> 31)
}
