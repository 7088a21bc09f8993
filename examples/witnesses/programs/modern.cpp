// C++20: ranges, coroutines, concepts, three-way comparison, spans, lambdas in templates.
#include "mark.h"
#include <algorithm>
#include <compare>
#include <concepts>
#include <coroutine>
#include <iostream>
#include <numeric>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

template <typename T> struct Generator {
    struct promise_type {
        T value;
        Generator get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(T next) noexcept { value = next; return {}; }
        void return_void() noexcept {}
        void unhandled_exception() { throw; }
    };
    std::coroutine_handle<promise_type> handle;
    Generator(std::coroutine_handle<promise_type> h) : handle(h) {}
    Generator(Generator &&other) noexcept : handle(std::exchange(other.handle, {})) {}
    ~Generator() { if (handle) handle.destroy(); }
    bool next() { handle.resume(); return !handle.done(); }
    T get() const { return handle.promise().value; }
};

Generator<unsigned long> fibonacci(int count) {
    unsigned long a = 0, b = 1;
    for (int i = 0; i < count; i++) {
        co_yield a;
        a = std::exchange(b, a + b);
    }
}

Generator<int> walk(std::span<const int> values) {
    if (values.empty()) co_return;
    auto middle = values.size() / 2;
    for (auto left = walk(values.first(middle)); left.next();) co_yield left.get();
    co_yield values[middle];
    for (auto right = walk(values.subspan(middle + 1)); right.next();) co_yield right.get();
}

struct Version {
    int major, minor;
    auto operator<=>(const Version &) const = default;
};

template <std::integral T> T gcd_of(std::span<const T> all) {
    return std::accumulate(all.begin(), all.end(), T{}, [](T a, T b) { return std::gcd(a, b); });
}

int main() {
    mark_begin();
    unsigned long last = 0;
    for (auto numbers = fibonacci(90); numbers.next();) last = numbers.get();
    std::vector<int> values(120);
    std::iota(values.begin(), values.end(), 1);
    long walked = 0;
    int step = 1;
    for (auto one = walk(values); one.next();) walked += one.get() * step++;
    auto odd_squares = values | std::views::filter([](int v) { return v % 2; }) |
                       std::views::transform([](int v) { return v * v; }) | std::views::take(100) |
                       std::views::reverse;
    long sum = 0;
    for (int v : odd_squares) sum = sum * 3 % 1000003 + v;
    std::vector<std::pair<std::string, Version>> versions{{"c", {2, 1}}, {"a", {1, 9}}, {"b", {2, 0}}};
    std::ranges::sort(versions, {}, &std::pair<std::string, Version>::second);
    std::string order;
    for (auto &[name, version] : versions) order += name;
    int words = 0;
    for (auto word : std::string_view("split this text here") | std::views::split(' ')) words += int(std::ranges::distance(word));
    std::vector<int> multiples{84, 126, 210};
    mark_end();
    std::cout << last << ' ' << walked << ' ' << sum << ' ' << order << ' ' << words << ' '
              << gcd_of<int>(multiples) << ' ' << (Version{1, 2} < Version{1, 3}) << '\n';
}
