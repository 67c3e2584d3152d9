/*
 * weir_rmm.hpp - weir as a memory resource of RAPIDS RMM.
 *
 * weir::rmm_resource models `cuda::mr::resource` with `cuda::mr::device_accessible`, which is what RMM 26 takes wherever
 * it takes a resource: rmm::device_async_resource_ref, rmm::mr::set_current_device_resource, the adaptors, containers.
 * It is declared where RMM's headers are in the include path; a program links with libweir and with librmm.
 * weir::device_pool, on which it stands, needs weir.h alone, and knows nothing of CUDA's types.
 *
 *     weir::rmm_resource resource{weir::device_pool::cuda(0)};
 *     rmm::device_buffer buffer{1 << 20, stream, resource};
 *
 * Copies of a resource are the same pool, which ends with the last of them, after what was allocated from it.
 *
 * Streams are made known when they are first named, at most 256 at once (`streams` of the configuration). Before a stream
 * is destroyed, `forget` it: CUDA may give its handle to another stream, whose work would be taken for a continuation.
 * CUDA's default stream of each thread (cudaStreamPerThread) is refused, and so are streams of other devices: see
 * weir_driver_cuda in weir.h.
 *
 * The header is C++17. SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef WEIR_RMM_HPP
#define WEIR_RMM_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "weir.h"

namespace weir {

/** A call of weir.h that was refused. */
class error : public std::runtime_error {
public:
    error(int status, const std::string &text) : std::runtime_error(text), status_(status)
    {
    }

    /** One of `enum weir_status`. */
    int status() const noexcept
    {
        return status_;
    }

private:
    int status_;
};

/** The text of the thread's latest error. */
inline std::string last_error()
{
    std::string text(weir_last_error(nullptr, 0), '\0');
    weir_last_error(&text[0], text.size() + 1);
    return text;
}

/** Throws what went wrong. */
inline void require(int status)
{
    if (status != WEIR_OK) {
        throw error(status, last_error());
    }
}

/** A pool of one device, with the driver and the runtime that it stands on. All functions may be called on several
 * threads at once. Streams are the vendor's handles as numbers. */
class device_pool {
public:
    /** What every block is aligned to, at least: what RMM asks for where nothing else is said. */
    static constexpr std::size_t usual_alignment = 256;

    /**
     * A pool on a CUDA device. `settings` (null: the defaults) is for a pool of that device; `config` says how much the
     * runtime can hold, and where its log goes. Throws weir::error.
     */
    static std::shared_ptr<device_pool> cuda(std::uint32_t device, const weir_pool_config *settings = nullptr,
                                             const weir_config *config = nullptr)
    {
        return std::shared_ptr<device_pool>(new device_pool(weir_driver_cuda, device, settings, config));
    }

    /** The same on a HIP device. */
    static std::shared_ptr<device_pool> hip(std::uint32_t device, const weir_pool_config *settings = nullptr,
                                            const weir_config *config = nullptr)
    {
        return std::shared_ptr<device_pool>(new device_pool(weir_driver_hip, device, settings, config));
    }

    device_pool(const device_pool &) = delete;
    device_pool &operator=(const device_pool &) = delete;

    /** Waits for the device and gives everything back. */
    ~device_pool()
    {
        const int status = weir_destroy(runtime_);
        report(status);
        // A runtime that could not be destroyed still calls its driver.
        if (status == WEIR_OK) {
            report(weir_driver_close(&ops_));
        }
    }

    weir_runtime runtime() const noexcept
    {
        return runtime_;
    }

    weir_pool pool() const noexcept
    {
        return pool_;
    }

    /** What blocks are aligned to. */
    std::size_t alignment() const noexcept
    {
        return static_cast<std::size_t>(properties_.alignment);
    }

