// The parts of the C++ library that lean most on the system: streams, exceptions, locales, random numbers, clocks.
#include <chrono>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

struct Counted {
    static int alive;
    Counted() { ++alive; }
    ~Counted() { --alive; }
};
int Counted::alive = 0;

static int thrower(int depth) {
    Counted counted;
    if (depth == 0) throw std::out_of_range("bottom reached");
    return thrower(depth - 1) + 1;
}

int main() {
    // Exceptions: unwound through frames with destructors, rethrown, nested, and from the library itself.
    try {
        thrower(20);
    } catch (const std::exception &error) {
        std::cout << error.what() << ", alive " << Counted::alive << '\n';
    }
    try {
        try {
            std::stoi("not a number");
        } catch (...) {
            std::throw_with_nested(std::runtime_error("outer"));
        }
    } catch (const std::exception &outer) {
        std::cout << outer.what();
        try {
            std::rethrow_if_nested(outer);
        } catch (const std::invalid_argument &inner) {
            std::cout << " <- " << inner.what() << '\n';
        }
    }
    try {
        std::vector<int>().at(3);
    } catch (const std::out_of_range &) {
        std::cout << "at: out of range\n";
    }

    std::string word;
    std::map<std::string, int> words;
    while (std::cin >> word) ++words[word];
    for (const auto &[text, count] : words) std::cout << std::setw(8) << text << std::setw(3) << count << '\n';

    std::regex date("(\\d{4})-(\\d{2})-(\\d{2})");
    std::string text = "from 2021-03-04 to 2022-11-30, not 99-1-1";
    for (std::sregex_iterator at(text.begin(), text.end(), date), end; at != end; ++at)
        std::cout << (*at)[3] << '.' << (*at)[2] << '.' << (*at)[1] << '\n';
    std::cout << std::regex_replace(text, std::regex("[aeiou]"), "_") << '\n';

    std::mt19937_64 engine(42);
    std::normal_distribution<double> normal(10, 3);
    std::uniform_int_distribution<int> uniform(-5, 5);
    double sum = 0;
    for (int i = 0; i < 1000; ++i) sum += normal(engine) + uniform(engine);
    std::cout << std::setprecision(17) << sum << ' ' << engine() << '\n';
    std::random_device device;
    std::cout << "device range " << (device.max() > device.min()) << '\n';

    using namespace std::chrono;
    auto before = steady_clock::now();
    auto wall = system_clock::now();
    volatile int busy = 0;
    for (int i = 0; i < 10000; ++i) busy = busy + i;
    auto spent = steady_clock::now() - before;
    std::cout << "monotonic " << (spent.count() >= 0) << ", after 2020 "
              << (wall.time_since_epoch() > hours(24 * 365 * 50)) << '\n';
    std::cout << duration_cast<milliseconds>(minutes(3) + seconds(2)).count() << " ms\n";

    std::ostringstream out;
    out << std::hex << std::showbase << 255 << ' ' << std::oct << 64 << ' ' << std::scientific << std::setprecision(3)
        << 12345.678 << ' ' << std::fixed << 0.1L << ' ' << std::boolalpha << true;
    std::cout << out.str() << '\n';
    return 0;
}
