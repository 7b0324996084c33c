/* SPDX-License-Identifier: MIT
 *
 * Jobs of kernels that put words, from the last position to the first. A file of one instruction
 * set defines first
 *
 *     lanes, load_lanes, store_lanes     states of both streams' lanes, and the newest words
 *     rows, load_rows                    what a table's inverse says of symbols
 *     step                               64 symbols
 */
#ifndef TARE_WCODEC_SIMD_WC_PUT_JOBS_H
#define TARE_WCODEC_SIMD_WC_PUT_JOBS_H

#include "wcodec/simd/wc_block.h"

static const tare_wc_inverse *inverse_at(const tare_wc_put_job *job, uint32_t p) {
    return job->inverses + (job->classes ? job->classes[p / WC_BLOCK] : 0);
}

/* What is split next comes from memory, while words take long and read nothing but the cache. */
static ALWAYS_INLINE void fetch_ahead(const tare_wc_put_job *job, uint32_t p) {
    enum { LINE = 64 };
    for (uint32_t i = 0; i < job->ahead_step; i += LINE)
        __builtin_prefetch(job->ahead + (size_t)p / TARE_WC_LANES * job->ahead_step + i, 0, 2);
}

static ALWAYS_INLINE void run(tare_wc_put_job *job, const int log2) {
    const tare_wc_inverse *v = inverse_at(job, job->n_positions - 1);
    lanes l;
    rows r;
    load_lanes(&l, &job->put);
    load_rows(&r, v);
    for (uint32_t end = job->n_positions; end;) {
        uint32_t first = (end - 1) / WC_BLOCK * WC_BLOCK;
        if (inverse_at(job, first) != v) load_rows(&r, v = inverse_at(job, first));
        for (; end > first; end -= TARE_WC_LANES) {
            fetch_ahead(job, end - TARE_WC_LANES);
            step(&l, job->symbols + end - TARE_WC_LANES, &r, log2);
        }
    }
    store_lanes(&job->put, &l);
}

static void encode_job(tare_wc_put_job *job) {
    if (job->inverses->table->log2_alphabet == 4)
        run(job, 4);
    else
        run(job, 6);
}

#endif
