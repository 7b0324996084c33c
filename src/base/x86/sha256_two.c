/* SPDX-License-Identifier: MIT
 *
 * SHA-256 (FIPS 180-4) of two runs of blocks in turns. A round waits for the one before it, for
 * twice as long as the processor needs until it can begin another: two hashes take little longer
 * than one. */
#include <immintrin.h>

#include "base/sha256_two.h"

enum { FOURS = 16 }; /* rounds of a block, by four */

static const _Alignas(16) uint32_t round_constants[4 * FOURS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/* A state as the instructions take it: words a, b, e, f and c, d, g, h, the first one highest. */
typedef struct halves {
    __m128i abef, cdgh;
} halves;

static inline __m128i load(const void *from) {
    return _mm_loadu_si128(from);
}

static inline halves load_state(const uint32_t *state) {
    __m128i cdab = _mm_shuffle_epi32(load(state), 0xb1);
    __m128i efgh = _mm_shuffle_epi32(load(state + 4), 0x1b);
    return (halves){_mm_alignr_epi8(cdab, efgh, 8), _mm_blend_epi16(efgh, cdab, 0xf0)};
}

static inline void store_state(uint32_t *state, halves s) {
    __m128i feba = _mm_shuffle_epi32(s.abef, 0x1b), dchg = _mm_shuffle_epi32(s.cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)(void *)state, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(void *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

/* The words of a block, by four. */
static inline void load_words(__m128i words[4], const uint8_t *block) {
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    for (unsigned i = 0; i < 4; i++) words[i] = _mm_shuffle_epi8(load(block + 16 * i), big_endian);
}

/* Rounds 4i to 4i + 3, and the words that come twelve rounds later in place of theirs. */
static inline void four_rounds(halves *s, __m128i words[4], unsigned i) {
    const __m128i now = words[i % 4], last = words[(i + 3) % 4];
    __m128i sum = _mm_add_epi32(now, load(round_constants + 4 * i));
    s->cdgh = _mm_sha256rnds2_epu32(s->cdgh, s->abef, sum);
    s->abef = _mm_sha256rnds2_epu32(s->abef, s->cdgh, _mm_shuffle_epi32(sum, 0x0e));
    if (i + 4 >= FOURS) return;
    __m128i next = _mm_sha256msg1_epu32(now, words[(i + 1) % 4]);
    next = _mm_add_epi32(next, _mm_alignr_epi8(last, words[(i + 2) % 4], 4));
    words[i % 4] = _mm_sha256msg2_epu32(next, last);
}

static inline halves add(halves a, halves b) {
    return (halves){_mm_add_epi32(a.abef, b.abef), _mm_add_epi32(a.cdgh, b.cdgh)};
}

void tare_sha256_two_x86(uint32_t *const state[2], const uint8_t *const bytes[2], size_t n) {
    halves a = load_state(state[0]), b = load_state(state[1]);
    for (size_t block = 0; block < n; block++) {
        const halves old_a = a, old_b = b;
        __m128i words_a[4], words_b[4];
        load_words(words_a, bytes[0] + TARE_SHA256_BLOCK * block);
        load_words(words_b, bytes[1] + TARE_SHA256_BLOCK * block);
#pragma GCC unroll 16
        for (unsigned i = 0; i < FOURS; i++) {
            four_rounds(&a, words_a, i);
            four_rounds(&b, words_b, i);
        }
        a = add(a, old_a);
        b = add(b, old_b);
    }
    store_state(state[0], a);
    store_state(state[1], b);
}
