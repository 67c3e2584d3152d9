/* The emulation in the child of a process that had begun. */
#include <sys/wait.h>
#include <unistd.h>

#include "acl_check.h"

int main(void)
{
    int status = 1;
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    pid_t child = fork();
    if (child == 0) {
        aclrtStream stream = NULL;
        REFUSED(207000, "forked", aclrtCreateStream(&stream));
        REFUSED(207000, "forked", aclFinalize());
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    OK(aclFinalize());
    puts("ok");
    return 0;
}
