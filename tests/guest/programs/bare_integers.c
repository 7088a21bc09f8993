// A sieve, a sort, and divisions.
#include "bare.h"

static unsigned char composite[20000];
static unsigned values[500];

static unsigned run(void) {
    unsigned primes = 0;
    for (unsigned n = 2; n < sizeof composite; ++n) {
        if (composite[n]) continue;
        ++primes;
        for (unsigned m = n * n; m < sizeof composite; m += n) composite[m] = 1;
    }
    unsigned long seed = 12345;
    for (unsigned i = 0; i < 500; ++i) {
        seed = seed * 6364136223846793005ul + 1442695040888963407ul;
        values[i] = (unsigned)(seed >> 33);
    }
    for (unsigned i = 1; i < 500; ++i) {
        unsigned value = values[i], at = i;
        for (; at > 0 && values[at - 1] > value; --at) values[at] = values[at - 1];
        values[at] = value;
    }
    unsigned mix = primes;
    for (unsigned i = 0; i < 500; ++i) mix = mix * 31 + values[i] % (i + 1) + __builtin_popcount(values[i]);
    return mix;
}
