/*
 * acl/acl_base.h - types and return codes of CANN's runtime interface, as far as weir emulates it.
 *
 * Written for weir from CANN's public documentation; names, numbers and layouts are CANN's, so that a program compiles
 * against either. C11 and C++17. SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef WEIR_ACL_BASE_H
#define WEIR_ACL_BASE_H

#include <stddef.h>
#include <stdint.h>

/* A check at compile time, in both languages. */
#ifdef __cplusplus
#define WEIR_ACL_CHECK(condition, text) static_assert(condition, text)
#else
#define WEIR_ACL_CHECK(condition, text) _Static_assert(condition, text)
#endif

/** What functions return: 0, or why not. 1xxxxx: the program's mistake; 2xxxxx: no resources; 5xxxxx: the rest. */
typedef int aclError;

/* Handles. Here they are numbers that are never given out twice, not addresses: a stale one is refused. */
typedef void *aclrtContext;
typedef void *aclrtStream;
typedef void *aclrtEvent;

/** Done. */
static const int ACL_SUCCESS = 0;
/** A pointer is null that must not be, or a field of a struct has a value that it cannot have. */
static const int ACL_ERROR_INVALID_PARAM = 100000;
/** aclInit was not called. */
static const int ACL_ERROR_UNINITIALIZE = 100001;
/** aclInit was called before, without aclFinalize since. */
static const int ACL_ERROR_REPEAT_INITIALIZE = 100002;
/** A file cannot be used. */
static const int ACL_ERROR_INVALID_FILE = 100003;
/** No kernel has this name. */
static const int ACL_ERROR_KERNEL_NOT_FOUND = 100029;
/** Another kernel has this name. */
static const int ACL_ERROR_KERNEL_ALREADY_REGISTERED = 100031;
/** aclFinalize was called before, without aclInit since. */
static const int ACL_ERROR_REPEAT_FINALIZE = 100037;
/** A defect of the library. */
static const int ACL_ERROR_INTERNAL_ERROR = 500000;

/** An argument has a value that it cannot have. */
#define ACL_ERROR_RT_PARAM_INVALID 107000
/** There is no such device. */
#define ACL_ERROR_RT_INVALID_DEVICEID 107001
/** The calling thread has no current context. */
#define ACL_ERROR_RT_CONTEXT_NULL 107002
/** The stream belongs to another context than the thread's current one. */
#define ACL_ERROR_RT_STREAM_CONTEXT 107003
/** An address is not aligned as it must be. */
#define ACL_ERROR_RT_ADDR_UNALIGNED 107008
/** A stream or event was destroyed, or never was one. */
#define ACL_ERROR_RT_INVALID_HANDLE 107017
/** A wait ran out of time. */
#define ACL_ERROR_RT_WAIT_TIMEOUT 107019
/** The call, or this use of it, is not supported. */
#define ACL_ERROR_RT_FEATURE_NOT_SUPPORT 207000
/** No memory. */
#define ACL_ERROR_RT_MEMORY_ALLOCATION 207001
/** Something else has run out. */
#define ACL_ERROR_RT_RESOURCE_ALLOC_FAIL 207005
/** No more events. */
#define ACL_ERROR_RT_NO_EVENT_RESOURCE 207007
/** No more streams. */
#define ACL_ERROR_RT_NO_STREAM_RESOURCE 207008
/** The pool does not exist, cannot do this, or the stream is null where none may be. */
#define ACL_ERROR_RT_INTERNAL_ERROR 507000
/** A kernel or copy went wrong on the device. Reported by what waits for it; the device is unusable from then on. */
#define ACL_ERROR_RT_AICORE_EXCEPTION 507015
/** A built-in kernel of memory pools failed. */
#define ACL_ERROR_RT_AICPU_EXCEPTION 507018
/** The driver failed. */
#define ACL_ERROR_RT_DRV_INTERNAL_ERROR 507899

#endif
