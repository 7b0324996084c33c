/* SPDX-License-Identifier: MIT
 *
 * The table of row functions: filled from the scalar reference, then overridden by CPU level. */
#include "encoding/kernels.h"

#include "base/cpu.h"
#include "encoding/scalar.h"

void tare_kernels_init(tare_kernels *k, unsigned cpu) {
    *k = (tare_kernels){
        .count_nonfinite = tare_count_nonfinite_c,
        .add_deviation = tare_add_deviation_c,
        .add_low_rank = tare_add_low_rank_c,
        .fit_levels = tare_fit_levels_c,
        .fit_line = tare_fit_line_c,
        .fit_e4m3 = tare_fit_e4m3_c,
        .group_reach = tare_group_reach_c,
        .group_whole = tare_group_whole_c,
        .group_e4m3 = tare_group_e4m3_c,
        .group_e2m1 = tare_group_e2m1_c,
        .swap_u16 = tare_swap_u16_c,
        .swap_u32 = tare_swap_u32_c,
        .swap_u64 = tare_swap_u64_c,
    };
#define INIT_FAMILY(name) tare_kernels_init_##name(k);
    TARE_KERNEL_FAMILIES(INIT_FAMILY)
#undef INIT_FAMILY
#if defined(__x86_64__) && !defined(TARE_NO_SIMD)
    tare_kernels_init_x86(k, cpu);
#else
    (void)cpu;
#endif
}

static tare_kernels kernels;

static void refill(unsigned mask) {
    tare_kernels_init(&kernels, mask);
}

static tare_cpu_domain domain = {.refill = refill};

const tare_kernels *tare_kernels_get(void) {
    tare_cpu_ready(&domain);
    return &kernels;
}
