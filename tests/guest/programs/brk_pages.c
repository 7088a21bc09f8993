// Memory given back with brk comes back as zeros, by whole pages; bytes in a page that stays are kept.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static char *set_break(char *to) { return (char *)syscall(SYS_brk, to); }

int main(void) {
    const long page = 4096;
    char *start = set_break(NULL);
    start = (char *)(((uintptr_t)start + page - 1) & ~(uintptr_t)(page - 1));

    int refused = 0, nonzero = 0;
    refused += set_break(start + 2 * page) != start + 2 * page;
    memset(start, 0xab, 2 * page);
    refused += set_break(start) != start;
    refused += set_break(start + 2 * page) != start + 2 * page;
    for (long i = 0; i < 2 * page; ++i) nonzero += start[i] != 0;

    char *end = start + page + 64;
    refused += set_break(start) != start;
    refused += set_break(end) != end;
    memset(start, 0xcd, page + 64);
    refused += set_break(end - 32) != end - 32;
    refused += set_break(end) != end;
    unsigned char last[32];
    memcpy(last, end - 32, 32);

    printf("refused %d\nnonzero %d\nlast", refused, nonzero);
    for (int i = 0; i < 32; ++i) printf(" %02x", last[i]);
    printf("\n");
    return 0;
}
