// Parallel algorithms of the standard library.
#include <algorithm>
#include <cstdio>
#include <execution>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

int main() {
    std::mt19937_64 random(11);
    std::vector<unsigned long> values(60000);
    for (auto &value : values) value = random();
    auto copy = values;
    std::sort(std::execution::par, values.begin(), values.end());
    std::stable_sort(std::execution::seq, copy.begin(), copy.end());
    unsigned long sum = std::reduce(std::execution::par_unseq, values.begin(), values.end());
    std::transform(std::execution::par, values.begin(), values.end(), copy.begin(), [](auto v) { return v >> 60; });
    long large = std::count_if(std::execution::par, copy.begin(), copy.end(), [](auto v) { return v > 7; });
    std::printf("%lu %lu %lu %ld %d\n", values.front(), values.back(), sum, large,
                std::is_sorted(values.begin(), values.end()));
}
