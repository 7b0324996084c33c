/* SPDX-License-Identifier: MIT
 *
 * What the tensors of a model become in a .wcodec: sizes beside the entropy of what is coded and
 * beside zstd, and speeds beside memcpy, all of the same bytes in the same run. */
#include <math.h>
#include <string.h>
#include <tare/ops.h>
#include <time.h>
#include <zstd.h>

#include "base/arith.h"
#include "format/wcodec/wcodec_cut.h"
#include "format/wcodec/wcodec_memory.h"
#include "format/wcodec/wcodec_planes.h"
#include "model/catalog.h"
#include "ops/packing/bases.h"
#include "ops/packing/bench_sample.h"

enum { ROUNDS = 3, ENCODE_ROUNDS = 2, FAST_LEVEL = 3, BEST_LEVEL = 19, BEST_MOST = 1 << 20 };

#define SAMPLE_LEAST (UINT64_C(1) << 20)
#define SAMPLE_MOST  (UINT64_C(4) << 20)   /* bytes of a tensor, */
#define SAMPLE_ALL   (UINT64_C(512) << 20) /* and of all of them, about */
#define PIECE_MOST   (UINT64_C(64) << 20)

/* A tensor at work. */
typedef struct bench {
    const tare_bench_options *options;
    const tare_tensor *t;
    tare_sampling sampling, base; /* base.model NULL: none has such a tensor */
    tare_wcodec_cut cut;
    tare_coded_field fields[TARE_CODED_MAX_PLANES];
    uint64_t *counts[TARE_CODED_MAX_PLANES]; /* of the values of each plane, behind them of their
                                                differences from the base */
    uint64_t stored, heads;                  /* of segments; of heads of the first piece */
    uint64_t zstd_in, zstd_out, best_in, best_out;
    tare_bench *row;
    tare_error *err;
} bench;

/* One piece of it in memory, and room for what comes of it. */
typedef struct piece {
    tare_sample_piece of;
    uint8_t *bytes, *back; /* both of `of.bytes` */
    uint8_t *base, *spare; /* so are these; NULL: no base */
    tare_coded *coded;
} piece;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static tare_coded_options coded_options(const bench *b) {
    tare_coded_options o = TARE_CODED_OPTIONS_INIT;
    o.is_full = b->options->is_full;
    o.threads = b->options->threads ? b->options->threads : 1;
    o.allocator = b->options->allocator;
    return o;
}

/* ---- speeds ---------------------------------------------------------------------------------- */

/* All speeds are the best of a few times, so that what is measured is the work, not the first touch
 * of memory. */
static tare_status encode(bench *b, piece *p) {
    tare_coded_region regions[TARE_CODED_MAX_REGIONS] = {{0}};
    const tare_coded_options o = coded_options(b);
    const uint8_t *at = p->bytes;
    for (unsigned r = 0; r < b->cut.n_regions; r++) {
        regions[r].bytes = at;
        regions[r].base = p->base ? p->base + (at - p->bytes) : NULL;
        regions[r].size = (size_t)p->of.plane_bytes[r];
        at += p->of.plane_bytes[r];
    }
    double best = INFINITY;
    for (unsigned round = 0; round < ENCODE_ROUNDS; round++) {
        tare_coded_free(p->coded);
        double start = now();
        TARE_TRY(tare_coded_encode(&p->coded, regions, b->cut.n_regions, b->fields, b->cut.n_planes,
                                   &o, b->err));
        best = fmin(best, now() - start);
    }
    b->row->encode_seconds += best;
    return TARE_OK;
}

static tare_status decode(bench *b, const piece *p) {
    void *dst[TARE_CODED_MAX_REGIONS];
    const tare_coded_options o = coded_options(b);
    uint8_t *at = p->back;
    double best = INFINITY;
    for (unsigned r = 0; r < b->cut.n_regions; r++, at += p->of.plane_bytes[r - 1]) dst[r] = at;
    for (unsigned round = 0; round < ROUNDS; round++) {
        double start = now();
        TARE_TRY(tare_coded_decode_layer(dst, p->coded, &o, b->err));
        best = fmin(best, now() - start);
    }
    if (memcmp(p->bytes, p->back, (size_t)p->of.bytes) != 0)
        return tare_fail(b->err, TARE_ERR_CORRUPT, "the codec gives back something else");
    b->row->decode_seconds += best;
    return TARE_OK;
}

