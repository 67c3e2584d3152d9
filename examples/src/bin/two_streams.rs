//! Memory goes from one stream to another along an event: no host synchronisation, no copy, the bytes checked.

use weir::id::DeviceId;
use weir::policy::{PoolConfig, StreamKind};
use weir::trace::{NullSink, Source};
use weir::units::Bytes;
use weir::{Capacities, Shared, StreamConfig};
use weir_ffi::arenas::HeapArenas;
use weir_ffi::host::{HostConfig, HostDriver, Read, Write, pattern};

const DEVICE: DeviceId = DeviceId(0);
const SIZE: Bytes = Bytes::mib(4);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arenas = HeapArenas::new(Capacities::default());
    let host = HostDriver::new(HostConfig::with_total(Bytes::mib(256)))?;
    let rt = Shared::new(arenas.lend(), host, NullSink);
    let pool = rt.create_pool(PoolConfig::new(DEVICE))?;
    let native = [(); 2].map(|()| rt.driver().create_stream(DEVICE, StreamKind::NonBlocking));
    let [producer, consumer] = native;
    let (producer, consumer) = (producer?, consumer?);
    let first = rt.create_stream(StreamConfig::new(DEVICE, producer))?;
    let second = rt.create_stream(StreamConfig::new(DEVICE, consumer))?;
    let (filled, read) = (rt.create_event()?, rt.create_event()?);

    for round in 0..100 {
        let block = rt.malloc_async(pool, SIZE, first)?;
        rt.driver().launch(producer, Write(block, SIZE), move |bytes| pattern::fill(bytes, round))?;
        rt.record(filled, first)?;
        rt.wait(second, filled)?;
        rt.driver().launch(consumer, Read(block, SIZE), move |bytes| {
            assert!(pattern::check(bytes, round).is_ok(), "round {round} read somebody else's bytes");
        })?;
        // The consumer frees: the producer may have the block again once it comes after the consumer.
        rt.free_async(block, second)?;
        rt.record(read, second)?;
        rt.wait(first, read)?;
    }
    rt.synchronize_device(DEVICE)?;

    let stats = rt.stats(pool)?;
    let (grown, reused) = (stats.by_source[Source::Grow as usize], stats.by_source[Source::Event as usize]);
    println!(
        "100 rounds: {grown} mapped new memory, {reused} reused along the event, at most {} held",
        stats.reserved_high
    );
    Ok(())
}
