//! Small programs of two threads, run under every order in which the threads can take turns.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

pub mod driver;
pub mod explore;
pub mod oracle;
pub mod programs;
pub mod turns;
pub mod world;
