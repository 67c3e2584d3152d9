//! Devices and contexts.

use super::bindings as acl;
use super::bindings::{aclrtContext, aclrtMemAttr};
use super::codes::Refusal;
use super::handle::{from_raw, to_raw};
use super::state::{Context, Origin, call, make_current};
use weir::driver::Driver;

/// See `acl/acl_rt.h`.
pub unsafe extern "C" fn aclrtSetDevice(deviceId: i32) -> acl::aclError {
    call(|world| {
        let (id, mut device) = world.device(i64::from(deviceId))?;
        let context = match device.context {
            Some(context) => context,
            None => world.contexts.add(Context { device: id, origin: Origin::Device, default_stream: None }),
        };
        device.context = Some(context);
        device.references = device.references.saturating_add(1);
        make_current(context);
        Ok(())
    })
}

/// See `acl/acl_rt.h`.
pub unsafe extern "C" fn aclrtResetDevice(deviceId: i32) -> acl::aclError {
    call(|world| {
        let (_, mut device) = world.device(i64::from(deviceId))?;
        let left = device.references.checked_sub(1).ok_or_else(|| {
            let text = format!("device {deviceId} is not set: each aclrtResetDevice undoes one aclrtSetDevice");
            Refusal::new(acl::ACL_ERROR_RT_INVALID_DEVICEID, text)
        })?;
        device.references = left;
        let ended = device.context.take_if(|_| left == 0);
        drop(device);
        ended.map_or(Ok(()), |context| world.end_context(context))
    })
}

/// See `acl/acl_rt.h`.
pub unsafe extern "C" fn aclrtSynchronizeDevice() -> acl::aclError {
    call(|world| {
        let (_, Context { device, .. }) = world.context()?;
        let finished = world.runtime.synchronize_device(device).map_err(Refusal::from);
        finished.map_err(|refusal| world.explain(device, refusal))
    })
}

/// See `acl/acl_rt.h`.
pub unsafe extern "C" fn aclrtCreateContext(context: *mut aclrtContext, deviceId: i32) -> acl::aclError {
    call(|world| {
        if context.is_null() {
            return Err(Refusal::null("context"));
        }
        let (device, guard) = world.device(i64::from(deviceId))?;
        drop(guard);
        let handle = world.contexts.add(Context { device, origin: Origin::Program, default_stream: None });
        make_current(handle);
        // SAFETY: non-null, so a place for a handle, as the header asks.
        unsafe { context.write(to_raw(handle)) };
        Ok(())
    })
}

/// See `acl/acl_rt.h`.
pub unsafe extern "C" fn aclrtDestroyContext(context: aclrtContext) -> acl::aclError {
    call(|world| {
        if context.is_null() {
            return Err(Refusal::null("context"));
        }
        let handle = from_raw(context);
        match world.contexts.get(handle).map(|context| context.origin) {
            Some(Origin::Program) => world.end_context(handle),
            Some(Origin::Device) => {
                Err(Refusal::argument("a device's default context is ended by aclrtResetDevice, not by itself"))
            }
            None => Err(Refusal::handle(acl::ACL_ERROR_RT_PARAM_INVALID, "context", handle)),
        }
    })
}

/// See `acl/acl_rt.h`.
pub unsafe extern "C" fn aclrtGetMemInfo(
    attr: aclrtMemAttr::Type,
    free: *mut usize,
    total: *mut usize,
) -> acl::aclError {
    call(|world| {
        for (pointer, name) in [(free, "free"), (total, "total")] {
            if pointer.is_null() {
                return Err(Refusal::null(name));
            }
        }
        let (_, Context { device, .. }) = world.context()?;
        use aclrtMemAttr::{ACL_HBM_MEM, ACL_HBM_MEM_HUGE, ACL_HBM_MEM_NORMAL};
        if !matches!(attr, ACL_HBM_MEM | ACL_HBM_MEM_HUGE | ACL_HBM_MEM_NORMAL) {
            let text = format!("the device has no memory of kind {attr}: ask for ACL_HBM_MEM ({ACL_HBM_MEM})");
            return Err(Refusal::new(acl::ACL_ERROR_RT_FEATURE_NOT_SUPPORT, text));
        }
        let failed = |error| Refusal::from(weir::error::PoolError::Driver(error));
        let all = world.host().properties(device).map_err(failed)?.total;
        let taken = world.host().created(device)?;
        let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        // SAFETY: non-null, so a place for a number, as the header asks.
        unsafe { free.write(bytes(all.0.saturating_sub(taken.0))) };
        // SAFETY: as above.
        unsafe { total.write(bytes(all.0)) };
        Ok(())
    })
}
