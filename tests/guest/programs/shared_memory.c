// Memory that processes share: mappings, futexes, semaphores, mutexes. The output is the same on every system.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096 };

static void check(int ok, const char *what) {
    if (!ok) {
        printf("failed: %s (errno %d)\n", what, errno);
        fflush(stdout);
        _exit(1);
    }
}

static void *shared(size_t size) {
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(at != MAP_FAILED, "mmap");
    return at;
}

static pid_t start(void) {
    fflush(stdout);
    pid_t child = fork();
    check(child >= 0, "fork");
    return child;
}

static int finish(pid_t child) {
    int status = 0;
    check(waitpid(child, &status, 0) == child, "waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Stores of either side are seen by the other, also in pages that nobody had touched before the fork.
static void coherence(void) {
    volatile int *at = shared(16 * PAGE);
    int *private = malloc(4);
    *private = 1;
    at[0] = 1;
    pid_t child = start();
    if (child == 0) {
        at[0] += 10;
        at[5 * PAGE / 4] = 55;
        *private = 2;
        _exit(at[9 * PAGE / 4]);
    }
    at[9 * PAGE / 4] = 99;
    int code = finish(child);
    printf("coherence %d %d %d %d\n", at[0], at[5 * PAGE / 4], *private, code == 99 || code == 0);
}

// A file, its mappings and what read and write see are one.
static void file(void) {
    char name[] = "/tmp/shared-XXXXXX";
    int fd = mkstemp(name);
    check(fd >= 0, "mkstemp");
    check(write(fd, "hello, file", 11) == 11, "write");
    check(ftruncate(fd, 3 * PAGE) == 0, "ftruncate");
    char *one = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *two = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
    char *copy = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    check(one != MAP_FAILED && two != MAP_FAILED && copy != MAP_FAILED, "mmap of a file");
    copy[0] = 'J';
    pid_t child = start();
    if (child == 0) {
        memcpy(one, "HELLO", 5);
        memcpy(one + 2 * PAGE, "end", 3);
        _exit(pwrite(fd, "FILE", 4, 7) == 4 ? 0 : 1);
    }
    int code = finish(child);
    char text[12] = "";
    check(pread(fd, text, 11, 0) == 11, "pread");
    printf("file %d %s %.11s %.11s", code, text, two, copy);
    check(pread(fd, text, 3, 2 * PAGE) == 3, "pread at the end");
    printf(" %.3s", text);
    // What is cut off is zero when the file grows again, in the mapping too.
    check(ftruncate(fd, 5) == 0 && ftruncate(fd, 3 * PAGE) == 0, "ftruncate back");
    printf(" %.11s %d %d\n", one, one[6], one[2 * PAGE]);
    check(unlink(name) == 0 && close(fd) == 0, "unlink");
    // The mapping keeps the file alive.
    one[0] = 'h';
    printf("unlinked %.5s %.5s\n", one, two);
    munmap(one, 3 * PAGE);
    munmap(two, PAGE);
}

static void in_memory(void) {
    int fd = memfd_create("area", MFD_CLOEXEC);
    check(fd >= 0 && ftruncate(fd, 2 * PAGE) == 0, "memfd");
    char *one = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *two = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, PAGE);
    check(one != MAP_FAILED && two != MAP_FAILED, "mmap of memory");
    strcpy(two, "second page");
    printf("memfd %s", one + PAGE);
    char *grown = mremap(one, 2 * PAGE, PAGE, 0);
    char *twin = mremap(two, 0, PAGE, MREMAP_MAYMOVE);
    check(grown == one && twin != MAP_FAILED, "mremap");
    twin[0] = 'S';
    printf(" %s %d\n", two, madvise(two, PAGE, MADV_DONTNEED));
    printf("kept %s\n", two);
    int shm = shm_open("/area", O_RDWR | O_CREAT | O_EXCL, 0600);
    check(shm >= 0 && ftruncate(shm, PAGE) == 0, "shm_open");
    int *a = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, shm, 0);
    int again = shm_open("/area", O_RDWR, 0600);
    int *b = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0);
    check(a != MAP_FAILED && b != MAP_FAILED, "mmap of shm");
    *a = 42;
    printf("shm %d %d\n", *b, shm_unlink("/area"));
}

static void semaphores(void) {
    sem_unlink("/turn");
    sem_t *turn = sem_open("/turn", O_CREAT | O_EXCL, 0600, 0);
    check(turn != SEM_FAILED, "sem_open");
    sem_t *own = shared(PAGE);
    check(sem_init(own, 1, 0) == 0, "sem_init");
    int *log = shared(PAGE);
    pid_t child = start();
    if (child == 0) {
        sem_t *same = sem_open("/turn", 0);
        for (int i = 0; i < 5; i++) {
            sem_wait(same);
            log[++log[0]] = 100 + i;
            sem_post(own);
        }
        _exit(0);
    }
    for (int i = 0; i < 5; i++) {
        log[++log[0]] = i;
        sem_post(turn);
        sem_wait(own);
    }
    printf("semaphores %d", finish(child));
    for (int i = 1; i <= log[0]; i++) printf(" %d", log[i]);
    printf(" %d\n", sem_unlink("/turn"));
}

