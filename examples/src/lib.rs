//! One small program per idea: `src/bin` in Rust, `c` in C. The README's example is compiled and run here too.

#![doc = include_str!("../../README.md")]