static void copy(bench *b, const piece *p) {
    double best = INFINITY;
    for (unsigned round = 0; round < ROUNDS; round++) {
        double start = now();
        memcpy(p->back, p->bytes, (size_t)p->of.bytes);
        best = fmin(best, now() - start);
    }
    b->row->copy_seconds += best;
}

static tare_status squeeze(bench *b, const uint8_t *bytes, size_t n, int level, uint64_t *in,
                           uint64_t *out, double *seconds) {
    size_t room = ZSTD_compressBound(n);
    void *dst = tare_alloc(b->options->allocator, room ? room : 1);
    if (!dst) return tare_fail(b->err, TARE_ERR_NOMEM, "zstd");
    double best = INFINITY;
    size_t size = 0;
    for (unsigned round = 0; round < (seconds ? ENCODE_ROUNDS : 1u); round++) {
        double start = now();
        size = ZSTD_compress(dst, room, bytes, n, level);
        best = fmin(best, now() - start);
    }
    if (seconds) *seconds += best;
    tare_free(b->options->allocator, dst, room ? room : 1);
    if (ZSTD_isError(size)) return tare_fail(b->err, TARE_ERR_NOMEM, "zstd");
    *in += n;
    *out += size;
    return TARE_OK;
}

/* zstd -19 of at most BEST_MOST, some of each region: scales that lie before their codes are not
 * all that there is. */
static tare_status squeeze_best(bench *b, const piece *p) {
    const uint8_t *at = p->bytes;
    uint64_t most = tare_min_u64(p->of.bytes, BEST_MOST);
    for (unsigned r = 0; r < b->cut.n_regions && most; r++) {
        uint64_t n = p->of.plane_bytes[r] * most / p->of.bytes; /* both are below 2^32 */
        TARE_TRY(squeeze(b, at, (size_t)n, BEST_LEVEL, &b->best_in, &b->best_out, NULL));
        at += p->of.plane_bytes[r];
    }
    return TARE_OK;
}

/* ---- entropy --------------------------------------------------------------------------------- */

static uint32_t kinds_of(uint8_t item) {
    return 1u << item;
}

/* Values of a plane. */
static void count(uint64_t *counts, uint8_t item, const uint8_t *bytes, uint64_t n) {
    for (uint64_t i = 0; item == 8 && i < n; i++) counts[bytes[i]]++;
    for (uint64_t i = 0; item == 16 && i + 1 < n; i += 2) counts[bytes[i] | bytes[i + 1] << 8]++;
    for (uint64_t i = 0; item == 4 && i < n; i++) {
        counts[bytes[i] & 15]++;
        counts[bytes[i] >> 4]++;
    }
    for (uint64_t i = 0; item == 6 && i + 2 < n; i += 3) {
        uint32_t v = bytes[i] | (uint32_t)bytes[i + 1] << 8 | (uint32_t)bytes[i + 2] << 16;
        for (unsigned j = 0; j < 4; j++) counts[v >> 6 * j & 63]++;
    }
}

static void count_scales(uint64_t *counts, const uint8_t *bytes, uint64_t n) {
    uint8_t values[TARE_WCODEC_SCALES_STEP];
    for (uint64_t at = 0; at < n; at += sizeof values) {
        uint32_t size = (uint32_t)tare_min_u64(sizeof values, n - at);
        tare_wcodec_unpack_scales(values, bytes + at, size);
        count(counts, 6, values, size);
    }
}

