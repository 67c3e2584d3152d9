//! The functions of `weir.h`, and of `weir_torch.h` above them.
//!
//! Each is an `extern "C"` function of the type that bindgen read from the header, which the compiler checks. None
//! unwinds; none trusts a pointer to be non-null or a handle to be good. What a pointer points to is the caller's
//! promise, as always in C: null, or good for what the header says that the function does with it. That is the safety
//! contract of them all.

#![allow(clippy::missing_safety_doc, reason = "one contract for all, on the module's page and in weir.h")]

mod arguments;
mod handle;
mod life;
mod memory;
mod order;
mod pools;
mod status;

pub use life::*;
pub use memory::*;
pub use order::*;
pub use pools::*;
pub use pressure::*;

/// For programs with an operating system: runtimes on the heap, texts for errors, the host driver, the vendors'.
#[cfg(feature = "std")]
mod hosted {
    pub use super::create::*;
    pub use super::host::*;
    pub use super::pending::*;
    pub use super::torch::*;
    pub use super::vendor::*;
}
#[cfg(feature = "std")]
pub(crate) mod create;
#[cfg(feature = "std")]
mod driver;
#[cfg(feature = "std")]
pub(crate) mod failure;
#[cfg(feature = "std")]
mod host;
#[cfg(feature = "std")]
mod instance;
#[cfg(feature = "std")]
mod pending;
#[cfg(feature = "std")]
mod pressure;
#[cfg(feature = "std")]
mod torch;
#[cfg(feature = "std")]
mod vendor;
#[cfg(feature = "std")]
pub use hosted::*;

// For firmware: runtimes in storage that the program lends, statuses without texts.
#[cfg(not(feature = "std"))]
#[path = "bare/driver.rs"]
mod driver;
#[cfg(not(feature = "std"))]
#[path = "bare/failure.rs"]
mod failure;
#[cfg(not(feature = "std"))]
#[path = "bare/instance.rs"]
mod instance;
#[cfg(not(feature = "std"))]
#[path = "bare/pressure.rs"]
mod pressure;
#[cfg(not(feature = "std"))]
#[path = "bare/storage.rs"]
mod storage;
#[cfg(not(feature = "std"))]
pub use storage::*;

/// Each function has the type of the header's prototype: an array has one type of element.
macro_rules! prototypes {
    ($($name:ident)+) => {
        $(const _: () = {
            let _ = [crate::bindings::$name, $name];
        };)+
    };
}

prototypes! {
    weir_version weir_status_name weir_config_init weir_destroy weir_log_flush weir_verify weir_get_counters
    weir_pool_config_init weir_pool_create weir_pool_default weir_pool_destroy weir_pool_get_attribute
    weir_pool_set_attribute weir_pool_trim weir_pool_get_stats weir_set_pressure
    weir_stream_register weir_stream_destroy weir_stream_synchronize weir_device_synchronize
    weir_event_create weir_event_destroy weir_event_record weir_stream_wait_event weir_event_query
    weir_event_synchronize
    weir_malloc_async weir_malloc_labelled weir_try_malloc_async weir_free_async weir_try_free_async
    weir_record_use weir_block_at weir_label weir_mark
}

#[cfg(feature = "std")]
prototypes! {
    weir_last_error weir_host_config_init weir_create_host weir_create_with_driver
    weir_driver_cuda weir_driver_hip weir_driver_acl weir_driver_close
    weir_pool_pending weir_stream_create
    weir_host_launch weir_kernel_bytes weir_kernel_fail weir_host_copy_to_device weir_host_copy_to_host
    weir_host_copy weir_host_fill weir_host_fault weir_host_clear_fault weir_host_resident
    weir_torch_malloc weir_torch_free weir_torch_record_stream weir_torch_empty_cache weir_torch_npu_empty_cache
    weir_torch_reset weir_torch_handles weir_torch_stream
}

#[cfg(not(feature = "std"))]
prototypes! { weir_create_static }
