// What an emulation of the x87 with 64-bit doubles, without rounding control or without pops gets wrong.
// Compiled with -frounding-math; what must not be folded is volatile.
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void shortest(long double value) {
    char text[64];
    for (int digits = 1; digits <= 21; ++digits) {
        snprintf(text, sizeof text, "%.*Lg", digits, value);
        if (strtold(text, NULL) == value) break;
    }
    printf("shortest %s\n", text);
}

static long double rounded(int mode) {
    volatile long double pi = 3.14159265358979323846264338327950288L;
    volatile long double e = 2.71828182845904523536028747135266250L;
    fesetround(mode);
    volatile long double product = pi * e;
    volatile long double quotient = product / pi;
    fesetround(FE_TONEAREST);
    return quotient;
}

int main(void) {
    volatile long double large = 9223372036854775807.0L;
    printf("large %.0Lf\n", large);

    long double infinite = strtold("+inf", NULL);
    printf("infinite %d %d\n", isinf(infinite) != 0, infinite > 0);

    volatile long double decimal = 4.2L;
    shortest(decimal);

    volatile long double one = strtold("1", NULL);
    printf("differences %.2Lf %.2Lf\n", one - 2, one - 1);

    long double down = rounded(FE_DOWNWARD), up = rounded(FE_UPWARD);
    printf("down %.19Lg\nup %.19Lg\ndiffer %d\n", down, up, down != up);

    volatile double p = 0, q = 0;
    volatile double first = 1, second = 2;
    __asm__ volatile("fldl %2\n\tfldl %3\n\tfstpl %0\n\tfstpl %1"
                     : "=m"(p), "=m"(q)
                     : "m"(first), "m"(second));
    printf("popped %g %g\n", p, q);

    unsigned short control, status;
    __asm__ volatile("fninit\n\tfnstcw %0\n\tfnstsw %1" : "=m"(control), "=m"(status));
    printf("after fninit %04x %04x\n", control, status);
    printf("bessel %.15Lg\n", jnl(2, 1.5L));
    printf("rounded to integer %ld %ld\n", lrintl(2.5L), lrintl(-3.5L));
    return 0;
}