    /** What weir.h calls a stream, for its events and synchronisations. Throws weir::error. */
    weir_stream stream(std::uint64_t handle)
    {
        std::lock_guard<std::mutex> guard(lock_);
        const auto found = streams_.find(handle);
        if (found != streams_.end()) {
            return found->second;
        }
        weir_stream made{};
        /* A wait for a marker that was never laid does nothing, but the driver looks first whose stream it is. */
        int code = 0;
        if (ops_.wait(ops_.ctx, handle, UINT32_MAX, &code) != WEIR_DRIVER_OK) {
            throw error(WEIR_DRIVER_ERROR,
                        "stream " + std::to_string(handle) + " is not usable on device " + std::to_string(device_) +
                            ": the driver's code is " + std::to_string(code) + ", see weir_driver_cuda");
        }
        require(weir_stream_register(runtime_, device_, WEIR_STREAM_NON_BLOCKING, handle, 0, &made));
        streams_.emplace(handle, made);
        return made;
    }

    /** Notes that a stream is about to be destroyed; nothing where it was never named. Throws weir::error. */
    void forget(std::uint64_t handle)
    {
        std::lock_guard<std::mutex> guard(lock_);
        const auto found = streams_.find(handle);
        if (found != streams_.end()) {
            require(weir_stream_destroy(runtime_, found->second));
            streams_.erase(found);
        }
    }

    /** Allocates in the order of a stream; null for no bytes. Throws weir::error. */
    void *allocate(std::uint64_t handle, std::size_t bytes)
    {
        weir_ptr made = 0;
        if (bytes > 0) {
            require(weir_malloc_async(runtime_, pool_, bytes, stream(handle), &made));
        }
        return reinterpret_cast<void *>(static_cast<std::uintptr_t>(made));
    }

    /** Frees in the order of a stream; null is nothing. What goes wrong is said on the standard error stream. */
    void deallocate(std::uint64_t handle, void *block) noexcept
    {
        if (block == nullptr) {
            return;
        }
        try {
            report(weir_free_async(runtime_, address(block), stream(handle)));
        } catch (const std::exception &failure) {
            say(failure.what());
        }
    }

    /** Allocates memory that any stream may use at once: waits for the default stream. Throws weir::error. */
    void *allocate_sync(std::size_t bytes)
    {
        void *const made = allocate(0, bytes);
        if (made != nullptr) {
            const int status = weir_stream_synchronize(runtime_, stream(0));
            if (status != WEIR_OK) {
                const std::string text = last_error();
                deallocate(0, made);
                throw error(status, text);
            }
        }
        return made;
    }

    /** Waits for the device, and frees; where the device has failed the block stays taken. */
    void deallocate_sync(void *block) noexcept
    {
        if (block != nullptr) {
            const int status = weir_device_synchronize(runtime_, device_);
            report(status);
            // What may still be in use stays taken.
            if (status == WEIR_OK) {
                deallocate(0, block);
            }
        }
    }

    /** Notes that another stream uses a block until it is freed. Throws weir::error. */
    void record_stream(void *block, std::uint64_t handle)
    {
        require(weir_record_use(runtime_, address(block), stream(handle), WEIR_USE_FREE));
    }

private:
    using open_fn = int (*)(const char *, weir_driver_ops *);

    device_pool(open_fn open, std::uint32_t device, const weir_pool_config *settings, const weir_config *config)
        : device_(device)
    {
        weir_pool_config usual;
        weir_config capacities;
        require(weir_pool_config_init(&usual, device));
        require(weir_config_init(&capacities));
        capacities.streams = 256;
        capacities.pools = 1;
        capacities.blocks = std::uint64_t{1} << 18;
        capacities.granules = std::uint64_t{1} << 17;
        require(open(nullptr, &ops_));
        int status = weir_create_with_driver(config != nullptr ? config : &capacities, &ops_, &runtime_);
        if (status == WEIR_OK) {
            status = weir_pool_create(runtime_, settings != nullptr ? settings : &usual, &pool_);
        }
        int code = 0;
        if (status == WEIR_OK && ops_.properties(ops_.ctx, device, &properties_, &code) != WEIR_DRIVER_OK) {
            /* It was asked before, so this is the device's end. */
            status = WEIR_DRIVER_ERROR;
        }
        if (status != WEIR_OK) {
            const std::string text = last_error();
            if (runtime_.id != 0) {
                report(weir_destroy(runtime_));
            }
            report(weir_driver_close(&ops_));
            throw error(status, text);
        }
    }

