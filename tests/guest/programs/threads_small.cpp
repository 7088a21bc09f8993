// Four threads that count, two that answer each other, and one that spins on a flag.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

int main(int count, char **) {
    std::atomic<int> total{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&] {
            for (int n = 0; n < 1000; n++) total.fetch_add(1);
        });
    for (auto &thread : threads) thread.join();
    std::printf("total %d\n", total.load());

    std::mutex mutex;
    std::condition_variable changed;
    int turn = 0, rounds = 0;
    auto play = [&](int me) {
        for (int n = 0; n < 100; n++) {
            std::unique_lock<std::mutex> lock(mutex);
            changed.wait(lock, [&] { return turn == me; });
            turn = 1 - me;
            rounds++;
            changed.notify_one();
        }
    };
    std::thread one(play, 0), two(play, 1);
    one.join();
    two.join();
    std::printf("rounds %d\n", rounds);

    std::atomic<bool> flag{false};
    std::thread spinner([&] {
        while (!flag.load(std::memory_order_acquire)) {
        }
    });
    // With an argument nobody ever sets it.
    if (count == 1) flag.store(true, std::memory_order_release);
    spinner.join();
    std::printf("done\n");
}
