//! The C interface as `cargo xtask bindgen` read it from `include/weir*.h`; do not edit.
// SPDX-License-Identifier: MIT OR Apache-2.0

pub const WEIR_DRIVER_ABI: u32 = 1;
pub const WEIR_RUNTIME_BYTES: u32 = 10752;
pub mod weir_driver_status {
    /// What a driver function returns. Any other number counts as WEIR_DRIVER_FAILED with that number as its code.
    pub type Type = ::core::ffi::c_uint;
    /// Done.
    pub const WEIR_DRIVER_OK: Type = 0;
    /// The device has no physical memory, addresses or mappings left.
    pub const WEIR_DRIVER_EXHAUSTED: Type = 1;
    /// A synchronisation ran into its time limit.
    pub const WEIR_DRIVER_TIMED_OUT: Type = 2;
    /// The call or an argument is not supported.
    pub const WEIR_DRIVER_UNSUPPORTED: Type = 3;
    /// Anything else.
    pub const WEIR_DRIVER_FAILED: Type = 4;
}
pub mod weir_driver_capability {
    /// What a device can do beyond the minimum; bits of `weir_driver_properties.capabilities`.
    pub type Type = ::core::ffi::c_uint;
    /// Map and unmap take effect in the order of the stream that is named, not at once.
    pub const WEIR_DRIVER_MAP_IN_STREAM_ORDER: Type = 1;
    /// Addresses are cheap: ranges of many times a pool's limit can be reserved.
    pub const WEIR_DRIVER_SPARSE_ADDRESSES: Type = 2;
}
/// What a device's memory looks like. Constant over the device's life. Sizes in bytes.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_driver_properties {
    /// Size of the smallest piece of physical memory that is mapped (a granule); a power of two.
    pub granularity: u64,
    /// Alignment and rounding of blocks; a power of two that divides the granularity.
    pub alignment: u64,
    /// Physical memory in all: at least one granule.
    pub total: u64,
    /// Bits of `enum weir_driver_capability`.
    pub capabilities: u32,
    /// Zero.
    pub reserved: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    [
        "Size of weir_driver_properties",
    ][::core::mem::size_of::<weir_driver_properties>() - 32usize];
    [
        "Alignment of weir_driver_properties",
    ][::core::mem::align_of::<weir_driver_properties>() - 8usize];
    [
        "Offset of field: weir_driver_properties::granularity",
    ][::core::mem::offset_of!(weir_driver_properties, granularity) - 0usize];
    [
        "Offset of field: weir_driver_properties::alignment",
    ][::core::mem::offset_of!(weir_driver_properties, alignment) - 8usize];
    [
        "Offset of field: weir_driver_properties::total",
    ][::core::mem::offset_of!(weir_driver_properties, total) - 16usize];
    [
        "Offset of field: weir_driver_properties::capabilities",
    ][::core::mem::offset_of!(weir_driver_properties, capabilities) - 24usize];
    [
        "Offset of field: weir_driver_properties::reserved",
    ][::core::mem::offset_of!(weir_driver_properties, reserved) - 28usize];
};
pub mod weir_driver_target_kind {
    /// What a query or a synchronisation is about.
    pub type Type = ::core::ffi::c_uint;
    /// Everything queued on stream `id` so far.
    pub const WEIR_DRIVER_TARGET_STREAM: Type = 0;
    /// The latest lay of marker slot `id`. A slot that was never laid is complete.
    pub const WEIR_DRIVER_TARGET_MARKER: Type = 1;
    /// Everything queued on every stream of device `id` so far.
    pub const WEIR_DRIVER_TARGET_DEVICE: Type = 2;
}
/// The target of a query or a synchronisation.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_driver_target {
    /// One of `enum weir_driver_target_kind`.
    pub kind: u32,
    /// Zero.
    pub reserved: u32,
    /// A stream as the program named it to weir, a marker slot, or a device's ordinal.
    pub id: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    [
        "Size of weir_driver_target",
    ][::core::mem::size_of::<weir_driver_target>() - 16usize];
    [
        "Alignment of weir_driver_target",
    ][::core::mem::align_of::<weir_driver_target>() - 8usize];
    [
        "Offset of field: weir_driver_target::kind",
    ][::core::mem::offset_of!(weir_driver_target, kind) - 0usize];
    [
        "Offset of field: weir_driver_target::reserved",
    ][::core::mem::offset_of!(weir_driver_target, reserved) - 4usize];
    [
        "Offset of field: weir_driver_target::id",
    ][::core::mem::offset_of!(weir_driver_target, id) - 8usize];
};
/** A driver: its functions and one pointer that each of them is given. All functions must be there. weir copies the
 table; what `ctx` points to must live until the runtime is destroyed.*/
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_driver_ops {
    /// WEIR_DRIVER_ABI.
    pub abi: u32,
    /// sizeof(struct weir_driver_ops).
    pub size: u32,
    /// Handed to every function as it is; may be null.
    pub ctx: *mut ::core::ffi::c_void,
    /// Describes a device. An error: there is no such device.
    pub properties: ::core::option::Option<
        unsafe extern "C" fn(
            ctx: *mut ::core::ffi::c_void,
            device: u32,
            properties: *mut weir_driver_properties,
            code: *mut ::core::ffi::c_int,
        ) -> ::core::ffi::c_int,
    >,
    /** Reserves `bytes` of device addresses without memory behind them. `bytes` is a multiple of the granularity, and
 `*base` must be aligned to it and not 0. The range may not go beyond the last address, nor overlap one that is
 still reserved.*/
    pub reserve: ::core::option::Option<
        unsafe extern "C" fn(
            ctx: *mut ::core::ffi::c_void,
            device: u32,
            bytes: u64,
            base: *mut u64,
            code: *mut ::core::ffi::c_int,
        ) -> ::core::ffi::c_int,
    >,
    /// Gives a whole range back; nothing is mapped in it any more.
    pub release: ::core::option::Option<
        unsafe extern "C" fn(
            ctx: *mut ::core::ffi::c_void,
            device: u32,
            base: u64,
            bytes: u64,
            code: *mut ::core::ffi::c_int,
        ) -> ::core::ffi::c_int,
    >,
    /// Creates one granule of physical memory. `*granule` is a number of the driver's choice.
    pub create: ::core::option::Option<
        unsafe extern "C" fn(
            ctx: *mut ::core::ffi::c_void,
            device: u32,
            granule: *mut u64,
            code: *mut ::core::ffi::c_int,
        ) -> ::core::ffi::c_int,
    >,
    /// Destroys a granule that is not mapped.
    pub destroy: ::core::option::Option<
        unsafe extern "C" fn(
            ctx: *mut ::core::ffi::c_void,
            device: u32,
            granule: u64,
            code: *mut ::core::ffi::c_int,
        ) -> ::core::ffi::c_int,
    >,
    /** Maps a granule at `at`, readable and writable by the device. `at` is aligned to the granularity and inside a
 reserved range, and nothing is mapped there. `stream` points to the stream that the memory is for, or is null;
 only drivers with WEIR_DRIVER_MAP_IN_STREAM_ORDER need it.*/
    pub map: ::core::option::Option<
        unsafe extern "C" fn(
            ctx: *mut ::core::ffi::c_void,
            device: u32,
            at: u64,
            granule: u64,
            stream: *const u64,
            code: *mut ::core::ffi::c_int,
        ) -> ::core::ffi::c_int,
    >,
    /// Unmaps the granule at `at`, which no unfinished work uses. `stream` as for `map`.
    pub unmap: ::core::option::Option<
        unsafe extern "C" fn(
            ctx: *mut ::core::ffi::c_void,
            device: u32,
            at: u64,
            stream: *const u64,
            code: *mut ::core::ffi::c_int,
        ) -> ::core::ffi::c_int,
    >,
    /** Lays a marker (an event of the device) behind everything queued on the stream so far. The slot may have been laid
 before, even on another stream, and even if it is not complete: waits that took it keep what they took.*/
    pub lay: ::core::option::Option<
        unsafe extern "C" fn(
            ctx: *mut ::core::ffi::c_void,
            slot: u32,
            stream: u64,
            code: *mut ::core::ffi::c_int,
        ) -> ::core::ffi::c_int,
    >,
    /// Asks, without waiting. `*complete`: 1 where all of it is complete, 0 where some of it is not; no other number.
    pub query: ::core::option::Option<
        unsafe extern "C" fn(
            ctx: *mut ::core::ffi::c_void,
            what: *const weir_driver_target,
            complete: *mut ::core::ffi::c_int,
            code: *mut ::core::ffi::c_int,
        ) -> ::core::ffi::c_int,
    >,
    /// Makes whatever is queued on the stream from now on wait, on the device, for the latest lay of the slot.
    pub wait: ::core::option::Option<
        unsafe extern "C" fn(
            ctx: *mut ::core::ffi::c_void,
            stream: u64,
            slot: u32,
            code: *mut ::core::ffi::c_int,
        ) -> ::core::ffi::c_int,
    >,
    /// Waits on the host.
    pub synchronise: ::core::option::Option<
        unsafe extern "C" fn(
            ctx: *mut ::core::ffi::c_void,
            what: *const weir_driver_target,
            code: *mut ::core::ffi::c_int,
        ) -> ::core::ffi::c_int,
    >,
    /// Reads a monotonic clock, in nanoseconds. It must be harmless wherever the program frees memory.
    pub now: ::core::option::Option<
        unsafe extern "C" fn(ctx: *mut ::core::ffi::c_void) -> u64,
    >,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of weir_driver_ops"][::core::mem::size_of::<weir_driver_ops>() - 112usize];
    [
        "Alignment of weir_driver_ops",
    ][::core::mem::align_of::<weir_driver_ops>() - 8usize];
    [
        "Offset of field: weir_driver_ops::abi",
    ][::core::mem::offset_of!(weir_driver_ops, abi) - 0usize];
    [
        "Offset of field: weir_driver_ops::size",
    ][::core::mem::offset_of!(weir_driver_ops, size) - 4usize];
    [
        "Offset of field: weir_driver_ops::ctx",
    ][::core::mem::offset_of!(weir_driver_ops, ctx) - 8usize];
    [
        "Offset of field: weir_driver_ops::properties",
    ][::core::mem::offset_of!(weir_driver_ops, properties) - 16usize];
    [
        "Offset of field: weir_driver_ops::reserve",
    ][::core::mem::offset_of!(weir_driver_ops, reserve) - 24usize];
    [
        "Offset of field: weir_driver_ops::release",
    ][::core::mem::offset_of!(weir_driver_ops, release) - 32usize];
    [
        "Offset of field: weir_driver_ops::create",
    ][::core::mem::offset_of!(weir_driver_ops, create) - 40usize];
    [
        "Offset of field: weir_driver_ops::destroy",
    ][::core::mem::offset_of!(weir_driver_ops, destroy) - 48usize];
    [
        "Offset of field: weir_driver_ops::map",
    ][::core::mem::offset_of!(weir_driver_ops, map) - 56usize];
    [
        "Offset of field: weir_driver_ops::unmap",
    ][::core::mem::offset_of!(weir_driver_ops, unmap) - 64usize];
    [
        "Offset of field: weir_driver_ops::lay",
    ][::core::mem::offset_of!(weir_driver_ops, lay) - 72usize];
    [
        "Offset of field: weir_driver_ops::query",
    ][::core::mem::offset_of!(weir_driver_ops, query) - 80usize];
    [
        "Offset of field: weir_driver_ops::wait",
    ][::core::mem::offset_of!(weir_driver_ops, wait) - 88usize];
    [
        "Offset of field: weir_driver_ops::synchronise",
    ][::core::mem::offset_of!(weir_driver_ops, synchronise) - 96usize];
    [
        "Offset of field: weir_driver_ops::now",
    ][::core::mem::offset_of!(weir_driver_ops, now) - 104usize];
};
pub mod weir_status {
    /// What functions return. The numbers are stable; new ones may be added at the end.
    pub type Type = ::core::ffi::c_uint;
    /// Done.
    pub const WEIR_OK: Type = 0;
    /// A null pointer, or a number that the function does not know.
    pub const WEIR_INVALID_ARGUMENT: Type = 1;
    /// A handle names nothing: it never did, its object is gone, or it belongs to another runtime.
    pub const WEIR_BAD_HANDLE: Type = 2;
    /// A device pointer is not the start of a live block.
    pub const WEIR_BAD_POINTER: Type = 3;
    /// The block was freed before.
    pub const WEIR_DOUBLE_FREE: Type = 4;
    /// Zero bytes were asked for.
    pub const WEIR_ZERO_SIZE: Type = 5;
    /// More was asked for than the pool, or the device, may ever hold.
    pub const WEIR_ABOVE_LIMIT: Type = 6;
    /// Nothing helped: the text says what is used, free and pending, and what would release it.
    pub const WEIR_OUT_OF_MEMORY: Type = 7;
    /// The pool's range of addresses has no hole that is long enough.
    pub const WEIR_NO_ADDRESS_RANGE: Type = 8;
    /// Stream and pool are on different devices.
    pub const WEIR_OTHER_DEVICE: Type = 9;
    /// The stream is being captured.
    pub const WEIR_CAPTURING: Type = 10;
    /// One of the capacities that the runtime was created with is used up.
    pub const WEIR_CAPACITY: Type = 11;
    /// A driver call failed; what was begun was undone.
    pub const WEIR_DRIVER_ERROR: Type = 12;
    /// A synchronisation ran into the driver's time limit.
    pub const WEIR_TIMED_OUT: Type = 13;
    /// Live blocks are left in the pool.
    pub const WEIR_LIVE_BLOCKS: Type = 14;
    /// The attribute is read only, or a high mark, which can only be set to 0.
    pub const WEIR_READ_ONLY: Type = 15;
    /// Something of that key is there already.
    pub const WEIR_EXISTS: Type = 16;
    /// A name is too long, or no UTF-8.
    pub const WEIR_BAD_NAME: Type = 17;
    /// A driver table or what it says of its device makes no sense.
    pub const WEIR_BAD_DRIVER: Type = 18;
    /// The call needs the host driver, and the runtime has another.
    pub const WEIR_NOT_HOST: Type = 19;
    /// The operating system refused a file, a thread or memory.
    pub const WEIR_SYSTEM: Type = 20;
    /// The lock is taken (`try` functions), or the call would wait for itself: see weir_destroy, weir_set_pressure.
    pub const WEIR_BUSY: Type = 21;
    /// The bookkeeping contradicted itself; the runtime refuses further calls. A defect of weir.
    pub const WEIR_CORRUPT: Type = 22;
    /// A defect of weir was caught at the edge of the library.
    pub const WEIR_INTERNAL: Type = 23;
}
/// A runtime: pools, streams and events of one driver.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_runtime {
    pub id: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of weir_runtime"][::core::mem::size_of::<weir_runtime>() - 8usize];
    ["Alignment of weir_runtime"][::core::mem::align_of::<weir_runtime>() - 8usize];
    [
        "Offset of field: weir_runtime::id",
    ][::core::mem::offset_of!(weir_runtime, id) - 0usize];
};
/// A pool of device memory.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_pool {
    pub id: u64,
    /// The runtime that it belongs to.
    pub runtime: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of weir_pool"][::core::mem::size_of::<weir_pool>() - 16usize];
    ["Alignment of weir_pool"][::core::mem::align_of::<weir_pool>() - 8usize];
    ["Offset of field: weir_pool::id"][::core::mem::offset_of!(weir_pool, id) - 0usize];
    [
        "Offset of field: weir_pool::runtime",
    ][::core::mem::offset_of!(weir_pool, runtime) - 8usize];
};
/// A stream of work on a device.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_stream {
    pub id: u64,
    /// The runtime that it belongs to.
    pub runtime: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of weir_stream"][::core::mem::size_of::<weir_stream>() - 16usize];
    ["Alignment of weir_stream"][::core::mem::align_of::<weir_stream>() - 8usize];
    [
        "Offset of field: weir_stream::id",
    ][::core::mem::offset_of!(weir_stream, id) - 0usize];
    [
        "Offset of field: weir_stream::runtime",
    ][::core::mem::offset_of!(weir_stream, runtime) - 8usize];
};
/// An event that is recorded on streams.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_event {
    pub id: u64,
    /// The runtime that it belongs to.
    pub runtime: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of weir_event"][::core::mem::size_of::<weir_event>() - 16usize];
    ["Alignment of weir_event"][::core::mem::align_of::<weir_event>() - 8usize];
    [
        "Offset of field: weir_event::id",
    ][::core::mem::offset_of!(weir_event, id) - 0usize];
    [
        "Offset of field: weir_event::runtime",
    ][::core::mem::offset_of!(weir_event, runtime) - 8usize];
};
/// An address of a device; 0 is none. On the host driver it is an address of this process.
pub type weir_ptr = u64;
unsafe extern "C" {
    /// The library's version: major * 65536 + minor * 256 + patch.
    pub fn weir_version() -> u32;
}
unsafe extern "C" {
    /// A status by its name in this header, such as "WEIR_OUT_OF_MEMORY"; "unknown status" for other numbers.
    pub fn weir_status_name(status: ::core::ffi::c_int) -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    /** Copies the text of the latest error on this thread, cut to `size` - 1 bytes, with a 0 behind it. The answer is the
 length of the whole text without the 0, also when nothing is copied (`buffer` null or `size` 0). UTF-8. Without an
 error so far it is empty; a call that succeeds does not change it.*/
    pub fn weir_last_error(buffer: *mut ::core::ffi::c_char, size: usize) -> usize;
}
/// Gets each finished page of the log, of at most 4096 bytes. May not call weir about the same runtime.
pub type weir_log_fn = ::core::option::Option<
    unsafe extern "C" fn(user: *mut ::core::ffi::c_void, page: *const u8, length: usize),
