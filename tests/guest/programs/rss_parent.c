// A program with much memory starts others, which have their own: none, or some for a moment.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20, PAGE = 4096 };

static char *touched(long mib) {
    char *at = mmap(NULL, mib * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long i = 0; i < mib * MIB; i += PAGE) at[i] = 1;
    return at;
}

static long peak_of(const char *size) {
    pid_t child = vfork();
    if (child == 0) {
        execl("/proc/self/exe", "child", "child", size, NULL);
        _exit(127);
    }
    struct rusage usage;
    int status;
    wait4(child, &status, 0, &usage);
    if (status != 0) printf("status %d\n", status);
    return usage.ru_maxrss / 1024;
}

int main(int count, char **arguments) {
    if (count == 3) {
        long mib = atol(arguments[2]);
        if (mib > 0) {
            char *at = touched(mib);
            usleep(1000);
            munmap(at, mib * MIB);
        }
        return 0;
    }
    touched(atol(arguments[1]));
    printf("empty %ld\n", peak_of("0"));
    printf("moment %ld\n", peak_of("200"));
    struct rusage own;
    getrusage(RUSAGE_SELF, &own);
    printf("own %ld\n", own.ru_maxrss / 1024);
}
