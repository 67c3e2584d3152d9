//! Measuring: the package `weir-bench` does the work, callgrind counts, this makes figures and tables of it.

pub(crate) mod baseline;
mod callgrind;
pub(crate) mod figure;
pub(crate) mod peers;
pub(crate) mod program;
pub(crate) mod threads;
pub(crate) mod viewer;
mod worst;
