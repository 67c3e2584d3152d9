//! What a C program hands in where a function wants a pointer: a good one, null, or one that is not aligned.

use super::input::Input;
use core::ffi::c_char;
use core::marker::PhantomData;
use core::mem::size_of;
use core::ptr;

/// What stands in a place before a call.
const FILL: u64 = 0xa5a5_a5a5_a5a5_a5a5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Good,
    Unaligned,
    Null,
}

/// A place for a `T`, a plain struct or number of C's.
pub(super) struct Place<T> {
    /// A byte more than a `T` takes, in words.
    room: Vec<u64>,
    at: At,
    of: PhantomData<T>,
}

impl<T: Copy> Place<T> {
    /// A place for an output: good as a rule, now and then none.
    pub(super) fn output(input: &mut Input<'_>) -> Self {
        let at = match input.byte() {
            0..240 => At::Good,
            240..248 => At::Unaligned,
            _ => At::Null,
        };
        Self { room: vec![FILL; size_of::<T>() / 8 + 2], at, of: PhantomData }
    }

    /// The same with something in it, for a struct that is read.
    pub(super) fn input(value: T, input: &mut Input<'_>) -> Self {
        let mut place = Self::output(input);
        // SAFETY: the room is as aligned as any `T` of C's here, and longer than one.
        unsafe { place.room.as_mut_ptr().cast::<T>().write(value) };
        place
    }

    pub(super) fn pointer(&mut self) -> *mut T {
        let start = self.room.as_mut_ptr();
        match self.at {
            At::Good => start.cast(),
            At::Unaligned if align_of::<T>() > 1 => start.cast::<u8>().wrapping_add(1).cast(),
            At::Unaligned | At::Null => ptr::null_mut(),
        }
    }

    pub(super) const fn is_null(&self) -> bool {
        matches!(self.at, At::Null)
    }

    /// What a call wrote that answered `status`. After an error it wrote nothing; without a place it is an error.
    pub(super) fn taken(&self, status: i32) -> Option<T> {
        if status != 0 {
            assert!(self.room.iter().all(|word| *word == FILL), "an output was written after error {status}");
            return None;
        }
        assert_eq!(self.at, At::Good, "a place that is none was accepted");
        // SAFETY: written by the call, or filled before; any bytes are a number or a struct of them.
        Some(unsafe { self.room.as_ptr().cast::<T>().read() })
    }
}

/// A name, or none.
pub(super) struct Text(Option<Vec<u8>>);

impl Text {
    pub(super) fn new(input: &mut Input<'_>) -> Self {
        let length = match input.byte() {
            255 => return Self(None),
            200.. => input.below(256),
            short => usize::from(short % 8),
        };
        let mut bytes: Vec<u8> = (0..length).map(|_| input.byte().max(1)).collect();
        bytes.push(0);
        Self(Some(bytes))
    }

    pub(super) fn pointer(&self) -> *const c_char {
        self.0.as_ref().map_or(ptr::null(), |bytes| bytes.as_ptr().cast())
    }
}
