// Repeated string instructions of every kind, with directions and counts that end early.
#include "bare.h"

static char text[4096], copy[4096];

static unsigned run(void) {
    unsigned mix = 0;
    for (unsigned round = 0; round < 64; ++round) {
        char *to = text;
        unsigned long count = 64 * round + 1;
        __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"('a' + round % 26) : "memory");
        const char *from = text;
        to = copy;
        count = 8 * round;
        __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
        text[3 * round] = 0;
        to = text;
        count = sizeof text;
        __asm__ volatile("repne scasb" : "+D"(to), "+c"(count) : "a"(0) : "memory", "cc");
        mix = mix * 31 + (unsigned)count;
        from = text;
        to = copy;
        count = 512;
        __asm__ volatile("repe cmpsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory", "cc");
        mix = mix * 31 + (unsigned)count;
        from = copy + 100;
        to = copy + 140;
        count = 60;
        __asm__ volatile("std\n\trep movsb\n\tcld" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
        from = copy;
        __asm__ volatile("lodsl\n\tstosl" : "+S"(from), "+D"(to) : : "rax", "memory");
    }
    return mix;
}
