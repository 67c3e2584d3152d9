/*
 * weir_torch.h - weir as the device memory of PyTorch and torch_npu.
 *
 * Both load an allocator from a shared library by the names of two functions: CUDAPluggableAllocator and
 * NPUPluggableAllocator take libweir.so, "weir_torch_malloc" and "weir_torch_free". The other functions are given to the
 * allocator's setters. `weir_torch_record_stream` must be given to `set_record_stream_fn`: without it the frameworks' own
 * `Tensor.record_stream` does nothing, and memory is reused while a side stream still works on it.
 *
 * A device is opened when it is first used. Each has a runtime and a pool of its own, so that a default stream (0) is
 * known to be the device's, with several devices too. Its settings come from environment variables, read at that moment:
 *
 *   WEIR_TORCH_DRIVER     cuda, hip, acl, or host (Linux memory, for trials). Unset: the one whose library is loaded.
 *   WEIR_TORCH_LIMIT      the most physical memory that weir may hold on each device. Unset: the device's total.
 *   WEIR_TORCH_THRESHOLD  bytes that a synchronisation through weir leaves reserved. Unset: 0.
 *   WEIR_TORCH_REUSE      all, none, or some of event, opportunistic, internal with commas between. Unset: all.
 *   WEIR_TORCH_LOG        the log's file, made anew. `{device}` and `{pid}` in it stand for these numbers; without
 *                         `{device}`, the number is put behind the name for devices other than 0. Unset: no log.
 *
 * Sizes are written as for WEIR_HOST_BYTES, which is the host devices' total here too. WEIR_CUDA_LIBRARY,
 * WEIR_HIP_LIBRARY and WEIR_ACL_LIBRARY name another library (weir.h). A value that is not understood is an error of
 * whatever call came first: one that names the variable.
 *
 * Errors: the functions that have no status write one line to the standard error stream, beginning with "weir: ", and
 * keep the text for weir_last_error. None throws or unwinds.
 *
 * Threads: all functions may be called on several threads at once; when several open a device, one runtime results.
 * A pressure callback (weir_set_pressure) may call them too, for devices that are open; to allocate on its own, to open
 * one or to reset is WEIR_BUSY there.
 *
 * Streams are made known when they are first named: at most 256 a device. A stream must outlive the process, or
 * weir_torch_reset: neither framework tells of a stream's end, and both keep their streams. Its device must be the
 * block's. CUDA's default stream of each thread is refused. Captured streams (CUDA graphs) are not supported.
 *
 * fork: the child of a process that has a device open may not use weir. It gets null, and what it frees stays as it was:
 * the memory is the parent's. Where no device is open yet, parent and child both may begin.
 *
 * When the process ends, the logs are written out, and nothing is given back: the vendor's library may be gone already.
 *
 * The header is C11 and C++17. SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef WEIR_TORCH_H
#define WEIR_TORCH_H

#include <stdbool.h>
#include <stddef.h>

#include "weir.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Allocates `size` bytes on a device, in the order of the stream (a cudaStream_t, hipStream_t or aclrtStream; on the host
 * driver any value names a stream). Null where `size` is 0, and on an error. No version of the frameworks that was read
 * checks for null: the line on the standard error stream comes before the crash.
 */
void *weir_torch_malloc(size_t size, int device, void *stream);

/** Frees in the order of the stream. Null is nothing. `size` is not looked at. Makes no driver call after the first that
 * names the stream. */
void weir_torch_free(void *ptr, size_t size, int device, void *stream);

/**
 * For set_record_stream_fn: another stream uses the block. What is queued there until the block is freed is waited for,
 * before the memory is given to anyone. Null for a block is nothing, for a stream the default one of the block's own
 * device. Where that cannot be noted, such as for a stream of another device, the block stays taken when it is freed, and
 * both calls say so: reusing it would not be safe. A second free, by whoever knows that the stream has passed, lets it go.
 */
void weir_torch_record_stream(void *ptr, void *stream);

/** For PyTorch's set_reset_fn, which torch.cuda.empty_cache calls: waits for every open device and gives back all
 * granules in which nothing is live. */
void weir_torch_empty_cache(void);

/** The same for torch_npu's set_reset_fn. Errors are reported whatever `check_error` says. */
void weir_torch_npu_empty_cache(bool check_error);

/**
 * Ends everything, so that the next call begins anew, with the environment as it is then. Not for set_reset_fn.
 * WEIR_LIVE_BLOCKS where something is live on a device: nothing is done then. Otherwise as weir_destroy, for each device.
 * Handles are gone then, streams are forgotten, and a log begun later under the same name replaces this one. Work on the
 * devices may not call the functions of this header meanwhile.
 */
int weir_torch_reset(void);

/** The runtime and the pool behind a device, for statistics, marks and synchronisation (weir.h). Opens the device. They
 * may not be destroyed. Either output may be null. */
int weir_torch_handles(int device, weir_runtime *runtime, weir_pool *pool);

/** What a stream is called in that runtime, for events that weir shall know of. */
int weir_torch_stream(int device, void *stream, weir_stream *found);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_TORCH_H */
