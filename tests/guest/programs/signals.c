// Signals in every way that programs use them. Prints what happened; the output is the same on every Linux.
#define _GNU_SOURCE
#include <errno.h>
#include <fenv.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile sig_atomic_t seen, code, depth;
static void *volatile address;

static void install(int signal, void (*handler)(int, siginfo_t *, void *), int flags) {
    struct sigaction action = {0};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | flags;
    sigemptyset(&action.sa_mask);
    if (sigaction(signal, &action, NULL)) abort();
}

static void jump(int signal, siginfo_t *info, void *context) {
    (void)context;
    seen = signal;
    code = info->si_code;
    address = info->si_addr;
    siglongjmp(back, 1);
}

static void note(int signal, siginfo_t *info, void *context) {
    (void)context;
    seen = signal;
    code = info->si_code;
}

static void faults(void) {
    install(SIGSEGV, jump, 0);
    install(SIGFPE, jump, 0);
    install(SIGILL, jump, 0);
    install(SIGBUS, jump, 0);
    volatile int zero = 0;
    int *volatile nowhere = (int *)0x10;
    char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!sigsetjmp(back, 1)) *nowhere = 1;
    printf("unmapped %d %d %p\n", seen, code, address);
    if (!sigsetjmp(back, 1)) page[7] = 1;
    printf("protected %d %d %d\n", seen, code, (int)((char *)address - page));
    if (!sigsetjmp(back, 1)) printf("%d\n", 7 / zero);
    printf("divide %d %d\n", seen, code);
    if (!sigsetjmp(back, 1)) __asm__ volatile("ud2");
    printf("illegal %d %d\n", seen, code);
    if (!sigsetjmp(back, 1)) __asm__ volatile("movq (%0), %%rax" ::"r"(0x8000000000000000) : "rax");
    printf("not canonical %d %d %p\n", seen, code, address);
    feenableexcept(FE_DIVBYZERO | FE_INVALID);
    volatile double one = 1, nothing = 0, result;
    if (!sigsetjmp(back, 1)) result = one / nothing;
    printf("float %d %d\n", seen, code);
    feenableexcept(FE_DIVBYZERO | FE_INVALID);
    volatile long double long_nothing = 0;
    if (!sigsetjmp(back, 1)) result = (double)(long_nothing / long_nothing);
    printf("long float %d %d\n", seen, code);
    fedisableexcept(FE_ALL_EXCEPT);
    (void)result;
}

// The handler repairs what faulted by changing the registers that it is shown.
static void repair(int signal, siginfo_t *info, void *pointer) {
    (void)signal, (void)info;
    ucontext_t *context = pointer;
    depth++;
    context->uc_mcontext.gregs[REG_RIP] += 3;
    context->uc_mcontext.gregs[REG_RAX] = 42;
    printf("error %llx trap %llx\n", context->uc_mcontext.gregs[REG_ERR],
           context->uc_mcontext.gregs[REG_TRAPNO]);
}

static void registers(void) {
    install(SIGSEGV, repair, 0);
    // All registers survive the handler, the vector and x87 ones too; the red zone as well.
    uint64_t in[4] = {1, 2, 3, 4}, out[4];
    uint64_t rax, rbx = 5, r8 = 6, r15 = 7, zone, flags;
    __asm__ volatile("movdqu (%[in]), %%xmm7\n\t"
                     "movdqu 16(%[in]), %%xmm15\n\t"
                     "fldpi\n\t"
                     "mov %[rbx], %%rbx\n\t"
                     "mov %[r8], %%r8\n\t"
                     "mov %[r15], %%r15\n\t"
                     "movq $99, -120(%%rsp)\n\t"
                     "xor %%eax, %%eax\n\t"
                     "stc\n\t"
                     "movq (%%rax), %%rax\n\t"
                     "sbb %[flags], %[flags]\n\t"
                     "mov -120(%%rsp), %[zone]\n\t"
                     "mov %%rbx, %[rbx]\n\t"
                     "mov %%r8, %[r8]\n\t"
                     "mov %%r15, %[r15]\n\t"
                     "movdqu %%xmm7, (%[out])\n\t"
                     "movdqu %%xmm15, 16(%[out])\n\t"
                     "fstp %%st(0)"
                     : [rax] "=&a"(rax), [rbx] "+m"(rbx), [r8] "+m"(r8), [r15] "+m"(r15),
                       [zone] "=&c"(zone), [flags] "=&d"(flags)
                     : [in] "S"(in), [out] "D"(out)
                     : "rbx", "r8", "r15", "xmm7", "xmm15", "memory", "st");
    printf("repaired %d: %lu %lu %lu %lu, %lu, %ld;", depth, rax, rbx, r8, r15, zone, (long)flags);
    printf(" %lu %lu %lu %lu\n", out[0], out[1], out[2], out[3]);
}