    static weir_ptr address(void *block) noexcept
    {
        return static_cast<weir_ptr>(reinterpret_cast<std::uintptr_t>(block));
    }

    static void say(const char *text) noexcept
    {
        std::fprintf(stderr, "weir: %s\n", text);
    }

    /** For what may not throw. */
    static void report(int status) noexcept
    {
        if (status != WEIR_OK) {
            char text[1024];
            weir_last_error(text, sizeof text);
            say(text);
        }
    }

    std::uint32_t device_;
    weir_driver_ops ops_{};
    weir_driver_properties properties_{};
    weir_runtime runtime_{};
    weir_pool pool_{};
    std::mutex lock_;
    std::map<std::uint64_t, weir_stream> streams_;
};

} // namespace weir

#if __has_include(<rmm/error.hpp>) && __has_include(<cuda/memory_resource>)

#include <cuda/memory_resource>
#include <cuda/stream>
#include <rmm/error.hpp>

namespace weir {

/** A resource of RMM on a weir::device_pool. Allocations throw rmm::out_of_memory, or rmm::bad_alloc for other reasons. */
class rmm_resource {
public:
    explicit rmm_resource(std::shared_ptr<device_pool> pool) : pool_(std::move(pool))
    {
        if (pool_ == nullptr) {
            throw rmm::logic_error("weir::rmm_resource needs a pool, and got null");
        }
    }

    /** The pool, for its statistics (weir.h) and for `record_stream`. */
    device_pool &pool() const noexcept
    {
        return *pool_;
    }

    /** To be called before a stream is destroyed. */
    void forget(::cuda::stream_ref stream)
    {
        pool_->forget(handle(stream));
    }

    void *allocate(::cuda::stream_ref stream, std::size_t bytes, std::size_t alignment = device_pool::usual_alignment)
    {
        return thrown_as_rmm(alignment, pool_->alignment(), [&] { return pool_->allocate(handle(stream), bytes); });
    }

    void deallocate(::cuda::stream_ref stream, void *block, std::size_t, std::size_t = device_pool::usual_alignment) noexcept
    {
        pool_->deallocate(handle(stream), block);
    }

    void *allocate_sync(std::size_t bytes, std::size_t alignment = device_pool::usual_alignment)
    {
        return thrown_as_rmm(alignment, pool_->alignment(), [&] { return pool_->allocate_sync(bytes); });
    }

    void deallocate_sync(void *block, std::size_t, std::size_t = device_pool::usual_alignment) noexcept
    {
        pool_->deallocate_sync(block);
    }

    friend bool operator==(const rmm_resource &one, const rmm_resource &other) noexcept
    {
        return one.pool_ == other.pool_;
    }

    friend bool operator!=(const rmm_resource &one, const rmm_resource &other) noexcept
    {
        return one.pool_ != other.pool_;
    }

    friend constexpr void get_property(const rmm_resource &, ::cuda::mr::device_accessible) noexcept
    {
    }

private:
    static std::uint64_t handle(::cuda::stream_ref stream) noexcept
    {
        return reinterpret_cast<std::uintptr_t>(stream.get());
    }

    template <typename Work> static void *thrown_as_rmm(std::size_t alignment, std::size_t most, Work work)
    {
        if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > most) {
            throw rmm::bad_alloc("weir: an alignment of " + std::to_string(alignment) +
                                 " was asked for: expected a power of two up to " + std::to_string(most));
        }
        try {
            return work();
        } catch (const error &failure) {
            const std::string text = std::string("weir: ") + failure.what();
            switch (failure.status()) {
            case WEIR_OUT_OF_MEMORY:
            case WEIR_ABOVE_LIMIT:
            case WEIR_NO_ADDRESS_RANGE:
                throw rmm::out_of_memory(text);
            default:
                throw rmm::bad_alloc(text);
            }
        }
    }

    std::shared_ptr<device_pool> pool_;
};

static_assert(::cuda::mr::resource_with<rmm_resource, ::cuda::mr::device_accessible>);
static_assert(::cuda::mr::synchronous_resource_with<rmm_resource, ::cuda::mr::device_accessible>);

} // namespace weir

#endif

#endif /* WEIR_RMM_HPP */
