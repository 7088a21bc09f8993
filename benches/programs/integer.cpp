// Integer loops: sieve of Eratosthenes and Collatz lengths.
#include <cstdio>
#include <vector>
int main() {
    const int limit = 4000000;
    std::vector<char> composite(limit + 1);
    long primes = 0;
    for (long i = 2; i <= limit; i++) {
        if (composite[i]) continue;
        primes++;
        for (long j = i * i; j <= limit; j += i) composite[j] = 1;
    }
    long longest = 0, start = 0;
    for (long i = 1; i < 300000; i++) {
        long n = i, length = 1;
        while (n != 1) {
            n = n % 2 ? 3 * n + 1 : n / 2;
            length++;
        }
        if (length > longest) longest = length, start = i;
    }
    std::printf("%ld %ld %ld\n", primes, longest, start);
}
