//! See `weir_fuzz::replay_csv`.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|data: &[u8]| weir_fuzz::replay_csv(data));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    weir_fuzz::mutate_lines(data, size, max_size, seed, |data, size| fuzzer_mutate(data, size, max_size))
});
