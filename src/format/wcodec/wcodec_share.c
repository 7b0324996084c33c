/* SPDX-License-Identifier: MIT
 *
 * Blocks of a root are entered into a table by a sum that rolls: it is taken at each byte of a header, and
 * where the table has it, the bytes around are compared. */
#include "format/wcodec/wcodec_share.h"

#include <string.h>

#include "base/arith.h"

enum {
    BLOCK = 512,      /* bytes of the root that are found */
    RUN_LEAST = 2048, /* of a run that is worth a range */
    MOST = 256 << 20, /* bytes of a header that is looked at */
    SHARED_LEAST = 4, /* one byte in so many is shared, or nothing is */
};
#define FACTOR UINT64_C(0x9E3779B97F4A7C15)

typedef struct table {
    uint64_t *sums;
    uint32_t *blocks; /* 1 + number of a block; 0: free */
    size_t mask;
    uint64_t power; /* FACTOR to the power of BLOCK */
} table;

static uint64_t sum_of(const uint8_t *bytes) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < BLOCK; i++) sum = sum * FACTOR + bytes[i] + 1;
    return sum;
}

static size_t place_of(const table *t, uint64_t sum) {
    return (size_t)(sum * FACTOR >> 32) & t->mask;
}

static bool make_table(table *t, const tare_wcodec_root *root, tare_arena *arena) {
    const uint64_t n_blocks = root->n / BLOCK;
    size_t size = 2;
    while (size < 2 * n_blocks) size *= 2;
    *t = (table){.mask = size - 1, .power = 1};
    t->sums = TARE_NEW_ARRAY(arena, uint64_t, size);
    t->blocks = TARE_NEW_ARRAY(arena, uint32_t, size);
    for (unsigned i = 0; i < BLOCK; i++) t->power *= FACTOR;
    if (!t->sums || !t->blocks) return false;
    for (uint64_t i = 0; i < n_blocks; i++) {
        const uint64_t sum = sum_of(root->bytes + i * BLOCK);
        size_t at = place_of(t, sum);
        while (t->blocks[at] && t->sums[at] != sum) at = (at + 1) & t->mask;
        if (t->blocks[at]) continue; /* the first of equal blocks */
        t->sums[at] = sum;
        t->blocks[at] = (uint32_t)i + 1;
    }
    return true;
}

/* The block of the root with this sum; UINT64_MAX: none. */
static uint64_t find_block(const table *t, uint64_t sum) {
    for (size_t at = place_of(t, sum); t->blocks[at]; at = (at + 1) & t->mask)
        if (t->sums[at] == sum) return (t->blocks[at] - UINT64_C(1)) * BLOCK;
    return UINT64_MAX;
}

/* The run around byte `at` of the header and `offset` of the root, not below `least`. */
static tare_wcodec_run widen(const uint8_t *bytes, uint64_t n, const tare_wcodec_root *root,
                             uint64_t at, uint64_t offset, uint64_t least) {
    uint64_t end = at;
    const uint64_t first = offset;
    while (end < n && first + (end - at) < root->n && bytes[end] == root->bytes[first + (end - at)])
        end++;
    while (at > least && offset > 0 && bytes[at - 1] == root->bytes[offset - 1]) at--, offset--;
    return (tare_wcodec_run){at, end - at, offset};
}

/* Runs in ascending order, at most n / RUN_LEAST; returns the bytes in them. */
static uint64_t find_runs(tare_wcodec_shared *out, const uint8_t *bytes, uint64_t n,
                          const tare_wcodec_root *root, const table *t) {
    uint64_t least = 0, shared = 0, at = 0, sum = 0;
    bool has_sum = false;
    out->n = 0;
    while (at + BLOCK <= n) {
        if (!has_sum) sum = sum_of(bytes + at);
        has_sum = true;
        const uint64_t offset = find_block(t, sum);
        if (offset != UINT64_MAX && memcmp(bytes + at, root->bytes + offset, BLOCK) == 0) {
            const tare_wcodec_run run = widen(bytes, n, root, at, offset, least);
            if (run.length >= RUN_LEAST) {
                out->runs[out->n++] = run;
                shared += run.length;
                least = at = run.at + run.length;
                has_sum = false;
                continue;
            }
        }
        if (at + BLOCK < n)
            sum = sum * FACTOR + bytes[at + BLOCK] + 1 - t->power * (bytes[at] + UINT64_C(1));
        at++;
    }
    return shared;
}

static tare_status compare(tare_wcodec_shared *out, tare_wcodec_roots *roots, const uint8_t *bytes,
                           uint64_t n, tare_arena *arena, tare_error *err) {
    uint64_t most = n / SHARED_LEAST;
    for (unsigned i = 0; i < roots->n; i++) {
        const tare_wcodec_root *root = &roots->roots[i];
        tare_wcodec_shared s = {.layer = root->layer};
        table t;
        s.runs = TARE_NEW_ARRAY(arena, tare_wcodec_run, n / RUN_LEAST + 1);
        if (!s.runs || !make_table(&t, root, arena))
            return tare_fail(err, TARE_ERR_NOMEM, "headers");
        const uint64_t shared = find_runs(&s, bytes, n, root, &t);
        if (shared <= most) continue;
        most = shared;
        *out = s;
    }
    return TARE_OK;
}

tare_status tare_wcodec_share(tare_wcodec_shared *out, tare_wcodec_roots *roots,
                              const tare_reader *file, uint64_t n, uint32_t layer,
                              tare_arena *arena, tare_error *err) {
    *out = (tare_wcodec_shared){.n = 0};
    if (n < RUN_LEAST || n > MOST) return TARE_OK;
    uint8_t *bytes = tare_arena_take(arena, (size_t)n);
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "headers");
    TARE_TRY(tare_reader_read(file, 0, bytes, (size_t)n, err));
    TARE_TRY(compare(out, roots, bytes, n, arena, err));
    if (out->n == 0 && roots->n < sizeof roots->roots / sizeof *roots->roots)
        roots->roots[roots->n++] = (tare_wcodec_root){bytes, n, layer};
    return TARE_OK;
}
