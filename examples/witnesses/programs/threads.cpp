// <thread> and its company: atomics, mutexes, conditions, futures, thread-local data, call_once.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <mutex>
#include <numeric>
#include <queue>
#include <thread>
#include <vector>

int main() {
    std::atomic<long> total{0};
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 8; t++)
            threads.emplace_back([&, t] {
                for (int i = 0; i < 2000; i++) total.fetch_add(t * i, std::memory_order_relaxed);
            });
    }
    std::mutex mutex;
    std::condition_variable changed;
    std::queue<int> queue;
    bool closed = false;
    std::thread producer([&] {
        for (int i = 0; i < 300; i++) {
            std::lock_guard lock(mutex);
            queue.push(i * i);
            changed.notify_one();
        }
        std::lock_guard lock(mutex);
        closed = true;
        changed.notify_all();
    });
    std::vector<std::future<long>> consumers;
    for (int c = 0; c < 3; c++)
        consumers.push_back(std::async(std::launch::async, [&] {
            long sum = 0;
            for (;;) {
                std::unique_lock lock(mutex);
                changed.wait(lock, [&] { return closed || !queue.empty(); });
                if (queue.empty()) return sum;
                sum += queue.front();
                queue.pop();
            }
        }));
    producer.join();
    long consumed = 0;
    for (auto &consumer : consumers) consumed += consumer.get();
    std::once_flag once;
    int called = 0;
    thread_local int own = 5;
    std::promise<int> promise;
    std::thread last([&, future = promise.get_future()]() mutable {
        std::call_once(once, [&] { called++; });
        own += future.get();
        total += own;
    });
    std::call_once(once, [&] { called++; });
    promise.set_value(37);
    last.join();
    std::printf("%ld %ld %d %d\n", total.load(), consumed, called, own);
}
