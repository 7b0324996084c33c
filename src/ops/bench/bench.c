/* SPDX-License-Identifier: MIT
 *
 * How the tensors of a model compress in a .wcodec: sizes compared with the entropy of what is
 * coded and with zstd, and speeds compared with memcpy, all for the same bytes in the same run. */
#include <math.h>
#include <string.h>
#include <tare/encoding.h>
#include <tare/experimental/device.h>
#include <tare/model.h>
#include <tare/private/bench.h>
#include <time.h>
#include <zstd.h>

#include "base/arith.h"
#include "model/catalog.h"
#include "ops/bench/bench_sample.h"
#include "ops/packing/bases.h"
#include "wcodec/layer/coded.h"
#include "wcodec/layer/wc_gather.h"
#include "wcodec/layer/wc_join_choice.h"
#include "wcodec/layer/wc_pair_choice.h"

enum { ROUNDS = 3, ENCODE_ROUNDS = 2, FAST_LEVEL = 3, BEST_LEVEL = 19 };

/* Bytes to sample: at least of a tensor, approximately of a model. zstd -19 takes a hundred times
 * as long as everything else, but is given the same bytes. */
typedef struct sample_size {
    uint64_t least, all;
} sample_size;

static const sample_size usual_sample = {UINT64_C(4) << 20, UINT64_C(512) << 20};
static const sample_size slow_sample = {UINT64_C(1) << 20, UINT64_C(32) << 20};

#define PIECE_MOST (UINT64_C(64) << 20)

/* The same size for each piece: how much they differ shows how reliable the sum is. */
typedef struct spread {
    unsigned n;
    double sum, squares;
} spread;

/* A tensor at work. */
typedef struct bench {
    const tare_bench_options *options;
    tare_context coding; /* the context of the codec */
    const tare_tensor *t;
    tare_sampling sampling, base; /* base.model NULL: no base has such a tensor */
    tare_wc_cut cut;
    tare_coded_field fields[TARE_CODED_MAX_STREAMS];
    uint64_t *counts[TARE_CODED_MAX_STREAMS]; /* for the values of each stream, then for their
                                                 differences from the base */
    uint64_t stored, heads;                   /* of segments; of heads of the first piece */
    uint64_t zstd, best_zstd;                 /* bytes that zstd needs for the sample */
    spread coded_pieces, zstd_pieces, best_zstd_pieces;
    tare_bench *row;
    tare_error *err;
} bench;

/* One piece of it in memory, and room for the results. */
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
    tare_coded_options o = tare_coded_options_default();
    o.is_full = b->options->is_full;
    o.context = &b->coding;
    return o;
}

/* Called between the steps of a piece: those outside the codec take a fraction of a second. */
static tare_status stop_if_asked(const bench *b) {
    return tare_cancel_check(b->options->context->cancel, b->err);
}

/* ---- how sure a sample is -------------------------------------------------------------------- */

static void note_piece(spread *s, double size) {
    s->n++;
    s->sum += size;
    s->squares += size * size;
}

/* The standard error of the sum, relative to it; 0: cannot be estimated. `share` of the whole was
 * measured and has no error. */
static double relative_error(const spread *s, double share) {
    if (s->n < 2 || s->sum <= 0 || share >= 1) return 0;
    const double n = s->n, mean = s->sum / n;
    const double variance = fmax(s->squares / n - mean * mean, 0) * n / (n - 1);
    return sqrt(variance / n * (1 - share)) / mean;
}

/* ---- speeds ---------------------------------------------------------------------------------- */

/* Speeds are the best of several runs, so that they measure the work and not the first touch of
 * memory. */
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
        TARE_TRY(tare_coded_encode(&p->coded, regions, b->cut.n_regions, b->fields,
                                   b->cut.n_streams, &o, b->err));
        best = fmin(best, now() - start);
    }
    b->row->encode_seconds += best;
    return TARE_OK;
}

static double copy(const piece *p) {
    double start = now();
    memcpy(p->back, p->bytes, (size_t)p->of.bytes);
    return now() - start;
}

/* Alternates with a copy of the same bytes to the same place, so that neither has more of them in
 * the cache than the other. */
