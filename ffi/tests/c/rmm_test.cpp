/*
 * weir_rmm.hpp with RMM's released headers and library, on a stand-in of CUDA's. Argument: the stand-in, which
 * WEIR_CUDA_LIBRARY names as well.
 */
#include <cuda/memory_resource>
#include <cuda/stream>
#include <rmm/mr/failure_callback_resource_adaptor.hpp>
#include <rmm/mr/limiting_resource_adaptor.hpp>
#include <rmm/mr/polymorphic_allocator.hpp>
#include <rmm/mr/statistics_resource_adaptor.hpp>
#include <rmm/resource_ref.hpp>

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <thread>
#include <vector>

#include "weir_rmm.hpp"

extern "C" {
#include "standin.h"
}

namespace {

constexpr std::size_t MIB = std::size_t{1} << 20;
constexpr std::size_t GRANULE = 2 * MIB;

int failures = 0;

#define CHECK(what) check((what), #what, __LINE__)

void check(bool holds, const char *what, int line)
{
    if (!holds) {
        __atomic_fetch_add(&failures, 1, __ATOMIC_SEQ_CST);
        std::fprintf(stderr, "line %d: not so: %s\n", line, what);
    }
}

struct {
    decltype(&standin_setup) setup;
    decltype(&standin_stream) stream;
    decltype(&standin_kernel) kernel;
    decltype(&standin_run) run;
    decltype(&standin_violation) violation;
    decltype(&standin_left) left;
} device;

template <typename F> void fetch(void *library, const char *name, F &to)
{
    void *const found = dlsym(library, name);
    if (found == nullptr) {
        std::fprintf(stderr, "there is no %s\n", name);
        std::exit(2);
    }
    std::memcpy(&to, &found, sizeof to);
}

cuda::stream_ref new_stream(unsigned number)
{
    return cuda::stream_ref{reinterpret_cast<cudaStream_t>(device.stream(number))};
}

struct standin_stream *native(cuda::stream_ref stream)
{
    return reinterpret_cast<struct standin_stream *>(stream.get());
}

std::uint64_t address(void *block)
{
    return reinterpret_cast<std::uintptr_t>(block);
}

weir_pool_stats stats_of(const weir::rmm_resource &resource)
{
    weir_pool_stats stats;
    weir::require(weir_pool_get_stats(resource.pool().runtime(), resource.pool().pool(), &stats));
    return stats;
}

/* The type that is thrown, and a part of its text. */
template <typename E> bool throws(const char *part, const std::function<void()> &work)
{
    try {
        work();
    } catch (const E &thrown) {
        if (std::strstr(thrown.what(), part) != nullptr) {
            return true;
        }
        std::fprintf(stderr, "thrown: %s\n", thrown.what());
    }
    return false;
}

/* As RMM's own code takes resources: by reference, and owned, with their types gone. */
void references(const weir::rmm_resource &resource)
{
    weir::rmm_resource copy = resource;
    CHECK(copy == resource);
    weir::rmm_resource other{weir::device_pool::cuda(1)};
    CHECK(other != resource);
    rmm::device_async_resource_ref ref{copy};
    cuda::mr::any_resource<cuda::mr::device_accessible> owned{resource};
    CHECK(rmm::device_async_resource_ref{owned} == ref);
    const cuda::stream_ref stream = new_stream(0);
    void *const first = ref.allocate(stream, 3 * MIB, rmm::CUDA_ALLOCATION_ALIGNMENT);
    CHECK(address(first) % rmm::CUDA_ALLOCATION_ALIGNMENT == 0 && stats_of(resource).used == 3 * MIB);
    owned.deallocate(stream, first, 3 * MIB, rmm::CUDA_ALLOCATION_ALIGNMENT);
    CHECK(owned.allocate(stream, 3 * MIB, 512) == first);
    ref.deallocate(stream, first, 3 * MIB, 512);
    CHECK(ref.allocate(stream, 0, 256) == nullptr);
    ref.deallocate(stream, nullptr, 0, 256);
    void *const at_once = owned.allocate_sync(MIB, 256);
    CHECK(at_once != nullptr);
    owned.deallocate_sync(at_once, MIB, 256);
    CHECK(stats_of(resource).live_blocks == 0);
    copy.forget(stream);
}

/* Memory that another stream still reads is not handed out, or only with a wait. The device works `one` off first, unless
 * it was told to wait, so that a wrong order would be seen. */
void order(weir::rmm_resource resource)
{
    const cuda::stream_ref one = new_stream(0), other = new_stream(0);
    void *const first = resource.allocate(other, MIB);
    device.kernel(native(other), address(first), MIB, -1, 5);
    device.run();
    device.kernel(native(other), address(first), MIB, 5, -1);
    resource.deallocate(other, first, MIB);
    void *const second = resource.allocate(one, MIB);
    device.kernel(native(one), address(second), MIB, -1, 9);
    device.run();
    resource.pool().record_stream(second, address(other.get()));
    device.kernel(native(other), address(second), MIB, 9, -1);
    resource.deallocate(one, second, MIB);
    void *const third = resource.allocate(one, MIB);
    device.kernel(native(one), address(third), MIB, -1, 1);
    device.run();
    resource.deallocate(one, third, MIB);
    CHECK(std::strcmp(device.violation(), "") == 0);
}

void refusals(weir::rmm_resource resource)
{
    const cuda::stream_ref own = new_stream(0), foreign = new_stream(1);
    CHECK(throws<rmm::out_of_memory>("8388608", [&] { (void)resource.allocate(own, 16 * MIB); }));
    CHECK(throws<rmm::bad_alloc>("is not usable on device 0", [&] { (void)resource.allocate(foreign, MIB); }));
    const cuda::stream_ref each{cudaStreamPerThread};
    CHECK(throws<rmm::bad_alloc>("is not usable on device 0", [&] { (void)resource.allocate(each, MIB); }));
    CHECK(throws<rmm::bad_alloc>("an alignment of 1024", [&] { (void)resource.allocate(own, MIB, 1024); }));
    CHECK(throws<rmm::bad_alloc>("an alignment of 3", [&] { (void)resource.allocate_sync(MIB, 3); }));
    CHECK(throws<rmm::logic_error>("got null", [] { weir::rmm_resource none{nullptr}; }));
    CHECK(throws<weir::error>("", [] { (void)weir::device_pool::cuda(7); }));
    CHECK(stats_of(resource).live_blocks == 0);
}

/* Adaptors and containers of RMM's. */
void adaptors(const weir::rmm_resource &resource)
{
    const cuda::stream_ref stream = new_stream(0);
    rmm::mr::statistics_resource_adaptor counted{resource};
    rmm::mr::limiting_resource_adaptor limited{counted, 4 * MIB};
    rmm::mr::polymorphic_allocator<int> ints{limited};
    {
        /* The stand-in's memory is the process's. */
        std::vector<int, rmm::mr::stream_allocator_adaptor<rmm::mr::polymorphic_allocator<int>>> numbers(
            rmm::mr::stream_allocator_adaptor{ints, stream});
        for (int i = 0; i < 100000; i++) {
            numbers.push_back(i);
        }
        CHECK(numbers[99999] == 99999 && counted.get_allocations_counter().value == 1);
    }
    CHECK(counted.get_bytes_counter().value == 0 && counted.get_bytes_counter().peak > 400000);
    CHECK(throws<rmm::out_of_memory>("", [&] { (void)limited.allocate(stream, 5 * MIB, 256); }));
    /* What weir throws is what the adaptor waits for. */
    void *kept = counted.allocate(stream, 6 * MIB, 256);
    rmm::mr::failure_callback_resource_adaptor<> retrying{
        counted,
        [&](std::size_t bytes, void *) {
            CHECK(bytes == 4 * MIB && kept != nullptr);
            counted.deallocate(stream, std::exchange(kept, nullptr), 6 * MIB, 256);
            return true;
        },
        nullptr};
    void *const block = retrying.allocate(stream, 4 * MIB, 256);
    CHECK(block != nullptr && kept == nullptr);
    retrying.deallocate(stream, block, 4 * MIB, 256);
}

void threads(const weir::rmm_resource &resource)
{
    std::vector<std::thread> made;
    for (int i = 0; i < 4; i++) {
        made.emplace_back([resource = weir::rmm_resource(resource), stream = new_stream(0)]() mutable {
            for (std::size_t round = 0; round < 200; round++) {
                void *const block = resource.allocate(stream, 512 + round * 1024);
                resource.deallocate(stream, block, 512 + round * 1024);
            }
            resource.forget(stream);
        });
    }
    for (std::thread &thread : made) {
        thread.join();
    }
    CHECK(stats_of(resource).live_blocks == 0);
    CHECK(weir_verify(resource.pool().runtime()) == WEIR_OK);
}

} // namespace

int main(int count, char **arguments)
{
    void *const library = count == 2 ? dlopen(arguments[1], RTLD_NOW) : nullptr;
    if (library == nullptr) {
        return 2;
    }
    fetch(library, "standin_setup", device.setup);
    fetch(library, "standin_stream", device.stream);
    fetch(library, "standin_kernel", device.kernel);
    fetch(library, "standin_run", device.run);
    fetch(library, "standin_violation", device.violation);
    fetch(library, "standin_left", device.left);
    device.setup(2, GRANULE, 16 * GRANULE);
    {
        weir_pool_config settings;
        weir::require(weir_pool_config_init(&settings, 0));
        settings.limit = 8 * MIB;
        const weir::rmm_resource resource{weir::device_pool::cuda(0, &settings)};
        references(resource);
        order(resource);
        refusals(resource);
        adaptors(resource);
        threads(resource);
    }
    struct standin_left left;
    device.left(&left);
    CHECK(left.reservations + left.handles + left.mappings + left.events + left.context_uses == 0);
    CHECK(std::strcmp(device.violation(), "") == 0);
    std::puts(failures == 0 ? "ok" : "not ok");
    return failures != 0;
}