// The upper halves of the vector registers survive too, and a handler begins with none of them.
#ifdef __AVX__
static void clobber(int signal, siginfo_t *info, void *pointer) {
    (void)signal, (void)info, (void)pointer;
    uint64_t upper[4];
    __asm__ volatile("vmovdqu %%ymm9, (%0)\n\tvpcmpeqd %%xmm9, %%xmm9, %%xmm9\n\tvinsertf128 $1, %%xmm9, %%ymm9, %%ymm9"
                     ::"r"(upper) : "memory", "xmm9");
    printf("begins with %lu %lu\n", upper[0], upper[3]);
    uint8_t *area = (uint8_t *)((ucontext_t *)pointer)->uc_mcontext.fpregs;
    printf("area %x, header %x", *(uint32_t *)(area + 464), area[512] & 7);
    printf(", kept %lu\n", *(uint64_t *)(area + 576 + 16 * 9 + 8));
    // What the handler writes to the frame is what the program gets.
    *(uint64_t *)(area + 576 + 16 * 9) = 77;
}
static void wide(void) {
    install(SIGUSR1, clobber, 0);
    uint64_t words[4] = {1, 2, 3, 4};
    long number = 62;
    __asm__ volatile("vmovdqu (%[words]), %%ymm9\n\tsyscall\n\tvmovdqu %%ymm9, (%[words])"
                     : "+a"(number)
                     : [words] "r"(words), "D"(getpid()), "S"((long)SIGUSR1)
                     : "rcx", "r11", "xmm9", "memory");
    printf("wide %lu %lu %lu %lu\n", words[0], words[1], words[2], words[3]);
}
#else
static void wide(void) {}
#endif

static char *outside;
static void on_other_stack(int signal, siginfo_t *info, void *context) {
    (void)info, (void)context;
    char here;
    stack_t now;
    sigaltstack(NULL, &now);
    seen = signal;
    depth = &here >= outside && &here < outside + 65536 && (now.ss_flags & SS_ONSTACK);
    siglongjmp(back, 1);
}
__attribute__((noinline)) static int descend(volatile int *above) {
    volatile int here[1024] = {*above};
    return descend(here) + here[1];
}

static void alternate(void) {
    outside = malloc(65536);
    stack_t stack = {.ss_sp = outside, .ss_size = 65536};
    sigaltstack(&stack, NULL);
    install(SIGSEGV, on_other_stack, SA_ONSTACK);
    volatile int start = 1;
    for (int i = 0; i < 2; i++) {
        depth = 0;
        if (!sigsetjmp(back, 1)) start = descend(&start);
        printf("overflow %d handled on the other stack: %d\n", seen, depth);
    }
    stack.ss_flags = SS_DISABLE;
    printf("disabled %d", sigaltstack(&stack, &stack));
    printf(" was %d of %zu\n", stack.ss_flags, stack.ss_size);
    stack.ss_size = 100, stack.ss_flags = 0;
    printf("small %d %d\n", sigaltstack(&stack, NULL), errno == ENOMEM);
}

static int again = 2;
static void nested(int signal, siginfo_t *info, void *context) {
    (void)info, (void)context;
    depth++;
    printf("in %d at depth %d\n", signal, depth);
    if (signal == SIGUSR1) raise(SIGUSR2);
    if (signal == SIGUSR2 && again-- > 0) raise(SIGUSR2);
    printf("out %d at depth %d\n", signal, depth);
    depth--;
}

