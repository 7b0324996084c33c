/* SPDX-License-Identifier: MIT
 *
 * Layers in memory: what was encoded, described and opened again (include/tare/experimental/wcodec.h). */
#include "wcodec/layer/coded.h"

#include <pthread.h>
#include <string.h>

#include "base/arith.h"
#include "base/os_system.h"
#include "wcodec/wc_structured_encode.h"

/* ---- fields ---------------------------------------------------------------------------------- */

/* The approximate number of bits per value, from which a good segment length follows. */
static double worth(uint8_t value_bits) {
    return value_bits == 4 ? 4 : value_bits == 6 ? 5 : value_bits == 8 ? 7 : 11;
}

void tare_coded_complete(tare_coded_stream *p, const tare_coded_field *given,
                         uint64_t region_bytes) {
    tare_coded_field *f = &p->field;
    *p = (tare_coded_stream){.field = *given};
    if (!f->stride)
        f->stride = f->value_bits == 16 ? 2 : f->is_packed_scales ? 12 : f->value_bits == 6 ? 3 : 1;
    if (!f->join.high_bits) f->join = (tare_coded_join){0};
    if (f->join.high_bits && !f->width && f->join.log2_values <= TARE_WC_MAX_JOIN)
        f->width = tare_wc_join_low_bytes(&f->join);
    if (!f->width && f->offset < f->stride) f->width = f->stride - f->offset;
    bool is_item =
        f->value_bits == 4 || f->value_bits == 6 || f->value_bits == 8 || f->value_bits == 16;
    if (!is_item) return;
    const uint64_t n_bytes = region_bytes / f->stride * tare_wc_unit_bytes(p);
    if (!f->log2_segment)
        f->log2_segment =
            tare_wc_suggest_log2(tare_wc_values_of(f->value_bits, n_bytes), worth(f->value_bits));
}

tare_status tare_coded_field_check(const tare_coded_field *f, tare_error *err) {
    bool is_trellis = f->trellis == 8 || f->trellis == 32;
    if (f->mode > TARE_CODED_STRUCTURED || (f->trellis && (!is_trellis || f->value_bits != 8)))
        return tare_fail(err, TARE_ERR_ARG, "field: mode or trellis");
    return TARE_OK;
}

/* ---- work ------------------------------------------------------------------------------------ */

TARE_DEFINE_INIT(tare_coded_options)
TARE_DEFINE_INIT(tare_coded_segment)

unsigned tare_coded_threads(const tare_coded_options *o) {
    enum { MOST = 256 };
    unsigned n = o->context->threads ? o->context->threads : tare_default_threads();
    return n < MOST ? n : MOST;
}

tare_run tare_coded_run(const tare_coded_options *o, uint64_t n_tasks, tare_task_fn task, void *ctx,
                        uint64_t total, _Atomic uint64_t *done) {
    tare_run run = {.context = *o->context,
                    .n_tasks = n_tasks,
                    .task = task,
                    .ctx = ctx,
                    .total = total,
                    .done = done};
    run.context.threads = tare_coded_threads(o);
    return run;
}

/* ---- the handle ------------------------------------------------------------------------------ */

static tare_coded *new_coded(const tare_allocator *allocator) {
    tare_coded *c = tare_alloc(allocator, sizeof *c);
    if (!c) return NULL;
    memset(c, 0, sizeof *c);
    c->allocator = allocator;
    tare_arena_init(&c->arena, allocator);
    tare_buffer_init(&c->owned, allocator);
    c->layer.streams = TARE_NEW_ARRAY(&c->arena, tare_coded_stream, TARE_CODED_MAX_STREAMS);
    c->layer.records = TARE_NEW_ARRAY(&c->arena, tare_wc_record, TARE_CODED_MAX_STREAMS);
    if (c->layer.streams && c->layer.records) return c;
    tare_coded_free(c);
    return NULL;
}

void tare_coded_free(tare_coded *c) {
    if (!c) return;
    tare_buffer_free(&c->owned);
    tare_arena_free(&c->arena);
    tare_free(c->allocator, c, sizeof *c);
}

/* Names field i in the error. */
static tare_status of_field(tare_status status, unsigned i, tare_error *err) {
    if (err) err->item = i;
    return status;
}

