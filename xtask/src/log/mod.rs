//! Allocation logs: the rows of an RMM log, and the program that they describe.

mod order;
mod program;
mod rmm;

pub(crate) use program::{Aside, Block, Op, Program, Touch};
