/* SPDX-License-Identifier: MIT
 *
 * What kernels of all instruction sets know of a block of positions. */
#ifndef TARE_WCODEC_BLOCK_H
#define TARE_WCODEC_BLOCK_H

#include <immintrin.h>

#include "wcodec/wc_kernels.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))
/* The loop that follows becomes four copies of its body; not in builds for tests, as compilers take
 * minutes to watch every operation of all copies. */
#ifndef NDEBUG
#define UNROLL_4
#elif defined(__clang__)
#define UNROLL_4 _Pragma("unroll 4")
#else
#define UNROLL_4 _Pragma("GCC unroll 4")
#endif

enum { WC_BLOCK = TARE_WC_CLASS_RUN, WC_BLOCK_STEPS = WC_BLOCK / TARE_WC_LANES };

/* Whether one group has all bits of a byte's value, and the symbol is the top: always in form EDGE.
 */
static inline bool is_plain(const tare_wc_job *job) {
    return job->rule->form != TARE_WC_SIGN && !job->rule->has_map && job->n_groups == 1 &&
           job->rule->k == job->widths[0];
}

#endif
