/* SPDX-License-Identifier: MIT
 *
 * Overrides of the codec's kernels by CPU level, lowest first. */
#include "base/cpu.h"
#include "wcodec/x86/wc_x86.h"

void tare_wc_kernels_init_x86(tare_wc_kernels *k, unsigned cpu) {
    if (!(cpu & TARE_CPU_AVX2)) return;
    if (tare_cpu_has_wide_products()) tare_wc_kernels_use_crc_avx2(k);
    tare_wc_kernels_use_decode_avx2(k);
    tare_wc_kernels_use_encode_avx2(k);
    tare_wc_kernels_use_split_avx2(k);
    tare_wc_kernels_use_join_avx2(k);
    tare_wc_kernels_use_units_avx2(k);
    tare_wc_kernels_use_search_avx2(k);
    if (!(cpu & TARE_CPU_VBMI2)) return;
    tare_wc_kernels_use_crc_vbmi2(k);
    tare_wc_kernels_use_decode_vbmi2(k);
    tare_wc_kernels_use_encode_vbmi2(k);
    tare_wc_kernels_use_split_vbmi2(k);
    tare_wc_kernels_use_join_vbmi2(k);
    tare_wc_kernels_use_search_vbmi2(k);
}
