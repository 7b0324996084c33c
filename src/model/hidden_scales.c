/* SPDX-License-Identifier: MIT */
#include "model/hidden_scales.h"

#include "base/arith.h"

tare_status tare_count_hidden(tare_nonfinite_counts *sum, const tare_model *m, size_t tensor,
                              uint64_t first, uint64_t n, tare_error *err) {
    enum { BYTES = 4096, SHARE = 16 /* numbers of a scale */ };
    const tare_encoding *of = m->catalog.tensors[tensor].encoding;
    uint8_t blocks[BYTES];
    if (of->id != TARE_ENCODING_NVFP4) return TARE_OK;
    const uint64_t size = of->planes[0].unit_bytes, most = BYTES / size;
    const uint64_t end = tare_ceil_div_u64(first + n, of->block);
    for (uint64_t at = first / of->block; at < end; at += most) {
        const uint64_t take = tare_min_u64(end - at, most);
        tare_nonfinite_counts odd = tare_nonfinite_counts_default();
        const tare_rows rows = {.planes = {blocks}, .n_rows = 1, .cols = take * of->block};
        TARE_TRY(tare_tensor_read(blocks, m, tensor, 0, at * size, (size_t)(take * size), err));
        tare_count_overflow(&odd, of, &rows, at * of->block);
        sum->n_nan += odd.n_overflow * SHARE;
        sum->first_nan = tare_min_u64(sum->first_nan, odd.first_overflow);
    }
    return TARE_OK;
}
