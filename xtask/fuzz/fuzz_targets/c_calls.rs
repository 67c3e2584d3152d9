//! See `weir_fuzz::c_calls`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::c_calls(data));
