/* SPDX-License-Identifier: MIT
 *
 * The table of the codec's kernels. */
#include "wcodec/wc_kernels.h"

#include "base/cpu.h"
#include "base/hash.h"
#include "wcodec/wc_scales.h"

uint32_t tare_wc_crc32_c(uint32_t crc, const uint8_t *bytes, size_t n) {
    return tare_crc32(crc, bytes, n);
}

void tare_wc_kernels_init(tare_wc_kernels *k, unsigned cpu) {
    *k = (tare_wc_kernels){
        .decode = tare_wc_decode_c,
        .split = tare_wc_split_c,
        .encode = tare_wc_encode_c,
        .crc32 = tare_wc_crc32_c,
        .count_bytes = tare_wc_count_bytes_c,
        .join = tare_wc_join_c,
        .prepare = tare_wc_prepare_c,
        .separate = tare_wc_separate_c,
        .copy_units = tare_wc_copy_units_c,
        .pack_scales = tare_wc_scales_pack_c,
        .search = tare_wc_search_c,
    };
#if defined(__x86_64__) && !defined(TARE_NO_SIMD)
    tare_wc_kernels_init_x86(k, cpu);
#else
    (void)cpu;
#endif
}

static tare_wc_kernels kernels;

static void refill(unsigned mask) {
    tare_wc_kernels_init(&kernels, mask);
}

static tare_cpu_domain domain = {.refill = refill};

const tare_wc_kernels *tare_wc_kernels_get(void) {
    tare_cpu_ready(&domain);
    return &kernels;
}