/* Values of a plane less those of another. */
static void subtract(uint8_t *a, const uint8_t *b, uint8_t item, uint64_t n) {
    for (uint64_t i = 0; item == 8 && i < n; i++) a[i] = (uint8_t)(a[i] - b[i]);
    for (uint64_t i = 0; item == 4 && i < n; i++)
        a[i] = (uint8_t)(((a[i] - b[i]) & 15) | ((a[i] & 0xF0) - (b[i] & 0xF0)));
    for (uint64_t i = 0; item == 16 && i + 1 < n; i += 2) {
        unsigned d = (a[i] | (unsigned)a[i + 1] << 8) - (b[i] | (unsigned)b[i + 1] << 8);
        a[i] = (uint8_t)d;
        a[i + 1] = (uint8_t)(d >> 8);
    }
    for (uint64_t i = 0; item == 6 && i + 2 < n; i += 3) {
        uint32_t x = a[i] | (uint32_t)a[i + 1] << 8 | (uint32_t)a[i + 2] << 16, d = 0;
        uint32_t y = b[i] | (uint32_t)b[i + 1] << 8 | (uint32_t)b[i + 2] << 16;
        for (unsigned j = 0; j < 24; j += 6) d |= (((x >> j) - (y >> j)) & 63) << j;
        for (unsigned j = 0; j < 3; j++) a[i + j] = (uint8_t)(d >> 8 * j);
    }
}

static tare_status count_differences(bench *b, const piece *p, unsigned plane, uint64_t n) {
    const tare_wcodec_plane *of = &b->cut.planes[plane];
    const uint8_t *region = p->base;
    tare_wcodec_source source = {{0}, {0}};
    tare_reader reader;
    for (unsigned r = 0; r < of->region; r++) region += p->of.plane_bytes[r];
    tare_reader_memory(&reader, region, p->of.plane_bytes[of->region], "base");
    source.readers[of->region] = &reader;
    TARE_TRY(tare_wcodec_gather(p->spare, of, &source, 0, n, b->err));
    subtract(p->back, p->spare, of->shape.item, n);
    count(b->counts[plane] + kinds_of(of->shape.item), of->shape.item, p->back, n);
    return TARE_OK;
}

static tare_status count_planes(bench *b, const piece *p, const tare_coded_layer *layer) {
    const tare_coded_options o = coded_options(b);
    for (unsigned i = 0; i < layer->n_planes; i++) {
        const tare_coded_plane *plane = &layer->planes[i];
        size_t size = 2 * kinds_of(plane->field.item) * sizeof *b->counts[i];
        if (!b->counts[i]) {
            b->counts[i] = tare_alloc(b->options->allocator, size);
            if (!b->counts[i]) return tare_fail(b->err, TARE_ERR_NOMEM, "counts");
            memset(b->counts[i], 0, size);
        }
        TARE_TRY(
            tare_coded_decode_segments(p->back, p->coded, i, 0, plane->n_segments, &o, b->err));
        if (plane->field.is_packed_scales)
            count_scales(b->counts[i], p->back, plane->n_bytes);
        else
            count(b->counts[i], plane->field.item, p->back, plane->n_bytes);
        if (p->base) TARE_TRY(count_differences(b, p, i, plane->n_bytes));
    }
    return TARE_OK;
}

static double entropy_bytes(const uint64_t *counts, uint32_t n) {
    double total = 0, bits = 0;
    for (uint32_t i = 0; i < n; i++) total += (double)counts[i];
    for (uint32_t i = 0; i < n; i++)
        if (counts[i]) bits += (double)counts[i] * log2(total / (double)counts[i]);
    return bits / 8;
}

/* ---- one tensor ------------------------------------------------------------------------------ */

static void add_sizes(bench *b, const tare_coded_layer *layer) {
    for (unsigned i = 0; i < layer->n_planes; i++) {
        const tare_coded_plane *p = &layer->planes[i];
        for (uint64_t s = 0; s < p->n_segments; s++)
            b->stored += (uint64_t)p->sizes[s] * TARE_CODED_UNIT;
        if (b->row->sample_bytes == 0) b->heads += p->head_bytes;
    }
}

