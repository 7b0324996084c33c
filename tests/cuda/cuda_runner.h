/* SPDX-License-Identifier: MIT
 *
 * A layer decoded by libtare_cuda, from nothing but what tare/experimental/wcodec.h tells of it. Device memory
 * is exactly as large as it has to be. */
#ifndef TESTS_CUDA_CUDA_RUNNER_H
#define TESTS_CUDA_CUDA_RUNNER_H

#include <tare/cuda.h>

typedef struct cuda_how {
    bool is_coarse, without_crc, is_general;
    unsigned n_groups;
    uint32_t streams;
    /* Does the work of tare_cuda_decode; NULL: that does. */
    tare_status (*decode)(tare_cuda_batch *batch, const tare_cuda_decode_options *options,
                          tare_error *err);
} cuda_how;

typedef struct cuda_counts {
    uint64_t n_segments, n_host;
    uint32_t kernels; /* wg_kernel, as bits: those that were launched */
} cuda_counts;

/* Decodes all regions, or the streams that `how` says, on device 0; regions[r] takes the region's
 * bytes. bases[r], or NULL. What the device or, for its segments, the host finds. */
tare_status cuda_decode(uint8_t *const *regions, const tare_coded *coded, const void *const *bases,
                        const cuda_how *how, cuda_counts *counts, tare_cuda_fault *fault,
                        tare_error *err);

#endif
