/* MD5 (RFC 1321) with the names of OpenSSL: no library need be installed or linked. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MD5_DIGEST_LENGTH 16
#define MD5_CBLOCK 64

typedef struct {
    uint32_t state[4];
    uint64_t length;
    unsigned char pending[MD5_CBLOCK];
} MD5_CTX;

static inline uint32_t tickmark_md5_turn(uint32_t value, int by) { return value << by | value >> (32 - by); }

static inline void tickmark_md5_block(MD5_CTX *context, const unsigned char *block) {
    /* floor(2^32 * |sin(i + 1)|), RFC 1321 section 3.4 */
    static const uint32_t sines[64] = {
        0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
        0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
        0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
        0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
        0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
        0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
        0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
        0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
    static const int turns[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    uint32_t words[16];
    uint32_t a = context->state[0], b = context->state[1], c = context->state[2], d = context->state[3];
    for (int i = 0; i < 16; i++)
        words[i] = (uint32_t)block[4 * i] | (uint32_t)block[4 * i + 1] << 8 | (uint32_t)block[4 * i + 2] << 16 |
                   (uint32_t)block[4 * i + 3] << 24;
    for (int i = 0; i < 64; i++) {
        uint32_t mixed;
        int word;
        switch (i / 16) {
        case 0: mixed = (b & c) | (~b & d), word = i; break;
        case 1: mixed = (b & d) | (c & ~d), word = (5 * i + 1) % 16; break;
        case 2: mixed = b ^ c ^ d, word = (3 * i + 5) % 16; break;
        default: mixed = c ^ (b | ~d), word = 7 * i % 16; break;
        }
        uint32_t next = b + tickmark_md5_turn(a + mixed + sines[i] + words[word], turns[i / 16][i % 4]);
        a = d, d = c, c = b, b = next;
    }
    context->state[0] += a, context->state[1] += b, context->state[2] += c, context->state[3] += d;
}

static inline int MD5_Init(MD5_CTX *context) {
    static const uint32_t first[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    memcpy(context->state, first, sizeof first);
    context->length = 0;
    return 1;
}

static inline int MD5_Update(MD5_CTX *context, const void *data, size_t length) {
    const unsigned char *from = (const unsigned char *)data;
    for (; length > 0; from++, length--) {
        context->pending[context->length++ % MD5_CBLOCK] = *from;
        if (context->length % MD5_CBLOCK == 0) tickmark_md5_block(context, context->pending);
    }
    return 1;
}

static inline int MD5_Final(unsigned char *digest, MD5_CTX *context) {
    uint64_t bits = context->length * 8;
    unsigned char byte = 0x80;
    do {
        MD5_Update(context, &byte, 1);
        byte = 0;
    } while (context->length % MD5_CBLOCK != 56);
    for (int i = 0; i < 8; i++) {
        byte = (unsigned char)(bits >> 8 * i);
        MD5_Update(context, &byte, 1);
    }
    for (int i = 0; i < 16; i++) digest[i] = (unsigned char)(context->state[i / 4] >> 8 * (i % 4));
    return 1;
}

static inline unsigned char *MD5(const unsigned char *data, size_t length, unsigned char *digest) {
    static unsigned char own[MD5_DIGEST_LENGTH];
    MD5_CTX context;
    if (digest == NULL) digest = own;
    MD5_Init(&context);
    MD5_Update(&context, data, length);
    MD5_Final(digest, &context);
    return digest;
}
