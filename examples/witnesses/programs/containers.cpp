// Containers, algorithms, strings, smart pointers, virtual calls, exceptions, variants.
#include "mark.h"
#include <algorithm>
#include <deque>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
};
struct Square : Shape {
    double side;
    explicit Square(double s) : side(s) {}
    double area() const override { return side * side; }
};
struct Disc : Shape {
    double radius;
    explicit Disc(double r) : radius(r) {}
    double area() const override { return 3.14159 * radius * radius; }
};

static int depth(int n) {
    if (n == 0) throw std::out_of_range("bottom");
    auto guard = std::make_unique<int>(n);
    return depth(n - 1) + *guard;
}

int main() {
    mark_begin();
    std::mt19937 random(7);
    std::vector<int> values(200);
    for (auto &value : values) value = int(random() % 5000);
    std::map<int, int> ordered;
    std::unordered_map<int, int> hashed;
    for (int value : values) ordered[value]++, hashed[value % 97] += value;
    std::sort(values.begin(), values.end());
    std::priority_queue<int> heap(values.begin(), values.begin() + 40);
    std::deque<int> ends;
    std::list<int> linked;
    std::set<std::string> names;
    std::unordered_set<std::string> unique;
    for (int i = 0; i < 40; i++) {
        if (i % 3) ends.push_back(i);
        else ends.push_front(i);
        linked.push_back(heap.top());
        heap.pop();
        names.insert("name" + std::to_string(i * 37 % 101));
        unique.insert(std::string(i % 40, 'x'));
    }
    linked.sort();
    linked.unique();
    std::vector<std::unique_ptr<Shape>> shapes;
    for (int i = 0; i < 50; i++) {
        if (i % 2) shapes.push_back(std::make_unique<Square>(i));
        else shapes.push_back(std::make_unique<Disc>(i));
    }
    double area = 0;
    for (auto &shape : shapes) area += shape->area();
    std::vector<std::variant<int, std::string, double>> mixed{1, "two", 3.0, 4, "five"};
    std::string told;
    for (auto &one : mixed)
        std::visit([&](auto &value) {
            if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) told += value;
            else told += std::to_string(value);
        }, one);
    auto [low, high] = std::minmax_element(values.begin(), values.end());
    long sum = std::accumulate(values.begin(), values.end(), 0L);
    std::optional<int> found;
    if (auto at = ordered.lower_bound(2500); at != ordered.end()) found = at->first;
    mark_end();
    // Not counted: the unwinder searches the loaded objects, and Linux has one more, its vDSO.
    int caught = 0;
    for (int i = 0; i < 5; i++) try {
            caught += depth(i);
        } catch (const std::exception &error) {
            caught += int(std::string_view(error.what()).size());
        }
    long hash = 0;
    for (auto &[key, value] : hashed) hash += long(key) * value;
    std::cout << *low << ' ' << *high << ' ' << sum << ' ' << found.value_or(-1) << ' ' << hash << '\n'
              << ends.front() << ' ' << ends.back() << ' ' << linked.size() << ' ' << *names.rbegin() << ' '
              << unique.size() << ' ' << area << ' ' << told << ' ' << caught << '\n';
}
