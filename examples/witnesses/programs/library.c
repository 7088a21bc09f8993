// The C library at work: sorting, text, numbers, mathematics, memory, time arithmetic.
#include "mark.h"
#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int by_value(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static jmp_buf back;
static void leap(int depth) {
    if (depth == 0) longjmp(back, 7);
    leap(depth - 1);
}

int main(void) {
    enum { COUNT = 250 };
    static int numbers[COUNT];
    static char text[1 << 14];
    mark_begin();
    srand(42);
    for (int i = 0; i < COUNT; i++) numbers[i] = rand();
    qsort(numbers, COUNT, sizeof *numbers, by_value);
    char *at = text;
    for (int i = 0; i < 60; i++) at += sprintf(at, "%d:%x %.3e;", i, numbers[i], sqrt(numbers[i]) / 3);
    size_t letters = 0;
    for (char *p = text; *p; p++) letters += isalnum((unsigned char)*p) != 0;
    int words = 0;
    static char copy[sizeof text];
    for (char *word = strtok(strcpy(copy, text), ";"); word; word = strtok(NULL, ";")) words++;
    double sum = 0;
    for (int i = 1; i < 80; i++) sum += sin(i) * exp(-i / 50.0) + pow(i, 0.3) - log1p(i) + atan2(i, 3) + cbrt(i);
    void *blocks[64];
    for (int i = 0; i < 64; i++) memset(blocks[i] = malloc(100 + 37 * i), i, 100 + 37 * i);
    for (int i = 0; i < 64; i += 2) free(blocks[i]);
    for (int i = 0; i < 64; i += 2) blocks[i] = calloc(1, 300);
    for (int i = 0; i < 64; i++) free(blocks[i]);
    int leapt = setjmp(back);
    if (leapt == 0) leap(20);
    mark_end();
    // Not counted: the C library looks for the time zone in the system's files.
    struct tm date = {.tm_year = 120, .tm_mon = 1, .tm_mday = 29};
    time_t seconds = timegm(&date) + 365 * 86400;
    char when[64];
    strftime(when, sizeof when, "%Y-%m-%d %j %A", gmtime(&seconds));
    printf("%d %d %zu %d %.15g %d %s\n", numbers[0], numbers[COUNT - 1], letters, words, sum, leapt, when);
    printf("%a %s %ld %g\n", sum, strstr(text, "40:"), strtol("-7fff", NULL, 16), strtod("0x1.8p3", NULL));
    return 0;
}