static tare_status decode(bench *b, const piece *p) {
    void *dst[TARE_CODED_MAX_REGIONS];
    const tare_coded_options o = coded_options(b);
    uint8_t *at = p->back;
    double best = INFINITY, best_copy = INFINITY;
    for (unsigned r = 0; r < b->cut.n_regions; r++, at += p->of.plane_bytes[r - 1]) dst[r] = at;
    for (unsigned round = 0; round < ROUNDS; round++) {
        best_copy = fmin(best_copy, copy(p));
        double start = now();
        TARE_TRY(tare_coded_decode_layer(dst, p->coded, &o, b->err));
        best = fmin(best, now() - start);
    }
    if (memcmp(p->bytes, p->back, (size_t)p->of.bytes) != 0)
        return tare_fail(b->err, TARE_ERR_CORRUPT,
                         "decoding does not give the bytes that were encoded");
    b->row->decode_seconds += best;
    b->row->copy_seconds += best_copy;
    return TARE_OK;
}

/* From the device's memory to the device's memory: what is copied to it and back is not counted. */
static tare_status decode_on(tare_device *device, bench *b, const piece *p) {
    void *dst[TARE_CODED_MAX_REGIONS];
    tare_device_layer *layer;
    uint8_t *at = p->back;
    double best = INFINITY;
    for (unsigned r = 0; r < b->cut.n_regions; r++, at += p->of.plane_bytes[r - 1]) dst[r] = at;
    TARE_TRY(tare_device_layer_new(&layer, device, p->coded, b->err));
    memset(p->back, 0, (size_t)p->of.bytes);
    tare_status status = TARE_OK;
    for (unsigned round = 0; round < ROUNDS && status == TARE_OK; round++) {
        double start = now();
        status = tare_device_layer_decode(layer, b->err);
        best = fmin(best, now() - start);
    }
    if (status == TARE_OK) status = tare_device_layer_fetch(dst, layer, b->err);
    tare_device_layer_free(layer);
    TARE_TRY(status);
    if (memcmp(p->bytes, p->back, (size_t)p->of.bytes) != 0)
        return tare_fail(b->err, TARE_ERR_CORRUPT,
                         "the device does not give the bytes that were encoded");
    b->row->device_seconds += best;
    return TARE_OK;
}

/* Adds what zstd makes of the piece. */
static tare_status squeeze(bench *b, const piece *p, int level, uint64_t *out, spread *pieces,
                           double *seconds) {
    const size_t n = (size_t)p->of.bytes;
    size_t room = ZSTD_compressBound(n);
    void *dst = tare_alloc(b->options->context->allocator, room ? room : 1);
    if (!dst) return tare_fail(b->err, TARE_ERR_NOMEM, "zstd");
    double best = INFINITY;
    size_t size = 0;
    tare_status status = TARE_OK;
    for (unsigned round = 0; status == TARE_OK && round < (seconds ? ENCODE_ROUNDS : 1u); round++) {
        double start = now();
        size = ZSTD_compress(dst, room, p->bytes, n, level);
        best = fmin(best, now() - start);
        status = stop_if_asked(b);
    }
    if (seconds) *seconds += best;
    tare_free(b->options->context->allocator, dst, room ? room : 1);
    TARE_TRY(status);
    if (ZSTD_isError(size)) return tare_fail(b->err, TARE_ERR_NOMEM, "zstd");
    *out += size;
    note_piece(pieces, (double)size);
    return TARE_OK;
}

/* ---- entropy --------------------------------------------------------------------------------- */

static uint32_t kinds_of(uint8_t item) {
    return 1u << item;
}

/* Values of a stream. */
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
    uint8_t values[TARE_WC_SCALES_STEP];
    for (uint64_t at = 0; at < n; at += sizeof values) {
        uint32_t size = (uint32_t)tare_min_u64(sizeof values, n - at);
        tare_wc_unpack_scales(values, bytes + at, size);
        count(counts, 6, values, size);
    }
}

/* Values of a stream minus those of another. */
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

static tare_status count_differences(bench *b, const piece *p, unsigned stream, uint64_t n) {
    const tare_coded_stream *of = &b->cut.streams[stream];
    const uint8_t *region = p->base;
    tare_wc_source source = {{0}, {0}};
    tare_reader reader;
    for (unsigned r = 0; r < of->field.region; r++) region += p->of.plane_bytes[r];
    tare_reader_memory(&reader, region, p->of.plane_bytes[of->field.region], "base");
    source.readers[of->field.region] = &reader;
    TARE_TRY(tare_wc_gather(p->spare, of, &source, 0, n, b->err));
    subtract(p->back, p->spare, of->field.value_bits, n);
    count(b->counts[stream] + kinds_of(of->field.value_bits), of->field.value_bits, p->back, n);
    return TARE_OK;
}

