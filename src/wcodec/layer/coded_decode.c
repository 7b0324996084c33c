/* SPDX-License-Identifier: MIT
 *
 * Decoding layers in memory: the streams that a call needs are divided into tasks of a few
 * segments. */
#include <stdatomic.h>
#include <string.h>

#include "base/arith.h"
#include "base/os_system.h"
#include "wcodec/layer/coded.h"

enum {
    LARGE = 1 << 20,        /* decoded bytes of a segment that is a task by itself */
    REGION_MOST = 32 << 20, /* of a region with several streams that are a task, */
    KEPT_MOST = 16 << 20,   /* and of segments that several tasks need a part of */
};

/* A unit of work: bytes of a stream, or of a region that has several streams. */
typedef struct share {
    bool is_region;
    unsigned number;     /* of the stream or region */
    uint64_t first, end; /* bytes that are wanted */
    uint64_t task_bytes; /* a whole number of segments */
    uint64_t first_task;
    tare_wc_window to;
} share;

typedef struct decoding {
    tare_wc_opened opened;
    const tare_coded_options *options;
    share shares[TARE_CODED_MAX_STREAMS];
    unsigned n_shares, n_threads;
    uint64_t n_tasks, total;
    tare_wc_scratch *scratches; /* one a worker */
    _Atomic uint64_t done;
} decoding;

static void begin(decoding *d, const tare_coded *c, const tare_coded_options *o) {
    *d = (decoding){.opened = c->opened, .options = o, .n_threads = tare_coded_threads(o)};
    if (o->is_coarse && o->n_groups < TARE_WC_ALL_GROUPS) d->opened.groups = o->n_groups;
}

static void add_share(decoding *d, share s) {
    if (s.first >= s.end) return;
    s.first_task = d->n_tasks;
    d->shares[d->n_shares++] = s;
    d->n_tasks += (s.end - 1) / s.task_bytes - s.first / s.task_bytes + 1;
    d->total += s.end - s.first;
}

static void add_stream(decoding *d, unsigned stream, uint64_t first, uint64_t end,
                       const tare_wc_window *to) {
    const uint64_t whole = d->opened.layer->streams[stream].segment_bytes;
    add_share(d, (share){.number = stream,
                         .first = first,
                         .end = end,
                         .task_bytes = whole <= LARGE ? TARE_WC_SIDE_BY_SIDE * whole : whole,
                         .to = *to});
}

static void add_region(decoding *d, unsigned region, const tare_wc_window *to) {
    const tare_wc_layer *l = d->opened.layer;
    unsigned n = 0, stream = 0;
    uint64_t first, end;
    tare_pages_to_fill(to->dst, (size_t)to->n);
    for (unsigned i = 0; i < l->n_streams; i++) {
        if (l->streams[i].field.region != region) continue;
        stream = i;
        n++;
    }
    if (!n || !to->n) return;
    if (n == 1) {
        tare_wc_stream_span(&first, &end, &l->streams[stream], to);
        add_stream(d, stream, first, end, to);
        return;
    }
    const uint64_t most = tare_min_u64(to->n / d->n_threads, REGION_MOST);
    add_share(d, (share){.is_region = true,
                         .number = region,
                         .first = to->offset,
                         .end = to->offset + to->n,
                         .task_bytes = tare_wc_region_step(l, region, most),
                         .to = *to});
}

static tare_status decode_some(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    decoding *d = ctx;
    unsigned i = 0;
    while (i + 1 < d->n_shares && d->shares[i + 1].first_task <= task) i++;
    const share *s = &d->shares[i];
    uint64_t start = (s->first / s->task_bytes + (task - s->first_task)) * s->task_bytes;
    uint64_t first = tare_max_u64(start, s->first),
             end = tare_min_u64(start + s->task_bytes, s->end);
    if (s->is_region)
        TARE_TRY(tare_wc_read_region(s->to.dst + (first - s->to.offset), &d->opened, s->number,
                                     first, (size_t)(end - first), &d->scratches[worker], err));
    else
        TARE_TRY(tare_wc_read_stream(&s->to, &d->opened, s->number, first, end,
                                     &d->scratches[worker], err));
    atomic_fetch_add(&d->done, end - first);
    return TARE_OK;
}

