// Vector, scalar and 80-bit floating point, with branches on the results.
#include "bare.h"

static double grid[64][64];
static float line[1000];

static unsigned run(void) {
    for (int i = 0; i < 64; ++i)
        for (int j = 0; j < 64; ++j) grid[i][j] = (i * 7 + j * 3) % 11;
    for (int round = 0; round < 10; ++round)
        for (int i = 1; i < 63; ++i)
            for (int j = 1; j < 63; ++j)
                grid[i][j] = (grid[i - 1][j] + grid[i + 1][j] + grid[i][j - 1] + grid[i][j + 1]) / 4;
    unsigned above = 0;
    for (int i = 0; i < 64; ++i)
        for (int j = 0; j < 64; ++j) above += grid[i][j] > 5.0;
    for (int i = 0; i < 1000; ++i) line[i] = (float)i * 0.25f;
    float sum = 0;
    for (int i = 0; i < 1000; ++i) sum += line[i] > 100 ? line[i] : -line[i];
    long double product = 1;
    for (int i = 1; i < 100; ++i) {
        product *= 1 + 1.0L / i;
        if (product > 50) product /= 2;
    }
    return above + (unsigned)(long)sum + (unsigned)(long)(product * 100);
}
