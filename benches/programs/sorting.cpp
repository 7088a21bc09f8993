// Sorting: introsort, stable sort and a heap.
#include <algorithm>
#include <cstdio>
#include <queue>
#include <vector>
int main() {
    std::vector<unsigned> v(1000000);
    unsigned x = 1;
    for (auto& e : v) e = x = x * 1664525u + 1013904223u;
    auto w = v;
    std::sort(v.begin(), v.end());
    std::stable_sort(w.begin(), w.end(), [](unsigned a, unsigned b) { return a % 1000 < b % 1000; });
    std::priority_queue<unsigned> heap;
    for (int i = 0; i < 300000; i++) heap.push(w[i]);
    unsigned long sum = v[500000] + w[1000];
    while (heap.size() > 1000) sum += heap.top(), heap.pop();
    std::printf("%lu\n", sum);
}
