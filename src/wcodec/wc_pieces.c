/* SPDX-License-Identifier: MIT
 *
 * The slots of a table as pieces: for kernels in which lookups in a list of all slots would cost
 * more than everything else. */
#include "wcodec/wc_table.h"

enum { BUCKET = 256, MOST_CHUNKS = 128 };

/* The pieces of one symbol in the buckets of others. */
typedef struct parts {
    uint32_t n, total; /* units */
    uint32_t start[65];
    uint8_t bucket[64];
} parts;

static void find_parts(parts *p, const tare_wc_table *t, unsigned symbol) {
    p->n = p->total = 0;
    for (uint8_t b = 0; b < t->alphabet; b++) {
        if (b == symbol || t->alias[b] != symbol) continue;
        p->start[p->n] = p->total;
        p->bucket[p->n++] = b;
        p->total += BUCKET - (uint32_t)t->thr[b];
    }
    p->start[p->n] = UINT32_MAX;
}

/* The largest chunks in which at most n_bounds pieces begin; no larger than a bucket, so that their
 * units have different low bytes, and of 2 at least, so that chunk numbers are bytes. */
static unsigned choose_log2(const parts *p, unsigned n_bounds) {
    unsigned log2 = 8;
    for (; log2 > 1; log2--) {
        uint32_t chunk = 0, most = 0, n = 0;
        for (uint32_t i = 1; i < p->n; i++) {
            if (p->start[i] % (1u << log2) == 0) continue;
            n = p->start[i] >> log2 == chunk ? n + 1 : 1;
            chunk = p->start[i] >> log2;
            if (n > most) most = n;
        }
        if (most <= n_bounds) break;
    }
    return log2;
}

/* `first` is the number of the symbol's first piece. */
static void set_chunks(tare_wc_pieces *to, const parts *p, unsigned log2, unsigned end,
                       unsigned first) {
    uint32_t piece = 0;
    for (uint32_t from = 0; from < p->total; from += 1u << log2) {
        unsigned at = --end, n = 0;
        while (p->start[piece + 1] <= from) piece++;
        for (; n < to->n_bounds && p->start[piece + n + 1] - from < 1u << log2; n++)
            to->bound[n][at] = (uint8_t)(255 - p->start[piece + n + 1] % 256);
        to->piece[at] = (uint8_t)(first + piece + n - to->n_bounds);
        for (; n < to->n_bounds; n++) to->bound[n][at] = 255;
    }
}

/* False: too many chunks. */
static bool build(tare_wc_pieces *to, const tare_wc_table *t, uint8_t n_bounds) {
    uint32_t n_chunks = 0, n_pieces = 0;
    to->n_bounds = n_bounds;
    for (unsigned s = 0; s < t->alphabet; s++) {
        uint32_t own = t->alias[s] == s ? (uint32_t)BUCKET : t->thr[s];
        parts p;
        find_parts(&p, t, s);
        unsigned log2 = choose_log2(&p, n_bounds);
        n_chunks += (p.total + (1u << log2) - 1) >> log2;
        if (n_chunks > MOST_CHUNKS) return false;
        to->last_low[s] = (uint8_t)(own - 1);
        to->last_high[s] = (uint8_t)((own - 1) >> 8);
        to->log2[s] = (uint8_t)log2;
        to->end[s] = (uint8_t)n_chunks;
        set_chunks(to, &p, log2, n_chunks, n_pieces);
        for (uint32_t i = 0; i < p.n; i++) {
            to->bucket[n_pieces] = p.bucket[i];
            to->base[n_pieces++] = (uint8_t)(t->thr[p.bucket[i]] - own - p.start[i]);
        }
    }
    return true;
}

void tare_wc_pieces_build(tare_wc_pieces *to, const tare_wc_table *t) {
    if (!build(to, t, 1) && !build(to, t, 2)) to->n_bounds = 0;
}
