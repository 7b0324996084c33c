/* SPDX-License-Identifier: MIT
 *
 * Overrides by CPU level, lowest first. */
#include "encoding/x86/x86.h"

#include "base/cpu.h"

#define USE_AVX2(name)   tare_kernels_use_##name##_avx2(k);
#define USE_AVX512(name) tare_kernels_use_##name##_avx512(k);

void tare_kernels_init_x86(tare_kernels *k, unsigned cpu) {
    if (!(cpu & TARE_CPU_AVX2)) return;
    TARE_AVX2_FILES(USE_AVX2)
    if (!(cpu & TARE_CPU_AVX512)) return;
    TARE_AVX512_FILES(USE_AVX512)
}
