/* SPDX-License-Identifier: MIT
 *
 * Encoding segments of a stream that is never in memory as a whole (include/tare/wcodec.h). */
#include <stdatomic.h>
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
    tare_wc_stream stream;
    tare_wc_options how;
    tare_wc_layer_job job;
    tare_reader own, base_reader;
    tare_wc_source base;
} piece;

static tare_status piece_init(piece *p, const tare_coded_field *field, const void *bytes, size_t n,
                              const void *base, const tare_coded_options *o, tare_error *err) {
    *p = (piece){.layer = {.n_regions = 1, .n_streams = 1, .region_bytes = {n}}};
    tare_arena_init(&p->arena, o->allocator);
    TARE_TRY(tare_coded_field_check(field, err));
    p->layer.streams = &p->stream;
    tare_coded_stream_of(&p->stream, &p->how, field, n, o);
    tare_reader_memory(&p->own, bytes, n, "plane");
    tare_reader_memory(&p->base_reader, base, base ? n : 0, "base");
    p->base.readers[0] = &p->base_reader;
    p->job = (tare_wc_layer_job){.layer = &p->layer,
                                 .options = &p->how,
                                 .own = {{&p->own}, {0}},
                                 .base = base ? &p->base : NULL};
    if (tare_wc_check_stream(&p->layer, 0, TARE_NO_OFFSET, err) != TARE_OK) {
        if (err) err->status = TARE_ERR_ARG;
        return TARE_ERR_ARG;
    }
    if (tare_wc_whole_bytes(&p->stream.shape) > TARE_WC_MAX_BYTES)
        return tare_fail(err, TARE_ERR_ARG, "plane: its segments are too large");
    return tare_wc_measure_layer(&p->layer, &p->arena, err);
}

/* ---- work shared by both calls --------------------------------------------------------------- */

typedef struct crew {
    piece *piece;
    const tare_coded_options *options;
    const tare_coder *coder;
    tare_wc_worker *workers;
    tare_wc_tally **tallies; /* one a worker; NULL where it counted nothing */
    uint8_t *dst; /* of encoded segments, each at the place its largest form would have */
    unsigned n_workers;
    _Atomic uint64_t done;
} crew;

static tare_status run_crew(crew *c, tare_task_fn task, tare_error *err) {
    const tare_allocator *a = c->options->allocator;
    c->n_workers = tare_coded_threads(c->options);
    c->workers = tare_alloc(a, c->n_workers * sizeof *c->workers);
    c->tallies = tare_alloc(a, c->n_workers * sizeof *c->tallies);
    for (unsigned i = 0; c->workers && c->tallies && i < c->n_workers; i++) {
        tare_wc_worker_init(&c->workers[i], a);
        c->tallies[i] = NULL;
    }
    if (!c->workers || !c->tallies) return tare_fail(err, TARE_ERR_NOMEM, "work memory");
    const tare_run run = tare_coded_run(c->options, c->piece->stream.n_segments, task, c,
                                        c->piece->stream.n_bytes, &c->done);
    return tare_run_parallel(&run, err);
}

static void end_crew(crew *c) {
    const tare_allocator *a = c->options->allocator;
    for (unsigned i = 0; c->workers && c->tallies && i < c->n_workers; i++) {
        tare_wc_worker_free(&c->workers[i]);
        tare_wc_tally_free(c->tallies[i]);
    }
    tare_free(a, c->workers, c->n_workers * sizeof *c->workers);
    tare_free(a, c->tallies, c->n_workers * sizeof *c->tallies);
    tare_arena_free(&c->piece->arena);
}

/* ---- learning -------------------------------------------------------------------------------- */

static tare_status count(void *ctx, uint64_t segment, unsigned worker, tare_error *err) {
    crew *c = ctx;
    piece *p = c->piece;
    tare_wc_tally **own = &c->tallies[worker];
    if (tare_wc_tally_wants(&p->how, segment, p->stream.n_segments)) {
        if (!*own)
            *own = tare_wc_tally_new(&p->stream.shape, &p->how, p->job.base != NULL,
                                     c->options->allocator);
        if (!*own) return tare_fail(err, TARE_ERR_NOMEM, "plane");
        TARE_TRY(tare_wc_tally_segment(*own, &p->job, 0, segment, &c->workers[worker], err));
    }
    atomic_fetch_add(&c->done, tare_wc_segment_bytes(&p->stream, segment));
    return TARE_OK;
}

