/* Says what aclInit answers, and who does: a program that is linked with no vendor's library. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/auxv.h>

#include "acl_vendor.h"

int main(int count, char **arguments)
{
    if (count > 1) {
        /* Whether the process has more rights than who started it. */
        printf("%s %lu\n", arguments[1], getauxval(AT_SECURE));
        return 0;
    }
    void *block = NULL;
    aclError begun = aclInit(NULL);
    if (begun != ACL_SUCCESS) {
        const char *text = aclGetRecentErrMsg();
        printf("%d %s\n", begun, text != NULL ? text : "no text");
        return 0;
    }
    /* The emulation has no memory outside pools. */
    aclError made = aclrtSetDevice(0) == ACL_SUCCESS ? aclrtMalloc(&block, 4096, 0) : 1;
    const char *text = made == ACL_SUCCESS ? "" : aclGetRecentErrMsg();
    printf("%d %s\n", begun, made == ACL_SUCCESS ? "vendor" : text != NULL ? "emulation" : "no text");
    return 0;
}
