// Loops that compilers vectorise: matrices, a sieve, hashing, a stencil, bits.
#include "mark.h"
#include <stdint.h>
#include <stdio.h>

enum { N = 16, LONG = 1024 };
static double a[N][N], b[N][N], c[N][N];
static float line[LONG], smooth[LONG];
static uint32_t words[LONG];
static uint8_t sieve[LONG];

int main(void) {
    mark_begin();
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) a[i][j] = i * 0.5 - j, b[i][j] = 1.0 / (i + j + 1);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++) c[i][j] += a[i][k] * b[k][j];
    for (int i = 0; i < LONG; i++) line[i] = (float)((i * 7919) % 1000) / 10;
    for (int i = 1; i + 1 < LONG; i++) smooth[i] = (line[i - 1] + 2 * line[i] + line[i + 1]) / 4;
    uint32_t state = 2463534242u;
    for (int i = 0; i < LONG; i++) {
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        words[i] = state;
    }
    uint64_t hash = 14695981039346656037u, ones = 0, least = UINT64_MAX;
    for (int i = 0; i < LONG; i++) {
        hash = (hash ^ words[i]) * 1099511628211u;
        ones += __builtin_popcount(words[i]) + __builtin_ctz(words[i] | 1u << 31) + __builtin_clz(words[i] | 1);
        if (words[i] < least) least = words[i];
    }
    int primes = 0;
    for (int i = 2; i < LONG; i++)
        if (!sieve[i]) {
            primes++;
            for (int j = 2 * i; j < LONG; j += i) sieve[j] = 1;
        }
    double trace = 0, area = 0;
    for (int i = 0; i < N; i++) trace += c[i][i];
    for (int i = 0; i < LONG; i++) area += smooth[i];
    mark_end();
    printf("%.17g %.17g %016llx %llu %llu %d\n", trace, area, (unsigned long long)hash, (unsigned long long)ones,
           (unsigned long long)least, primes);
    return 0;
}