static tare_status count_streams(bench *b, const piece *p, const tare_coded_layer *layer) {
    const tare_coded_options o = coded_options(b);
    for (unsigned i = 0; i < layer->n_streams; i++) {
        const tare_coded_stream *stream = &layer->streams[i];
        size_t size = 2 * kinds_of(stream->field.value_bits) * sizeof *b->counts[i];
        if (!b->counts[i]) {
            b->counts[i] = tare_alloc(b->options->context->allocator, size);
            if (!b->counts[i]) return tare_fail(b->err, TARE_ERR_NOMEM, "counts");
            memset(b->counts[i], 0, size);
        }
        TARE_TRY(
            tare_coded_decode_segments(p->back, p->coded, i, 0, stream->n_segments, &o, b->err));
        if (stream->field.is_packed_scales)
            count_scales(b->counts[i], p->back, stream->n_bytes);
        else
            count(b->counts[i], stream->field.value_bits, p->back, stream->n_bytes);
        if (p->base) TARE_TRY(count_differences(b, p, i, stream->n_bytes));
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
    const uint64_t before = b->stored;
    for (unsigned i = 0; i < layer->n_streams; i++) {
        const tare_coded_stream *p = &layer->streams[i];
        for (uint64_t s = 0; s < p->n_segments; s++)
            b->stored += (uint64_t)p->sizes[s] * TARE_CODED_UNIT;
        if (b->row->sample_bytes == 0) b->heads += p->head_bytes;
    }
    note_piece(&b->coded_pieces, (double)(b->stored - before));
}

static tare_status measure_piece(bench *b, piece *p) {
    tare_coded_layer layer;
    TARE_TRY(tare_sampling_read(p->bytes, &b->sampling, &p->of, b->err));
    if (p->base) TARE_TRY(tare_sampling_read(p->base, &b->base, &p->of, b->err));
    TARE_TRY(encode(b, p));
    layer = *tare_coded_describe(p->coded);
    TARE_TRY(decode(b, p));
    if (b->options->device) TARE_TRY(decode_on(b->options->device, b, p));
    TARE_TRY(stop_if_asked(b));
    TARE_TRY(count_streams(b, p, &layer));
    TARE_TRY(squeeze(b, p, FAST_LEVEL, &b->zstd, &b->zstd_pieces, &b->row->zstd_seconds));
    if (b->options->best_zstd)
        TARE_TRY(squeeze(b, p, BEST_LEVEL, &b->best_zstd, &b->best_zstd_pieces, NULL));
    add_sizes(b, &layer);
    b->row->sample_bytes += p->of.bytes;
    return TARE_OK;
}

/* What is decoded at once: all of a piece, or a stream of it, which may be larger if it is joined.
 */
static uint64_t most_bytes(const bench *b, const tare_sample_piece *of) {
    uint64_t n = of->bytes;
    for (unsigned i = 0; i < b->cut.n_streams; i++) {
        const tare_coded_stream *p = &b->cut.streams[i];
        n = tare_max_u64(n, of->plane_bytes[p->field.region] / p->field.stride *
                                tare_wc_unit_bytes(p));
    }
    return n;
}

static tare_status run_piece(bench *b, const tare_sample_piece *of) {
    const tare_allocator *a = b->options->context->allocator;
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

/* Bytes of a plane of the tensor. */
typedef struct plane_bytes {
    const bench *of;
    unsigned plane;
} plane_bytes;

static tare_status read_plane(void *ctx, uint64_t offset, void *buf, size_t n) {
    const plane_bytes *p = ctx;
    const tare_sampling *s = &p->of->sampling;
    return tare_tensor_read(buf, s->model, s->tensor, p->plane, offset, n, p->of->err);
}

/* The streams into which pack would split the tensor. */
static tare_status cut(bench *b) {
    tare_wc_effort effort = {.is_full = b->options->is_full, .mode = TARE_CODED_SMALLEST};
    const tare_encoding *e = b->t->encoding;
    uint64_t sizes[TARE_MAX_PLANES] = {0};
    plane_bytes planes[TARE_MAX_PLANES];
    tare_reader readers[TARE_MAX_PLANES];
    tare_wc_source source = {{0}, {0}};
    for (unsigned p = 0; p < e->n_planes; p++) {
        sizes[p] = b->t->planes[p].size;
        planes[p] = (plane_bytes){b, p};
        tare_reader_callback(&readers[p], read_plane, &planes[p], sizes[p], "tensor");
        source.readers[p] = &readers[p];
    }
    if (e->kind == TARE_KIND_UNKNOWN) {
        tare_wc_cut_bytes(&b->cut, sizes[0], &effort);
    } else {
        TARE_TRY(tare_wc_joining_pays(&effort.joins_small, e, sizes, b->t->dims, b->t->n_dims,
                                      false, &effort, &source, b->err));
        if (!b->options->n_bases)
            TARE_TRY(tare_wc_pairing_pays(&effort.pairs_codes, e, sizes, b->t->dims, b->t->n_dims,
                                          &effort, &source, b->err));
        tare_wc_cut_tensor(&b->cut, e, sizes, b->t->dims, b->t->n_dims, false, &effort);
    }
    for (unsigned i = 0; i < b->cut.n_streams; i++) b->fields[i] = b->cut.streams[i].field;
    return TARE_OK;
}

/* The entropy of a stream, as values or as differences. */
static double stream_entropy(const bench *b, unsigned stream) {
    uint32_t n = kinds_of(b->fields[stream].value_bits);
    if (!b->counts[stream]) return 0;
    double plain = entropy_bytes(b->counts[stream], n);
    return b->base.model ? fmin(plain, entropy_bytes(b->counts[stream] + n, n)) : plain;
}

/* The measurements, extrapolated to the whole tensor. */
static void extrapolate(bench *b) {
    tare_bench *row = b->row;
    if (!row->sample_bytes) return;
    const double share = (double)row->sample_bytes / (double)row->bytes;
    row->coded_bytes = (double)b->heads + (double)b->stored / share;
    row->coded_error = row->coded_bytes * relative_error(&b->coded_pieces, share);
    for (unsigned i = 0; i < b->cut.n_streams; i++)
        row->entropy_bytes += stream_entropy(b, i) / share;
    row->zstd_bytes = (double)b->zstd / share;
    row->zstd_error = row->zstd_bytes * relative_error(&b->zstd_pieces, share);
    row->best_zstd_bytes = (double)b->best_zstd / share;
    row->best_zstd_error = row->best_zstd_bytes * relative_error(&b->best_zstd_pieces, share);
}

static tare_status find_base(bench *b, const tare_model *model) {
    size_t which;
    const tare_tensor *like;
    TARE_TRY(tare_bases_like(&like, &which, b->options->bases, b->options->n_bases, model, b->t,
                             b->err));
    if (!like) return TARE_OK;
    const tare_model *base = b->options->bases[which];
    tare_sampling_init(&b->base, base, (size_t)(like - base->catalog.tensors));
    b->row->n_alike = 1;
    return TARE_OK;
}

static tare_status measure_tensor(tare_bench *row, const tare_model *model, size_t tensor,
                                  uint64_t sample, const tare_bench_options *o, tare_error *err) {
    bench b = {.options = o,
               .coding = *o->context,
               .t = tare_model_tensor(model, tensor),
               .row = row,
               .err = err};
    tare_sample_piece of;
    b.coding.progress = NULL;
    if (!b.coding.threads) b.coding.threads = 1;
    *row = (tare_bench){.size = sizeof *row, .n_tensors = 1, .bytes = b.t->size_bytes};
    tare_sampling_init(&b.sampling, model, tensor);
    tare_status status = cut(&b);
    if (status == TARE_OK) status = find_base(&b, model);
    const bool is_partial = !o->is_whole && tare_sampling_is_partial(&b.sampling, sample);
    for (unsigned i = 0; is_partial && i < TARE_SAMPLE_PIECES && status == TARE_OK; i++) {
        tare_sampling_spread(&of, &b.sampling, i, sample);
        status = run_piece(&b, &of);
    }
    for (uint64_t at = 0; !is_partial && at < b.sampling.n_units && status == TARE_OK;) {
        at = tare_sampling_next(&of, &b.sampling, at, PIECE_MOST);
        status = run_piece(&b, &of);
    }
    if (status == TARE_OK)
        extrapolate(&b);
    else
        tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)tensor, b.t->name);
    for (unsigned i = 0; i < b.cut.n_streams; i++)
        tare_free(o->context->allocator, b.counts[i],
                  2 * kinds_of(b.fields[i].value_bits) * sizeof *b.counts[i]);
    return status;
}

