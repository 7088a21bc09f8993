// A recursive search over a path of 200,000 nodes: it needs more stack than 8 MiB.
#include <cstdio>
#include <vector>

struct Graph {
    std::vector<std::vector<int>> next;
    std::vector<int> depth;

    int search(int node, int parent) {
        int deepest = depth[node];
        for (int other : next[node]) {
            if (other == parent) continue;
            depth[other] = depth[node] + 1;
            int below = search(other, node);
            if (below > deepest) deepest = below;
        }
        return deepest;
    }
};

int main() {
    const int nodes = 200000;
    Graph graph{std::vector<std::vector<int>>(nodes), std::vector<int>(nodes)};
    for (int i = 0; i + 1 < nodes; i++) {
        graph.next[i].push_back(i + 1);
        graph.next[i + 1].push_back(i);
    }
    std::printf("deepest %d\n", graph.search(0, -1));
}
