// Hash tables of integers and of strings.
#include <cstdio>
#include <string>
#include <unordered_map>
int main() {
    std::unordered_map<unsigned, unsigned> counts;
    unsigned x = 12345;
    for (int i = 0; i < 1500000; i++) {
        x = x * 1664525u + 1013904223u;
        counts[(x >> 8) % 50000]++;
    }
    std::unordered_map<std::string, int> words;
    for (int i = 0; i < 200000; i++) {
        x = x * 1664525u + 1013904223u;
        words["key" + std::to_string((x >> 8) % 9000)] += i;
    }
    unsigned long sum = 0;
    for (auto& [k, v] : counts) sum += static_cast<unsigned long>(k) * v;
    for (auto& [k, v] : words) sum += k.size() * v;
    std::printf("%zu %zu %lu\n", counts.size(), words.size(), sum);
}