static void free_segment(void *ctx, void *value, size_t cost) {
    const decoding *d = ctx;
    tare_free(d->options->context->allocator, value, cost);
}

static tare_status run_tasks(decoding *d, tare_error *err) {
    const tare_allocator *a = d->options->context->allocator;
    unsigned n = d->n_threads;
    if (n > d->n_tasks) n = (unsigned)d->n_tasks;
    if (!n) return TARE_OK;
    d->scratches = tare_alloc(a, n * sizeof *d->scratches);
    if (!d->scratches) return tare_fail(err, TARE_ERR_NOMEM, "work memory");
    for (unsigned i = 0; i < n; i++) tare_wc_scratch_init(&d->scratches[i], a);
    const tare_run work =
        tare_coded_run(d->options, d->n_tasks, decode_some, d, d->total, &d->done);
    tare_status status = tare_run_parallel(&work, err);
    for (unsigned i = 0; i < n; i++) tare_wc_scratch_free(&d->scratches[i]);
    tare_free(a, d->scratches, n * sizeof *d->scratches);
    return status;
}

static tare_status run(decoding *d, tare_error *err) {
    bool has_regions = false;
    for (unsigned i = 0; i < d->n_shares; i++) has_regions |= d->shares[i].is_region;
    if (!has_regions) return run_tasks(d, err);
    d->opened.cache = tare_cache_new(KEPT_MOST, free_segment, d, d->options->context->allocator);
    if (!d->opened.cache) return tare_fail(err, TARE_ERR_NOMEM, "work memory");
    tare_status status = run_tasks(d, err);
    tare_cache_free(d->opened.cache);
    return status;
}

/* ---- calls ----------------------------------------------------------------------------------- */

tare_status tare_coded_decode_region(void *dst, const tare_coded *coded, unsigned region,
                                     uint64_t offset, size_t n, const tare_coded_options *options,
                                     tare_error *err) {
    tare_coded_options o = tare_coded_options_default();
    tare_context context;
    decoding d;
    TARE_REQUIRE(coded && region < coded->layer.n_regions && (dst || !n), err);
    TARE_REQUIRE(offset <= coded->layer.region_bytes[region], err);
    TARE_REQUIRE(n <= coded->layer.region_bytes[region] - offset, err);
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    begin(&d, coded, &o);
    add_region(&d, region, &(tare_wc_window){dst, offset, n});
    return run(&d, err);
}

tare_status tare_coded_decode_layer(void *const *dst, const tare_coded *coded,
                                    const tare_coded_options *options, tare_error *err) {
    tare_coded_options o = tare_coded_options_default();
    tare_context context;
    decoding d;
    TARE_REQUIRE(coded && dst, err);
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    begin(&d, coded, &o);
    for (unsigned r = 0; r < coded->layer.n_regions; r++) {
        uint64_t n = coded->layer.region_bytes[r];
        TARE_REQUIRE(dst[r] || !n, err);
        add_region(&d, r, &(tare_wc_window){dst[r], 0, n});
    }
    return run(&d, err);
}

tare_status tare_coded_decode_segments(void *dst, const tare_coded *coded, unsigned stream,
                                       uint64_t first, uint64_t n,
                                       const tare_coded_options *options, tare_error *err) {
    tare_coded_options o = tare_coded_options_default();
    tare_context context;
    decoding d;
    TARE_REQUIRE(coded && stream < coded->layer.n_streams && (dst || !n), err);
    const tare_coded_stream *p = &coded->layer.streams[stream];
    TARE_REQUIRE(first <= p->n_segments && n <= p->n_segments - first, err);
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    begin(&d, coded, &o);
    uint64_t start = first * p->segment_bytes;
    uint64_t end = tare_min_u64((first + n) * p->segment_bytes, p->n_bytes);
    add_stream(&d, stream, start, end, &(tare_wc_window){.dst = dst, .offset = start});
    return run(&d, err);
}
