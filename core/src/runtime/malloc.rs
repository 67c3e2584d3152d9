//! `malloc_async` and its forms.

use super::ladder::{Malloc, Patience};
use super::{Lock, Plan, Runtime, State, Step};
use crate::driver::Driver;
use crate::error::{MallocError, Unusable};
use crate::id::{LabelId, PoolId, StreamId};
use crate::trace::Sink;
#[allow(unused_imports, reason = "linked from the documentation")]
use crate::trace::Source;
use crate::units::{Bytes, DevicePtr};

impl<'a, D: Driver, S: Sink, L: Lock<State<'a>>> Runtime<'a, D, S, L> {
    /// Allocates `size` bytes for work that is queued on `stream` from now on. The host does not wait for the device.
    ///
    /// The size is rounded up to the device's alignment. The free block of the closest size that the stream may use is
    /// taken; see [`Source`] for the kinds of reuse, and the pool's switches.
    /// Zero bytes are an error here; CANN answers success and no pointer.
    ///
    /// O(free blocks walked); driver calls only where nothing free is usable at once, and at most one marker.
    ///
    /// # Errors
    /// See [`MallocError`]. After an error blocks, used bytes and handles are as before; what was learnt, waited for
    /// and released on the way stays, and is in the log.
    pub fn malloc_async(&self, pool: PoolId, size: Bytes, stream: StreamId) -> Result<DevicePtr, MallocError> {
        self.malloc_labelled(pool, size, stream, LabelId::NONE)
    }

    /// As [`malloc_async`](Self::malloc_async); the label travels with the allocation through the log.
    ///
    /// # Errors
    /// As `malloc_async`.
    pub fn malloc_labelled(
        &self,
        pool: PoolId,
        size: Bytes,
        stream: StreamId,
        label: LabelId,
    ) -> Result<DevicePtr, MallocError> {
        self.drive(&mut Malloc::new(pool, size, stream, label, Patience::Full))?
    }

    /// As [`malloc_async`](Self::malloc_async), for a handler that may neither wait for the lock nor call the driver:
    /// succeeds only with memory that is usable at once.
    ///
    /// # Errors
    /// [`Unusable::Busy`]: the lock is taken, or a driver call would be needed; else as `malloc_async`.
    pub fn try_malloc_async(&self, pool: PoolId, size: Bytes, stream: StreamId) -> Result<DevicePtr, MallocError> {
        let mut plan = Malloc::new(pool, size, stream, LabelId::NONE, Patience::None);
        let now = self.driver.now();
        let step = self.state.try_with(|state| {
            state.begin(now)?;
            Ok::<_, Unusable>(plan.advance(state, None))
        });
        match step.unwrap_or(Err(Unusable::Busy))? {
            Step::Done(result) => result,
            Step::Do(_) | Step::Wait => Err(Unusable::Busy.into()),
        }
    }
}
