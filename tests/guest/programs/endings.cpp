// Every way to end that a judge must tell apart; the first argument chooses.
#include <cassert>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

static volatile int zero = 0;
static int *volatile nowhere = nullptr;

[[gnu::noinline]] static void write_to_null() { *nowhere = 1; }
[[gnu::noinline]] static int divide() { return 7 / zero; }
[[gnu::noinline]] static int descend(volatile int *above) {
    volatile int here[256] = {*above};
    return descend(here) + here[1];
}
static void handler(int) {
    const char text[] = "handled\n";
    if (write(1, text, sizeof text - 1) < 0) _exit(9);
}

int main(int, char **arguments) {
    std::string what = arguments[1];
    if (what == "no-newline") {
        fputs("done", stdout);
        return 0;
    }
    if (what == "return-3") return 3;
    if (what == "assert") assert(zero == 1);
    if (what == "null") write_to_null();
    if (what == "divide") return divide();
    if (what == "throw") throw std::runtime_error("nobody catches this");
    if (what == "abort") {
        puts("before");
        fflush(stdout);
        abort();
    }
    if (what == "abort-handled") {
        signal(SIGABRT, handler);
        abort();
    }
    if (what == "loop")
        for (;;) zero = 0;
    if (what == "kill") kill(getpid(), SIGKILL);
    if (what == "recurse") return descend(&zero);
    if (what == "allocate") {
        std::vector<char *> kept;
        for (;;) {
            kept.push_back(new char[1 << 20]);
            memset(kept.back(), 1, 1 << 20);
        }
    }
    if (what == "print")
        for (;;) puts("and again the same line of text");
    if (what == "fork") return fork() == 0 ? 0 : 1;
    if (what == "deadlock") {
        std::mutex mutex;
        mutex.lock();
        mutex.lock();
    }
    return 100;
}
