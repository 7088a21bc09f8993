// What is waited for through descriptors: timers, signals, processes, edges. The output is the same on every system.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000L

static int readable(int fd, int ms) {
    struct pollfd one = {.fd = fd, .events = POLLIN};
    return poll(&one, 1, ms) == 1 ? one.revents : 0;
}

static void timers(void) {
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    uint64_t times = 0;
    int early = read(fd, &times, 8) < 0 ? errno : 0;
    struct itimerspec spec = {.it_value = {0, 20 * MS}, .it_interval = {0, 10 * MS}};
    timerfd_settime(fd, 0, &spec, NULL);
    printf("timerfd %d %d", early == EAGAIN, readable(fd, 0));
    printf(" %d", readable(fd, 5000));
    int n = read(fd, &times, 8);
    printf(" %d %d", n, times >= 1);
    struct itimerspec left;
    timerfd_gettime(fd, &left);
    printf(" %ld %d", left.it_interval.tv_nsec / MS, left.it_value.tv_nsec <= 10 * MS);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fd, &set);
    printf(" %d", select(fd + 1, &set, NULL, NULL, NULL));
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int wall = timerfd_create(CLOCK_REALTIME, 0);
    struct itimerspec at = {.it_value = {now.tv_sec + 1, now.tv_nsec}};
    timerfd_settime(wall, TFD_TIMER_ABSTIME, &at, NULL);
    n = read(wall, &times, 8);
    printf(" %d %d\n", n, (int)times);
    close(fd);
    close(wall);
}

static void created(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value = {.sival_int = 77}};
    printf("timer %d", timer_create(CLOCK_MONOTONIC, &event, &timer));
    struct itimerspec spec = {.it_value = {0, 5 * MS}, .it_interval = {0, 5 * MS}};
    timer_settime(timer, 0, &spec, NULL);
    siginfo_t info;
    for (int i = 0; i < 3; i++) {
        int signal = sigwaitinfo(&set, &info);
        printf(" %d %d %d", signal - SIGRTMIN, info.si_code == SI_TIMER, info.si_value.sival_int);
    }
    usleep(30000);
    sigwaitinfo(&set, &info);
    printf(" %d %d", info.si_overrun >= 3, timer_getoverrun(timer) == info.si_overrun);
    struct itimerspec left;
    timer_gettime(timer, &left);
    printf(" %ld %d\n", left.it_interval.tv_nsec / MS, left.it_value.tv_nsec > 0);
    timer_delete(timer);
}

static int fired;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void notice(union sigval value) {
    pthread_mutex_lock(&mutex);
    fired += value.sival_int;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
}

static void in_thread(void) {
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = notice, .sigev_value = {.sival_int = 5}};
    timer_create(CLOCK_REALTIME, &event, &timer);
    struct itimerspec spec = {.it_value = {0, MS}};
    timer_settime(timer, 0, &spec, NULL);
    pthread_mutex_lock(&mutex);
    while (!fired) pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    printf("in a thread %d\n", fired);
    timer_delete(timer);
}

static void signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_CLOEXEC);
    printf("signalfd %d", readable(fd, 0));
    kill(getpid(), SIGUSR1);
    printf(" %d", readable(fd, 1000));
    struct signalfd_siginfo info;
    int n = read(fd, &info, sizeof info);
    printf(" %d %d %d", n, info.ssi_signo == SIGUSR1, info.ssi_pid == (unsigned)getpid());
    pid_t child = fork();
    if (child == 0) {
        usleep(1000);
        _exit(9);
    }
    n = read(fd, &info, sizeof info);
    printf(" %d %d %d %d", n, info.ssi_signo == SIGCHLD, info.ssi_pid == (unsigned)child, info.ssi_status);
    union sigval value = {.sival_int = 1234};
    sigqueue(getpid(), SIGUSR1, value);
    n = read(fd, &info, sizeof info);
    printf(" %d %d\n", info.ssi_int, info.ssi_code == SI_QUEUE);
    waitpid(child, NULL, 0);
    close(fd);
}