static tare_status measure_piece(bench *b, piece *p) {
    tare_coded_layer layer;
    size_t n = (size_t)p->of.bytes;
    TARE_TRY(tare_sampling_read(p->bytes, &b->sampling, &p->of, b->err));
    if (p->base) TARE_TRY(tare_sampling_read(p->base, &b->base, &p->of, b->err));
    TARE_TRY(encode(b, p));
    tare_coded_describe(p->coded, &layer);
    TARE_TRY(decode(b, p));
    copy(b, p);
    TARE_TRY(count_planes(b, p, &layer));
    TARE_TRY(squeeze(b, p->bytes, n, FAST_LEVEL, &b->zstd_in, &b->zstd_out, &b->row->zstd_seconds));
    if (b->options->best_zstd && b->best_in < BEST_MOST / 2) TARE_TRY(squeeze_best(b, p));
    add_sizes(b, &layer);
    b->row->sample_bytes += p->of.bytes;
    return TARE_OK;
}

/* What is decoded at once: all of a piece, or a plane of it, which may be larger if it is joined.
 */
static uint64_t most_bytes(const bench *b, const tare_sample_piece *of) {
    uint64_t n = of->bytes;
    for (unsigned i = 0; i < b->cut.n_planes; i++) {
        const tare_wcodec_plane *p = &b->cut.planes[i];
        n = tare_max_u64(n, tare_wcodec_plane_bytes(p, of->plane_bytes[p->region]));
    }
    return n;
}

static tare_status run_piece(bench *b, const tare_sample_piece *of) {
    const tare_allocator *a = b->options->allocator;
    piece p = {.of = *of};
    size_t size;
    if (!of->bytes) return TARE_OK;
    uint64_t plane_bytes = most_bytes(b, of);
    if (!tare_size_of_u64((of->bytes + plane_bytes) * (b->base.model ? 2 : 1), &size))
        return tare_fail(b->err, TARE_ERR_LIMIT, "tensor: too large for memory");
    p.bytes = tare_alloc(a, size);
    if (!p.bytes) return tare_fail(b->err, TARE_ERR_NOMEM, "tensor");
    p.back = p.bytes + of->bytes;
    if (b->base.model) {
        p.base = p.back + plane_bytes;
        p.spare = p.base + of->bytes;
    }
    tare_status status = measure_piece(b, &p);
    tare_coded_free(p.coded);
    tare_free(a, p.bytes, size);
    return status;
}

/* The planes that pack would cut the tensor into. */
static void cut(bench *b) {
    const tare_wcodec_effort effort = {.is_full = b->options->is_full, .forced = -1};
    uint64_t plane_bytes[TARE_MAX_PLANES] = {0};
    const tare_encoding *e = b->t->encoding;
    for (unsigned p = 0; p < e->n_planes; p++) plane_bytes[p] = b->t->planes[p].size;
    if (e->kind == TARE_KIND_UNKNOWN)
        tare_wcodec_cut_bytes(&b->cut, plane_bytes[0], &effort);
    else
        tare_wcodec_cut_tensor(&b->cut, e, plane_bytes, b->t->dims, b->t->n_dims, false, &effort);
    for (unsigned i = 0; i < b->cut.n_planes; i++)
        b->fields[i] = tare_coded_field_of(&b->cut.planes[i], &b->cut.options[i]);
}

/* The entropy of a plane, as values or as differences. */
static double plane_entropy(const bench *b, unsigned plane) {
    uint32_t n = kinds_of(b->fields[plane].item);
    if (!b->counts[plane]) return 0;
    double plain = entropy_bytes(b->counts[plane], n);
    return b->base.model ? fmin(plain, entropy_bytes(b->counts[plane] + n, n)) : plain;
}

