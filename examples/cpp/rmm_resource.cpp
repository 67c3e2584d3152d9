/*
 * weir behind RMM's resources: containers and adaptors of RMM's allocate from a pool of weir's.
 *
 * Needs RMM 26 (librmm), and a CUDA device or a stand-in that WEIR_CUDA_LIBRARY names:
 *
 *   g++ -std=c++17 -I target/weir/include rmm_resource.cpp -l:libweir.so -lrmm -lrapids_logger
 *
 * with RMM's, CCCL's and CUDA's headers and libraries in the compiler's paths. It makes no stream of its own, so that it
 * needs no CUDA compiler.
 */
#include <cstdio>
#include <cuda/stream>
#include <rmm/mr/polymorphic_allocator.hpp>
#include <rmm/mr/statistics_resource_adaptor.hpp>

#include "weir_rmm.hpp"

int main()
{
    weir_pool_config settings;
    weir::require(weir_pool_config_init(&settings, 0));
    settings.limit = std::uint64_t{64} << 20;
    weir::rmm_resource resource{weir::device_pool::cuda(0, &settings)};
    rmm::mr::statistics_resource_adaptor counted{resource};
    rmm::mr::polymorphic_allocator<float> floats{counted};
    const cuda::stream_ref stream{cudaStream_t{nullptr}};

    float *const first = floats.allocate(1 << 20, stream);
    floats.deallocate(first, 1 << 20, stream);
    float *const second = floats.allocate(1 << 20, stream);
    std::printf("the same memory again: %s\n", first == second ? "yes" : "no");
    floats.deallocate(second, 1 << 20, stream);
    try {
        floats.allocate(std::size_t{1} << 28, stream);
    } catch (const rmm::out_of_memory &refusal) {
        std::printf("%s\n", refusal.what());
    }

    weir_pool_stats stats;
    weir::require(weir_pool_get_stats(resource.pool().runtime(), resource.pool().pool(), &stats));
    std::printf("RMM counted %lld bytes at most; weir held %llu\n",
                static_cast<long long>(counted.get_bytes_counter().peak),
                static_cast<unsigned long long>(stats.reserved_high));
    return 0;
}
