// Threads in every way that programs use them; the output is the same on every Linux.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <mutex>
#include <numeric>
#include <poll.h>
#include <pthread.h>
#include <queue>
#include <semaphore.h>
#include <setjmp.h>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace std::chrono_literals;

static void increments() {
    std::atomic<int> total{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&] {
            for (int j = 0; j < 1000; j++) total++;
        });
    for (auto &thread : threads) thread.join();
    printf("total %d\n", total.load());
}

static void ping_pong() {
    std::mutex mutex;
    std::condition_variable changed;
    int turn = 0, rounds = 0;
    auto player = [&](int me) {
        for (int i = 0; i < 500; i++) {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return turn == me; });
            turn = 1 - me;
            rounds++;
            changed.notify_one();
        }
    };
    std::thread one(player, 0), two(player, 1);
    one.join(), two.join();
    printf("rounds %d\n", rounds);
}

static void spinning() {
    std::atomic<bool> flag{false}, seen{false};
    std::thread waiter([&] {
        while (!flag) {}
        seen = true;
    });
    flag = true;
    while (!seen) {}
    waiter.join();
    puts("spun");
}

struct Noisy {
    int number = 0;
    ~Noisy() { printf("gone %d\n", number); }
};
static thread_local Noisy noisy;

static void locals() {
    for (int i = 1; i <= 3; i++) std::thread([i] { noisy.number = i; }).join();
    noisy.number = 100;
}

static void futures() {
    auto work = [](int n) {
        std::vector<int> numbers(n);
        std::iota(numbers.begin(), numbers.end(), 1);
        return std::accumulate(numbers.begin(), numbers.end(), 0L);
    };
    std::vector<std::future<long>> results;
    for (int i = 1; i <= 8; i++) results.push_back(std::async(std::launch::async, work, i * 1000));
    for (auto &result : results) printf("%ld ", result.get());
    std::promise<std::string> promise;
    std::thread giver([&] { promise.set_value("promised"); });
    printf("%s\n", promise.get_future().get().c_str());
    giver.join();
    try {
        std::async(std::launch::async, []() -> int { throw std::string("thrown in a thread"); }).get();
    } catch (std::string &text) {
        puts(text.c_str());
    }
}

static void waits() {
    std::timed_mutex timed;
    timed.lock();
    bool got = true;
    std::thread([&] { got = timed.try_lock_for(5ms); }).join();
    printf("timed %d\n", got);
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    printf("wait_for %d\n", never.wait_for(lock, 3ms) == std::cv_status::timeout);
    auto until = std::chrono::system_clock::now() + 3ms;
    printf("wait_until %d\n", never.wait_until(lock, until) == std::cv_status::timeout);
    auto before = std::chrono::steady_clock::now();
    std::thread sleeper([] { std::this_thread::sleep_for(20ms); });
    sleeper.join();
    printf("slept %d\n", std::chrono::steady_clock::now() - before >= 20ms);
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    std::thread poster([&] {
        for (int i = 0; i < 3; i++) sem_post(&semaphore);
    });
    for (int i = 0; i < 3; i++) sem_wait(&semaphore);
    poster.join();
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, nullptr, 3);
    std::atomic<int> serial{0}, passed{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++)
        threads.emplace_back([&] {
            for (int j = 0; j < 10; j++) {
                if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) serial++;
                passed++;
            }
        });
    for (auto &thread : threads) thread.join();
    printf("barrier %d %d\n", serial.load(), passed.load());
    std::shared_mutex shared;
    long sum = 0;
    threads.clear();
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&, i] {
            for (int j = 0; j < 200; j++) {
                if (j % 4 == i) {
                    std::unique_lock write(shared);
                    sum += j;
                } else {
                    std::shared_lock read(shared);
                    if (sum < 0) abort();
                }
            }
        });
    for (auto &thread : threads) thread.join();
    printf("shared %ld\n", sum);
}