static void processes(void) {
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(1);
    }
    int fd = syscall(SYS_pidfd_open, child, 0);
    printf("pidfd %d %d", fd >= 0, readable(fd, 0));
    printf(" %d", fcntl(fd, F_GETFD));
    printf(" %ld", syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0));
    printf(" %d", readable(fd, 5000));
    siginfo_t info = {0};
    int done = waitid(3, fd, &info, WEXITED);
    printf(" %d %d %d %d", done, info.si_pid == child, info.si_code == CLD_KILLED, info.si_status);
    long late = syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0);
    printf(" %ld %s", late, errno == ESRCH ? "ESRCH" : "other");
    done = waitid(3, fd, &info, WEXITED);
    printf(" %d %s\n", done, errno == ECHILD ? "ECHILD" : "other");
    close(fd);
}

static int told(int epoll, int timeout) {
    struct epoll_event events[8];
    int n = epoll_wait(epoll, events, 8, timeout);
    int all = 0;
    for (int i = 0; i < n; i++) all = 1000 * all + events[i].data.u32 * 100 + (events[i].events & 31);
    return n == 0 ? -1 : all;
}

static void watch(int epoll, int operation, int fd, uint32_t events, int data) {
    struct epoll_event event = {.events = events, .data.u32 = data};
    if (epoll_ctl(epoll, operation, fd, &event) != 0) printf(" ctl %d", errno);
}

static void edges(void) {
    int ends[2];
    char bytes[100] = "";
    pipe2(ends, O_NONBLOCK);
    int epoll = epoll_create1(0);
    watch(epoll, EPOLL_CTL_ADD, ends[0], EPOLLIN | EPOLLET, 1);
    printf("edges %d", told(epoll, 0));
    write(ends[1], bytes, 10);
    printf(" %d", told(epoll, 0));
    printf(" %d", told(epoll, 0));
    write(ends[1], bytes, 1);
    printf(" %d", told(epoll, 0));
    read(ends[0], bytes, 3);
    printf(" %d", told(epoll, 0));
    watch(epoll, EPOLL_CTL_MOD, ends[0], EPOLLIN | EPOLLET, 2);
    printf(" %d %d", told(epoll, 0), told(epoll, 0));
    watch(epoll, EPOLL_CTL_MOD, ends[0], EPOLLIN | EPOLLONESHOT, 3);
    printf(" %d", told(epoll, 0));
    printf(" %d", told(epoll, 0));
    watch(epoll, EPOLL_CTL_MOD, ends[0], EPOLLIN | EPOLLONESHOT, 4);
    printf(" %d", told(epoll, 0));
    watch(epoll, EPOLL_CTL_MOD, ends[0], EPOLLIN | EPOLLET, 5);
    printf(" %d", told(epoll, 0));
    close(ends[1]);
    printf(" %d %d\n", told(epoll, 0), told(epoll, 0));

    int event = eventfd(0, EFD_NONBLOCK);
    uint64_t one = 1;
    watch(epoll, EPOLL_CTL_DEL, ends[0], 0, 0);
    watch(epoll, EPOLL_CTL_ADD, event, EPOLLIN | EPOLLOUT | EPOLLET, 6);
    printf("eventfd %d", told(epoll, 0));
    printf(" %d", told(epoll, 0));
    write(event, &one, 8);
    printf(" %d", told(epoll, 0));
    write(event, &one, 8);
    printf(" %d", told(epoll, 0));
    printf(" %d", told(epoll, 0));
    // A set in a set, a copy of a descriptor, and what goes with the last one.
    int outer = epoll_create1(0);
    watch(outer, EPOLL_CTL_ADD, epoll, EPOLLIN, 7);
    printf(" %d", told(outer, 0));
    watch(epoll, EPOLL_CTL_MOD, event, EPOLLIN, 8);
    printf(" %d", told(outer, 0));
    watch(epoll, EPOLL_CTL_ADD, outer, EPOLLIN, 9);
    int copy = dup(event);
    close(event);
    printf(" %d", told(epoll, 0));
    close(copy);
    printf(" %d %d\n", told(epoll, 0), told(outer, 0));
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec spec = {.it_value = {0, 3 * MS}};
    timerfd_settime(timer, 0, &spec, NULL);
    watch(epoll, EPOLL_CTL_ADD, timer, EPOLLIN | EPOLLET, 1);
    printf("timer in a set %d %d\n", told(epoll, 5000), told(epoll, 0));
    // All that are always ready have their turn.
    int low = eventfd(1, 0), high = eventfd(1, 0), seen = 0;
    int fair = epoll_create1(0);
    watch(fair, EPOLL_CTL_ADD, low, EPOLLIN, 1);
    watch(fair, EPOLL_CTL_ADD, high, EPOLLIN, 2);
    for (int i = 0; i < 2; i++) {
        struct epoll_event next;
        epoll_wait(fair, &next, 1, 0);
        seen |= next.data.u32;
    }
    printf("turns %d\n", seen);
}