static tare_status learn(tare_coder *coder, crew *c, tare_error *err) {
    tare_wc_tally *sum = NULL;
    TARE_TRY(run_crew(c, count, err));
    for (unsigned i = 0; i < c->n_workers; i++) {
        if (sum && c->tallies[i])
            tare_wc_tally_merge(sum, c->tallies[i]);
        else if (c->tallies[i])
            sum = c->tallies[i];
    }
    coder->shape = c->piece->stream.shape;
    coder->has_base = c->piece->job.base != NULL;
    TARE_TRY(tare_wc_scheme_new(&coder->scheme, sum, err));
    tare_wc_head_write(&coder->head, tare_wc_scheme_head(coder->scheme));
    return tare_buffer_status(&coder->head, err);
}

tare_status tare_coder_new(tare_coder **out, const tare_coded_field *field, const void *bytes,
                           size_t n, const void *base, const tare_coded_options *options,
                           tare_error *err) {
    tare_coded_options o = TARE_CODED_OPTIONS_INIT;
    piece p;
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(field && bytes && n, err);
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_wc_limits_check(&o.tiles, err));
    tare_coded_field whole = *field;
    whole.region = 0;
    whole.stride = whole.offset = whole.width = 0;
    whole.join = (tare_coded_join){0};
    tare_coder *coder = tare_alloc(o.allocator, sizeof *coder);
    if (!coder) return tare_fail(err, TARE_ERR_NOMEM, "coder");
    *coder = (tare_coder){.allocator = o.allocator};
    tare_buffer_init(&coder->head, o.allocator);
    crew c = {.piece = &p, .options = &o};
    tare_status status = piece_init(&p, &whole, bytes, n, base, &o, err);
    if (status == TARE_OK) status = learn(coder, &c, err);
    end_crew(&c);
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

const uint8_t *tare_coder_head(const tare_coder *coder, size_t *n) {
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

static tare_status encode(void *ctx, uint64_t segment, unsigned worker, tare_error *err) {
    crew *c = ctx;
    piece *p = c->piece;
    tare_buffer out;
    tare_buffer_init(&out, c->options->allocator);
    tare_status status =
        tare_wc_put_segment(&out, c->coder->scheme, &p->job, 0, segment, &c->workers[worker], err);
    size_t place =
        (size_t)segment * tare_wc_max_stored((uint32_t)tare_wc_whole_bytes(&p->stream.shape));
    if (status == TARE_OK) memcpy(c->dst + place, out.data, out.size);
    tare_buffer_free(&out);
    atomic_fetch_add(&c->done, tare_wc_segment_bytes(&p->stream, segment));
    return status;
}

/* Moves the segments so that they are contiguous. */
static size_t close_gaps(uint8_t *dst, uint32_t *sizes, const tare_wc_stream *p) {
    size_t room = tare_wc_max_stored((uint32_t)tare_wc_whole_bytes(&p->shape)), at = 0;
    for (uint64_t s = 0; s < p->n_segments; s++) {
        size_t n = (size_t)p->sizes[s] * TARE_WC_UNIT;
        memmove(dst + at, dst + s * room, n);
        sizes[s] = p->sizes[s];
        at += n;
    }
    return at;
}

tare_status tare_coder_encode(void *dst, size_t *written, uint32_t *sizes, const tare_coder *coder,
                              const void *bytes, size_t n, const void *base,
                              const tare_coded_options *options, tare_error *err) {
    tare_coded_options o = TARE_CODED_OPTIONS_INIT;
    piece p;
    TARE_REQUIRE(written, err);
    *written = 0;
    TARE_REQUIRE(dst && sizes && coder && bytes && !base == !coder->has_base, err);
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    const tare_coded_field field = {.value_bits = coder->shape.value_bits,
                                    .log2_segment = coder->shape.log2_segment,
                                    .is_big_endian = coder->shape.is_big_endian,
                                    .is_packed_scales = coder->shape.is_scales};
    if (!n) return TARE_OK;
    crew c = {.piece = &p, .options = &o, .coder = coder, .dst = dst};
    tare_status status = piece_init(&p, &field, bytes, n, base, &o, err);
    if (status == TARE_OK) status = run_crew(&c, encode, err);
    if (status == TARE_OK) *written = close_gaps(dst, sizes, &p.stream);
    end_crew(&c);
    return status;
}