static void sending(void) {
    depth = 0;
    install(SIGUSR1, nested, 0);
    install(SIGUSR2, nested, SA_NODEFER);
    raise(SIGUSR1);
    install(SIGUSR2, nested, 0);
    again = 2;
    raise(SIGUSR2);
    depth = 0;
    // Blocked signals come when they are unblocked, in the order of their numbers; real-time ones as often as sent.
    sigset_t set, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM), sigaddset(&set, SIGHUP), sigaddset(&set, SIGRTMIN);
    install(SIGTERM, nested, 0), install(SIGHUP, nested, 0), install(SIGRTMIN, nested, 0);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGTERM), raise(SIGHUP), raise(SIGTERM);
    for (int i = 0; i < 3; i++) sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i});
    sigpending(&pending);
    printf("pending %d %d %d\n", sigismember(&pending, SIGTERM), sigismember(&pending, SIGHUP),
           sigismember(&pending, SIGINT));
    siginfo_t info;
    printf("waited %d", sigwaitinfo(&set, &info) == SIGHUP);
    sigset_t real_time;
    sigemptyset(&real_time), sigaddset(&real_time, SIGRTMIN);
    printf(" %d", sigwaitinfo(&real_time, &info) == SIGRTMIN);
    printf(" %d %d\n", info.si_value.sival_int, info.si_code);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    struct timespec short_time = {0, 1000};
    printf("timed %d %d\n", sigtimedwait(&set, &info, &short_time), errno == EAGAIN);
    // A handler that is used once, and signals that are ignored.
    install(SIGUSR1, note, SA_RESETHAND);
    raise(SIGUSR1);
    struct sigaction action;
    sigaction(SIGUSR1, NULL, &action);
    printf("once %d %d\n", seen == SIGUSR1, action.sa_handler == SIG_DFL);
    signal(SIGUSR1, SIG_IGN);
    raise(SIGUSR1);
    raise(SIGCHLD);
    // A broken pipe with a handler.
    int ends[2];
    if (pipe(ends)) abort();
    close(ends[0]);
    install(SIGPIPE, note, 0);
    printf("pipe %zd", write(ends[1], "x", 1));
    printf(" %d %d\n", errno == EPIPE, seen == SIGPIPE);
}

static volatile sig_atomic_t ticks;
static void tick(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    ticks++;
    code = info->si_code;
}

static int fill;
static void feed(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info, (void)context;
    if (write(fill, "!", 1) != 1) abort();
}

static void times(void) {
    install(SIGALRM, tick, 0);
    install(SIGVTALRM, tick, 0);
    install(SIGPROF, tick, 0);
    struct itimerval soon = {{0, 0}, {0, 2000}}, every = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &soon, NULL);
    while (!ticks) {}
    printf("alarm in a loop %d\n", code == SI_KERNEL);
    ticks = 0;
    setitimer(ITIMER_VIRTUAL, &every, NULL);
    while (ticks < 3) {}
    setitimer(ITIMER_VIRTUAL, &never, &every);
    printf("virtual %ld\n", (long)every.it_interval.tv_usec);
    every.it_value.tv_usec = 1000;
    ticks = 0;
    setitimer(ITIMER_PROF, &every, NULL);
    while (ticks < 3) {}
    setitimer(ITIMER_PROF, &never, NULL);
    // An alarm ends a sleep, and every other wait. It repeats, as on a busy host the first may come too early.
    soon.it_interval.tv_usec = 20000;
    ticks = 0;
    setitimer(ITIMER_REAL, &soon, NULL);
    struct timespec long_time = {100, 0}, left = {0, 0};
    int result = nanosleep(&long_time, &left);
    printf("sleep %d %d %d %d\n", result, errno == EINTR, ticks > 0, left.tv_sec == 99);
    ticks = 0;
    result = pause();
    printf("pause %d %d %d\n", result, errno == EINTR, ticks > 0);
    int ends[2];
    char byte;
    if (pipe(ends)) abort();
    ssize_t got = read(ends[0], &byte, 1);
    printf("read %zd %d\n", got, errno == EINTR);
    sigset_t set, old, none;
    sigemptyset(&set), sigemptyset(&none), sigaddset(&set, SIGALRM);
    sigprocmask(SIG_BLOCK, &set, &old);
    ticks = 0;
    result = sigsuspend(&none);
    sigprocmask(SIG_SETMASK, NULL, &set);
    printf("suspend %d %d %d still blocked %d\n", result, errno == EINTR, ticks > 0,
           sigismember(&set, SIGALRM));
    ticks = 0;
    result = ppoll(NULL, 0, NULL, &none);
    printf("poll %d %d %d\n", result, errno == EINTR, ticks > 0);
    sigprocmask(SIG_SETMASK, &old, NULL);
    // With SA_RESTART the read starts again, and finds what the handler wrote.
    fill = ends[1];
    install(SIGALRM, feed, SA_RESTART);
    got = read(ends[0], &byte, 1);
    printf("read again %zd %c\n", got, byte);
    setitimer(ITIMER_REAL, &never, NULL);
    alarm(10);
    printf("alarm %u %u\n", alarm(20), alarm(0));
}

int main(void) {
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    faults();
    registers();
    wide();
    alternate();
    sending();
    times();
    return 0;
}
