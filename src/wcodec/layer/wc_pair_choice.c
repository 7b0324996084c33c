/* SPDX-License-Identifier: MIT
 *
 * Bytes at a few places of a stream are counted: a byte is a pair. */
#include "wcodec/layer/wc_pair_choice.h"

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "wcodec/layer/wc_gather.h"
#include "wcodec/wc_table.h"

enum { PLACES = 16, A_PLACE = 4096, PAIRS = 256, TABLE = 64 };

/* Costs are in units of 2^-16 bits. A symbol costs 0.002 to 0.004 bits beside its entropy: the slots
 * of a symbol are not in the order of its ranks. */
#define A_BIT    (UINT64_C(1) << 16)
#define A_SYMBOL (3 * A_BIT / 1000)
/* Of a patch: its value, and what a distance takes beyond log2 of the mean one. */
#define A_PATCH (10 * A_BIT)

/* The stream that both cuts have, with values of different width; NULL: none. */
static const tare_coded_stream *paired_stream(const tare_wc_cut *codes, const tare_wc_cut *pairs) {
    for (unsigned i = 0; i < codes->n_streams; i++)
        if (codes->streams[i].field.value_bits != pairs->streams[i].field.value_bits)
            return &pairs->streams[i];
    return NULL;
}

static tare_status count(uint64_t counts[PAIRS], const tare_coded_stream *p,
                         const tare_wc_source *source, tare_error *err) {
    uint8_t bytes[A_PLACE];
    const uint64_t step = tare_max_u64(p->n_bytes / PLACES, A_PLACE);
    for (uint64_t at = 0; at < p->n_bytes; at += step) {
        const uint64_t n = tare_min_u64(p->n_bytes - at, A_PLACE);
        TARE_TRY(tare_wc_gather(bytes, p, source, at, n, err));
        for (uint64_t i = 0; i < n; i++) counts[bytes[i]]++;
    }
    return TARE_OK;
}

static uint64_t cost_of_codes(const uint64_t counts[PAIRS]) {
    uint64_t codes[16] = {0}, n = 0;
    for (unsigned v = 0; v < PAIRS; v++) {
        codes[v % 16] += counts[v];
        codes[v / 16] += counts[v];
        n += counts[v];
    }
    return tare_wc_entropy(codes, 16) + 2 * n * A_SYMBOL;
}

static int most_first(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return (*x < *y) - (*x > *y);
}

/* The most frequent pairs have symbols, others are patches. */
static uint64_t cost_of_pairs(const uint64_t counts[PAIRS]) {
    uint64_t sorted[PAIRS], n = 0, n_patches = 0;
    memcpy(sorted, counts, sizeof sorted);
    qsort(sorted, PAIRS, sizeof *sorted, most_first);
    for (unsigned i = 0; i < PAIRS; i++) {
        n += sorted[i];
        if (i >= TABLE) n_patches += sorted[i];
    }
    uint64_t cost = tare_wc_entropy(sorted, TABLE) + n * A_SYMBOL;
    if (n_patches) cost += n_patches * (A_PATCH + tare_wc_log2(n) - tare_wc_log2(n_patches));
    return cost;
}

tare_status tare_wc_pairing_pays(bool *out, const tare_encoding *encoding,
                                 const uint64_t *plane_bytes, const uint64_t *dims, uint32_t n_dims,
                                 const tare_wc_effort *effort, const tare_wc_source *source,
                                 tare_error *err) {
    tare_wc_effort trial = *effort;
    uint64_t counts[PAIRS] = {0};
    tare_wc_cut codes, pairs;
    *out = false;
    if (effort->mode != TARE_CODED_SMALLEST && effort->mode != TARE_CODED_DIRECT) return TARE_OK;
    trial.pairs_codes = false;
    tare_wc_cut_tensor(&codes, encoding, plane_bytes, dims, n_dims, false, &trial);
    trial.pairs_codes = true;
    tare_wc_cut_tensor(&pairs, encoding, plane_bytes, dims, n_dims, false, &trial);
    const tare_coded_stream *p = paired_stream(&codes, &pairs);
    if (!p || !p->n_bytes) return TARE_OK;
    TARE_TRY(count(counts, p, source, err));
    *out = cost_of_pairs(counts) < cost_of_codes(counts);
    return TARE_OK;
}
