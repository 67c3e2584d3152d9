/* What the tests of the emulated CANN interface have in common. */
#ifndef ACL_CHECK_H
#define ACL_CHECK_H

#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "acl/weir_acl.h"

#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

/* A call must return a code, and say something with a part in it when that is an error. */
static inline void expect(int line, const char *call, aclError found, aclError wanted, const char *part)
{
    const char *text = found == ACL_SUCCESS ? "" : aclGetRecentErrMsg();
    if (found != wanted) {
        text = text != NULL ? text : "no text";
        fprintf(stderr, "line %d: %s returned %d (%s), expected %d\n", line, call, found, text, wanted);
        exit(1);
    }
    if (found != ACL_SUCCESS && (text == NULL || strstr(text, part) == NULL)) {
        fprintf(stderr, "line %d: %s says \"%s\", expected \"%s\"\n", line, call, text ? text : "nothing", part);
        exit(1);
    }
}

#define OK(call) expect(__LINE__, #call, (call), ACL_SUCCESS, "")
#define REFUSED(code, part, call) expect(__LINE__, #call, (call), (code), (part))

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: %s does not hold\n", __LINE__, #condition);                                      \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static inline aclrtMemPoolProps properties(size_t size)
{
    aclrtMemPoolProps props;
    memset(&props, 0, sizeof props);
    props.allocType = ACL_MEM_ALLOCATION_TYPE_PINNED;
    props.handleType = ACL_MEM_HANDLE_TYPE_NONE;
    props.location.id = 0;
    props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    props.maxSize = size;
    return props;
}

static inline aclrtMemPool make_pool(size_t size)
{
    aclrtMemPool pool = NULL;
    const aclrtMemPoolProps props = properties(size);
    OK(aclrtMemPoolCreate(&pool, &props));
    CHECK(pool != NULL);
    return pool;
}

static inline void *allocate(aclrtMemPool pool, size_t size, aclrtStream stream)
{
    void *ptr = NULL;
    OK(aclrtMemPoolMallocAsync(&ptr, size, pool, stream));
    CHECK(ptr != NULL);
    return ptr;
}

static inline uint64_t attribute(aclrtMemPool pool, aclrtMemPoolAttr attr)
{
    uint64_t value = 0;
    OK(aclrtMemPoolGetAttr(pool, attr, &value));
    return value;
}

static inline void set_switch(aclrtMemPool pool, aclrtMemPoolAttr attr, uint32_t value)
{
    OK(aclrtMemPoolSetAttr(pool, attr, &value));
}

#endif
