/* SPDX-License-Identifier: MIT
 *
 * Numbers for the tests of the codec: the same on every machine. */
#ifndef TARE_TEST_WC_RANDOM_H
#define TARE_TEST_WC_RANDOM_H

#include <stdint.h>

static inline uint64_t wc_random(uint64_t *state) {
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* About normal, variance 1 in units of 1/256: the sum of twelve bytes. */
static inline int wc_normal(uint64_t *state) {
    int sum = 0;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t x = wc_random(state);
        for (unsigned b = 0; b < 6; b++) sum += (int)(x >> 8 * b & 255);
    }
    return sum - 1530;
}

/* Normal codes in blocks of 32, of which the largest is 127 or -127. */
static inline void wc_blocks(uint8_t *codes, uint32_t n, uint64_t *state) {
    for (uint32_t at = 0; at < n; at += 32) {
        int values[32], most = 1;
        for (unsigned i = 0; i < 32; i++) {
            values[i] = wc_normal(state);
            if (values[i] > most || -values[i] > most)
                most = values[i] < 0 ? -values[i] : values[i];
        }
        for (unsigned i = 0; i < 32 && at + i < n; i++)
            codes[at + i] = (uint8_t)(values[i] * 127 / most);
    }
}

#endif
