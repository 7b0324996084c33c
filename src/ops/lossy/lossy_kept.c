/* SPDX-License-Identifier: MIT
 *
 * What a tensor takes without loss, estimated from a sample of its numbers: their upper halves by
 * the rule that the codec would choose, what is below by its entropy. */
#include <string.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "ops/lossy/lossy.h"
#include "wcodec/wc_table.h"

enum { N_CHUNKS = 64, CHUNK = 1 << 11, LEAST = 1 << 8, FRAME = 400 };

/* Of their bytes, what is not sampled usually shrinks to: block types, others. */
#define BLOCK_SHARE 0.96
#define USUAL_SHARE 0.85

typedef struct tally {
    uint64_t tops[1 << 16], low[2][256];
    uint8_t bytes[4 * CHUNK];
} tally;

static void count(tally *y, unsigned width, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *number = y->bytes + (size_t)i * width;
        y->tops[tare_load_le16(number + width - 2)]++;
        for (unsigned k = 0; k + 2 < width; k++) y->low[k][number[k]]++;
    }
}

static tare_status count_sample(tally *y, uint64_t *n, const tare_lossy_run *r, size_t tensor,
                                tare_error *err) {
    const tare_tensor *t = &r->in->catalog.tensors[tensor];
    const unsigned width = t->encoding->planes[0].unit_bytes;
    const uint64_t step = t->n_elements / N_CHUNKS, m = tare_min_u64(CHUNK, step);
    memset(y, 0, sizeof *y);
    for (unsigned i = 0; i < N_CHUNKS; i++) {
        TARE_TRY(
            tare_tensor_read(y->bytes, r->in, tensor, 0, step * i * width, (size_t)m * width, err));
        count(y, width, (uint32_t)m);
    }
    *n = m * N_CHUNKS;
    return TARE_OK;
}

static tare_status estimate_floats(double *bytes, tally *y, const tare_lossy_run *r, size_t tensor,
                                   tare_error *err) {
    uint64_t n;
    double bits;
    TARE_TRY(count_sample(y, &n, r, tensor, err));
    TARE_TRY(tare_lossy_rule_cost(&bits, y->tops, r->options->context->allocator, err));
    for (unsigned k = 0; k < 2; k++) bits += (double)tare_wc_entropy(y->low[k], 256) / 65536;
    *bytes = FRAME + bits / 8 * (double)r->in->catalog.tensors[tensor].n_elements / (double)n;
    return TARE_OK;
}

static bool is_sampled(const tare_tensor *t) {
    const tare_encoding_id id = t->encoding->id;
    return t->n_elements >= N_CHUNKS * LEAST &&
           (id == TARE_ENCODING_F32 || id == TARE_ENCODING_F16 || id == TARE_ENCODING_BF16);
}

static tare_status estimate(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    tare_lossy_run *r = ctx;
    const tare_tensor *t = &r->in->catalog.tensors[task];
    const double share = t->encoding->kind == TARE_KIND_BLOCK ? BLOCK_SHARE : USUAL_SHARE;
    (void)worker;
    r->kept[task] = FRAME / 2 + share * (double)t->size_bytes;
    if (!is_sampled(t)) return TARE_OK;
    tally *y = tare_alloc(r->options->context->allocator, sizeof *y);
    if (!y) return tare_fail(err, TARE_ERR_NOMEM, "numbers");
    tare_status status = estimate_floats(&r->kept[task], y, r, (size_t)task, err);
    tare_free(r->options->context->allocator, y, sizeof *y);
    return status;
}

tare_status tare_lossy_estimate_kept(tare_lossy_run *r, tare_error *err) {
    const size_t n = r->in->catalog.n_tensors;
    const tare_run run = {.context = tare_steps_context_retain(r->options->context, &r->before),
                          .n_tasks = n,
                          .task = estimate,
                          .ctx = r};
    r->kept = TARE_NEW_ARRAY(&r->arena, double, n);
    if (!r->kept) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    TARE_TRY(tare_run_parallel(&run, err));
    for (size_t i = 0; i < r->n_targets; i++)
        r->targets[i].kept_bytes = r->kept[r->targets[i].tensor];
    return TARE_OK;
}