>;
/// How a runtime is made: how many of each it can hold, and where its log goes.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_config {
    /// sizeof(struct weir_config); `weir_config_init` sets it.
    pub size: u32,
    /// Zero.
    pub reserved: u32,
    /// Streams at once, at most 65536.
    pub streams: u64,
    /// Events at once.
    pub events: u64,
    /// Markers of weir's own at once.
    pub markers: u64,
    /// Pools at once.
    pub pools: u64,
    /// Blocks at once: live, free and unmapped runs together.
    pub blocks: u64,
    /// Granules of physical memory at once.
    pub granules: u64,
    /// Names of labels and marks.
    pub labels: u64,
    /// Pages of the log that may wait to be written. Only taken where there is a log.
    pub pages: u64,
    /// File that the log is written to, made anew; null: none.
    pub log_path: *const ::core::ffi::c_char,
    /// Function that gets the log's pages; null: none.
    pub log_fn: weir_log_fn,
    /// Handed to `log_fn`.
    pub log_user: *mut ::core::ffi::c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of weir_config"][::core::mem::size_of::<weir_config>() - 96usize];
    ["Alignment of weir_config"][::core::mem::align_of::<weir_config>() - 8usize];
    [
        "Offset of field: weir_config::size",
    ][::core::mem::offset_of!(weir_config, size) - 0usize];
    [
        "Offset of field: weir_config::reserved",
    ][::core::mem::offset_of!(weir_config, reserved) - 4usize];
    [
        "Offset of field: weir_config::streams",
    ][::core::mem::offset_of!(weir_config, streams) - 8usize];
    [
        "Offset of field: weir_config::events",
    ][::core::mem::offset_of!(weir_config, events) - 16usize];
    [
        "Offset of field: weir_config::markers",
    ][::core::mem::offset_of!(weir_config, markers) - 24usize];
    [
        "Offset of field: weir_config::pools",
    ][::core::mem::offset_of!(weir_config, pools) - 32usize];
    [
        "Offset of field: weir_config::blocks",
    ][::core::mem::offset_of!(weir_config, blocks) - 40usize];
    [
        "Offset of field: weir_config::granules",
    ][::core::mem::offset_of!(weir_config, granules) - 48usize];
    [
        "Offset of field: weir_config::labels",
    ][::core::mem::offset_of!(weir_config, labels) - 56usize];
    [
        "Offset of field: weir_config::pages",
    ][::core::mem::offset_of!(weir_config, pages) - 64usize];
    [
        "Offset of field: weir_config::log_path",
    ][::core::mem::offset_of!(weir_config, log_path) - 72usize];
    [
        "Offset of field: weir_config::log_fn",
    ][::core::mem::offset_of!(weir_config, log_fn) - 80usize];
    [
        "Offset of field: weir_config::log_user",
    ][::core::mem::offset_of!(weir_config, log_user) - 88usize];
};
unsafe extern "C" {
    /// The defaults: 64 streams, 256 events, 256 markers, 16 pools, 65536 blocks and granules, 1024 labels, no log.
    pub fn weir_config_init(config: *mut weir_config) -> ::core::ffi::c_int;
}
/// How the host driver's devices are made. They are alike.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_host_config {
    /// sizeof(struct weir_host_config); `weir_host_config_init` sets it.
    pub size: u32,
    /// Number of devices.
    pub devices: u32,
    /** Physical memory of each. 0: what the environment variable WEIR_HOST_BYTES says (a number of bytes, or one with
 KiB, MiB, GiB, TiB (or K, M, G, T; units of 1024) or kB, MB, GB, TB (units of 1000) behind it, in upper or lower
 case), or 64 GiB where it is not set. Only what is written takes memory of the machine.*/
    pub total: u64,
    /// Size of a granule: a power of two and a multiple of the page size.
    pub granularity: u64,
    /// Alignment and rounding of blocks: a power of two that divides the granularity.
    pub alignment: u64,
    /// Nanoseconds that a synchronisation waits before it times out. 0: for ever.
    pub patience: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of weir_host_config"][::core::mem::size_of::<weir_host_config>() - 40usize];
    [
        "Alignment of weir_host_config",
    ][::core::mem::align_of::<weir_host_config>() - 8usize];
    [
        "Offset of field: weir_host_config::size",
    ][::core::mem::offset_of!(weir_host_config, size) - 0usize];
    [
        "Offset of field: weir_host_config::devices",
    ][::core::mem::offset_of!(weir_host_config, devices) - 4usize];
    [
        "Offset of field: weir_host_config::total",
    ][::core::mem::offset_of!(weir_host_config, total) - 8usize];
    [
        "Offset of field: weir_host_config::granularity",
    ][::core::mem::offset_of!(weir_host_config, granularity) - 16usize];
    [
        "Offset of field: weir_host_config::alignment",
    ][::core::mem::offset_of!(weir_host_config, alignment) - 24usize];
    [
        "Offset of field: weir_host_config::patience",
    ][::core::mem::offset_of!(weir_host_config, patience) - 32usize];
};
unsafe extern "C" {
    /// The defaults: one device, `total` 0, granules of 2 MiB, blocks of 512 bytes, no time limit.
    pub fn weir_host_config_init(config: *mut weir_host_config) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// Makes a runtime on the host driver. Either configuration may be null: the defaults. Linux only.
    pub fn weir_create_host(
        config: *const weir_config,
        host: *const weir_host_config,
        runtime: *mut weir_runtime,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// Makes a runtime on a driver of the program's own. `config` may be null: the defaults. The table is copied.
    pub fn weir_create_with_driver(
        config: *const weir_config,
        ops: *const weir_driver_ops,
        runtime: *mut weir_runtime,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /** Bare metal only: makes a runtime in `bytes` bytes at `storage`, which are the runtime's alone until weir_destroy. There
 is no default for `config`, whose `log_path` must be null. WEIR_CAPACITY: the storage is too small for the capacities
 (WEIR_STORAGE_BYTES is enough), or four runtimes are there already.*/
    pub fn weir_create_static(
        storage: *mut ::core::ffi::c_void,
        bytes: usize,
        config: *const weir_config,
        ops: *const weir_driver_ops,
        runtime: *mut weir_runtime,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /** Waits for the calls about the runtime that other threads are in (later ones answer WEIR_BAD_HANDLE) and for the
 devices' work, gives all memory back, ends the host streams and writes the rest of the log. When it returns, no
 function of the program's (driver, log) is called any more. The runtime and all its handles are gone then, also where
 the answer says that something of this failed, or WEIR_SYSTEM that the log is not whole. Nothing was done only after
 WEIR_BAD_HANDLE, and after WEIR_BUSY: it was called from where it would wait for itself, a kernel of the runtime's or a
 function that a call about the runtime is in, such as the driver's.*/
    pub fn weir_destroy(runtime: weir_runtime) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /** Ends the current page of the log and writes everything. WEIR_SYSTEM where records were lost since the runtime was
 made; the text says how many and why.*/
    pub fn weir_log_flush(runtime: weir_runtime) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// Checks the whole bookkeeping. WEIR_CORRUPT: the text names what is wrong. Takes time linear in the blocks.
    pub fn weir_verify(runtime: weir_runtime) -> ::core::ffi::c_int;
}
/// Driver calls that succeeded, and what weir did of its own accord, since the runtime was made.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_counters {
    pub create: u64,
    pub destroy: u64,
    pub map: u64,
    pub unmap: u64,
    /// Markers of weir's own.
    pub mark: u64,
    /// Queries for reuse.
    pub query: u64,
    /// Waits that weir inserted.
    pub wait: u64,
    pub synchronise: u64,
    /// Driver calls that failed.
    pub failed: u64,
    /// Records of the log that were lost.
    pub records_lost: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of weir_counters"][::core::mem::size_of::<weir_counters>() - 80usize];
    ["Alignment of weir_counters"][::core::mem::align_of::<weir_counters>() - 8usize];
    [
        "Offset of field: weir_counters::create",
    ][::core::mem::offset_of!(weir_counters, create) - 0usize];
    [
        "Offset of field: weir_counters::destroy",
    ][::core::mem::offset_of!(weir_counters, destroy) - 8usize];
    [
        "Offset of field: weir_counters::map",
    ][::core::mem::offset_of!(weir_counters, map) - 16usize];
    [
        "Offset of field: weir_counters::unmap",
    ][::core::mem::offset_of!(weir_counters, unmap) - 24usize];
    [
        "Offset of field: weir_counters::mark",
    ][::core::mem::offset_of!(weir_counters, mark) - 32usize];
    [
        "Offset of field: weir_counters::query",
    ][::core::mem::offset_of!(weir_counters, query) - 40usize];
    [
        "Offset of field: weir_counters::wait",
    ][::core::mem::offset_of!(weir_counters, wait) - 48usize];
    [
        "Offset of field: weir_counters::synchronise",
    ][::core::mem::offset_of!(weir_counters, synchronise) - 56usize];
    [
        "Offset of field: weir_counters::failed",
    ][::core::mem::offset_of!(weir_counters, failed) - 64usize];
    [
        "Offset of field: weir_counters::records_lost",
    ][::core::mem::offset_of!(weir_counters, records_lost) - 72usize];
};
unsafe extern "C" {
    /// Reads the counters.
    pub fn weir_get_counters(
        runtime: weir_runtime,
        counters: *mut weir_counters,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /** Opens CUDA's driver interface (version 10.2 or later) and fills the table, which then goes to weir_create_with_driver
 and in the end to weir_driver_close. Linux only. Tried on stand-ins of the vendors' libraries, not on hardware.

 `library`: an absolute path, or a file name that the system's loader looks for, of the vendor's library. Null: what the
 environment variable WEIR_CUDA_LIBRARY says, and where that is not set, "libcuda.so.1". It stays loaded.

 One table drives all of the vendor's devices, by the vendor's numbers. The program makes its streams with the vendor's
 functions, in the device's primary context, and registers them (weir_stream_register) with the handle as `native`;
 streams of other contexts are refused where a call names them. The default stream (0) is understood while one device
 alone is in use, CUDA's default stream of each thread not at all. A pool's memory is for its own device only.

 WEIR_SYSTEM: the library does not load. WEIR_BAD_DRIVER: it lacks a function, or its version does not do.
 WEIR_DRIVER_ERROR: the vendor refused, often because there is no device. The text names the library, the function, the
 versions, or the vendor's code. Codes below 0 in later errors are weir's own: -1 no memory on the host, -2 no such
 device, -3 a stream of another context, -4 a default stream of nobody knows which device or thread, -5 a device was
 asked whether it is complete, -6 the device cannot map memory.*/
    pub fn weir_driver_cuda(
        library: *const ::core::ffi::c_char,
        ops: *mut weir_driver_ops,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// The same for HIP (version 6.0 or later): WEIR_HIP_LIBRARY, "libamdhip64.so", alone or with .7 or .6 behind it.
    pub fn weir_driver_hip(
        library: *const ::core::ffi::c_char,
        ops: *mut weir_driver_ops,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /** The same for Ascend's ACL (interface version 1, CANN 8 or 9): WEIR_ACL_LIBRARY, "libascendcl.so". Streams are those of
 a device's default context, which aclrtSetDevice makes. aclInit is called where the program did not, aclFinalize never.
 A thread without a context has the default one after a call.*/
    pub fn weir_driver_acl(
        library: *const ::core::ffi::c_char,
        ops: *mut weir_driver_ops,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /** Closes what one of the above opened, after weir_destroy: destroys its events, lets go of its contexts, and empties the
 table. Once for each table, however often it was copied. WEIR_INVALID_ARGUMENT: it is none of theirs, or is empty.*/
    pub fn weir_driver_close(ops: *mut weir_driver_ops) -> ::core::ffi::c_int;
}
pub mod weir_reuse {
    /// Reuse that can be switched off: bits of `weir_pool_config.reuse`, attributes 1 to 3 of a pool.
    pub type Type = ::core::ffi::c_uint;
    /// Along the events that the program recorded and waited for.
    pub const WEIR_REUSE_EVENT: Type = 1;
    /// Where the driver, asked without waiting, says that a free is complete.
    pub const WEIR_REUSE_OPPORTUNISTIC: Type = 2;
    /// By making the stream wait on the device for another stream's free.
    pub const WEIR_REUSE_INTERNAL: Type = 4;
}
pub mod weir_preference {
    /// What comes first when nothing free is usable at once.
    pub type Type = ::core::ffi::c_uint;
    /// Mapping new memory, as in CUDA.
    pub const WEIR_GROW_FIRST: Type = 0;
    /// Waiting on the device, as in CANN.
    pub const WEIR_WAIT_FIRST: Type = 1;
}
pub mod weir_release {
    /// What a synchronisation does with memory above the release threshold.
    pub type Type = ::core::ffi::c_uint;
    /** It gives it back; but where the same bytes were given back and mapped again for three rounds, the pool keeps what
 recent rounds needed until demand falls. A round is the time between two synchronisations.*/
    pub const WEIR_RELEASE_HYSTERESIS: Type = 0;
    /// It gives it back every time, as in CUDA and CANN.
    pub const WEIR_RELEASE_ALWAYS: Type = 1;
}
pub mod weir_blocking {
    /// What comes before a refusal when memory was freed, but its work is not finished.
    pub type Type = ::core::ffi::c_uint;
    /// Nothing: an allocation never waits on the host.
    pub const WEIR_BLOCKING_NEVER: Type = 0;
    /** The host waits for the work that holds most back, as long as that helps. A kernel of the host driver may not
 allocate from such a pool: it might wait for itself.*/
    pub const WEIR_BLOCKING_WHEN_EXHAUSTED: Type = 1;
}
/// How a pool is made.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_pool_config {
    /// sizeof(struct weir_pool_config); `weir_pool_config_init` sets it.
    pub size: u32,
    /// The device whose memory the pool maps.
    pub device: u32,
    /// The most physical memory that the pool may hold; rounded up to whole granules. 0: the device's total.
    pub limit: u64,
    /// Reserved bytes that are kept at a synchronisation. More may be kept: see `release`.
    pub threshold: u64,
    /// Bits of `enum weir_reuse`.
    pub reuse: u32,
    /// One of `enum weir_preference`.
    pub preference: u32,
    /// Requests up to this size are packed apart from larger ones. UINT64_MAX: an eighth of a granule.
    pub small_limit: u64,
    /** The pool grows by at least this many bytes, in whole granules, as far as the limit and the device allow: fewer,
 larger growths. 0: by no more than a request needs.*/
    pub growth_step: u64,
    /// One of `enum weir_release`.
    pub release: u32,
    /// One of `enum weir_blocking`.
    pub blocking: u32,
    /** How many times its limit the pool reserves as addresses. 0: as many as whole granules need in the worst case
 where the device's addresses are cheap (WEIR_DRIVER_SPARSE_ADDRESSES), 1 elsewhere.*/
    pub addresses: u32,
    /// Zero.
    pub reserved: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of weir_pool_config"][::core::mem::size_of::<weir_pool_config>() - 64usize];
    [
        "Alignment of weir_pool_config",
    ][::core::mem::align_of::<weir_pool_config>() - 8usize];
    [
        "Offset of field: weir_pool_config::size",
    ][::core::mem::offset_of!(weir_pool_config, size) - 0usize];
    [
        "Offset of field: weir_pool_config::device",
    ][::core::mem::offset_of!(weir_pool_config, device) - 4usize];
    [
        "Offset of field: weir_pool_config::limit",
    ][::core::mem::offset_of!(weir_pool_config, limit) - 8usize];
    [
        "Offset of field: weir_pool_config::threshold",
    ][::core::mem::offset_of!(weir_pool_config, threshold) - 16usize];
    [
        "Offset of field: weir_pool_config::reuse",
    ][::core::mem::offset_of!(weir_pool_config, reuse) - 24usize];
    [
        "Offset of field: weir_pool_config::preference",
    ][::core::mem::offset_of!(weir_pool_config, preference) - 28usize];
    [
        "Offset of field: weir_pool_config::small_limit",
    ][::core::mem::offset_of!(weir_pool_config, small_limit) - 32usize];
    [
        "Offset of field: weir_pool_config::growth_step",
    ][::core::mem::offset_of!(weir_pool_config, growth_step) - 40usize];
    [
        "Offset of field: weir_pool_config::release",
    ][::core::mem::offset_of!(weir_pool_config, release) - 48usize];
    [
        "Offset of field: weir_pool_config::blocking",
    ][::core::mem::offset_of!(weir_pool_config, blocking) - 52usize];
    [
        "Offset of field: weir_pool_config::addresses",
    ][::core::mem::offset_of!(weir_pool_config, addresses) - 56usize];
    [
        "Offset of field: weir_pool_config::reserved",
    ][::core::mem::offset_of!(weir_pool_config, reserved) - 60usize];
};
unsafe extern "C" {
    /** The defaults: limit = the device's total, threshold 0, all reuse, growing first and by what is needed, release with
 hysteresis, no blocking, addresses as the device has them.*/
    pub fn weir_pool_config_init(
        config: *mut weir_pool_config,
        device: u32,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// Makes a pool.
    pub fn weir_pool_create(
        runtime: weir_runtime,
        config: *const weir_pool_config,
        pool: *mut weir_pool,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// The device's default pool, made on first use.
    pub fn weir_pool_default(
        runtime: weir_runtime,
        device: u32,
        pool: *mut weir_pool,
    ) -> ::core::ffi::c_int;
}
pub mod weir_destroy_how {
    /// What to do with blocks that are live when their pool is destroyed.
    pub type Type = ::core::ffi::c_uint;
    /// Refuse with WEIR_LIVE_BLOCKS.
    pub const WEIR_DESTROY_IF_EMPTY: Type = 0;
    /// Take everything queued on the device's streams as their last use.
    pub const WEIR_DESTROY_WITH_LIVE_BLOCKS: Type = 1;
}
unsafe extern "C" {
    /// Destroys a pool. `how` is one of `enum weir_destroy_how`.
    pub fn weir_pool_destroy(
        runtime: weir_runtime,
        pool: weir_pool,
        how: u32,
    ) -> ::core::ffi::c_int;
}
pub mod weir_pool_attribute {
    /// The attributes of a pool; the numbers are those of CUDA and CANN.
    pub type Type = ::core::ffi::c_uint;
    /// WEIR_REUSE_EVENT: 0 or 1.
    pub const WEIR_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES: Type = 1;
    /// WEIR_REUSE_OPPORTUNISTIC: 0 or 1.
    pub const WEIR_ATTR_REUSE_ALLOW_OPPORTUNISTIC: Type = 2;
    /// WEIR_REUSE_INTERNAL: 0 or 1.
    pub const WEIR_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: Type = 3;
    /// Reserved bytes that are kept at a synchronisation. UINT64_MAX: nothing is ever released.
    pub const WEIR_ATTR_RELEASE_THRESHOLD: Type = 4;
    /// Mapped physical bytes. Read only.
    pub const WEIR_ATTR_RESERVED_MEM_CURRENT: Type = 5;
    /// The most of that since the last reset. Setting it to 0 resets it to the current value.
    pub const WEIR_ATTR_RESERVED_MEM_HIGH: Type = 6;
    /// Bytes in live blocks. Read only.
    pub const WEIR_ATTR_USED_MEM_CURRENT: Type = 7;
    /// The most of that since the last reset. Setting it to 0 resets it to the current value.
    pub const WEIR_ATTR_USED_MEM_HIGH: Type = 8;
}
unsafe extern "C" {
    /// Reads an attribute, one of `enum weir_pool_attribute`.
    pub fn weir_pool_get_attribute(
        runtime: weir_runtime,
        pool: weir_pool,
        attribute: u32,
        value: *mut u64,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// Sets an attribute, one of `enum weir_pool_attribute`.
    pub fn weir_pool_set_attribute(
        runtime: weir_runtime,
        pool: weir_pool,
        attribute: u32,
        value: u64,
    ) -> ::core::ffi::c_int;
}
/// Freed bytes that the work of one stream holds.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_pending_on {
    /// The stream. Synchronising it up to `until` lets them go.
    pub stream: weir_stream,
    /// The position that they wait for.
    pub until: u64,
    /// How many bytes; 0: there is no such stream, and nothing else here counts.
    pub bytes: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of weir_pending_on"][::core::mem::size_of::<weir_pending_on>() - 32usize];
    [
        "Alignment of weir_pending_on",
    ][::core::mem::align_of::<weir_pending_on>() - 8usize];
    [
        "Offset of field: weir_pending_on::stream",
    ][::core::mem::offset_of!(weir_pending_on, stream) - 0usize];
    [
        "Offset of field: weir_pending_on::until",
    ][::core::mem::offset_of!(weir_pending_on, until) - 16usize];
    [
        "Offset of field: weir_pending_on::bytes",
    ][::core::mem::offset_of!(weir_pending_on, bytes) - 24usize];
};
/// What a trim reached.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_trimmed {
    /// Reserved bytes afterwards, and what holds them:
    pub reserved: u64,
    /// Bytes in live blocks.
    pub live: u64,
    /// Freed bytes whose work is not complete.
    pub pending: u64,
    /// Free bytes in granules that are used in part.
    pub partial: u64,
    /// How many streams hold pending bytes.
    pub pending_streams: u64,
    /// The four of them that hold most, most first. Bytes that several streams hold count with each.
    pub pending_on: [weir_pending_on; 4usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of weir_trimmed"][::core::mem::size_of::<weir_trimmed>() - 168usize];
    ["Alignment of weir_trimmed"][::core::mem::align_of::<weir_trimmed>() - 8usize];
    [
        "Offset of field: weir_trimmed::reserved",
    ][::core::mem::offset_of!(weir_trimmed, reserved) - 0usize];
    [
        "Offset of field: weir_trimmed::live",
    ][::core::mem::offset_of!(weir_trimmed, live) - 8usize];
    [
        "Offset of field: weir_trimmed::pending",
    ][::core::mem::offset_of!(weir_trimmed, pending) - 16usize];
    [
        "Offset of field: weir_trimmed::partial",
    ][::core::mem::offset_of!(weir_trimmed, partial) - 24usize];
    [
        "Offset of field: weir_trimmed::pending_streams",
    ][::core::mem::offset_of!(weir_trimmed, pending_streams) - 32usize];
    [
        "Offset of field: weir_trimmed::pending_on",
    ][::core::mem::offset_of!(weir_trimmed, pending_on) - 40usize];
};
unsafe extern "C" {
    /// Gives free granules back until at most `keep` bytes are reserved, or no more can go. `trimmed` may be null.
    pub fn weir_pool_trim(
        runtime: weir_runtime,
        pool: weir_pool,
        keep: u64,
        trimmed: *mut weir_trimmed,
    ) -> ::core::ffi::c_int;
}
pub mod weir_source {
    /// The kinds of memory that an allocation was made of: places in `weir_pool_stats.reuse`.
    pub type Type = ::core::ffi::c_uint;
    /// Freed on the same stream.
    pub const WEIR_SOURCE_SAME_STREAM: Type = 0;
    /// Known to be complete on the device.
    pub const WEIR_SOURCE_SETTLED: Type = 1;
    /// Ordered along the program's events.
    pub const WEIR_SOURCE_EVENT: Type = 2;
    /// The driver, asked, said that it is complete.
    pub const WEIR_SOURCE_OPPORTUNISTIC: Type = 3;
    /// A wait was inserted.
    pub const WEIR_SOURCE_INTERNAL: Type = 4;
    /// New granules were mapped.
    pub const WEIR_SOURCE_GROW: Type = 5;
    /// How many there are.
    pub const WEIR_SOURCES: Type = 6;
}
/// What a pool holds and did.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_pool_stats {
    /// The pool's range of addresses: where it begins, and its size.
    pub base: weir_ptr,
    pub range: u64,
    /// Bytes in live blocks, as rounded up, and the most of them since the last reset.
    pub used: u64,
    pub used_high: u64,
    /// Mapped physical bytes, and the most of them since the last reset.
    pub reserved: u64,
    pub reserved_high: u64,
    /// Bytes in live blocks as they were asked for, and the most of them.
    pub requested: u64,
    pub requested_high: u64,
    /// Number of live blocks.
    pub live_blocks: u64,
    /// Allocations that succeeded, frees that succeeded, allocations that were refused.
    pub mallocs: u64,
    pub frees: u64,
    pub refused: u64,
    /// Bytes that a synchronisation gave back and that were mapped again before the next.
    pub thrash: u64,
    /** Bytes that a synchronisation leaves beyond the threshold, where so many are reserved: see
 WEIR_RELEASE_HYSTERESIS.*/
    pub kept: u64,
    /// Allocations by `enum weir_source`.
    pub reuse: [u64; 6usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of weir_pool_stats"][::core::mem::size_of::<weir_pool_stats>() - 160usize];
    [
        "Alignment of weir_pool_stats",
    ][::core::mem::align_of::<weir_pool_stats>() - 8usize];
    [
        "Offset of field: weir_pool_stats::base",
    ][::core::mem::offset_of!(weir_pool_stats, base) - 0usize];
    [
        "Offset of field: weir_pool_stats::range",
    ][::core::mem::offset_of!(weir_pool_stats, range) - 8usize];
    [
        "Offset of field: weir_pool_stats::used",
    ][::core::mem::offset_of!(weir_pool_stats, used) - 16usize];
    [
        "Offset of field: weir_pool_stats::used_high",
    ][::core::mem::offset_of!(weir_pool_stats, used_high) - 24usize];
    [
        "Offset of field: weir_pool_stats::reserved",
    ][::core::mem::offset_of!(weir_pool_stats, reserved) - 32usize];
    [
        "Offset of field: weir_pool_stats::reserved_high",
    ][::core::mem::offset_of!(weir_pool_stats, reserved_high) - 40usize];
    [
        "Offset of field: weir_pool_stats::requested",
    ][::core::mem::offset_of!(weir_pool_stats, requested) - 48usize];
    [
        "Offset of field: weir_pool_stats::requested_high",
    ][::core::mem::offset_of!(weir_pool_stats, requested_high) - 56usize];
    [
        "Offset of field: weir_pool_stats::live_blocks",
    ][::core::mem::offset_of!(weir_pool_stats, live_blocks) - 64usize];
    [
        "Offset of field: weir_pool_stats::mallocs",
    ][::core::mem::offset_of!(weir_pool_stats, mallocs) - 72usize];
    [
        "Offset of field: weir_pool_stats::frees",
    ][::core::mem::offset_of!(weir_pool_stats, frees) - 80usize];
    [
        "Offset of field: weir_pool_stats::refused",
    ][::core::mem::offset_of!(weir_pool_stats, refused) - 88usize];
    [
        "Offset of field: weir_pool_stats::thrash",
    ][::core::mem::offset_of!(weir_pool_stats, thrash) - 96usize];
    [
        "Offset of field: weir_pool_stats::kept",
    ][::core::mem::offset_of!(weir_pool_stats, kept) - 104usize];
    [
        "Offset of field: weir_pool_stats::reuse",
    ][::core::mem::offset_of!(weir_pool_stats, reuse) - 112usize];
};
unsafe extern "C" {
    /// Reads a pool's statistics.
    pub fn weir_pool_get_stats(
        runtime: weir_runtime,
        pool: weir_pool,
        stats: *mut weir_pool_stats,
    ) -> ::core::ffi::c_int;
}
/// Gets, for one stream, how many freed bytes its work holds, and the position that they wait for. May call anything.
pub type weir_pending_fn = ::core::option::Option<
    unsafe extern "C" fn(
        user: *mut ::core::ffi::c_void,
        stream: weir_stream,
        until: u64,
        bytes: u64,
    ),
>;
unsafe extern "C" {
    /// Names every stream that holds freed bytes which `stream` may not use yet.
    pub fn weir_pool_pending(
        runtime: weir_runtime,
        pool: weir_pool,
        stream: weir_stream,
        fn_: weir_pending_fn,
        user: *mut ::core::ffi::c_void,
    ) -> ::core::ffi::c_int;
}
/** Told that an allocation of `bytes` (as rounded up) from this pool is about to be refused, so that the program can give
 memory back, in the pool or elsewhere on the device. Answers nonzero where it did: everything is tried again then, and
 the function is called again where that is not enough, at most 8 times in one allocation. 0: the allocation is refused.

 It runs on the thread that allocates, and no lock of weir's is held: it may do whatever may be done there. Only two
 things about the same runtime answer WEIR_BUSY: to allocate, for which it would be called in turn, and to destroy a
 pool, a stream or the runtime, which would wait for the allocation that it is called for.*/
pub type weir_pressure_fn = ::core::option::Option<
    unsafe extern "C" fn(
        user: *mut ::core::ffi::c_void,
        pool: weir_pool,
        device: u32,
        bytes: u64,
    ) -> ::core::ffi::c_int,
>;
unsafe extern "C" {
    /** Sets the function that is called before an allocation is refused, in place of the one before; null: none. The
 `try` functions do not call it. It may be called on several threads at once.

 It may be set at any time, also from within the function itself. An allocation that begins afterwards calls the new
 one. One that another thread is in at that moment may still call the old one, with the `user` that was set with it, so
 what that points to must stay until such allocations have returned; weir_destroy waits for them.*/
    pub fn weir_set_pressure(
        runtime: weir_runtime,
        fn_: weir_pressure_fn,
        user: *mut ::core::ffi::c_void,
    ) -> ::core::ffi::c_int;
}
pub mod weir_stream_kind {
    /// How a stream orders itself against others of its device.
    pub type Type = ::core::ffi::c_uint;
    /// Ordered only by events.
    pub const WEIR_STREAM_NON_BLOCKING: Type = 0;
    /// Waits for the legacy default stream's work and is waited for by it.
    pub const WEIR_STREAM_BLOCKING: Type = 1;
    /// The legacy default stream.
    pub const WEIR_STREAM_LEGACY: Type = 2;
    /// A thread's own default stream: as WEIR_STREAM_BLOCKING.
    pub const WEIR_STREAM_PER_THREAD: Type = 3;
}
unsafe extern "C" {
    /// Makes a stream of the host driver: a thread that runs kernels. `kind` is one of `enum weir_stream_kind`.
    pub fn weir_stream_create(
        runtime: weir_runtime,
        device: u32,
        kind: u32,
        stream: *mut weir_stream,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /** Makes a stream of the program's own driver known. `native` is the number by which the driver's functions are told of
 it, `context` an identity of the driver's (0 if it has none): the same three may not be registered twice.*/
    pub fn weir_stream_register(
        runtime: weir_runtime,
        device: u32,
        kind: u32,
        native: u64,
        context: u64,
        stream: *mut weir_stream,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /** Finishes what is queued on a host stream and ends it, or forgets a registered one. Meanwhile nothing more can be
 queued on it, and its work still counts as the device's.*/
    pub fn weir_stream_destroy(
        runtime: weir_runtime,
        stream: weir_stream,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /** Waits on the host for everything queued on the stream. Memory above the pools' thresholds is given back then, as
 `enum weir_release` says.*/
    pub fn weir_stream_synchronize(
        runtime: weir_runtime,
        stream: weir_stream,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// Waits on the host for everything queued on the device's streams, and gives memory back as above.
    pub fn weir_device_synchronize(
        runtime: weir_runtime,
        device: u32,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// Makes an event.
    pub fn weir_event_create(
        runtime: weir_runtime,
        event: *mut weir_event,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// Destroys an event. Waits that took it keep what they took.
    pub fn weir_event_destroy(
        runtime: weir_runtime,
        event: weir_event,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// Makes the event stand for everything queued on the stream so far.
    pub fn weir_event_record(
        runtime: weir_runtime,
        event: weir_event,
        stream: weir_stream,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// Makes what is queued on the stream from now on wait for what the event stands for now.
    pub fn weir_stream_wait_event(
        runtime: weir_runtime,
        stream: weir_stream,
        event: weir_event,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// Asks, without waiting. `*complete`: 1 or 0.
    pub fn weir_event_query(
        runtime: weir_runtime,
        event: weir_event,
        complete: *mut ::core::ffi::c_int,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// Waits on the host for what the event stands for, and gives memory back as above.
    pub fn weir_event_synchronize(
        runtime: weir_runtime,
        event: weir_event,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// Allocates in the order of the stream: what is queued on it from now on may use the memory.
    pub fn weir_malloc_async(
        runtime: weir_runtime,
        pool: weir_pool,
        bytes: u64,
        stream: weir_stream,
        ptr: *mut weir_ptr,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// The same, under a label, which the log shows: a number that weir_label gave out, or 0 for none.
    pub fn weir_malloc_labelled(
        runtime: weir_runtime,
        pool: weir_pool,
        bytes: u64,
        stream: weir_stream,
        label: u32,
        ptr: *mut weir_ptr,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// The same as weir_malloc_async, but WEIR_BUSY instead of waiting for the lock.
    pub fn weir_try_malloc_async(
        runtime: weir_runtime,
        pool: weir_pool,
        bytes: u64,
        stream: weir_stream,
        ptr: *mut weir_ptr,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /** Frees in the order of the stream: after what is queued on it so far, the memory is nobody's. Makes no driver call, so
 it may be called wherever the program runs.*/
    pub fn weir_free_async(
        runtime: weir_runtime,
        ptr: weir_ptr,
        stream: weir_stream,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// The same, but WEIR_BUSY instead of waiting for the lock.
    pub fn weir_try_free_async(
        runtime: weir_runtime,
        ptr: weir_ptr,
        stream: weir_stream,
    ) -> ::core::ffi::c_int;
}
pub mod weir_use_until {
    /// When a use of another stream counts from.
    pub type Type = ::core::ffi::c_uint;
    /// What was queued on the stream before this call.
    pub const WEIR_USE_NOW: Type = 0;
    /// Whatever is queued on the stream until the block is freed.
    pub const WEIR_USE_FREE: Type = 1;
}
unsafe extern "C" {
    /// Notes that another stream uses a block: reuse waits for that too. `until` is one of `enum weir_use_until`.
    pub fn weir_record_use(
        runtime: weir_runtime,
        ptr: weir_ptr,
        stream: weir_stream,
        until: u32,
    ) -> ::core::ffi::c_int;
}
/// A live block.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_block {
    /// Its pool.
    pub pool: weir_pool,
    /// Where it begins.
    pub start: weir_ptr,
    /// Its size, and the size that was asked for.
    pub given: u64,
    pub asked: u64,
    /// Counts the runtime's allocations from 1; never used again.
    pub allocation: u64,
    /// Its label; 0 is none.
    pub label: u32,
    /// Zero.
    pub reserved: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of weir_block"][::core::mem::size_of::<weir_block>() - 56usize];
    ["Alignment of weir_block"][::core::mem::align_of::<weir_block>() - 8usize];
    [
        "Offset of field: weir_block::pool",
    ][::core::mem::offset_of!(weir_block, pool) - 0usize];
    [
        "Offset of field: weir_block::start",
    ][::core::mem::offset_of!(weir_block, start) - 16usize];
    [
        "Offset of field: weir_block::given",
    ][::core::mem::offset_of!(weir_block, given) - 24usize];
    [
        "Offset of field: weir_block::asked",
    ][::core::mem::offset_of!(weir_block, asked) - 32usize];
    [
        "Offset of field: weir_block::allocation",
    ][::core::mem::offset_of!(weir_block, allocation) - 40usize];
    [
        "Offset of field: weir_block::label",
    ][::core::mem::offset_of!(weir_block, label) - 48usize];
    [
        "Offset of field: weir_block::reserved",
    ][::core::mem::offset_of!(weir_block, reserved) - 52usize];
};
unsafe extern "C" {
    /// The live block that starts at an address. WEIR_BAD_POINTER: there is none.
    pub fn weir_block_at(
        runtime: weir_runtime,
        ptr: weir_ptr,
        block: *mut weir_block,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// A number for a name (UTF-8, at most 64 bytes), to be given to allocations. The same name has the same number.
    pub fn weir_label(
        runtime: weir_runtime,
        name: *const ::core::ffi::c_char,
        label: *mut u32,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// Writes a mark such as "step 12" into the log.
    pub fn weir_mark(
        runtime: weir_runtime,
        name: *const ::core::ffi::c_char,
    ) -> ::core::ffi::c_int;
}
/// A kernel that is running. Known to the kernel's function only, and only until it returns.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_kernel {
    _unused: [u8; 0],
}
/** A kernel: runs on the stream's thread when everything queued before it is done. It may allocate, free and queue, but
 not synchronise, and not destroy its stream: it would wait for itself. weir_destroy of its runtime is refused.*/
pub type weir_kernel_fn = ::core::option::Option<
    unsafe extern "C" fn(kernel: *mut weir_kernel, user: *mut ::core::ffi::c_void),
>;
unsafe extern "C" {
    /// Queues a kernel. What `user` points to must stay until it has run.
    pub fn weir_host_launch(
        runtime: weir_runtime,
        stream: weir_stream,
        fn_: weir_kernel_fn,
        user: *mut ::core::ffi::c_void,
    ) -> ::core::ffi::c_int;
}
pub mod weir_access {
    /// What a kernel does with bytes.
    pub type Type = ::core::ffi::c_uint;
    /// It only reads them.
    pub const WEIR_READ: Type = 0;
    /// It writes them, and may read them too.
    pub const WEIR_WRITE: Type = 1;
}
unsafe extern "C" {
    /** Inside a kernel: the bytes of device memory at `ptr`, to be used until the kernel returns. Null, and the device has a
 fault, where they are not all mapped, or where a kernel that runs at the same time is in the way. `access` is one of
 `enum weir_access`.*/
    pub fn weir_kernel_bytes(
        kernel: *mut weir_kernel,
        ptr: weir_ptr,
        bytes: u64,
        access: u32,
    ) -> *mut ::core::ffi::c_void;
}
unsafe extern "C" {
    /// Inside a kernel: reports that it went wrong, which is a fault of the device. A null message is none.
    pub fn weir_kernel_fail(
        kernel: *mut weir_kernel,
        message: *const ::core::ffi::c_char,
    );
}
unsafe extern "C" {
    /// Queues a copy to the device. The bytes are taken before the call returns.
    pub fn weir_host_copy_to_device(
        runtime: weir_runtime,
        stream: weir_stream,
        to: weir_ptr,
        from: *const ::core::ffi::c_void,
        bytes: u64,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// Queues a copy to the host. `to` must stay until the stream has come to it.
    pub fn weir_host_copy_to_host(
        runtime: weir_runtime,
        stream: weir_stream,
        to: *mut ::core::ffi::c_void,
        from: weir_ptr,
        bytes: u64,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// Queues a copy within a device. The two runs may not overlap.
    pub fn weir_host_copy(
        runtime: weir_runtime,
        stream: weir_stream,
        to: weir_ptr,
        from: weir_ptr,
        bytes: u64,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// Queues a fill with one byte's value.
    pub fn weir_host_fill(
        runtime: weir_runtime,
        stream: weir_stream,
        to: weir_ptr,
        value: u8,
        bytes: u64,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /** Whether a device has a fault: `*faulted` is 1 or 0, and its text is copied as by `weir_last_error` (`buffer` may be
 null). A device with a fault runs no more kernels, and synchronisations fail.*/
    pub fn weir_host_fault(
        runtime: weir_runtime,
        device: u32,
        faulted: *mut ::core::ffi::c_int,
        buffer: *mut ::core::ffi::c_char,
        size: usize,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// Makes a device usable again after a fault.
    pub fn weir_host_clear_fault(
        runtime: weir_runtime,
        device: u32,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// Bytes of the machine's memory that a device takes now.
    pub fn weir_host_resident(
        runtime: weir_runtime,
        device: u32,
        bytes: *mut u64,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /** Allocates `size` bytes on a device, in the order of the stream (a cudaStream_t, hipStream_t or aclrtStream; on the host
 driver any value names a stream). Null where `size` is 0, and on an error. No version of the frameworks that was read
 checks for null: the line on the standard error stream comes before the crash.*/
    pub fn weir_torch_malloc(
        size: usize,
        device: ::core::ffi::c_int,
        stream: *mut ::core::ffi::c_void,
    ) -> *mut ::core::ffi::c_void;
}
unsafe extern "C" {
    /** Frees in the order of the stream. Null is nothing. `size` is not looked at. Makes no driver call after the first that
 names the stream.*/
    pub fn weir_torch_free(
        ptr: *mut ::core::ffi::c_void,
        size: usize,
        device: ::core::ffi::c_int,
        stream: *mut ::core::ffi::c_void,
    );
}
unsafe extern "C" {
    /** For set_record_stream_fn: another stream uses the block. What is queued there until the block is freed is waited for,
 before the memory is given to anyone. Null for a block is nothing, for a stream the default one of the block's own
 device. Where that cannot be noted, such as for a stream of another device, the block stays taken when it is freed, and
 both calls say so: reusing it would not be safe. A second free, by whoever knows that the stream has passed, lets it go.*/
    pub fn weir_torch_record_stream(
        ptr: *mut ::core::ffi::c_void,
        stream: *mut ::core::ffi::c_void,
    );
}
unsafe extern "C" {
    /** For PyTorch's set_reset_fn, which torch.cuda.empty_cache calls: waits for every open device and gives back all
 granules in which nothing is live.*/
    pub fn weir_torch_empty_cache();
}
unsafe extern "C" {
    /// The same for torch_npu's set_reset_fn. Errors are reported whatever `check_error` says.
    pub fn weir_torch_npu_empty_cache(check_error: bool);
}
unsafe extern "C" {
    /** Ends everything, so that the next call begins anew, with the environment as it is then. Not for set_reset_fn.
 WEIR_LIVE_BLOCKS where something is live on a device: nothing is done then. Otherwise as weir_destroy, for each device.
 Handles are gone then, streams are forgotten, and a log begun later under the same name replaces this one. Work on the
 devices may not call the functions of this header meanwhile.*/
    pub fn weir_torch_reset() -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /** The runtime and the pool behind a device, for statistics, marks and synchronisation (weir.h). Opens the device. They
 may not be destroyed. Either output may be null.*/
    pub fn weir_torch_handles(
        device: ::core::ffi::c_int,
        runtime: *mut weir_runtime,
        pool: *mut weir_pool,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    /// What a stream is called in that runtime, for events that weir shall know of.
    pub fn weir_torch_stream(
        device: ::core::ffi::c_int,
        stream: *mut ::core::ffi::c_void,
        found: *mut weir_stream,
    ) -> ::core::ffi::c_int;
}
