/*
 * acl/weir_acl.h - kernels for the emulated device: what CANN has no call for.
 *
 * A kernel is a C function of the program. It runs on its stream's thread, in the stream's order, on real bytes. It
 * asks for the bytes that it touches by weir_kernel_bytes (weir.h), which checks that they are mapped and that no
 * kernel of another stream uses them at the same time; weir_kernel_fail reports a failure. Either makes the device
 * unusable, and what waits for it returns ACL_ERROR_RT_AICORE_EXCEPTION.
 *
 * C11 and C++17. SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef WEIR_ACL_WEIR_ACL_H
#define WEIR_ACL_WEIR_ACL_H

#include "acl_rt.h"

#include "../weir.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A kernel: called once for each of `blocks` cores, one after the other, with the bytes of its arguments. No call of
 * this library but weir_kernel_bytes and weir_kernel_fail; no C++ exception may leave it.
 */
typedef void (*weir_acl_kernel)(struct weir_kernel *kernel, uint32_t block, uint32_t blocks, const void *args);

/**
 * Makes a function known as a kernel of this name, before or after aclInit, for the life of the process.
 * ACL_ERROR_KERNEL_ALREADY_REGISTERED where the name stands for another function.
 */
aclError weir_acl_register_kernel(const char *name, weir_acl_kernel function);

/** The binary that all registered kernels are in, for aclrtBinaryGetFunction. */
aclrtBinHandle weir_acl_binary(void);

#ifdef __cplusplus
}
#endif

#endif
