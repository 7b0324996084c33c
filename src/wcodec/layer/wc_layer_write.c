/* SPDX-License-Identifier: MIT
 *
 * Writing a layer: each stream is read twice, once for counting, once for encoding. */
#include "wcodec/layer/wc_layer_write.h"

#include <string.h>

#include "base/arith.h"
#include "base/hash.h"
#include "wcodec/layer/wc_cut.h"
#include "wcodec/layer/wc_gather.h"
#include "wcodec/wc_head.h"

void tare_wc_worker_init(tare_wc_worker *w, const tare_allocator *allocator) {
    *w = (tare_wc_worker){0};
    tare_wc_scratch_init(&w->scratch, allocator);
}

void tare_wc_worker_free(tare_wc_worker *w) {
    tare_free(w->scratch.allocator, w->room, w->room_size);
    tare_wc_scratch_free(&w->scratch);
}

tare_status tare_wc_measure_layer(tare_wc_layer *layer, tare_arena *arena, tare_error *err) {
    for (unsigned i = 0; i < layer->n_streams; i++) {
        tare_coded_stream *p = &layer->streams[i];
        tare_wc_record *r = &layer->records[i];
        tare_wc_measure_stream(p, layer->region_bytes[p->field.region]);
        p->head_bytes = 0;
        *r = (tare_wc_record){.sizes = TARE_NEW_ARRAY(arena, uint32_t, p->n_segments),
                              .crcs = TARE_NEW_ARRAY(arena, uint32_t, p->n_segments)};
        p->sizes = r->sizes;
        if (!r->sizes || !r->crcs) return tare_fail(err, TARE_ERR_NOMEM, "sizes of segments");
    }
    return TARE_OK;
}

/* ---- one segment ----------------------------------------------------------------------------- */

static tare_status take_room(tare_wc_worker *w, const tare_wc_layer_job *job, unsigned stream) {
    const tare_coded_stream *p = &job->layer->streams[stream];
    uint64_t first, n_scales = 0;
    size_t n = tare_wc_segment_bytes(p, 0), size = 2 * n;
    if (job->base && tare_wc_scale_span(&first, &n_scales, job->layer, stream, 0))
        size += 2 * (size_t)n_scales + 4; /* a later segment may begin inside a scale's run */
    if (w->room && w->room_size >= size) return TARE_OK;
    tare_free(w->scratch.allocator, w->room, w->room_size);
    w->room_size = size;
    w->room = tare_alloc(w->scratch.allocator, size);
    return w->room ? TARE_OK : TARE_ERR_NOMEM;
}

/* Where a segment's bytes lie in memory as they lie in the stream: retained, or in the source. */
static const uint8_t *borrow(const tare_wc_worker *w, const tare_wc_layer_job *job, unsigned stream,
                             uint64_t segment) {
    const tare_coded_stream *p = &job->layer->streams[stream];
    if (w->retained) return w->retained + segment * p->segment_bytes;
    if (p->field.width != p->field.stride || p->field.join.high_bits) return NULL;
    return tare_reader_borrow(job->own.readers[p->field.region],
                              job->own.starts[p->field.region] + p->field.offset +
                                  segment * p->segment_bytes,
                              tare_wc_segment_bytes(p, segment));
}

/* A segment's bytes and the reference it may be predicted from; *reference is NULL if there is
 * none. */
static tare_status load(const uint8_t **bytes, tare_wc_worker *w, const tare_wc_layer_job *job,
                        unsigned stream, uint64_t segment, tare_wc_reference *room,
                        const tare_wc_reference **reference, tare_error *err) {
    const tare_wc_layer *l = job->layer;
    const tare_coded_stream *p = &l->streams[stream];
    uint32_t n = tare_wc_segment_bytes(p, segment);
    uint64_t first, n_scales;
    tare_wc_scale_runs scales = {0};
    *reference = NULL;
    if (!job->base && (*bytes = borrow(w, job, stream, segment))) return TARE_OK;
    if (take_room(w, job, stream) != TARE_OK) return tare_fail(err, TARE_ERR_NOMEM, "segment");
    TARE_TRY(tare_wc_gather(w->room, p, &job->own, segment * p->segment_bytes, n, err));
    *bytes = w->room;
    if (!job->base) return TARE_OK;
    if (tare_wc_scale_span(&first, &n_scales, l, stream, segment)) {
        const tare_coded_stream *owner = &l->streams[p->field.scale_stream - 1];
        uint8_t *own = w->room + 2 * (size_t)n, *base = own + n_scales;
        TARE_TRY(tare_wc_gather(own, owner, &job->own, first, n_scales, err));
        TARE_TRY(tare_wc_gather(base, owner, job->base, first, n_scales, err));
        if (memcmp(own, base, (size_t)n_scales) != 0) scales = (tare_wc_scale_runs){own, base};
    }
    *reference = room;
    return tare_wc_load_reference(room, w->room + n, l, stream, segment, job->base, &scales, err);
}

