//! Streams.

use super::bindings as acl;
use super::bindings::aclrtStream;
use super::codes::Refusal;
use super::handle::{from_raw, to_raw};
use super::state::call;

/// See `acl/acl_rt.h`.
pub unsafe extern "C" fn aclrtCreateStream(stream: *mut aclrtStream) -> acl::aclError {
    call(|world| {
        if stream.is_null() {
            return Err(Refusal::null("stream"));
        }
        let (handle, context) = world.context()?;
        let (made, _) = world.add_stream(handle, context.device)?;
        // SAFETY: non-null, so a place for a handle, as the header asks.
        unsafe { stream.write(to_raw(made)) };
        Ok(())
    })
}

/// See `acl/acl_rt.h`.
pub unsafe extern "C" fn aclrtDestroyStream(stream: aclrtStream) -> acl::aclError {
    call(|world| {
        if stream.is_null() {
            return Err(Refusal::null("stream"));
        }
        world.stream(stream)?;
        let handle = from_raw(stream);
        // Another thread may have been faster.
        let gone = || Refusal::handle(acl::ACL_ERROR_RT_INVALID_HANDLE, "stream", handle);
        world.end_stream(world.streams.take(handle).ok_or_else(gone)?)
    })
}

/// See `acl/acl_rt.h`.
pub unsafe extern "C" fn aclrtSynchronizeStream(stream: aclrtStream) -> acl::aclError {
    call(|world| {
        let stream = world.stream_or_default(stream)?;
        let (_, context) = world.context()?;
        let finished = world.runtime.synchronize_stream(stream.id).map_err(Refusal::from);
        finished.map_err(|refusal| world.explain(context.device, refusal))
    })
}
