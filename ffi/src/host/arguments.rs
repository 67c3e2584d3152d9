//! What a kernel says that it touches, and how it gets at the bytes.

use super::memory;
use weir::units::{Bytes, DevicePtr};

/// What a kernel does with bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It only reads them; others may read at the same time.
    Read,
    /// It writes them, and may read them too.
    Write,
}

/// One run of device memory that a kernel touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelArg {
    /// Where it begins.
    pub ptr: DevicePtr,
    /// How long it is; nothing is checked for an empty one.
    pub bytes: Bytes,
    /// What the kernel does with it.
    pub access: Access,
}

/// A kernel argument that is read: the closure gets `&[u8]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read(pub DevicePtr, pub Bytes);

/// A kernel argument that is written: the closure gets `&mut [u8]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write(pub DevicePtr, pub Bytes);

/// The arguments of a kernel: nothing, one [`Read`] or [`Write`], or a tuple of up to six of them.
pub trait Arguments: sealed::Lend + Send + 'static {}

impl<A: sealed::Lend + Send + 'static> Arguments for A {}

/// What a kernel with arguments `A` gets.
pub type Lent<'a, A> = <A as sealed::Lend>::Bytes<'a>;

pub(super) mod sealed {
    use super::{Access, KernelArg, Read, Write, memory};

    /// Arguments that become slices once their device has pinned them.
    pub trait Lend: Sized {
        /// What the kernel gets.
        type Bytes<'a>;

        /// Names every run.
        fn list(&self, each: &mut Vec<KernelArg>);

        /// The bytes themselves.
        ///
        /// # Safety
        /// All runs of [`list`](Self::list) are pinned, without a clash among them, for as long as `'a`.
        unsafe fn lend<'a>(self) -> Self::Bytes<'a>;
    }

    impl Lend for () {
        type Bytes<'a> = ();

        fn list(&self, _each: &mut Vec<KernelArg>) {}

        unsafe fn lend<'a>(self) -> Self::Bytes<'a> {}
    }

    impl Lend for Read {
        type Bytes<'a> = &'a [u8];

        fn list(&self, each: &mut Vec<KernelArg>) {
            each.push(KernelArg { ptr: self.0, bytes: self.1, access: Access::Read });
        }

        unsafe fn lend<'a>(self) -> &'a [u8] {
            // SAFETY: the caller pinned the run, so that it is mapped and nobody writes it during `'a`.
            unsafe { memory::slice(self.0.0, self.1.0) }
        }
    }

    impl Lend for Write {
        type Bytes<'a> = &'a mut [u8];

        fn list(&self, each: &mut Vec<KernelArg>) {
            each.push(KernelArg { ptr: self.0, bytes: self.1, access: Access::Write });
        }

        unsafe fn lend<'a>(self) -> &'a mut [u8] {
            // SAFETY: the caller pinned the run, so that it is mapped and nobody else uses it during `'a`.
            unsafe { memory::slice_mut(self.0.0, self.1.0) }
        }
    }

    macro_rules! tuple {
        ($($name:ident $place:tt),+) => {
            impl<$($name: Lend),+> Lend for ($($name,)+) {
                type Bytes<'a> = ($($name::Bytes<'a>,)+);

                fn list(&self, each: &mut Vec<KernelArg>) {
                    $(self.$place.list(each);)+
                }

                unsafe fn lend<'a>(self) -> Self::Bytes<'a> {
                    // SAFETY: the caller pinned the runs of all parts.
                    ($(unsafe { self.$place.lend() },)+)
                }
            }
        };
    }
    tuple!(A 0);
    tuple!(A 0, B 1);
    tuple!(A 0, B 1, C 2);
    tuple!(A 0, B 1, C 2, D 3);
    tuple!(A 0, B 1, C 2, D 3, E 4);
    tuple!(A 0, B 1, C 2, D 3, E 4, F 5);
}
