/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include <string.h>

#include "base/cpu.h"
#include "base/utf8_scan.h"

enum { BLOCK = 1 << 14 }; /* bytes between two looks at what was found */

static uint8_t (*faults)(const uint8_t *p, size_t n);

static void choose_faults(unsigned mask) {
    faults = tare_utf8_faults;
#if defined(__x86_64__) && !defined(TARE_NO_SIMD)
    if (mask & TARE_CPU_AVX2) faults = tare_utf8_faults_avx2;
#endif
    (void)mask;
}

static tare_cpu_domain domain = {.refill = choose_faults};

/* Whether the text ends within a character. */
static bool is_cut(const uint8_t *end, size_t n) {
    return (n > 0 && end[-1] >= 0xc0) || (n > 1 && end[-2] >= 0xe0) || (n > 2 && end[-3] >= 0xf0);
}

bool tare_is_utf8(const void *bytes, size_t n) {
    const uint8_t *p = bytes;
    uint8_t first[6] = {0}; /* nothing comes before the first three bytes */
    size_t at = n < 3 ? n : 3;
    if (n == 0) return true;
    tare_cpu_ready(&domain);
    memcpy(first + 3, p, at);
    if (tare_utf8_faults(first + 3, at)) return false;
    for (size_t step; at < n; at += step) {
        step = n - at < BLOCK ? n - at : BLOCK;
        if (faults(p + at, step)) return false;
    }
    return !is_cut(p + n, n);
}
