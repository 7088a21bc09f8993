// A graph: breadth-first search and shortest paths with a heap.
#include <cstdio>
#include <queue>
#include <vector>
int main() {
    const int n = 120000;
    std::vector<std::vector<std::pair<int, int>>> edges(n);
    unsigned x = 3;
    for (int i = 0; i < n * 5; i++) {
        x = x * 1664525u + 1013904223u;
        int a = (x >> 7) % n;
        x = x * 1664525u + 1013904223u;
        int b = (x >> 7) % n;
        edges[a].push_back({b, 1 + static_cast<int>(x % 97)});
    }
    std::vector<long> distance(n, 1L << 60);
    std::priority_queue<std::pair<long, int>> heap;
    distance[0] = 0;
    heap.push({0, 0});
    long settled = 0;
    while (!heap.empty()) {
        auto [d, u] = heap.top();
        heap.pop();
        if (-d > distance[u]) continue;
        settled++;
        for (auto [w, cost] : edges[u])
            if (distance[u] + cost < distance[w]) {
                distance[w] = distance[u] + cost;
                heap.push({-distance[w], w});
            }
    }
    long sum = 0;
    for (long d : distance)
        if (d < 1L << 60) sum += d;
    std::printf("%ld %ld\n", settled, sum);
}
