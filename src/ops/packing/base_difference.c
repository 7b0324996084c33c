/* SPDX-License-Identifier: MIT
 *
 * Samples are runs of bytes spread over each plane. A byte counts by the size of its difference, as
 * the codec stores differences: their entropy grows with the logarithm of their spread. */
#include "ops/packing/base_difference.h"

#include "base/arith.h"
#include "base/status.h"

enum { RUNS = 16, RUN = 4096 };

/* Where a run of a plane begins, and its bytes: even numbers, so that no 16-bit number is cut. */
static size_t place_run(uint64_t *first, uint64_t plane_bytes, unsigned run) {
    const uint64_t n = tare_min_u64(plane_bytes, RUN);
    *first = (plane_bytes - n) / (RUNS - 1) * run / 2 * 2;
    return (size_t)n;
}

static unsigned difference_bits(uint8_t a, uint8_t b) {
    const unsigned d = (uint8_t)(a - b), size = d < 128 ? d : 256 - d;
    return size ? 32u - (unsigned)__builtin_clz(size) : 0;
}

tare_status tare_base_difference(uint64_t *out, const tare_model *model, size_t tensor,
                                 const tare_model *base, size_t base_tensor, tare_error *err) {
    const tare_tensor *t = tare_model_tensor(model, tensor);
    uint8_t own[RUN], other[RUN];
    uint64_t first;
    *out = 0;
    for (unsigned p = 0; p < t->encoding->n_planes; p++) {
        const unsigned n_runs = t->planes[p].size > RUN ? RUNS : 1;
        for (unsigned run = 0; run < n_runs; run++) {
            const size_t n = place_run(&first, t->planes[p].size, run);
            TARE_TRY(tare_tensor_read(model, tensor, p, first, own, n, err));
            TARE_TRY(tare_tensor_read(base, base_tensor, p, first, other, n, err));
            for (size_t i = 0; i < n; i++) *out += difference_bits(own[i], other[i]);
        }
    }
    return TARE_OK;
}