/* What was measured, for the whole tensor. */
static void extrapolate(bench *b) {
    tare_bench *row = b->row;
    if (!row->sample_bytes) return;
    double scale = (double)row->bytes / (double)row->sample_bytes;
    row->coded_bytes = (double)b->heads + (double)b->stored * scale;
    for (unsigned i = 0; i < b->cut.n_planes; i++)
        row->entropy_bytes += plane_entropy(b, i) * scale;
    if (b->zstd_in) row->zstd_bytes = (double)b->zstd_out / (double)b->zstd_in * (double)row->bytes;
    if (b->best_in)
        row->best_zstd_bytes = (double)b->best_out / (double)b->best_in * (double)row->bytes;
}

static void find_base(bench *b, const tare_model *model) {
    size_t which;
    const tare_tensor *like =
        tare_bases_like(&which, b->options->bases, b->options->n_bases, model, b->t);
    if (!like) return;
    const tare_model *base = b->options->bases[which];
    tare_sampling_init(&b->base, base, (size_t)(like - base->catalog.tensors));
    b->row->n_alike = 1;
}

static tare_status measure_tensor(tare_bench *row, const tare_model *model, size_t tensor,
                                  uint64_t sample, const tare_bench_options *o, tare_error *err) {
    bench b = {.options = o, .t = tare_model_tensor(model, tensor), .row = row, .err = err};
    tare_status status = TARE_OK;
    tare_sample_piece of;
    *row = (tare_bench){.n_tensors = 1, .bytes = b.t->size_bytes};
    tare_sampling_init(&b.sampling, model, tensor);
    cut(&b);
    find_base(&b, model);
    if (!o->is_whole) {
        tare_sampling_spread(&of, &b.sampling, sample);
        status = run_piece(&b, &of);
    }
    for (uint64_t at = 0; o->is_whole && at < b.sampling.n_units && status == TARE_OK;) {
        at = tare_sampling_next(&of, &b.sampling, at, PIECE_MOST);
        status = run_piece(&b, &of);
    }
    if (status == TARE_OK)
        extrapolate(&b);
    else
        tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)tensor, b.t->name);
    for (unsigned i = 0; i < b.cut.n_planes; i++)
        tare_free(o->allocator, b.counts[i], 2 * kinds_of(b.fields[i].item) * sizeof *b.counts[i]);
    return status;
}

/* ---- all of them ----------------------------------------------------------------------------- */

void tare_bench_add(tare_bench *sum, const tare_bench *row) {
    sum->n_tensors += row->n_tensors;
    sum->bytes += row->bytes;
    sum->sample_bytes += row->sample_bytes;
    sum->coded_bytes += row->coded_bytes;
    sum->entropy_bytes += row->entropy_bytes;
    sum->zstd_bytes += row->zstd_bytes;
    sum->best_zstd_bytes += row->best_zstd_bytes;
    sum->encode_seconds += row->encode_seconds;
    sum->decode_seconds += row->decode_seconds;
    sum->copy_seconds += row->copy_seconds;
    sum->zstd_seconds += row->zstd_seconds;
    sum->n_alike += row->n_alike;
}

tare_status tare_bench_run(tare_bench *rows, const tare_model *model,
                           const tare_bench_options *options, tare_error *err) {
    tare_bench_options o = TARE_BENCH_OPTIONS_INIT;
    tare_error ignored;
    uint64_t done = 0;
    TARE_REQUIRE(rows && model, err);
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    tare_model_summary sum;
    tare_model_summarize(model, &sum);
    uint64_t sample = SAMPLE_ALL / tare_max_u64(sum.n_tensors, 1);
    sample = tare_max_u64(SAMPLE_LEAST, tare_min_u64(sample, SAMPLE_MOST));
    for (size_t i = 0; i < sum.n_tensors; i++) {
        TARE_TRY(measure_tensor(&rows[i], model, i, sample, &o, err ? err : &ignored));
        done += rows[i].bytes;
        if (o.progress && o.progress(o.progress_ctx, done, sum.tensor_bytes))
            return tare_fail(err, TARE_ERR_CANCELLED, "cancelled");
    }
    return TARE_OK;
}
