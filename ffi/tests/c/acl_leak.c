/* Destroys one pool with live blocks and one without. */
#include "acl_check.h"

int main(void)
{
    aclrtStream stream = NULL;
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&stream));
    aclrtMemPool first = make_pool(8 * MIB), second = make_pool(8 * MIB);
    allocate(first, 512, stream);
    allocate(first, 1000, stream);
    OK(aclrtMemPoolFreeAsync(allocate(second, 512, stream), stream));
    OK(aclrtMemPoolDestroy(first));
    OK(aclrtMemPoolDestroy(second));
    OK(aclFinalize());
    puts("ok");
    return 0;
}