static void pipes() {
    int ends[2], back[2];
    if (pipe(ends) || pipe(back)) abort();
    std::thread reader([&] {
        std::vector<char> buffer(1000);
        long bytes = 0, sum = 0;
        for (ssize_t n; (n = read(ends[0], buffer.data(), buffer.size())) > 0;) {
            bytes += n;
            for (ssize_t i = 0; i < n; i++) sum += (unsigned char)buffer[i];
        }
        printf("read %ld, sum %ld\n", bytes, sum);
        if (write(back[1], "done", 4) != 4) abort();
    });
    // More than the pipe holds, at once.
    std::vector<char> data(200000);
    for (size_t i = 0; i < data.size(); i++) data[i] = char(i);
    printf("wrote %zd\n", write(ends[1], data.data(), data.size()));
    fflush(stdout);
    close(ends[1]);
    pollfd waiting{back[0], POLLIN, 0};
    int ready = poll(&waiting, 1, -1);
    char text[8] = {};
    ssize_t n = read(back[0], text, sizeof text);
    reader.join();
    printf("poll %d, %zd %s\n", ready, n, text);
}

static sigjmp_buf back_to;
static thread_local int caught;
static void on_signal(int signal) { caught = signal; }
static void on_fault(int) { siglongjmp(back_to, 1); }

static void signals() {
    signal(SIGUSR1, on_signal);
    signal(SIGSEGV, on_fault);
    std::atomic<int> stage{0};
    int in_thread = 0;
    std::thread target([&] {
        stage = 1;
        while (!caught) std::this_thread::yield();
        in_thread = caught;
        int *volatile nowhere = nullptr;
        if (!sigsetjmp(back_to, 1)) *nowhere = 1;
        stage = 2;
    });
    while (stage != 1) std::this_thread::yield();
    pthread_kill(target.native_handle(), SIGUSR1);
    target.join();
    printf("signal %d in the thread, %d here, stage %d\n", in_thread == SIGUSR1, caught, stage.load());
    // A thread that takes all signals of the process.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    int taken = 0;
    std::thread taker([&] { sigwait(&all, &taken); });
    kill(getpid(), SIGTERM);
    taker.join();
    printf("taken %d\n", taken == SIGTERM);
    pthread_t sleeper;
    pthread_create(
        &sleeper, nullptr,
        [](void *) -> void * {
            for (;;) sleep(1000);
        },
        nullptr);
    pthread_cancel(sleeper);
    void *result;
    pthread_join(sleeper, &result);
    printf("cancelled %d\n", result == PTHREAD_CANCELED);
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

static void robust() {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_t mutex;
    pthread_mutex_init(&mutex, &attributes);
    std::thread([&] { pthread_mutex_lock(&mutex); }).join();
    int result = pthread_mutex_lock(&mutex);
    printf("owner died %d, ", result == EOWNERDEAD);
    pthread_mutex_consistent(&mutex);
    pthread_mutex_unlock(&mutex);
    printf("again %d\n", pthread_mutex_lock(&mutex));
}

[[gnu::noinline]] static int descend(volatile int *above) {
    volatile int here[256] = {*above};
    return descend(here) + here[1];
}

int main(int count, char **arguments) {
    std::string what = count > 1 ? arguments[1] : "all";
    if (what == "overflow") {
        volatile int start = 1;
        std::thread([&] { start = descend(&start); }).join();
    }
    if (what == "join-self") {
        // Two threads that wait for each other.
        std::mutex one, two;
        std::atomic<int> ready{0};
        auto both = [&](std::mutex &first, std::mutex &second) {
            std::lock_guard lock(first);
            ready++;
            while (ready < 2) std::this_thread::yield();
            std::lock_guard other(second);
        };
        std::thread a(both, std::ref(one), std::ref(two)), b(both, std::ref(two), std::ref(one));
        a.join(), b.join();
    }
    if (what == "main-leaves") {
        std::thread([] {
            std::this_thread::sleep_for(5ms);
            puts("the last one");
            fflush(stdout);
        }).detach();
        pthread_exit(nullptr);
    }
    if (what == "exit-in-thread") {
        std::thread([] { exit(7); }).join();
    }
    if (what == "throw") {
        std::thread([] { throw 1; }).join();
    }
    if (what == "small" || what == "all") increments(), ping_pong(), spinning();
    if (what == "all") locals(), futures(), waits(), pipes(), signals(), robust();
    return 0;
}
