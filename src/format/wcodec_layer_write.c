/* SPDX-License-Identifier: MIT
 *
 * Writing layers: each plane is read twice, once to be counted, once to be encoded. */
#include <string.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "format/wcodec_planes.h"
#include "wcodec/wc_head.h"

typedef struct writer {
    tare_wcodec_layer *layer;
    const tare_wcodec_sink *sink;
    const tare_wcodec_source *own, *base;
    const tare_wc_options *options;
    tare_arena *arena;
    tare_wc_scratch scratch;
    tare_buffer out;
    uint8_t *room; /* a segment, its reference, its scales in both models */
    size_t room_size;
    uint32_t crc;
    tare_error *err;
} writer;

/* A segment's bytes and what it may be predicted from; *reference is NULL where there is none. */
static tare_status load(writer *w, unsigned plane, uint64_t segment, tare_wc_reference *room,
                        const tare_wc_reference **reference) {
    const tare_wcodec_plane *p = &w->layer->planes[plane];
    uint32_t n = tare_wcodec_segment_bytes(p, segment);
    uint64_t whole = tare_wc_bytes_of(p->shape.item, UINT64_C(1) << p->shape.log2_segment);
    uint64_t first, n_scales;
    tare_wcodec_scales scales = {0};
    *reference = NULL;
    TARE_TRY(tare_wcodec_gather(w->room, p, w->own, segment * whole, n, w->err));
    if (!w->base) return TARE_OK;
    if (tare_wcodec_scale_span(&first, &n_scales, w->layer, plane, segment)) {
        const tare_wcodec_plane *owner = &w->layer->planes[p->scale_plane];
        uint8_t *own = w->room + 2 * (size_t)n, *base = own + n_scales;
        TARE_TRY(tare_wcodec_gather(own, owner, w->own, first, n_scales, w->err));
        TARE_TRY(tare_wcodec_gather(base, owner, w->base, first, n_scales, w->err));
        if (memcmp(own, base, (size_t)n_scales) != 0) scales = (tare_wcodec_scales){own, base};
    }
    *reference = room;
    return tare_wcodec_reference(room, w->room + n, w->layer, plane, segment, w->base, &scales,
                                 w->err);
}

static tare_status take_room(writer *w, unsigned plane) {
    const tare_wcodec_plane *p = &w->layer->planes[plane];
    uint64_t first, n_scales = 0;
    size_t n = tare_wcodec_segment_bytes(p, 0), size = 2 * n;
    if (w->base && tare_wcodec_scale_span(&first, &n_scales, w->layer, plane, 0))
        size += 2 * (size_t)n_scales + 4; /* a later segment may begin inside a scale's run */
    if (w->room && w->room_size >= size) return TARE_OK;
    tare_free(w->scratch.allocator, w->room, w->room_size);
    w->room_size = size;
    w->room = tare_alloc(w->scratch.allocator, size);
    return w->room ? TARE_OK : tare_fail(w->err, TARE_ERR_NOMEM, "segment");
}

/* Hands the buffer on and empties it. */
static tare_status flush(writer *w) {
    TARE_TRY(tare_buffer_status(&w->out, w->err));
    if (w->out.size) TARE_TRY(w->sink->write(w->sink->ctx, w->out.data, w->out.size, w->err));
    w->layer->size += w->out.size;
    w->out.size = 0;
    return TARE_OK;
}

static tare_status tally_plane(writer *w, unsigned plane, tare_wc_plan **plan) {
    const tare_wcodec_plane *p = &w->layer->planes[plane];
    tare_wc_tally *tally =
        tare_wc_tally_new(&p->shape, &w->options[plane], w->base != NULL, w->scratch.allocator);
    if (!tally) return tare_fail(w->err, TARE_ERR_NOMEM, "plane");
    tare_status status = TARE_OK;
    for (uint64_t s = 0; status == TARE_OK && s < p->n_segments; s++) {
        tare_wc_reference room;
        const tare_wc_reference *reference;
        status = load(w, plane, s, &room, &reference);
        if (status == TARE_OK)
            status = tare_wc_tally_add(tally, w->room, tare_wcodec_segment_bytes(p, s), reference,
                                       &w->scratch, w->err);
    }
    if (status == TARE_OK) status = tare_wc_plan_new(plan, tally, w->err);
    tare_wc_tally_free(tally);
    return status;
}

static tare_status encode_segments(writer *w, unsigned plane, const tare_wc_plan *plan) {
    tare_wcodec_plane *p = &w->layer->planes[plane];
    tare_wc_head_write(&w->out, tare_wc_plan_head(plan));
    TARE_TRY(tare_buffer_status(&w->out, w->err));
    p->head_bytes = (uint32_t)w->out.size;
    w->crc = tare_crc32(w->crc, w->out.data, w->out.size);
    for (uint64_t s = 0; s < p->n_segments; s++) {
        tare_wc_reference room;
        const tare_wc_reference *reference;
        TARE_TRY(flush(w));
        TARE_TRY(load(w, plane, s, &room, &reference));
        TARE_TRY(tare_wc_encode_segment(&w->out, plan, w->room, tare_wcodec_segment_bytes(p, s),
                                        reference, &w->scratch, w->err));
        p->sizes[s] = (uint32_t)(w->out.size / TARE_WC_UNIT);
        w->crc = tare_crc32(w->crc, w->out.data + 4, 4);
    }
    return flush(w);
}

static tare_status write_plane(writer *w, unsigned plane) {
    tare_wcodec_plane *p = &w->layer->planes[plane];
    tare_wc_plan *plan;
    uint64_t whole = tare_wc_bytes_of(p->shape.item, UINT64_C(1) << p->shape.log2_segment);
    p->n_bytes = w->layer->region_bytes[p->region] / p->stride * p->width;
    p->n_segments = tare_ceil_div_u64(p->n_bytes, whole);
    p->position = w->layer->offset + w->layer->size;
    p->head_bytes = 0;
    if (!p->n_segments) return TARE_OK;
    p->sizes = TARE_NEW_ARRAY(w->arena, uint32_t, p->n_segments);
    if (!p->sizes) return tare_fail(w->err, TARE_ERR_NOMEM, "sizes of segments");
    TARE_TRY(take_room(w, plane));
    TARE_TRY(tally_plane(w, plane, &plan));
    tare_status status = encode_segments(w, plane, plan);
    tare_wc_plan_free(plan);
    return status;
}

tare_status tare_wcodec_encode_layer(tare_wcodec_layer *layer, const tare_wcodec_sink *sink,
                                     const tare_wcodec_source *own, const tare_wcodec_source *base,
                                     const tare_wc_options *options, tare_arena *arena,
                                     tare_error *err) {
    writer w = {.layer = layer,
                .sink = sink,
                .own = own,
                .base = base,
                .options = options,
                .arena = arena,
                .err = err};
    tare_status status = TARE_OK;
    tare_wc_scratch_init(&w.scratch, arena->allocator);
    tare_buffer_init(&w.out, arena->allocator);
    layer->size = 0;
    for (unsigned i = 0; i < layer->n_planes && status == TARE_OK; i++) status = write_plane(&w, i);
    layer->crc = w.crc;
    tare_buffer_put_zeros(&w.out, (size_t)(0 - layer->size) % TARE_WCODEC_ALIGN);
    if (status == TARE_OK) status = flush(&w);
    tare_buffer_free(&w.out);
    tare_free(arena->allocator, w.room, w.room_size);
    tare_wc_scratch_free(&w.scratch);
    return status;
}
