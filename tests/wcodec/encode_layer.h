/* SPDX-License-Identifier: MIT
 *
 * One layer of a .wcodec, encoded into memory. */
#ifndef TARE_TESTS_ENCODE_LAYER_H
#define TARE_TESTS_ENCODE_LAYER_H

#include "wcodec/layer/wc_layer_write.h"

/* One thread writes in order. */
static inline tare_status encode_layer_put(void *ctx, uint64_t offset, const uint8_t *bytes,
                                           size_t n, tare_error *err) {
    (void)offset;
    tare_buffer_put(ctx, bytes, n);
    return tare_buffer_status(ctx, err);
}

/* Appends the layer's data. The layer says all but sizes and CRC, which are filled in, and begins
 * at layer->offset; `base`: what it may be predicted from, then layer->has_base must be set. */
static inline tare_status encode_layer(tare_buffer *out, tare_wc_layer *layer,
                                       const tare_wc_source *own, const tare_wc_source *base,
                                       bool is_full, tare_arena *arena, tare_error *err) {
    const tare_wc_target target = {encode_layer_put, out};
    const tare_wc_layer_job job = {
        .layer = layer, .how = {.is_full = is_full}, .own = *own, .base = base};
    layer->records = TARE_NEW_ARRAY(arena, tare_wc_record, layer->n_streams);
    if (!layer->records) return tare_fail(err, TARE_ERR_NOMEM, "streams");
    tare_wc_run run = {.jobs = &job,
                       .n_jobs = 1,
                       .offset = layer->offset,
                       .how = {.threads = 1},
                       .allocator = arena->allocator};
    return tare_wc_run_jobs(&run, &target, arena, err);
}

#endif
