/*
 * acl/acl.h - the beginning and the end of a program that uses CANN's runtime interface, and everything else.
 *
 * weir emulates a part of that interface on its host driver (Linux memory as a device), so that a program runs without
 * an NPU. Environment:
 *
 *   WEIR_HOST_BYTES  physical memory of the device: a number of bytes, or a number with KiB, MiB, GiB, TiB (units of
 *                    1024; K, M, G and T are the same) or kB, MB, GB, TB (units of 1000). 64 GiB where it is not set.
 *                    It is sparse: only what is written takes memory of the machine.
 *   WEIR_LOG         a file for the log of all that happens to memory: `cargo xtask viz FILE` shows it.
 *
 * Link with libweir.a (add -lpthread -ldl -lm where the system's C library keeps these apart), with libweir.so, or with
 * libweir_acl.so, in which the vendor's library answers where there is one.
 *
 * Written for weir from CANN's public documentation. SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef WEIR_ACL_H_FOR_ACL
#define WEIR_ACL_H_FOR_ACL

#include "acl_base.h"
#include "acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Begins. `configPath` is null, or a file of settings in JSON, which must exist and is not interpreted here.
 *
 * ACL_ERROR_REPEAT_INITIALIZE when it was called before (nothing is changed); ACL_ERROR_INVALID_FILE for a file that
 * cannot be read; ACL_ERROR_INVALID_PARAM or ACL_ERROR_INVALID_FILE for a bad WEIR_HOST_BYTES or WEIR_LOG, with one
 * line on the standard error stream.
 */
aclError aclInit(const char *configPath);

/**
 * Ends: waits for the calls that other threads are in, finishes what is queued, destroys what is left, and completes the
 * log. One call is enough for any number of aclInit. The program may begin again. ACL_ERROR_INVALID_FILE, with one line
 * on the standard error stream, where the log that WEIR_LOG names is not whole; everything has ended all the same.
 */
aclError aclFinalize(void);

/**
 * What was wrong in the latest call on this thread that returned an error, with the numbers, or null. The text is taken
 * by this call, and is good until the thread's next call of it.
 */
const char *aclGetRecentErrMsg(void);

#ifdef __cplusplus
}
#endif

#endif
