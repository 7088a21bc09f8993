// A target pragma behind the includes, as contestants write it, and the same sums without it.
#include <bits/stdc++.h>
#include <immintrin.h>

static std::vector<int> numbers() {
    std::vector<int> out(10007);
    unsigned state = 12345;
    for (int &x : out) x = (state = state * 1103515245 + 12345) >> 8 & 0xffff;
    return out;
}

static std::array<long long, 4> plain(const std::vector<int> &a) {
    std::array<long long, 4> sums{};
    for (size_t i = 0; i < a.size(); i++) {
        sums[0] += a[i];
        sums[1] += a[a[i] % a.size()];
        sums[2] += a[i] * 7 % 1000003;
        sums[3] += __builtin_popcount(a[i]);
    }
    return sums;
}

#pragma GCC target("avx2,bmi2,popcnt,fma")

static std::array<long long, 4> wide(const std::vector<int> &a) {
    std::array<long long, 4> sums{};
    __m256i total = _mm256_setzero_si256(), gathered = total, scaled = total;
    const __m256i seven = _mm256_set1_epi32(7);
    size_t i = 0;
    for (; i + 8 <= a.size(); i += 8) {
        __m256i x = _mm256_loadu_si256((const __m256i *)&a[i]);
        total = _mm256_add_epi32(total, x);
        alignas(32) int index[8], product[8];
        for (int j = 0; j < 8; j++) index[j] = a[i + j] % (int)a.size();
        __m256i at = _mm256_load_si256((const __m256i *)index);
        gathered = _mm256_add_epi32(gathered, _mm256_i32gather_epi32(a.data(), at, 4));
        _mm256_store_si256((__m256i *)product, _mm256_mullo_epi32(x, seven));
        for (int p : product) sums[2] += p % 1000003;
        for (int j = 0; j < 8; j++) sums[3] += _mm_popcnt_u32(a[i + j]);
    }
    alignas(32) int lanes[8];
    for (auto [from, to] : {std::pair{total, 0}, std::pair{gathered, 1}}) {
        _mm256_store_si256((__m256i *)lanes, from);
        for (int lane : lanes) sums[to] += lane;
    }
    for (; i < a.size(); i++) {
        sums[0] += a[i];
        sums[1] += a[a[i] % a.size()];
        sums[2] += a[i] * 7 % 1000003;
        sums[3] += _mm_popcnt_u32(a[i]);
    }
    return sums;
}

int main() {
    auto a = numbers();
    for (long long sum : wide(a)) std::cout << sum << ' ';
    std::cout << (wide(a) == plain(a)) << '\n';
}