/* ---- all of them ----------------------------------------------------------------------------- */

struct tare_bench_rows {
    const tare_allocator *allocator;
    size_t n;
    tare_bench rows[];
};

static size_t rows_size(size_t n) {
    return sizeof(tare_bench_rows) + n * sizeof(tare_bench);
}

void tare_bench_free(tare_bench_rows *rows) {
    if (rows) tare_free(rows->allocator, rows, rows_size(rows->n));
}

const tare_bench *tare_bench_row(const tare_bench_rows *rows, size_t tensor) {
    return rows && tensor < rows->n ? &rows->rows[tensor] : NULL;
}

static void add(tare_bench *sum, const tare_bench *row) {
    sum->n_tensors += row->n_tensors;
    sum->bytes += row->bytes;
    sum->sample_bytes += row->sample_bytes;
    sum->coded_bytes += row->coded_bytes;
    sum->entropy_bytes += row->entropy_bytes;
    sum->zstd_bytes += row->zstd_bytes;
    sum->best_zstd_bytes += row->best_zstd_bytes;
    /* errors of different tensors are independent */
    sum->coded_error = hypot(sum->coded_error, row->coded_error);
    sum->zstd_error = hypot(sum->zstd_error, row->zstd_error);
    sum->best_zstd_error = hypot(sum->best_zstd_error, row->best_zstd_error);
    sum->encode_seconds += row->encode_seconds;
    sum->decode_seconds += row->decode_seconds;
    sum->copy_seconds += row->copy_seconds;
    sum->zstd_seconds += row->zstd_seconds;
    sum->n_alike += row->n_alike;
    sum->device_seconds += row->device_seconds;
}

