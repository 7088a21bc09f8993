// System calls of every number with arguments that are likely to hurt, drawn from the seed in the first argument.
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

static uint64_t state;
static uint64_t draw(uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

static _Alignas(4096) unsigned char room[4 * 4096];
static const char *const paths[] = {"",          "/",         ".",          "..",   "/tmp/a",  "/tmp/a/b",      "/proc/self/fd/1",
                                    "/dev/null", "/dev/zero", "/proc/self", "/job", "/etc/passwd", "/tmp/../tmp/./c", "relative"};

static uint64_t argument(void) {
    static const uint64_t edges[] = {0,          1,          2,           3,           4096,       4097,          0xfff,
                                     0x7fffffff, 0x80000000, 0xffffffff,  INT64_MAX,   UINT64_MAX, (uint64_t)-100, 198,
                                     1ul << 40,  1ul << 47,  0x7ffffffff000, 0xdead0000, 1ul << 62, 8,            16};
    switch (draw(6)) {
    case 0: return edges[draw(sizeof edges / sizeof *edges)];
    case 1: return (uint64_t)(room + draw(sizeof room));
    case 2: return (uint64_t)room;
    case 3: return (uint64_t)paths[draw(sizeof paths / sizeof *paths)];
    case 4: return draw(300);
    default: return (uint64_t)1 << draw(64);
    }
}

int main(int count, char **arguments) {
    state = count > 1 ? strtoul(arguments[1], 0, 10) : 0;
    for (int i = 0; i < 16; ++i) draw(1);
    for (size_t at = 0; at < sizeof room; at += 8) {
        uint64_t word = draw(3) ? argument() : draw(UINT32_MAX);
        __builtin_memcpy(room + at, &word, 8);
    }
    for (int round = 0; round < 400; ++round) {
        uint64_t number = draw(8) ? draw(335) : 424 + draw(45);
        // Calls that end the program, wait for ever or are refused as a whole would end the test too soon.
        static const unsigned short left_out[] = {15, 34, 37, 38, 56, 57, 58, 59, 60, 130, 202, 222, 231, 322, 435, 437};
        int skip = 0;
        for (size_t i = 0; i < sizeof left_out / sizeof *left_out; ++i) skip |= number == left_out[i];
        if (skip) continue;
        if (number == 9 || number == 10 || number == 11 || number == 25) {
            uint64_t at = draw(2) ? (uint64_t)room : argument();
            if (at - (uint64_t)main < 1ul << 24 && (at < (uint64_t)room || at >= (uint64_t)room + sizeof room)) continue;
        }
        long result;
        register uint64_t r10 __asm__("r10") = argument();
        register uint64_t r8 __asm__("r8") = argument();
        register uint64_t r9 __asm__("r9") = argument();
        uint64_t rdi = argument(), rsi = argument(), rdx = argument();
        __asm__ volatile("syscall"
                         : "=a"(result)
                         : "a"(number), "D"(rdi), "S"(rsi), "d"(rdx), "r"(r10), "r"(r8), "r"(r9)
                         : "rcx", "r11", "memory");
    }
    return 0;
}
