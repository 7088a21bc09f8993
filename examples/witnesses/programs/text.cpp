// <regex>, streams, formatting, locales, wide text, charconv, bitset, complex numbers.
#include "mark.h"
#include <bitset>
#include <charconv>
#include <chrono>
#include <complex>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <locale>
#include <regex>
#include <sstream>
#include <string>

int main() {
    std::string input, all;
    while (std::getline(std::cin, input)) all += input + '\n';
    std::ostringstream out;
    mark_begin();
    std::regex word(R"((\w+)@(\w+)\.(com|org))", std::regex::icase);
    for (std::sregex_iterator at(all.begin(), all.end(), word), end; at != end; ++at)
        out << (*at)[1] << " at " << (*at)[2] << " in " << (*at)[3] << '\n';
    out << std::regex_replace(all, std::regex("[aeiou]+"), "<$&>");
    out << std::setw(12) << std::setfill('*') << std::hex << std::showbase << 48879 << '|' << std::dec << std::left
        << std::setw(8) << -42 << '|' << std::scientific << std::setprecision(9) << 12345.678901 << '|'
        << std::hexfloat << 0.1 << std::defaultfloat << '|' << std::boolalpha << true << '\n';
    std::istringstream in("12 0x1f 3.5e2 word true");
    int decimal;
    std::string hexadecimal, text;
    double real;
    in >> decimal >> hexadecimal >> real >> text;
    char buffer[64];
    auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, 1e21 / 3);
    out << decimal << ' ' << hexadecimal << ' ' << real << ' ' << text << ' ' << std::string(buffer, end) << ' '
        << std::bitset<20>(123456) << ' ' << std::sqrt(std::complex<double>(-3, 4)) << ' '
        << std::quoted("say \"it\"") << '\n';
    long parsed = 0;
    std::from_chars("987654321", "987654321" + 9, parsed);
    mark_end();
    std::cout << out.str() << parsed << ' ' << std::chrono::minutes(std::chrono::hours(3)).count() << '\n';
    std::wcout.imbue(std::locale::classic());
    std::copy(all.begin(), all.begin() + 4, std::ostream_iterator<int>(std::cout, ","));
    std::cout << std::endl;
}
