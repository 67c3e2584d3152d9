//! Programs on a device whose driver calls fail by plan, and what must hold after each call.
#![allow(unreachable_pub, reason = "each test uses a part")]

pub mod corpus;
pub mod driver;
pub mod op;
pub mod run;
mod world;
