//! The C interface (`weir.h`), called as a hostile program would.
//!
//! The input is a program: a call a few bytes, with handles that are good, stale, of another kind, of another runtime or
//! made up, with pointers that are null or not aligned, and with wild numbers. What C leaves undefined is left out: an
//! output that is neither null nor a place. After each call everything is looked at; at the end everything is destroyed.
//!
//! It is a target of the fuzzer in `xtask/fuzz`, and a package here since calling C takes unsafe code.

#![cfg(target_os = "linux")]

/// Calls a function of `weir.h`.
macro_rules! c {
    ($function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: pointers are those of a `Place`, a `Text` or a room that stays, which are null or good for what the
        // header says that the function does with them.
        unsafe { weir_ffi::capi::$function($($argument),*) }
    };
}
mod create;
mod host;
mod input;
mod memory;
mod order;
mod place;
mod pools;
mod toy;
mod world;

use input::Input;
use world::World;

/// One call, its arguments taken from the input.
type Call = fn(&mut World, &mut Input<'_>);

/// Every function of the header, and what changes the device's mood. Where it says twice, it is drawn more often.
const CALLS: [Call; 48] = [
    create::on_toy,
    create::on_host,
    create::destroy,
    create::flush,
    create::counters,
    create::last_error,
    create::configs,
    create::mood,
    create::heal,
    pools::create,
    pools::create,
    pools::default,
    pools::destroy,
    pools::get_attribute,
    pools::set_attribute,
    pools::trim,
    pools::pending,
    order::create_stream,
    order::register_stream,
    order::register_stream,
    order::destroy_stream,
    order::synchronize_stream,
    order::synchronize_device,
    order::create_event,
    order::create_event,
    order::destroy_event,
    order::record,
    order::record,
    order::wait,
    order::wait,
    order::query,
    order::synchronize_event,
    memory::malloc,
    memory::malloc,
    memory::malloc,
    memory::malloc_labelled,
    memory::free,
    memory::free,
    memory::free,
    memory::record_use,
    memory::block_at,
    memory::label,
    memory::mark,
    host::launch,
    host::copy,
    host::fill,
    host::fault,
    host::resident,
];

/// The most calls of one program.
const MOST: usize = 200;

/// Runs the program that the bytes describe; panics where it shows a defect.
pub fn c_calls(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut world = World::default();
    for _ in 0..MOST {
        if input.is_empty() {
            break;
        }
        if let Some(call) = input.one(&CALLS) {
            call(&mut world, &mut input);
            world.look();
        }
    }
    world.end();
    world::fresh();
}
