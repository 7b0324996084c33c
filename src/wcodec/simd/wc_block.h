/* SPDX-License-Identifier: MIT
 *
 * What kernels of all instruction sets share about a block of positions. */
#ifndef TARE_WCODEC_SIMD_WC_BLOCK_H
#define TARE_WCODEC_SIMD_WC_BLOCK_H

#include "wcodec/wc_kernels.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))
/* The loop that follows becomes four copies of its body; not in test builds, as compilers take
 * minutes to instrument every operation of all copies. */
#ifndef NDEBUG
#define UNROLL_4
#elif defined(__clang__)
#define UNROLL_4 _Pragma("unroll 4")
#else
#define UNROLL_4 _Pragma("GCC unroll 4")
#endif

enum { WC_BLOCK = TARE_WC_CLASS_RUN, WC_BLOCK_STEPS = WC_BLOCK / TARE_WC_LANES };

#endif