tare_status tare_wc_tally_segment(tare_wc_tally *tally, const tare_wc_layer_job *job,
                                  unsigned stream, uint64_t segment, tare_wc_worker *w,
                                  tare_error *err) {
    tare_wc_reference room;
    const tare_wc_reference *reference;
    const uint8_t *bytes;
    TARE_TRY(load(&bytes, w, job, stream, segment, &room, &reference, err));
    return tare_wc_tally_add(tally, bytes,
                             tare_wc_segment_bytes(&job->layer->streams[stream], segment),
                             reference, &w->scratch, err);
}

enum { PREDICTOR_PLACE = 1, CRC_PLACE = 4, CRC_BYTES = 4 };

/* The size and the CRC of a segment, which begins at `segment` and ends the output. */
static void note_stored(const tare_wc_record *r, uint64_t number, const tare_buffer *out,
                        size_t segment) {
    r->sizes[number] = (uint32_t)((out->size - segment) / TARE_CODED_UNIT);
    r->crcs[number] = tare_load_le32(out->data + segment + CRC_PLACE);
}

tare_status tare_wc_put_segment(tare_buffer *out, const tare_wc_scheme *scheme,
                                const tare_wc_layer_job *job, unsigned stream, uint64_t segment,
                                tare_wc_worker *w, tare_error *err) {
    tare_wc_reference room;
    const tare_wc_reference *reference;
    const uint8_t *bytes;
    tare_coded_stream *p = &job->layer->streams[stream];
    TARE_TRY(load(&bytes, w, job, stream, segment, &room, &reference, err));
    size_t start = out->size;
    TARE_TRY(tare_wc_encode_segment(out, scheme, bytes, tare_wc_segment_bytes(p, segment),
                                    reference, &w->scratch, err));
    note_stored(&job->layer->records[stream], segment, out, start);
    return TARE_OK;
}

/* A single segment has a head made to fit it. */
static tare_status put_alone(tare_buffer *out, const tare_wc_scheme *scheme,
                             const tare_wc_layer_job *job, unsigned stream, tare_wc_worker *w,
                             tare_error *err) {
    tare_wc_reference room;
    const tare_wc_reference *reference;
    const uint8_t *bytes;
    tare_coded_stream *p = &job->layer->streams[stream];
    TARE_TRY(load(&bytes, w, job, stream, 0, &room, &reference, err));
    size_t start = out->size;
    TARE_TRY(tare_wc_encode_alone(out, &p->head_bytes, scheme, bytes, tare_wc_segment_bytes(p, 0),
                                  reference, &w->scratch, err));
    job->layer->records[stream].head_crc = tare_crc32(0, out->data + start, p->head_bytes);
    note_stored(&job->layer->records[stream], 0, out, start + p->head_bytes);
    return TARE_OK;
}

tare_status tare_wc_put_first(tare_buffer *out, const tare_wc_scheme *scheme,
                              const tare_wc_layer_job *job, unsigned stream, tare_wc_worker *w,
                              tare_error *err) {
    tare_coded_stream *p = &job->layer->streams[stream];
    if (p->n_segments == 1) return put_alone(out, scheme, job, stream, w, err);
    size_t start = out->size;
    tare_wc_head_write(out, tare_wc_scheme_head(scheme));
    p->head_bytes = (uint32_t)(out->size - start);
    TARE_TRY(tare_wc_put_segment(out, scheme, job, stream, 0, w, err));
    job->layer->records[stream].head_crc = tare_crc32(0, out->data + start, p->head_bytes);
    return TARE_OK;
}

/* ---- a whole layer --------------------------------------------------------------------------- */

static tare_status scheme_of_stream(tare_wc_scheme **out, const tare_wc_layer_job *job,
                                    unsigned stream, tare_wc_worker *w, tare_error *err) {
    const tare_coded_stream *p = &job->layer->streams[stream];
    const tare_wc_shape shape = tare_wc_shape_of(&p->field);
    const tare_wc_options options = tare_wc_options_of(&p->field, job->how);
    if (tare_wc_is_tiny(&options, p->n_bytes))
        return tare_wc_scheme_tiny(out, &shape, &options, w->scratch.allocator, err);
    tare_wc_tally *tally =
        tare_wc_tally_new(&shape, &options, job->base != NULL, w->scratch.allocator);
    if (!tally) return tare_fail(err, TARE_ERR_NOMEM, "stream");
    tare_status status = TARE_OK;
    for (uint64_t s = 0; status == TARE_OK && s < p->n_segments; s++)
        if (tare_wc_tally_wants(&options, s, p->n_segments))
            status = tare_wc_tally_segment(tally, job, stream, s, w, err);
    if (status == TARE_OK) status = tare_wc_scheme_new(out, tally, err);
    tare_wc_tally_free(tally);
    return status;
}

