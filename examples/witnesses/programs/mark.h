// Markers around a span: one write each to the descriptor that guests have.
#pragma once
#include <unistd.h>

static inline void mark(const char *message) {
    if (write(198, message, 17) != 17) _exit(99);
}
static inline void mark_begin(void) { mark("B0123456789abcdef"); }
static inline void mark_end(void) { mark("E0123456789abcdef"); }
