// Saturating packs and a register-to-register MOVSS against scalar loops, over the values where saturation begins.
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const int32_t edges[] = {0,      1,      0x7f,       0x80,       0xff,        0x100,      0x7fff,
                                0x8000, 0xffff, 0x7fffffff, INT32_MIN,  -1,          -0x80,      -0x81,
                                -0x7fff, -0x8000, -0x8001};
enum { count = sizeof edges / sizeof *edges };

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value > high ? high : value;
}

static int mismatches;
static void check(const void *got, const void *expected, size_t bytes) { mismatches += memcmp(got, expected, bytes) != 0; }

int main(void) {
    int checks = 0;
    for (int i = 0; i < count; ++i) {
        for (int j = 0; j < count; ++j) {
            int32_t words[8], quads[8];
            for (int lane = 0; lane < 8; ++lane) words[lane] = (int16_t)(lane % 2 ? edges[j] : edges[i]);
            for (int lane = 0; lane < 8; ++lane) quads[lane] = lane % 3 ? edges[j] : edges[i];
            int16_t narrow[8];
            for (int lane = 0; lane < 8; ++lane) narrow[lane] = (int16_t)words[lane];
            __m128i a, b;
            memcpy(&a, narrow, 16);
            b = _mm_shuffle_epi32(a, 0x4e);

            int8_t s8[16];
            uint8_t u8[16];
            int16_t other[8], s16[8];
            uint16_t u16[8];
            memcpy(other, &b, 16);
            for (int lane = 0; lane < 8; ++lane) {
                s8[lane] = (int8_t)clamp(narrow[lane], -128, 127);
                s8[lane + 8] = (int8_t)clamp(other[lane], -128, 127);
                u8[lane] = (uint8_t)clamp(narrow[lane], 0, 255);
                u8[lane + 8] = (uint8_t)clamp(other[lane], 0, 255);
                s16[lane] = (int16_t)clamp(quads[lane], -32768, 32767);
                u16[lane] = (uint16_t)clamp(quads[lane], 0, 65535);
            }
            __m128i low, high, packed;
            memcpy(&low, quads, 16);
            memcpy(&high, quads + 4, 16);
            packed = _mm_packs_epi16(a, b);
            check(&packed, s8, 16);
            packed = _mm_packus_epi16(a, b);
            check(&packed, u8, 16);
            packed = _mm_packs_epi32(low, high);
            check(&packed, s16, 16);
            packed = _mm_packus_epi32(low, high);
            check(&packed, u16, 16);

            // The upper 96 bits of the target stay.
            __m128 target, source;
            memset(&target, 0x11, 16);
            memcpy(&source, quads, 16);
            __asm__ volatile("movss %1, %0" : "+x"(target) : "x"(source));
            unsigned char expected[16];
            memset(expected, 0x11, 16);
            memcpy(expected, quads, 4);
            check(&target, expected, 16);
            checks += 5;
        }
    }
    printf("checks %d\nmismatches %d\n", checks, mismatches);
    return 0;
}
