// Iostreams: formatted output into a string, parsed back through a stream.
#include <iomanip>
#include <iostream>
#include <sstream>
int main() {
    std::ostringstream out;
    for (int i = 0; i < 60000; i++) out << i * 37 % 1001 << ' ' << std::fixed << std::setprecision(3) << i * 0.25 << '\n';
    std::istringstream in(out.str());
    long a, sum = 0;
    double b, total = 0;
    while (in >> a >> b) sum += a, total += b;
    std::cout << sum << ' ' << total << '\n';
}