static void *idle(void *argument) {
    pthread_barrier_wait(argument);
    pthread_barrier_wait(argument);
    return NULL;
}

static int entries(const char *path) {
    DIR *folder = opendir(path);
    int count = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) count += entry->d_name[0] != '.';
    if (folder) closedir(folder);
    return count;
}

static void line(const char *path, const char *start) {
    char text[256];
    FILE *file = fopen(path, "r");
    if (!file) printf(" (%d)", errno);
    while (file && fgets(text, sizeof text, file))
        if (strncmp(text, start, strlen(start)) == 0) printf(" %.*s", (int)strcspn(text, "\n"), text);
    if (file) fclose(file);
}

static void described(void) {
    pthread_t threads[3];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 4);
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, idle, &barrier);
    pthread_barrier_wait(&barrier);
    pthread_setname_np(threads[1], "second");
    int tasks = entries("/proc/self/task");
    printf("tasks %d", tasks);
    line("/proc/self/status", "Threads:");
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    int ends[2];
    pipe(ends);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        pthread_setname_np(pthread_self(), "child");
        read(ends[0], &byte, 1);
        pause();
    }
    char path[64], text[64] = "";
    sprintf(path, "/proc/%d/stat", child);
    for (int i = 0; i < 5000 && !strstr(text, "(child) S"); i++) {
        usleep(1000);
        int fd = open(path, O_RDONLY);
        read(fd, text, sizeof text - 1);
        close(fd);
    }
    sprintf(path, "/proc/%d/status", child);
    line(path, "State:");
    sprintf(path, "/proc/%d/comm", child);
    line(path, "");
    sprintf(path, "/proc/%d/cwd", child);
    char here[4096];
    int n = readlink(path, text, sizeof text - 1);
    printf(" %d", n > 0 && strncmp(text, getcwd(here, sizeof here), n) == 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    sprintf(path, "/proc/%d/status", child);
    printf(" %d\n", access(path, F_OK));
}

static void executed(char *self) {
    fflush(stdout);
    for (int way = 0; way < 3; way++) {
        pid_t child = fork();
        if (child == 0) {
            char *arguments[] = {"again", "child", NULL}, *environment[] = {"WORD=w", NULL};
            int fd = open(self, O_RDONLY | O_CLOEXEC);
            if (way == 0) fexecve(fd, arguments, environment);
            if (way == 1) syscall(SYS_execveat, AT_FDCWD, self, arguments, environment, 0);
            int copy = memfd_create("program", MFD_CLOEXEC);
            char buffer[65536];
            for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;) write(copy, buffer, n);
            fexecve(copy, arguments, environment);
            printf("not executed %d\n", errno);
            fflush(stdout);
            _exit(1);
        }
        int status;
        waitpid(child, &status, 0);
        printf("executed %d\n", WEXITSTATUS(status));
        fflush(stdout);
    }
}

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "child") == 0) {
        printf("child %s %s %d\n", arguments[0], getenv("WORD"), count);
        return 4;
    }
    timers();
    created();
    in_thread();
    signals();
    processes();
    edges();
    described();
    executed("/proc/self/exe");
    return 0;
}
