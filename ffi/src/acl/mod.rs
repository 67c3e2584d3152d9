//! The part of CANN's runtime interface (`acl/acl.h`) that programs with stream-ordered memory pools use, on the host
//! driver.
//!
//! Each function has the type that bindgen read from the header, which the compiler checks. None unwinds. A handle is a
//! number that is looked up and never an address, so none is trusted to be good; what other pointers point to is the
//! caller's promise, as always in C: null, or good for what CANN's documentation says that the function does with it.
//! That is the safety contract of them all.
//!
//! The libraries give the functions their names (`export.rs`): `libweir.a` and `libweir.so` these, `libweir_acl.so`
//! those of [`interpose`](crate::interpose), which come here where there is no vendor's library.
//!
//! Return codes are those of CANN's full design where it is sound; where weir knows better (no address is given out
//! before it is safe, exhaustion has a code of its own), `acl/acl_rt_memory_soma.h` says so.

#![allow(non_snake_case, reason = "the names are CANN's")]
#![allow(clippy::missing_safety_doc, reason = "one contract for all, on the module's page and in the headers")]

#[rustfmt::skip]
#[allow(missing_docs, non_camel_case_types, non_upper_case_globals, clippy::all, reason = "from the C headers")]
pub mod bindings;
pub(crate) mod codes;
mod context;
mod event;
pub(crate) mod handle;
mod kernel;
mod life;
mod memcpy;
pub(crate) mod pool;
pub(crate) mod settings;
pub(crate) mod state;
mod stream;

pub use codes::aclGetRecentErrMsg;
pub use context::*;
pub use event::*;
pub use kernel::*;
pub use life::*;
pub use memcpy::*;
pub use pool::*;
pub use stream::*;

/// Each function has the type of the header's prototype: an array has one type of element.
macro_rules! prototypes {
    ($($name:ident)+) => {
        $(const _: () = {
            let _ = [bindings::$name, $name];
        };)+
    };
}

prototypes! {
    aclInit aclFinalize aclGetRecentErrMsg
    aclrtSetDevice aclrtResetDevice aclrtSynchronizeDevice aclrtCreateContext aclrtDestroyContext aclrtGetMemInfo
    aclrtCreateStream aclrtDestroyStream aclrtSynchronizeStream
    aclrtCreateEvent aclrtDestroyEvent aclrtRecordEvent aclrtStreamWaitEvent aclrtQueryEventStatus aclrtSynchronizeEvent
    aclrtMemcpy aclrtMemcpyAsync
    aclrtBinaryGetFunction aclrtLaunchKernel weir_acl_register_kernel weir_acl_binary
    aclrtMemPoolCreate aclrtMemPoolDestroy aclrtMemPoolSetAttr aclrtMemPoolGetAttr
    aclrtMemPoolMallocAsync aclrtMemPoolFreeAsync aclrtMemPoolTrimTo
}
