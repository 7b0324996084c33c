/* SPDX-License-Identifier: MIT
 *
 * UTF-8 by table look-up (Keiser and Lemire, "Validating UTF-8 In Less Than One Instruction Per
 * Byte", 2021): each fault of two neighbouring bytes shows in the high four bits of the first, in
 * its low four bits, and in the high four bits of the second. A bit is a kind of fault; a table has
 * it where its four bits allow that, so what all three have is one. TWO is none where a third or
 * fourth byte is due. */
#include <immintrin.h>

#include "base/utf8.h"
#include "base/utf8_scan.h"

enum {
    SHORT = 1,       /* a byte that needs another is followed by none */
    LONG = 2,        /* one that needs none is followed by one */
    TOO_LONG_3 = 4,  /* e0 80..9f: three bytes where two do */
    BEYOND = 8,      /* f4 90..bf and above: beyond the last character */
    SURROGATE = 16,  /* ed a0..bf */
    TOO_LONG_2 = 32, /* c0, c1 */
    TOO_LONG_4 = 64, /* f0 80..8f; and f5 80..8f and above, which BEYOND cannot tell from f4 80 */
    TWO = 128,       /* two that continue, one behind the other */
    ANY_LOW = SHORT | LONG | TWO,
    LOW_5 = ANY_LOW | BEYOND | TOO_LONG_4,
    NEXT_8 = LONG | TWO | TOO_LONG_2 | TOO_LONG_3,
    NEXT_A = LONG | TWO | TOO_LONG_2 | SURROGATE | BEYOND,
};

typedef struct lookup {
    __m256i first_high, first_low, second_high;
} lookup;

static lookup tables(void) {
    const __m128i first_high = _mm_setr_epi8(
        LONG, LONG, LONG, LONG, LONG, LONG, LONG, LONG, (char)TWO, (char)TWO, (char)TWO, (char)TWO,
        SHORT | TOO_LONG_2, SHORT, SHORT | TOO_LONG_3 | SURROGATE, SHORT | BEYOND | TOO_LONG_4);
    const __m128i first_low = _mm_setr_epi8(
        (char)(ANY_LOW | TOO_LONG_2 | TOO_LONG_3 | TOO_LONG_4), (char)(ANY_LOW | TOO_LONG_2),
        (char)ANY_LOW, (char)ANY_LOW, (char)(ANY_LOW | BEYOND), (char)LOW_5, (char)LOW_5,
        (char)LOW_5, (char)LOW_5, (char)LOW_5, (char)LOW_5, (char)LOW_5, (char)LOW_5,
        (char)(LOW_5 | SURROGATE), (char)LOW_5, (char)LOW_5);
    const __m128i second_high = _mm_setr_epi8(
        SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, (char)(NEXT_8 | TOO_LONG_4),
        (char)(NEXT_8 | BEYOND), (char)NEXT_A, (char)NEXT_A, SHORT, SHORT, SHORT, SHORT);
    return (lookup){_mm256_broadcastsi128_si256(first_high), _mm256_broadcastsi128_si256(first_low),
                    _mm256_broadcastsi128_si256(second_high)};
}

static inline __m256i load(const uint8_t *p) {
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

static inline __m256i high_bits(__m256i bytes) {
    return _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(15));
}

/* What is wrong with the 32 bytes at p. */
static inline __m256i faults_of_32(const lookup *t, const uint8_t *p) {
    const __m256i before = load(p - 1);
    __m256i wrong = _mm256_and_si256(
        _mm256_shuffle_epi8(t->first_high, high_bits(before)),
        _mm256_shuffle_epi8(t->first_low, _mm256_and_si256(before, _mm256_set1_epi8(15))));
    wrong = _mm256_and_si256(wrong, _mm256_shuffle_epi8(t->second_high, high_bits(load(p))));
    /* The top bit where a lead of three or four bytes two places before, or of four three before,
     * makes this one the second of two that continue. */
    const __m256i is_due =
        _mm256_or_si256(_mm256_subs_epu8(load(p - 2), _mm256_set1_epi8(0xe0 - 0x80)),
                        _mm256_subs_epu8(load(p - 3), _mm256_set1_epi8(0xf0 - 0x80)));
    return _mm256_xor_si256(wrong, _mm256_and_si256(is_due, _mm256_set1_epi8((char)TWO)));
}

uint8_t tare_utf8_faults_avx2(const uint8_t *p, size_t n) {
    const lookup t = tables();
    __m256i wrong = _mm256_setzero_si256();
    size_t i = 0;
    for (; n - i >= 32; i += 32) wrong = _mm256_or_si256(wrong, faults_of_32(&t, p + i));
    const int is_wrong = !_mm256_testz_si256(wrong, wrong);
    return (uint8_t)(is_wrong | tare_utf8_faults(p + i, n - i));
}