void tare_bench_add(tare_bench *sum, const tare_bench *row) {
    tare_bench ours = tare_bench_default(), theirs = tare_bench_default();
    if (tare_options_read(&ours, sizeof ours, sum, NULL) != TARE_OK ||
        tare_options_read(&theirs, sizeof theirs, row, NULL) != TARE_OK)
        return;
    add(&ours, &theirs);
    tare_result_write(sum, &ours, sizeof ours);
}

/* Bytes to measure of a tensor: the same share of each, so that each counts by its size, but enough
 * for several pieces. */
static uint64_t sample_of(const sample_size *size, const tare_model *model, size_t tensor,
                          uint64_t all) {
    const double share = all ? (double)size->all / (double)all : 1;
    const uint64_t bytes = tare_model_tensor(model, tensor)->size_bytes;
    return share >= 1 ? bytes : tare_max_u64(size->least, (uint64_t)((double)bytes * share));
}

static tare_status measure(tare_bench_rows *rows, const tare_model *model,
                           const tare_bench_options *o, tare_error *err) {
    tare_error ignored;
    uint64_t done = 0;
    const uint64_t all = tare_model_summarize(model)->tensor_bytes;
    const sample_size *size = o->best_zstd ? &slow_sample : &usual_sample;
    for (size_t i = 0; i < rows->n; i++) {
        TARE_TRY(tare_cancel_check(o->context->cancel, err));
        TARE_TRY(measure_tensor(&rows->rows[i], model, i, sample_of(size, model, i, all), o,
                                err ? err : &ignored));
        done += rows->rows[i].bytes;
        if (o->context->progress && o->context->progress(o->context->progress_ctx, done, all))
            return tare_fail(err, TARE_ERR_CANCELLED, "cancelled");
    }
    return TARE_OK;
}

tare_status tare_bench_run(tare_bench_rows **out, const tare_model *model,
                           const tare_bench_options *options, tare_error *err) {
    tare_bench_options o = tare_bench_options_default();
    tare_context context;
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(model, err);
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    const size_t n = tare_model_summarize(model)->n_tensors;
    tare_bench_rows *rows = tare_alloc(o.context->allocator, rows_size(n));
    if (!rows) return tare_fail(err, TARE_ERR_NOMEM, "rows of the benchmark");
    *rows = (tare_bench_rows){.allocator = o.context->allocator, .n = n};
    tare_status status = measure(rows, model, &o, err);
    if (status == TARE_OK)
        *out = rows;
    else
        tare_bench_free(rows);
    return status;
}
