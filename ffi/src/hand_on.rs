//! Drivers inside drivers.

/// The calls of a driver, but for the pressure, each handed on to another one.
macro_rules! hand_on {
    ($this:ident => $driver:expr) => {
        fn properties(&$this, device: DeviceId) -> Result<Properties, DriverError> {
            $driver.properties(device)
        }
        fn reserve(&$this, device: DeviceId, bytes: Bytes) -> Result<DevicePtr, DriverError> {
            $driver.reserve(device, bytes)
        }
        fn release(&$this, device: DeviceId, base: DevicePtr, bytes: Bytes) -> Result<(), DriverError> {
            $driver.release(device, base, bytes)
        }
        fn create(&$this, device: DeviceId) -> Result<GranuleHandle, DriverError> {
            $driver.create(device)
        }
        fn destroy(&$this, device: DeviceId, granule: GranuleHandle) -> Result<(), DriverError> {
            $driver.destroy(device, granule)
        }
        fn map(
            &$this,
            device: DeviceId,
            at: DevicePtr,
            granule: GranuleHandle,
            stream: Option<NativeStream>,
        ) -> Result<(), DriverError> {
            $driver.map(device, at, granule, stream)
        }
        fn unmap(&$this, device: DeviceId, at: DevicePtr, stream: Option<NativeStream>) -> Result<(), DriverError> {
            $driver.unmap(device, at, stream)
        }
        fn lay(&$this, marker: MarkerSlot, stream: NativeStream) -> Result<(), DriverError> {
            $driver.lay(marker, stream)
        }
        fn query(&$this, what: Target) -> Result<Completion, DriverError> {
            $driver.query(what)
        }
        fn wait(&$this, stream: NativeStream, marker: MarkerSlot) -> Result<(), DriverError> {
            $driver.wait(stream, marker)
        }
        fn synchronise(&$this, what: Target) -> Result<(), DriverError> {
            $driver.synchronise(what)
        }
        fn now(&$this) -> Nanos {
            $driver.now()
        }
    };
}
pub(crate) use hand_on;