static tare_status put_stream(tare_buffer *out, const tare_wc_layer_job *job, unsigned stream,
                              tare_wc_worker *w, tare_error *err) {
    tare_wc_layer *l = job->layer;
    tare_coded_stream *p = &l->streams[stream];
    tare_wc_scheme *scheme;
    TARE_TRY(scheme_of_stream(&scheme, job, stream, w, err));
    size_t start = out->size;
    tare_status status = tare_wc_put_first(out, scheme, job, stream, w, err);
    if (status == TARE_OK) {
        l->crc = tare_crc32(l->crc, out->data + start, p->head_bytes);
        tare_wc_note_segment(l, out->data + start + p->head_bytes);
    }
    for (uint64_t s = 1; s < p->n_segments && status == TARE_OK; s++) {
        start = out->size;
        status = tare_wc_put_segment(out, scheme, job, stream, s, w, err);
        if (status == TARE_OK) tare_wc_note_segment(l, out->data + start);
    }
    tare_wc_scheme_free(scheme);
    return status;
}

void tare_wc_note_segment(tare_wc_layer *l, const uint8_t *segment) {
    l->crc = tare_crc32(l->crc, segment + CRC_PLACE, CRC_BYTES);
    l->is_predicted |= segment[PREDICTOR_PLACE] != TARE_CODED_NO_PREDICTOR;
}

static tare_status put_streams(tare_buffer *out, const tare_wc_layer_job *job, tare_wc_worker *w,
                               tare_error *err) {
    tare_wc_layer *l = job->layer;
    size_t start = out->size;
    l->crc = 0;
    l->is_predicted = false;
    for (unsigned i = 0; i < l->n_streams; i++) {
        l->streams[i].position = out->size - start;
        if (l->streams[i].n_segments) TARE_TRY(put_stream(out, job, i, w, err));
    }
    l->size = out->size - start;
    return TARE_OK;
}

/* The space a layer takes in the file, by its streams: their data, their records, and the CRCs of
 * head and segment, one segment each. */
static uint64_t taken(uint64_t n_data, unsigned n_streams) {
    enum { A_RECORD = TARE_WC_STREAM_RECORD + 2 + 2 * CRC_BYTES };
    return tare_ceil_div_u64(n_data, TARE_WC_LAYER_ALIGN) * TARE_WC_LAYER_ALIGN +
           n_streams * A_RECORD;
}

/* Whether its regions would take less space uncut. */
static bool is_better_whole(const tare_wc_layer *l) {
    uint64_t n = 0;
    for (unsigned i = 0; i < l->n_regions; i++)
        if (l->region_bytes[i]) n += tare_wc_max_stored((uint32_t)l->region_bytes[i]);
    return taken(l->size, l->n_streams) > taken(n, l->n_regions);
}

/* A stream of one segment for each region; it has the place for its size and
 * CRC from one it replaces. */
static void make_whole(tare_wc_layer *l, tare_wc_cut *cut) {
    tare_wc_record records[TARE_CODED_MAX_REGIONS] = {{0}};
    for (unsigned i = 0; i < l->n_streams; i++)
        if (l->streams[i].n_segments) records[l->streams[i].field.region] = l->records[i];
    for (unsigned i = 0; i < cut->n_streams; i++) cut->streams[i].sizes = records[i].sizes;
    memcpy(l->records, records, cut->n_streams * sizeof *records);
    memcpy(l->streams, cut->streams, cut->n_streams * sizeof *l->streams);
    l->n_streams = cut->n_streams;
}

/* Each stream has a header, padding and a record: for a small layer that may be more than cutting
 * it saves, which depends on its data. */
tare_status tare_wc_put_layer(tare_buffer *out, const tare_wc_layer_job *job, tare_wc_worker *w,
                              tare_error *err) {
    tare_wc_layer *l = job->layer;
    size_t start = out->size;
    TARE_TRY(put_streams(out, job, w, err));
    if (!job->may_be_whole || !is_better_whole(l)) return TARE_OK;
    const tare_wc_effort effort = {.is_full = job->how.is_full};
    tare_wc_layer_job whole = *job;
    tare_wc_cut cut;
    tare_wc_cut_whole(&cut, l->region_bytes, l->n_regions, &effort);
    make_whole(l, &cut);
    whole.how = cut.how;
    out->size = start;
    return put_streams(out, &whole, w, err);
}
