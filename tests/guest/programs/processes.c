// Processes in every way that programs use them; the output is the same on every Linux.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void ended(const char *what, int status) {
    if (WIFEXITED(status)) printf("%s exited with %d\n", what, WEXITSTATUS(status));
    if (WIFSIGNALED(status)) printf("%s killed by %d\n", what, WTERMSIG(status));
    fflush(stdout);
}

static volatile sig_atomic_t children, alarms;
static void child_ended(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    children += info->si_status;
}
static void on_alarm(int signal) { (void)signal, alarms++; }
static volatile int zero;
static int value = 1;
static void *wait_there(void *pid) {
    int status;
    waitpid(*(pid_t *)pid, &status, 0);
    ended("in a thread:", status);
    return NULL;
}

int main(int count, char **arguments) {
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    if (count > 2 && !strcmp(arguments[1], "again")) {
        char line[64] = "nothing";
        if (!fgets(line, sizeof line, stdin)) strcpy(line, "nothing");
        printf("again %s, %s, %s, %s\n", arguments[2], getenv("WORD") ? getenv("WORD") : "-", line,
               fcntl(20, 1, 0) < 0 ? "closed" : "open");
        return 9;
    }
    int status, ends[2], back[2];
    if (count > 1 && !strcmp(arguments[1], "bomb"))
        for (;;) fork();
    if (count > 1 && !strcmp(arguments[1], "deadlock")) {
        if (pipe(ends)) abort();
        if (fork() == 0) return read(ends[0], back, 1);
        return wait(&status);
    }
    if (count > 1 && !strcmp(arguments[1], "orphan")) {
        if (fork() == 0)
            for (;;) {}
        return 5;
    }
    if (count > 1 && !strcmp(arguments[1], "patricide")) {
        if (fork() == 0) kill(getppid(), SIGTERM);
        for (;;) pause();
    }
    // Memory is the child's own, files are shared; the child ends first or last.
    if (pipe(ends)) abort();
    pid_t child = fork();
    if (child == 0) {
        value = 2;
        printf("child %d %d\n", value, getppid() != getpid());
        fflush(stdout);
        if (write(ends[1], "message", 7) != 7) abort();
        _exit(3);
    }
    printf("waited %d\n", waitpid(child, &status, 0) == child);
    ended("child", status);
    char text[64] = {0};
    close(ends[1]);
    ssize_t n = read(ends[0], text, sizeof text);
    printf("value %d, %zd bytes %s, then %zd\n", value, n, text, read(ends[0], text, 8));
    printf("nobody %d %d\n", wait(&status), errno == ECHILD);
    // Ends by signals: its own faults, and ours.
    fflush(stdout);
    if ((child = fork()) == 0) return 7 / zero;
    waitpid(child, &status, 0);
    ended("divided", status);
    if ((child = fork()) == 0)
        for (;;) pause();
    printf("running %d\n", waitpid(child, &status, WNOHANG));
    kill(child, SIGTERM);
    waitpid(child, &status, 0);
    ended("paused", status);
    printf("gone %d %d\n", kill(child, 0), errno == ESRCH);
    fflush(stdout);
    // Many children, a dialogue with each, and SIGCHLD.
    struct sigaction action = {.sa_sigaction = child_ended, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGCHLD, &action, NULL);
    int sum = 0, total = 0;
    for (int i = 1; i <= 5; i++) {
        if (pipe(ends) || pipe(back)) abort();
        fflush(stdout);
        if ((child = fork()) == 0) {
            int got;
            for (int j = 0; j < 100; j++) {
                if (read(ends[0], &got, sizeof got) != sizeof got) abort();
                got *= i;
                if (write(back[1], &got, sizeof got) != sizeof got) abort();
            }
            exit(i);
        }
        for (int j = 0; j < 100; j++) {
            int got = j;
            if (write(ends[1], &got, sizeof got) != sizeof got) abort();
            if (read(back[0], &got, sizeof got) != sizeof got) abort();
            total += got;
        }
        siginfo_t info;
        waitid(P_PID, child, &info, WEXITED | WNOWAIT);
        waitpid(child, &status, 0);
        sum += WEXITSTATUS(status) + info.si_status;
        close(ends[0]), close(ends[1]), close(back[0]), close(back[1]);
    }
    printf("sum %d, total %d, children %d\n", sum, total, children);
    // An alarm of the parent while a child runs.
    signal(SIGALRM, on_alarm);
    struct itimerval soon = {{0, 0}, {0, 2000}};
    if ((child = fork()) == 0) {
        struct timespec time = {0, 20000000};
        nanosleep(&time, NULL);
        _exit(4);
    }
    setitimer(ITIMER_REAL, &soon, NULL);
    while (!alarms) pause();
    waitpid(child, &status, 0);
    printf("alarms %d\n", alarms);
    // Another program: its arguments, environment, input and descriptors.
    char *again[] = {"name", "again", "argument", NULL}, *words[] = {"WORD=word", NULL};
    if (pipe(ends)) abort();
    dup3(ends[1], 20, 02000000);
    if (write(ends[1], "a line", 6) != 6) abort();
    close(ends[1]);
    fflush(stdout);
    if ((child = fork()) == 0) {
        dup2(ends[0], 0);
        execve("/proc/self/exe", again, words);
        _exit(100);
    }
    close(20);
    waitpid(child, &status, 0);
    ended("executed", status);
    if ((child = vfork()) == 0) {
        value = 5;
        execve("/no/such/program", again, words);
        value = errno == ENOENT ? 6 : 7;
        _exit(8);
    }
    waitpid(child, &status, 0);
    ended("vfork", status);
    printf("shared %d\n", value);
    int result = posix_spawn(&child, "/proc/self/exe", NULL, NULL, again, words);
    waitpid(child, &status, 0);
    ended("spawned", status);
    printf("result %d, missing %d\n", result, posix_spawn(&child, "/missing", NULL, NULL, again, words) == ENOENT);
    fflush(stdout);
    // A session of its own, and a signal to its group.
    if (pipe(ends)) abort();
    if ((child = fork()) == 0) {
        char own = setsid() == getpid() && getpgrp() == getpid() && getsid(0) == getpid();
        if (fork() == 0 || write(ends[1], &own, 1) != 1)
            for (;;) pause();
        for (;;) pause();
    }
    if (read(ends[0], text, 1) != 1) abort();
    printf("own session %d, not ours %d\n", text[0], getpgid(child) != getpgrp());
    printf("group %d", killpg(child, SIGKILL));
    waitpid(child, &status, 0);
    printf(" %d\n", WTERMSIG(status));
    fflush(stdout);
    // A child of a child, and a wait in a thread.
    if ((child = fork()) == 0) {
        if (fork() == 0) {
            puts("grandchild");
            exit(1);
        }
        wait(&status);
        ended("grandchild", status);
        exit(2);
    }
    pthread_t thread;
    pthread_create(&thread, NULL, wait_there, &child);
    pthread_join(thread, NULL);
    return 0;
}
