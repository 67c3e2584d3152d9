/* Functions of CANN's headers that the emulation's do not have, as far as tests of libweir_acl.so call them. */
#ifndef ACL_VENDOR_H
#define ACL_VENDOR_H

#include "acl/acl.h"

enum { EVENT_SYNC = 0x1, EVENT_IPC = 0x40, STREAM_PERSISTENT = 0x4 };

aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority, uint32_t flag);
aclError aclrtDestroyStreamForce(aclrtStream stream);
aclError aclrtStreamAbort(aclrtStream stream);
aclError aclrtStreamQuery(aclrtStream stream, int *status);
aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);
aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag);
aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream);
aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout);
aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t timeout);
aclError aclrtSetOpWaitTimeout(uint32_t timeout);
aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout);
aclError aclrtSetCurrentContext(aclrtContext context);
aclError aclrtGetCurrentContext(aclrtContext *context);
aclError aclrtResetDeviceForce(int32_t device);
aclError aclrtMalloc(void **ptr, size_t size, int policy);
aclError aclrtFree(void *ptr);
aclError aclmdlRICaptureBegin(aclrtStream stream, int mode);
aclError aclmdlRICaptureEnd(aclrtStream stream, void **model);

#endif
