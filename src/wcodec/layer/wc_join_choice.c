/* SPDX-License-Identifier: MIT
 *
 * All values are counted, not a sample: what does not shrink would grow if it were joined. */
#include "wcodec/layer/wc_join_choice.h"

#include "wcodec/layer/wc_join_units.h"
#include "wcodec/wc_table.h"

/* What a stream takes beside its values: head, header and states. */
#define FRAME_BITS (UINT64_C(8) * 700)

/* The stream of a cut that has joined values of 5 bits; NULL: none. */
static const tare_coded_stream *five_bits(const tare_wc_cut *cut) {
    for (unsigned i = 0; i < cut->n_streams; i++)
        if (cut->streams[i].field.join.high_bits == 1) return &cut->streams[i];
    return NULL;
}

static tare_status count(uint64_t counts[64], const tare_coded_stream *p,
                         const tare_wc_source *source, tare_error *err) {
    enum { CHUNK = 128 * 192 };
    uint8_t bytes[CHUNK];
    const uint64_t unit = tare_wc_unit_bytes(p), most = CHUNK / unit * unit;
    for (uint64_t at = 0, n; at < p->n_bytes; at += n) {
        n = tare_min_u64(p->n_bytes - at, most);
        TARE_TRY(tare_wc_join_units(bytes, p, source, at, n, err));
        for (uint64_t i = 0; i < n; i += 3) {
            const uint32_t all =
                bytes[i] | (uint32_t)bytes[i + 1] << 8 | (uint32_t)bytes[i + 2] << 16;
            for (unsigned s = 0; s < 24; s += 6) counts[all >> s & 63]++;
        }
    }
    return TARE_OK;
}

/* Of a stream whose values take `bits` where they do not shrink. */
static uint64_t stream_bits(const uint64_t *counts, unsigned bits) {
    uint64_t n = 0;
    for (unsigned v = 0; v < 1u << bits; v++) n += counts[v];
    return tare_min_u64((tare_wc_entropy(counts, (size_t)1 << bits) >> 16) + FRAME_BITS, n * bits);
}

static bool pays(const uint64_t joined[64]) {
    uint64_t low[16] = {0}, high[2] = {0};
    for (unsigned v = 0; v < 32; v++) {
        low[v % 16] += joined[v];
        high[v / 16] += joined[v];
    }
    return (tare_wc_entropy(joined, 64) >> 16) + FRAME_BITS <
           stream_bits(low, 4) + stream_bits(high, 1);
}

tare_status tare_wc_joining_pays(bool *out, const tare_encoding *encoding,
                                 const uint64_t *plane_bytes, const uint64_t *dims, uint32_t n_dims,
                                 bool is_big_endian, const tare_wc_effort *effort,
                                 const tare_wc_source *source, tare_error *err) {
    tare_wc_effort trial = *effort;
    uint64_t counts[64] = {0};
    tare_wc_cut cut;
    *out = false;
    if (effort->mode != TARE_CODED_SMALLEST && effort->mode != TARE_CODED_DIRECT) return TARE_OK;
    trial.joins_small = false;
    tare_wc_cut_tensor(&cut, encoding, plane_bytes, dims, n_dims, is_big_endian, &trial);
    if (five_bits(&cut)) return TARE_OK;
    trial.joins_small = true;
    tare_wc_cut_tensor(&cut, encoding, plane_bytes, dims, n_dims, is_big_endian, &trial);
    const tare_coded_stream *p = five_bits(&cut);
    if (!p) return TARE_OK;
    TARE_TRY(count(counts, p, source, err));
    *out = pays(counts);
    return TARE_OK;
}
