/* SPDX-License-Identifier: MIT
 *
 * Encoding segments of a stream that is never in memory as a whole (include/tare/experimental/wcodec.h). */
#include <string.h>

#include "base/arith.h"
#include "wcodec/layer/coded.h"
#include "wcodec/wc_head.h"
#include "wcodec/wc_structured_encode.h"

struct tare_coder {
    const tare_allocator *allocator;
    tare_wc_shape shape;
    tare_wc_scheme *scheme;
    tare_buffer head;
    bool has_base;
};

/* A run of segments as a layer of one stream. */
typedef struct piece {
    tare_arena arena;
    tare_wc_layer layer;
    tare_coded_stream stream;
    tare_wc_record record;
    tare_wc_layer_job job;
    tare_reader own, base_reader;
    tare_wc_source base;
} piece;

static tare_status piece_init(piece *p, const tare_coded_field *field, const void *bytes, size_t n,
                              const void *base, const tare_coded_options *o, tare_error *err) {
    *p = (piece){.layer = {.n_regions = 1, .n_streams = 1, .region_bytes = {n}}};
    tare_arena_init(&p->arena, o->context->allocator);
    TARE_TRY(tare_coded_field_check(field, err));
    p->layer.streams = &p->stream;
    p->layer.records = &p->record;
    tare_coded_complete(&p->stream, field, n);
    tare_reader_memory(&p->own, bytes, n, "stream");
    tare_reader_memory(&p->base_reader, base, base ? n : 0, "base");
    p->base.readers[0] = &p->base_reader;
    p->job = (tare_wc_layer_job){.layer = &p->layer,
                                 .how = {.is_full = o->is_full, .tiles = o->tiles},
                                 .own = {{&p->own}, {0}},
                                 .base = base ? &p->base : NULL};
    if (tare_wc_check_stream(&p->layer, 0, TARE_NO_OFFSET, err) != TARE_OK) {
        if (err) err->status = TARE_ERR_ARG;
        return TARE_ERR_ARG;
    }
    tare_wc_measure_stream(&p->stream, n);
    if (p->stream.segment_bytes > TARE_WC_MAX_BYTES)
        return tare_fail(err, TARE_ERR_ARG, "stream: its segments are too large");
    return TARE_OK;
}

/* One half of the run over its segments: `learned`, or `scheme` and `target`. */
static tare_status run_half(piece *p, tare_wc_scheme **learned, tare_wc_scheme *scheme,
                            const tare_wc_target *target, const tare_coded_options *o,
                            tare_error *err) {
    tare_wc_run run = {.jobs = &p->job,
                       .n_jobs = 1,
                       .how = *o->context,
                       .allocator = o->context->allocator,
                       .learned = learned,
                       .scheme = scheme};
    return tare_wc_run_jobs(&run, target, &p->arena, err);
}

/* ---- learning -------------------------------------------------------------------------------- */

static tare_status learn(tare_coder *coder, piece *p, const tare_coded_options *o,
                         tare_error *err) {
    TARE_TRY(run_half(p, &coder->scheme, NULL, NULL, o, err));
    coder->shape = tare_wc_shape_of(&p->stream.field);
    coder->has_base = p->job.base != NULL;
    tare_wc_head_write(&coder->head, tare_wc_scheme_head(coder->scheme));
    return tare_buffer_status(&coder->head, err);
}

tare_status tare_coder_new(tare_coder **out, const tare_coded_field *field, const void *bytes,
                           size_t n, const void *base, const tare_coded_options *options,
                           tare_error *err) {
    tare_coded_options o = tare_coded_options_default();
    tare_context context;
    piece p;
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(field && bytes && n, err);
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    TARE_TRY(tare_wc_limits_check(&o.tiles, err));
    tare_coded_field whole = *field;
    whole.region = 0;
    whole.stride = whole.offset = whole.width = 0;
    whole.join = (tare_coded_join){0};
    tare_coder *coder = tare_alloc(o.context->allocator, sizeof *coder);
    if (!coder) return tare_fail(err, TARE_ERR_NOMEM, "coder");
    *coder = (tare_coder){.allocator = o.context->allocator};
    tare_buffer_init(&coder->head, o.context->allocator);
    tare_status status = piece_init(&p, &whole, bytes, n, base, &o, err);
    if (status == TARE_OK) status = learn(coder, &p, &o, err);
    tare_arena_free(&p.arena);
    if (status == TARE_OK)
        *out = coder;
    else
        tare_coder_free(coder);
    return status;
}

void tare_coder_free(tare_coder *coder) {
    if (!coder) return;
    if (coder->scheme) tare_wc_scheme_free(coder->scheme);
    tare_buffer_free(&coder->head);
    tare_free(coder->allocator, coder, sizeof *coder);
}

const uint8_t *tare_coder_head(size_t *n, const tare_coder *coder) {
    *n = coder->head.size;
    return coder->head.data;
}

size_t tare_coder_segment_bytes(const tare_coder *coder) {
    return (size_t)tare_wc_whole_bytes(&coder->shape);
}

/* ---- encoding -------------------------------------------------------------------------------- */

size_t tare_coder_bound(const tare_coder *coder, size_t n) {
    size_t whole = tare_coder_segment_bytes(coder), rest = n % whole;
    size_t bound = n / whole * tare_wc_max_stored((uint32_t)whole);
    return rest ? bound + tare_wc_max_stored((uint32_t)rest) : bound;
}

/* Segments follow each other without gaps: no thread writes where another does. */
static tare_status put(void *ctx, uint64_t offset, const uint8_t *bytes, size_t n,
                       tare_error *err) {
    uint8_t *dst = ctx;
    (void)err;
    memcpy(dst + offset, bytes, n);
    return TARE_OK;
}

tare_status tare_coder_encode(void *dst, size_t *written, uint32_t *sizes, const tare_coder *coder,
                              const void *bytes, size_t n, const void *base,
                              const tare_coded_options *options, tare_error *err) {
    tare_coded_options o = tare_coded_options_default();
    tare_context context;
    piece p;
    TARE_REQUIRE(written, err);
    *written = 0;
    TARE_REQUIRE(dst && sizes && coder && bytes && !base == !coder->has_base, err);
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    const tare_coded_field field = {.value_bits = coder->shape.value_bits,
                                    .log2_segment = coder->shape.log2_segment,
                                    .is_big_endian = coder->shape.is_big_endian,
                                    .is_packed_scales = coder->shape.is_scales};
    if (!n) return TARE_OK;
    const tare_wc_target target = {put, dst};
    tare_status status = piece_init(&p, &field, bytes, n, base, &o, err);
    if (status == TARE_OK) status = run_half(&p, NULL, coder->scheme, &target, &o, err);
    for (uint64_t s = 0; status == TARE_OK && s < p.stream.n_segments; s++) {
        sizes[s] = p.stream.sizes[s];
        *written += (size_t)sizes[s] * TARE_CODED_UNIT;
    }
    tare_arena_free(&p.arena);
    return status;
}
