/* SPDX-License-Identifier: MIT
 *
 * One chunk at a time: decoded from the source, encoded, and compared with the tensor's own blocks.
 * What differs is decoded, too, so that a caller can tell other blocks from other numbers. */
#include "ops/derive/derive.h"

#include <string.h>

#include "base/bytes.h"
#include "encoding/kernels.h"

bool tare_derive_next_encoder(tare_derivation *how, const tare_encoding *to, unsigned *k) {
    static const struct {
        tare_quality quality;
        tare_compat compat;
    } encoders[] = {{TARE_QUALITY_DEFAULT, TARE_COMPAT_NONE},
                    {TARE_QUALITY_DEFAULT, TARE_COMPAT_GGML_0_21},
                    {TARE_QUALITY_BEST, TARE_COMPAT_NONE}};
    const bool is_block = to->kind == TARE_KIND_BLOCK;
    const unsigned n = is_block ? sizeof encoders / sizeof *encoders : 1;
    if (*k == 1 && !tare_kernels_get()->encode_older[to->id]) ++*k;
    if (*k >= n) return false;
    how->quality = encoders[*k].quality;
    how->compat = encoders[(*k)++].compat;
    return true;
}

tare_status tare_derive_cut(tare_chunks *out, const tare_derivation *how, const tare_encoding *to,
                            tare_error *err) {
    if (to->n_planes != 1) return tare_fail(err, TARE_ERR_UNSUPPORTED, "a type of several planes");
    TARE_TRY(tare_chunks_init(out, how->from, how->source, to, err));
    if (how->importance) tare_chunks_keep_slices(out, how->slice_rows);
    return TARE_OK;
}

static double squared_difference(const float *a, const float *b, uint64_t n) {
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        const double d = (double)a[i] - (double)b[i];
        if (d == d) sum += d * d;
    }
    return sum;
}

/* Of the numbers of the tensor, and of what the encoder made. */
static tare_status measure(tare_derive_counts *counts, const tare_chunks *chunks,
                           const tare_chunk *chunk, const tare_rows_mut *made,
                           const uint8_t *stored, tare_scratch *scratch, tare_error *err) {
    const uint64_t n = tare_chunk_count(chunk);
    float *values =
        (float *)(void *)tare_scratch_get(scratch, TARE_SCRATCH_DECODED, n * sizeof(float));
    if (!values) return tare_fail(err, TARE_ERR_NOMEM, "buffer of rows");
    const uint8_t *const both[] = {stored, made->planes[0]};
    for (unsigned k = 0; k < 2; k++) {
        const tare_rows rows = {
            .planes = {both[k]}, .n_rows = chunk->at.n_rows, .cols = chunk->at.n_cols};
        TARE_TRY(tare_decode_rows(values, chunks->to, &rows, err));
        *(k ? &counts->expected : &counts->error) += squared_difference(values, chunk->values, n);
    }
    return TARE_OK;
}

tare_status tare_derive_compare(tare_derive_counts *counts, const tare_derivation *how,
                                const tare_chunks *chunks, uint64_t i, const tare_model *m,
                                size_t tensor, tare_scratch *scratch, tare_error *err) {
    tare_encode_params params = {
        .size = sizeof params, .quality = how->quality, .compat = how->compat};
    tare_chunk chunk;
    tare_rows_mut made;
    uint64_t offset, size, n_other = 0;
    if (how->importance)
        params.importance = how->importance + tare_chunks_slice(chunks, i) * chunks->row_length;
    tare_chunks_range(chunks, i, 0, &offset, &size);
    uint8_t *stored = tare_scratch_get(scratch, TARE_SCRATCH_READ_BACK, size);
    if (!stored) return tare_fail(err, TARE_ERR_NOMEM, "buffer of rows");
    TARE_TRY(tare_tensor_read(stored, m, tensor, 0, offset, (size_t)size, err));
    TARE_TRY(tare_chunks_decode(&chunk, chunks, i, scratch, err));
    TARE_TRY(tare_chunks_encode(&made, chunks, &chunk, &params, scratch, err));
    const uint32_t unit = chunks->to->planes[0].unit_bytes;
    for (uint64_t at = 0; at < size; at += unit)
        n_other += memcmp(stored + at, made.planes[0] + at, unit) != 0;
    counts->n_blocks += size / unit;
    counts->n_other += n_other;
    return n_other ? measure(counts, chunks, &chunk, &made, stored, scratch, err) : TARE_OK;
}

uint64_t tare_derive_chunk_bytes(const tare_chunks *chunks, uint64_t i) {
    uint64_t offset, size;
    tare_chunks_range(chunks, i, 0, &offset, &size);
    return size;
}