/* Checks how the layer is cut. */
static tare_status check_cut(const tare_wc_layer *l, tare_error *err) {
    for (unsigned i = 0; i < l->n_streams; i++) {
        tare_status status = tare_wc_check_stream(l, i, TARE_NO_OFFSET, err);
        if (status != TARE_OK) return of_field(status, i, err);
    }
    return tare_wc_check_cover(l, TARE_NO_OFFSET, err);
}

static void set_bases(tare_coded *c, const void *const *bases) {
    if (!bases) return;
    c->layer.has_base = true;
    for (unsigned r = 0; r < c->layer.n_regions; r++) {
        tare_reader_memory(&c->base_readers[r], bases[r], c->layer.region_bytes[r], "base");
        c->base.readers[r] = &c->base_readers[r];
    }
}

static void describe(tare_coded *c, bool is_in_file) {
    const tare_wc_layer *l = &c->layer;
    const tare_reader *file = c->opened.file;
    c->described = (tare_coded_layer){.size = l->size,
                                      .crc = l->crc,
                                      .n_regions = l->n_regions,
                                      .n_streams = l->n_streams,
                                      .streams = l->streams,
                                      .file = is_in_file ? file->name : NULL,
                                      .offset = l->offset};
    if (file->map) c->described.data = file->map + l->offset;
    memcpy(c->described.region_bytes, l->region_bytes, sizeof l->region_bytes);
}

/* The layer is complete, its data in `file`: parses the heads, describes the streams. */
static tare_status open_data(tare_coded *c, const tare_reader *file, tare_error *err) {
    tare_wc_layer *l = &c->layer;
    TARE_TRY(tare_wc_open_layer(&c->opened, file, l, &c->arena, err));
    TARE_TRY(tare_coded_make_heads(c, err));
    describe(c, file != &c->memory);
    return TARE_OK;
}

static tare_status open_memory(tare_coded *c, const uint8_t *data, size_t size, tare_error *err) {
    tare_reader_memory(&c->memory, data, size, "layer");
    TARE_TRY(open_data(c, &c->memory, err));
    if (c->layer.has_base) c->opened.base = &c->base;
    return TARE_OK;
}

tare_status tare_coded_in_file(tare_coded **out, const tare_wc_layer *layer,
                               const tare_reader *file, const tare_wc_source *base,
                               const tare_allocator *allocator, tare_error *err) {
    tare_coded *c = new_coded(allocator);
    *out = NULL;
    if (!c) return tare_fail(err, TARE_ERR_NOMEM, "layer");
    c->layer = *layer;
    tare_status status = open_data(c, file, err);
    if (status == TARE_OK && !tare_wc_is_bound(layer))
        status = tare_wc_check_layer(&c->opened, err);
    if (status != TARE_OK) {
        tare_coded_free(c);
        return status;
    }
    if (base) {
        c->base = *base;
        c->opened.base = &c->base;
    }
    *out = c;
    return TARE_OK;
}