struct guarded {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_barrier_t barrier;
    int count;
    int turn;
};

static void mutexes(int protocol, int robust) {
    struct guarded *g = shared(sizeof *g);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    check(pthread_mutexattr_setprotocol(&attributes, protocol) == 0, "setprotocol");
    if (robust) pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    check(pthread_mutex_init(&g->mutex, &attributes) == 0, "mutex_init");
    pthread_condattr_t condition;
    pthread_condattr_init(&condition);
    pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&g->changed, &condition);
    pthread_barrierattr_t meeting;
    pthread_barrierattr_init(&meeting);
    pthread_barrierattr_setpshared(&meeting, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&g->barrier, &meeting, 4);
    pid_t children[3];
    for (int i = 0; i < 3; i++) {
        if ((children[i] = start()) == 0) {
            pthread_barrier_wait(&g->barrier);
            for (int n = 0; n < 1000; n++) {
                pthread_mutex_lock(&g->mutex);
                g->count++;
                pthread_mutex_unlock(&g->mutex);
            }
            pthread_mutex_lock(&g->mutex);
            while (g->turn != i) pthread_cond_wait(&g->changed, &g->mutex);
            g->turn++;
            pthread_cond_broadcast(&g->changed);
            pthread_mutex_unlock(&g->mutex);
            _exit(i);
        }
    }
    pthread_barrier_wait(&g->barrier);
    int codes = 0;
    for (int i = 0; i < 3; i++) codes = 10 * codes + finish(children[i]);
    printf("mutex %d %d: %d %d %03d\n", protocol, robust, g->count, g->turn, codes);
    if (!robust) return;
    // Its holder dies, once by itself and once by a signal while another waits.
    for (int killed = 0; killed < 2; killed++) {
        int *ready = shared(PAGE);
        pid_t holder = start();
        if (holder == 0) {
            pthread_mutex_lock(&g->mutex);
            *(volatile int *)ready = 1;
            if (killed) pause();
            _exit(3);
        }
        while (*(volatile int *)ready == 0) usleep(100);
        int code = -1;
        if (!killed) code = finish(holder);
        else kill(holder, SIGKILL);
        int result = pthread_mutex_lock(&g->mutex);
        if (killed) code = finish(holder);
        int consistent = pthread_mutex_consistent(&g->mutex);
        int unlocked = pthread_mutex_unlock(&g->mutex);
        int again = pthread_mutex_lock(&g->mutex);
        pthread_mutex_unlock(&g->mutex);
        printf("holder %d lock %s", code, result == EOWNERDEAD ? "EOWNERDEAD" : "other");
        printf(" consistent %d unlock %d again %d\n", consistent, unlocked, again);
    }
}

static void *contender(void *argument) {
    struct guarded *g = argument;
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&g->mutex);
        g->count++;
        if (i % 100 == 0) usleep(1);
        pthread_mutex_unlock(&g->mutex);
    }
    return NULL;
}

// Locks with priority inheritance among threads, and their errors.
static void inheriting(void) {
    static struct guarded g;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&g.mutex, &attributes);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, contender, &g);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    pthread_mutex_lock(&g.mutex);
    int twice = pthread_mutex_lock(&g.mutex);
    int attempt = pthread_mutex_trylock(&g.mutex);
    printf("inheriting %d %s %d\n", g.count, twice == EDEADLK ? "EDEADLK" : "other", attempt);
    pthread_mutex_unlock(&g.mutex);
    printf("not mine %s\n", pthread_mutex_unlock(&g.mutex) == EPERM ? "EPERM" : "other");
}

// Code that another process has written, and that this one has run before.
static void code(void) {
    unsigned char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return;
    static const unsigned char load[] = {0xb8, 1, 0, 0, 0, 0xc3};
    memcpy(at, load, sizeof load);
    int (*run)(void) = (int (*)(void))(void *)at;
    int before = run();
    pid_t child = start();
    if (child == 0) {
        int own = run();
        at[1] = 7;
        _exit(10 * own + run());
    }
    int childs = finish(child);
    printf("code %d %d %d\n", before, childs, run());
    at[1] = 9;
    printf("code %d\n", run());
}

int main(void) {
    coherence();
    file();
    in_memory();
    semaphores();
    mutexes(PTHREAD_PRIO_NONE, 0);
    mutexes(PTHREAD_PRIO_NONE, 1);
    mutexes(PTHREAD_PRIO_INHERIT, 0);
    mutexes(PTHREAD_PRIO_INHERIT, 1);
    inheriting();
    code();
    return 0;
}
