//! Events: what orders streams.

use super::bindings as acl;
use super::bindings::{aclrtEvent, aclrtEventRecordedStatus, aclrtStream};
use super::codes::Refusal;
use super::handle::{from_raw, to_raw};
use super::state::{Event, Recorded, World, call};
use weir::driver::Completion;

/// An event that the program named.
fn find(world: &World, event: aclrtEvent) -> Result<Event, Refusal> {
    if event.is_null() {
        return Err(Refusal::null("event"));
    }
    let handle = from_raw(event);
    world.events.get(handle).ok_or_else(|| gone(handle))
}

fn gone(handle: usize) -> Refusal {
    Refusal::handle(acl::ACL_ERROR_RT_INVALID_HANDLE, "event", handle)
}

/// See `acl/acl_rt.h`.
pub unsafe extern "C" fn aclrtCreateEvent(event: *mut aclrtEvent) -> acl::aclError {
    call(|world| {
        if event.is_null() {
            return Err(Refusal::null("event"));
        }
        let (_, context) = world.context()?;
        let id = world.runtime.create_event()?;
        let handle = world.events.add(Event { id, device: context.device, recorded: Recorded::Never });
        // SAFETY: non-null, so a place for a handle, as the header asks.
        unsafe { event.write(to_raw(handle)) };
        Ok(())
    })
}

/// See `acl/acl_rt.h`.
pub unsafe extern "C" fn aclrtDestroyEvent(event: aclrtEvent) -> acl::aclError {
    call(|world| {
        find(world, event)?;
        let handle = from_raw(event);
        // Another thread may have been faster.
        let taken = world.events.take(handle).ok_or_else(|| gone(handle))?;
        Ok(world.runtime.destroy_event(taken.id)?)
    })
}

/// See `acl/acl_rt.h`.
pub unsafe extern "C" fn aclrtRecordEvent(event: aclrtEvent, stream: aclrtStream) -> acl::aclError {
    call(|world| {
        let found = find(world, event)?;
        let stream = world.stream_or_default(stream)?;
        world.runtime.record(found.id, stream.id)?;
        world.events.change(from_raw(event), |event| event.recorded = Recorded::Once);
        Ok(())
    })
}

/// See `acl/acl_rt.h`.
pub unsafe extern "C" fn aclrtStreamWaitEvent(stream: aclrtStream, event: aclrtEvent) -> acl::aclError {
    call(|world| {
        let event = find(world, event)?;
        let stream = world.stream_or_default(stream)?;
        Ok(world.runtime.wait(stream.id, event.id)?)
    })
}

/// See `acl/acl_rt.h`.
pub unsafe extern "C" fn aclrtQueryEventStatus(
    event: aclrtEvent,
    status: *mut aclrtEventRecordedStatus::Type,
) -> acl::aclError {
    use aclrtEventRecordedStatus::{ACL_EVENT_RECORDED_STATUS_COMPLETE, ACL_EVENT_RECORDED_STATUS_NOT_READY};
    call(|world| {
        if status.is_null() {
            return Err(Refusal::null("status"));
        }
        let event = find(world, event)?;
        let answer = match event.recorded {
            Recorded::Never => Completion::Pending,
            Recorded::Once => {
                let found = world.runtime.query(event.id).map_err(Refusal::from);
                found.map_err(|refusal| world.explain(event.device, refusal))?
            }
        };
        let answer = match answer {
            Completion::Complete => ACL_EVENT_RECORDED_STATUS_COMPLETE,
            Completion::Pending => ACL_EVENT_RECORDED_STATUS_NOT_READY,
        };
        // SAFETY: non-null, so a place for a number, as the header asks.
        unsafe { status.write(answer) };
        Ok(())
    })
}

/// See `acl/acl_rt.h`.
pub unsafe extern "C" fn aclrtSynchronizeEvent(event: aclrtEvent) -> acl::aclError {
    call(|world| {
        let event = find(world, event)?;
        let finished = world.runtime.synchronize_event(event.id).map_err(Refusal::from);
        finished.map_err(|refusal| world.explain(event.device, refusal))
    })
}