const tare_coded_layer *tare_coded_describe(const tare_coded *c) {
    return &c->described;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Sizes of a stream's segments: their number must match the stream's length, and each size must be
 * possible. */
static tare_status take_sizes(tare_coded *c, tare_coded_stream *p, const tare_coded_stream *from,
                              uint64_t *position, tare_error *err) {
    if (from->n_segments != p->n_segments || (p->n_segments && !from->sizes))
        return tare_fail(err, TARE_ERR_CORRUPT, "stream: number of segments");
    uint32_t *sizes = TARE_NEW_ARRAY(&c->arena, uint32_t, p->n_segments);
    if (!sizes) return tare_fail(err, TARE_ERR_NOMEM, "sizes of segments");
    p->sizes = sizes;
    p->position = *position;
    *position += p->head_bytes; /* a sum of 32-bit numbers, fewer than 2^32 of them */
    for (uint64_t s = 0; s < p->n_segments; s++) {
        uint32_t most = tare_wc_max_stored(tare_wc_segment_bytes(p, s)) / TARE_CODED_UNIT;
        if (from->sizes[s] == 0 || from->sizes[s] > most)
            return tare_fail(err, TARE_ERR_CORRUPT,
                             "size of a segment: not between 1 and that of RAW");
        sizes[s] = from->sizes[s];
        if (!tare_add_u64(*position, (uint64_t)from->sizes[s] * TARE_CODED_UNIT, position))
            return tare_fail(err, TARE_ERR_CORRUPT, "sizes of segments");
    }
    return TARE_OK;
}

/* Decoding does not need them, and a file would not have them. */
static void forget_hints(tare_wc_layer *l) {
    for (unsigned i = 0; i < l->n_streams; i++) {
        tare_coded_field *f = &l->streams[i].field;
        f->is_signed = f->is_repetitive = false;
        f->trellis = f->mode = 0;
        f->row = 0;
    }
}

static tare_status take_layer(tare_coded *c, const tare_coded_layer *from, tare_error *err) {
    tare_wc_layer *l = &c->layer;
    uint64_t position = 0, end;
    l->n_regions = (uint8_t)from->n_regions;
    l->n_streams = (uint8_t)from->n_streams;
    l->crc = from->crc;
    l->size = from->size;
    memcpy(l->region_bytes, from->region_bytes, sizeof l->region_bytes);
    for (unsigned r = 0; r < l->n_regions; r++)
        if (l->region_bytes[r] >> 63) return tare_fail(err, TARE_ERR_CORRUPT, "size of a region");
    for (unsigned i = 0; i < l->n_streams; i++) {
        const tare_coded_field *f = &from->streams[i].field;
        uint64_t bytes = f->region < l->n_regions ? l->region_bytes[f->region] : 0;
        tare_coded_complete(&l->streams[i], f, bytes);
        l->streams[i].head_bytes = from->streams[i].head_bytes;
    }
    TARE_TRY(check_cut(l, err));
    for (unsigned i = 0; i < l->n_streams; i++) {
        tare_coded_stream *p = &l->streams[i];
        tare_wc_measure_stream(p, l->region_bytes[p->field.region]);
        TARE_TRY(take_sizes(c, p, &from->streams[i], &position, err));
    }
    forget_hints(l);
    if (!tare_align_u64(position, TARE_WC_LAYER_ALIGN, &end) || end != from->size)
        return tare_fail(err, TARE_ERR_CORRUPT, "layer: its size is not that of its streams");
    TARE_TRY(open_memory(c, from->data, (size_t)from->size, err));
    return tare_wc_check_layer(&c->opened, err);
}

tare_status tare_coded_open(tare_coded **out, const tare_coded_layer *layer,
                            const void *const *bases, const tare_coded_options *options,
                            tare_error *err) {
    tare_coded_options o = tare_coded_options_default();
    tare_context context;
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(layer && layer->n_regions >= 1 && layer->n_regions <= TARE_CODED_MAX_REGIONS, err);
    TARE_REQUIRE(
        layer->n_streams <= TARE_CODED_MAX_STREAMS && (layer->streams || !layer->n_streams), err);
    TARE_REQUIRE(layer->data || !layer->size, err);
    for (unsigned r = 0; bases && r < layer->n_regions; r++)
        TARE_REQUIRE(bases[r] || !layer->region_bytes[r], err);
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    tare_coded *c = new_coded(o.context->allocator);
    if (!c) return tare_fail(err, TARE_ERR_NOMEM, "layer");
    tare_status status = take_layer(c, layer, err);
    if (status == TARE_OK) {
        set_bases(c, bases);
        c->layer.has_base = true; /* whether segments refer to one shows when they are read */
        if (bases) c->opened.base = &c->base;
        *out = c;
    } else {
        tare_coded_free(c);
    }
    return status;
}

/* ---- encoding -------------------------------------------------------------------------------- */

/* Collects encoded bytes: several threads write, each to its own place. */
typedef struct gathering {
    tare_buffer *out;
    pthread_mutex_t mutex;
} gathering;

static tare_status put(void *ctx, uint64_t offset, const uint8_t *bytes, size_t n,
                       tare_error *err) {
    gathering *g = ctx;
    size_t end = (size_t)offset + n;
    pthread_mutex_lock(&g->mutex);
    if (end > g->out->size) tare_buffer_extend(g->out, end - g->out->size);
    tare_status status = tare_buffer_status(g->out, err);
    if (status == TARE_OK) memcpy(g->out->data + offset, bytes, n);
    pthread_mutex_unlock(&g->mutex);
    return status;
}

/* Room for what the regions become, which seldom grow: nothing has to move while it is filled. */
static tare_status reserve(tare_coded *c, tare_error *err) {
    uint64_t n = 0;
    for (unsigned r = 0; r < c->layer.n_regions; r++) n += c->layer.region_bytes[r];
    tare_buffer_reserve(&c->owned, (size_t)n);
    tare_pages_to_fill(c->owned.data, c->owned.capacity);
    return tare_buffer_status(&c->owned, err);
}

static tare_status encode(tare_coded *c, const tare_wc_source *own, const tare_coded_options *o,
                          tare_error *err) {
    gathering g = {.out = &c->owned};
    const tare_wc_target target = {put, &g};
    const tare_wc_layer_job job = {.layer = &c->layer,
                                   .how = {.is_full = o->is_full, .tiles = o->tiles},
                                   .own = *own,
                                   .base = c->layer.has_base ? &c->base : NULL};
    tare_wc_run run = {.jobs = &job, .n_jobs = 1, .how = *o->context, .allocator = c->allocator};
    TARE_TRY(reserve(c, err));
    if (pthread_mutex_init(&g.mutex, NULL)) return tare_fail(err, TARE_ERR_NOMEM, "layer");
    tare_status status = tare_wc_run_jobs(&run, &target, &c->arena, err);
    pthread_mutex_destroy(&g.mutex);
    if (!c->layer.size) c->layer.offset = 0; /* nothing can be found */
    return status;
}

/* The layer as cut by the fields; an impossible cut is the caller's fault. */
static tare_status cut_layer(tare_coded *c, const tare_coded_field *fields, size_t n_fields,
                             tare_error *err) {
    tare_wc_layer *l = &c->layer;
    l->n_streams = (uint8_t)n_fields;
    for (unsigned i = 0; i < l->n_streams; i++) {
        const tare_coded_field *f = &fields[i];
        uint64_t bytes = f->region < l->n_regions ? l->region_bytes[f->region] : 0;
        tare_coded_complete(&l->streams[i], f, bytes);
        tare_status status = tare_coded_field_check(f, err);
        if (status != TARE_OK) return of_field(status, i, err);
    }
    if (check_cut(l, err) == TARE_OK) return TARE_OK;
    if (err) err->status = TARE_ERR_ARG;
    return TARE_ERR_ARG;
}

static tare_status encode_regions(tare_coded *c, const tare_coded_region *regions,
                                  const tare_coded_field *fields, size_t n_fields,
                                  const tare_coded_options *o, tare_error *err) {
    tare_reader readers[TARE_CODED_MAX_REGIONS];
    tare_wc_source own = {{0}, {0}};
    const void *bases[TARE_CODED_MAX_REGIONS];
    for (unsigned r = 0; r < c->layer.n_regions; r++) {
        c->layer.region_bytes[r] = regions[r].size;
        bases[r] = regions[r].base;
        tare_reader_memory(&readers[r], regions[r].bytes, regions[r].size, "region");
        own.readers[r] = &readers[r];
    }
    set_bases(c, regions[0].base ? bases : NULL);
    TARE_TRY(cut_layer(c, fields, n_fields, err));
    TARE_TRY(encode(c, &own, o, err));
    forget_hints(&c->layer);
    return open_memory(c, c->owned.data, c->owned.size, err);
}

tare_status tare_coded_encode(tare_coded **out, const tare_coded_region *regions, size_t n_regions,
                              const tare_coded_field *fields, size_t n_fields,
                              const tare_coded_options *options, tare_error *err) {
    tare_coded_options o = tare_coded_options_default();
    tare_context context;
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(regions && n_regions >= 1 && n_regions <= TARE_CODED_MAX_REGIONS, err);
    TARE_REQUIRE(n_fields <= TARE_CODED_MAX_STREAMS && (fields || !n_fields), err);
    for (size_t r = 0; r < n_regions; r++) {
        TARE_REQUIRE(regions[r].bytes || !regions[r].size, err);
        TARE_REQUIRE(!regions[r].base == !regions[0].base, err);
    }
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    TARE_TRY(tare_wc_limits_check(&o.tiles, err));
    tare_coded *c = new_coded(o.context->allocator);
    if (!c) return tare_fail(err, TARE_ERR_NOMEM, "layer");
    c->layer.n_regions = (uint8_t)n_regions;
    tare_status status = encode_regions(c, regions, fields, n_fields, &o, err);
    if (status == TARE_OK)
        *out = c;
    else
        tare_coded_free(c);
    return status;
}
