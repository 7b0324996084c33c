/* SPDX-License-Identifier: MIT
 *
 * Guards against: importance that is divided, found or cut otherwise than llama-quantize does; an
 * expert that is encoded by another's row; a span that begins in the middle of a row; a matrix of
 * another model, or none, that passes in silence; a damaged file that is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <math.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "convert_help.h"
#include "gguf_build.h"
#include "ops/mix/importance_matrix.h"
#include "support/memory_source.h"

/* ---- files ----------------------------------------------------------------------------------- */

static void put_f32(tare_buffer *b, float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    tare_buffer_put_u32(b, bits, false);
}

static void put_entry(tare_buffer *b, const char *name, uint32_t n_calls, const float *values,
                      uint32_t n) {
    tare_buffer_put_u32(b, (uint32_t)strlen(name), false);
    tare_buffer_put_text(b, name);
    tare_buffer_put_u32(b, n_calls, false);
    tare_buffer_put_u32(b, n, false);
    for (uint32_t i = 0; i < n; i++) put_f32(b, values[i]);
}

static const float sums[] = {4, 8, 0, 1, 3, 0.5F};

/* Two entries, the second one never measured, and the end of later versions. */
static void make_dat(tare_buffer *b) {
    tare_buffer_init(b, NULL);
    tare_buffer_put_u32(b, 2, false);
    put_entry(b, "blk.0.ffn_up.weight", 4, sums, 4);
    put_entry(b, "blk.0.ffn_down.weight", 0, sums + 4, 2);
    tare_buffer_put_u32(b, 7, false);
    tare_buffer_put_u32(b, 9, false);
    tare_buffer_put_text(b, "wiki.test");
}

/* Two slices, the second never used; then one slice of two columns. */
static void make_gguf(gguf_build *g, bool is_big_endian) {
    static const float counts[] = {2, 0, 3};
    static const uint64_t pair[] = {3, 2}, numbers[] = {1, 2}, row[] = {2, 1}, one[] = {1, 1};
    build_begin(g, 3, is_big_endian);
    build_key_str(g, "general.type", "imatrix");
    build_key(g, "imatrix.datasets", 9);
    build_array(g, 8, 2);
    build_str(g, "a.txt");
    build_str(g, "b.txt");
    build_key_u32(g, "imatrix.chunk_count", 7);
    build_key_u32(g, "imatrix.chunk_size", 512);
    build_tensor(g, "blk.0.ffn_up_exps.weight.in_sum2", 2, pair, 0, 24);
    build_tensor(g, "blk.0.ffn_up_exps.weight.counts", 2, numbers, 0, 8);
    build_tensor(g, "x.weight.counts", 2, one, 0, 4);
    build_tensor(g, "x.weight.in_sum2", 2, row, 0, 8);
    build_end(g);
    size_t data = g->b.size - (size_t)g->running;
    const float *from[] = {sums, counts, counts + 2, sums + 4};
    static const size_t n[] = {6, 2, 1, 2};
    for (size_t t = 0; t < 4; t++)
        for (size_t i = 0; i < n[t]; i++) {
            uint32_t bits;
            memcpy(&bits, from[t] + i, sizeof bits);
            tare_store_u32(g->b.data + data + 32 * t + 4 * i, bits, is_big_endian);
        }
}

static tare_status try_open(tare_importance **out, const void *bytes, size_t size,
                            tare_report *report, tare_error *err) {
    tare_source source = memory_source(bytes, size);
    tare_open_options options = tare_open_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    context.report = report;
    return tare_importance_open(out, &source, &options, err);
}

static tare_importance *open_bytes(const void *bytes, size_t size) {
    tare_importance *m;
    tare_error err = {0};
    if (try_open(&m, bytes, size, NULL, &err) != TARE_OK) fail_msg("%s", err.what);
    return m;
}

static void check_entry(const tare_importance *m, const char *name, uint64_t n_slices,
                        const float *values, size_t n) {
    int64_t i = tare_importance_find(m, tare_str_of(name));
    assert_true(i >= 0);
    const tare_importance_entry *e = tare_importance_at(m, (size_t)i);
    assert_int_equal(e->n_values, n);
    assert_int_equal(e->n_slices, n_slices);
    assert_memory_equal(e->values, values, n * sizeof *values);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void a_dat_file_is_divided_by_its_calls(void **state) {
    (void)state;
    tare_buffer b;
    make_dat(&b);
    tare_importance *m = open_bytes(b.data, b.size);
    const tare_importance_summary *s = tare_importance_summarize(m);
    assert_false(s->is_gguf);
    assert_int_equal(s->n_entries, 2);
    assert_int_equal(s->n_values, 6);
    assert_int_equal(s->n_chunks, 7);
    assert_int_equal(s->n_datasets, 1);
    assert_true(tare_str_is(tare_importance_dataset(m, 0), "wiki.test"));
    assert_int_equal(tare_importance_dataset(m, 1).len, 0);
    check_entry(m, "blk.0.ffn_up.weight", 0, (const float[]){1, 2, 0, 0.25F}, 4);
    check_entry(m, "blk.0.ffn_down.weight", 0, (const float[]){3, 0.5F}, 2);
    assert_int_equal(tare_importance_find(m, TARE_STR("blk.0")), -1);
    assert_null(tare_importance_at(m, 2));
    tare_importance_free(m);
    /* The first versions ended with the entries, later ones with the number of chunks. */
    for (size_t cut = 13; cut <= 17; cut += 4) {
        m = open_bytes(b.data, b.size - cut);
        s = tare_importance_summarize(m);
        assert_int_equal(s->n_chunks, cut == 13 ? 7 : 0);
        assert_int_equal(s->n_datasets, 0);
        tare_importance_free(m);
    }
    tare_buffer_free(&b);
}

static void a_gguf_file_is_divided_slice_by_slice(void **state) {
    (void)state;
    for (int big = 0; big < 2; big++) {
        gguf_build g;
        make_gguf(&g, big);
        tare_importance *m = open_bytes(g.b.data, g.b.size);
        const tare_importance_summary *s = tare_importance_summarize(m);
        assert_true(s->is_gguf);
        assert_int_equal(s->n_entries, 2);
        assert_int_equal(s->n_chunks, 7);
        assert_int_equal(s->chunk_size, 512);
        assert_int_equal(s->n_datasets, 2);
        assert_true(tare_str_is(tare_importance_dataset(m, 1), "b.txt"));
        check_entry(m, "blk.0.ffn_up_exps.weight", 2, (const float[]){2, 4, 0, 1, 1, 1}, 6);
        check_entry(m, "x.weight", 1, (const float[]){1, 0.5F / 3}, 2);
        tare_importance_free(m);
        tare_buffer_free(&g.b);
    }
}

/* The values of all entries are made again of the file's bytes and the divisors that are told. */
static void check_origins(const tare_importance *m, const uint8_t *file, uint64_t n_slices) {
    tare_arena arena;
    tare_arena_init(&arena, NULL);
    for (size_t i = 0; i < 2; i++) {
        const tare_importance_entry *e = tare_importance_at(m, i);
        const uint64_t n = e->n_slices == 1 ? 1 : n_slices, cols = e->n_values / n;
        const float *divisors;
        uint64_t at;
        assert_true(tare_importance_find_origin(&at, &divisors, m, e->values, n, cols, &arena));
        for (uint64_t k = 0; k < e->n_values; k++) {
            const float sum = tare_f32_of_bits(tare_load_le32(file + at + 4 * k));
            const float divisor = divisors[k / cols];
            assert_true(e->values[k] == (divisor > 0 ? sum / divisor : 1));
        }
    }
    tare_arena_free(&arena);
}

static void values_are_found_in_the_file(void **state) {
    (void)state;
    tare_buffer b;
    gguf_build g;
    uint64_t at;
    const float *divisors;
    make_dat(&b);
    tare_importance *m = open_bytes(b.data, b.size);
    check_origins(m, b.data, 1);
    check_origins(m, b.data, 2);
    tare_importance_free(m);
    make_gguf(&g, false);
    m = open_bytes(g.b.data, g.b.size);
    check_origins(m, g.b.data, 2);
    check_origins(m, g.b.data, 6);
    tare_arena arena;
    tare_arena_init(&arena, NULL);
    const float *values = tare_importance_at(m, 0)->values;
    /* a row of two slices; one expert; of no matrix */
    assert_false(tare_importance_find_origin(&at, &divisors, m, values, 1, 6, &arena));
    assert_true(tare_importance_find_origin(&at, &divisors, m, values, 1, 3, &arena));
    assert_true(divisors[0] == 2);
    const uint64_t slice = at;
    assert_true(tare_importance_find_origin(&at, &divisors, m, values + 3, 1, 3, &arena));
    assert_true(divisors[0] == 0 && at == slice + 12);
    assert_false(tare_importance_find_origin(&at, &divisors, m, sums, 1, 3, &arena));
    tare_importance_free(m);
    tare_buffer_free(&g.b);
    make_gguf(&g, true);
    m = open_bytes(g.b.data, g.b.size);
    assert_false(tare_importance_find_origin(&at, &divisors, m, tare_importance_at(m, 0)->values, 2,
                                             3, &arena)); /* its numbers lie the other way round */
    tare_importance_free(m);
    tare_arena_free(&arena);
    tare_buffer_free(&b);
    tare_buffer_free(&g.b);
}

static void entries_can_be_chosen(void **state) {
    (void)state;
    static const char *const parts[] = {"up", "none"};
    tare_buffer b;
    make_dat(&b);
    for (int included = 0; included < 2; included++) {
        tare_importance *m = open_bytes(b.data, b.size);
        tare_importance_select(m, parts, 2, included);
        assert_int_equal(tare_importance_find(m, TARE_STR("blk.0.ffn_up.weight")),
                         included ? 0 : -1);
        assert_int_equal(tare_importance_find(m, TARE_STR("blk.0.ffn_down.weight")),
                         included ? -1 : 0);
        assert_null(tare_importance_at(m, 1));
        tare_importance_free(m);
    }
    tare_buffer_free(&b);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static void check_cuts(const uint8_t *bytes, size_t size, const size_t *good, size_t n_good) {
    for (size_t n = 0; n < size; n++) {
        tare_importance *m;
        tare_error err = {0};
        uint8_t *exact = malloc(n + 1); /* so that a read beyond the end is seen */
        memcpy(exact, bytes, n);
        tare_status status = try_open(&m, exact, n, NULL, &err);
        bool is_good = false;
        for (size_t i = 0; i < n_good; i++) is_good |= good[i] == n;
        assert_int_equal(status == TARE_OK, is_good);
        if (status != TARE_OK) {
            assert_null(m);
            assert_int_equal(status, TARE_ERR_TRUNCATED);
            assert_true(err.offset != TARE_NO_OFFSET);
        }
        tare_importance_free(m);
        free(exact);
    }
}

static void a_cut_file_is_truncated(void **state) {
    (void)state;
    tare_buffer b;
    gguf_build g;
    make_dat(&b);
    check_cuts(b.data, b.size, (const size_t[]){b.size - 13, b.size - 17}, 2);
    make_gguf(&g, false);
    check_cuts(g.b.data, g.b.size - 24, NULL, 0); /* the padding at the end is nobody's */
    tare_buffer_free(&b);
    tare_buffer_free(&g.b);
}

static void check_refused(const void *bytes, size_t size, tare_status status, uint64_t offset,
                          const char *what) {
    tare_importance *m;
    tare_error err = {0};
    assert_int_equal(try_open(&m, bytes, size, NULL, &err), status);
    assert_int_equal(err.offset, offset);
    if (!strstr(err.what, what)) fail_msg("\"%s\" does not say \"%s\"", err.what, what);
    assert_null(m);
}

/* The .dat with one 32-bit field changed. */
static void check_changed(size_t at, uint32_t value, tare_status status, uint64_t offset,
                          const char *what) {
    tare_buffer b;
    make_dat(&b);
    tare_store_le32(b.data + at, value);
    check_refused(b.data, b.size, status, offset, what);
    tare_buffer_free(&b);
}

static void impossible_fields_are_named(void **state) {
    (void)state;
    enum { LENGTH = 4, CALLS = 8 + 19, N_VALUES = CALLS + 4, VALUES = N_VALUES + 4 };
    enum { CHUNKS = VALUES + 16 + 4 + 21 + 4 + 4 + 8, DATASET = CHUNKS + 4 };
    check_changed(0, 0, TARE_ERR_CORRUPT, 0, "number of entries");
    check_changed(0, UINT32_MAX, TARE_ERR_CORRUPT, 0, "number of entries");
    check_changed(0, 1 << 25, TARE_ERR_LIMIT, 0, "number of entries");
    check_changed(0, 20, TARE_ERR_TRUNCATED, 0, "number of entries");
    check_changed(LENGTH, 0, TARE_ERR_CORRUPT, LENGTH, "length of a name");
    check_changed(LENGTH, 1 << 16, TARE_ERR_LIMIT, LENGTH, "name");
    check_changed(LENGTH, 200, TARE_ERR_TRUNCATED, LENGTH, "name");
    check_changed(CALLS, UINT32_MAX, TARE_ERR_CORRUPT, CALLS, "calls");
    check_changed(N_VALUES, 0, TARE_ERR_CORRUPT, N_VALUES, "number of values");
    check_changed(N_VALUES, INT32_MAX, TARE_ERR_LIMIT, N_VALUES, "number of values");
    check_changed(N_VALUES, 1000, TARE_ERR_TRUNCATED, N_VALUES, "number of values");
    check_changed(VALUES + 8, 0x7FC00000, TARE_ERR_CORRUPT, VALUES + 8, "not finite");
    check_changed(VALUES + 4, 0xFF800000, TARE_ERR_CORRUPT, VALUES + 4, "not finite");
    check_changed(CHUNKS, UINT32_MAX, TARE_ERR_CORRUPT, CHUNKS, "chunks");
    check_changed(DATASET, 10, TARE_ERR_TRUNCATED, DATASET, "too short for it");
    check_refused("", 0, TARE_ERR_TRUNCATED, 0, "empty");
    check_refused("\x93NUMPY\x01\0v\0{'descr'", 18, TARE_ERR_UNSUPPORTED, TARE_NO_OFFSET,
                  "a model, not an importance matrix");
}

static void a_name_stands_once(void **state) {
    (void)state;
    tare_buffer b;
    tare_buffer_init(&b, NULL);
    tare_buffer_put_u32(&b, 2, false);
    put_entry(&b, "a", 1, sums, 1);
    put_entry(&b, "a", 1, sums, 1);
    check_refused(b.data, b.size, TARE_ERR_CORRUPT, 4 + 17, "twice");
    tare_buffer_free(&b);
}

/* One pair of tensors of `type`, or only one of the two. */
static void check_pair(uint64_t n_sums, uint64_t n_counts, uint32_t type, float count,
                       tare_status status, const char *what) {
    gguf_build g;
    build_begin(&g, 3, false);
    if (n_sums) build_tensor(&g, "a.in_sum2", 1, &n_sums, type, 4 * n_sums);
    if (n_counts) build_tensor(&g, "a.counts", 1, &n_counts, 0, 4 * n_counts);
    build_end(&g);
    memset(g.b.data + g.b.size - g.running, 0, (size_t)g.running);
    if (n_counts) tare_store_le32(g.b.data + g.b.size - 32, tare_f32_bits(count));
    tare_importance *m;
    tare_error err = {0};
    assert_int_equal(try_open(&m, g.b.data, g.b.size, NULL, &err), status);
    if (status != TARE_OK && !strstr(err.what, what)) fail_msg("\"%s\" for %s", err.what, what);
    if (status == TARE_ERR_CORRUPT) assert_int_equal(err.item_kind, TARE_ITEM_TENSOR);
    tare_importance_free(m);
    tare_buffer_free(&g.b);
}

static void sums_and_counts_belong_together(void **state) {
    (void)state;
    check_pair(4, 2, 0, 1, TARE_OK, "");
    check_pair(4, 0, 0, 1, TARE_ERR_CORRUPT, "no counts");
    check_pair(0, 2, 0, 1, TARE_ERR_CORRUPT, "no sums");
    check_pair(4, 3, 0, 1, TARE_ERR_CORRUPT, "slices");
    check_pair(4, 1, 26, 1, TARE_ERR_CORRUPT, "F32");
    check_pair(4, 1, 0, NAN, TARE_ERR_CORRUPT, "count is not finite");
    check_pair(4, 1, 0, INFINITY, TARE_ERR_CORRUPT, "count is not finite");
    check_pair(0, 0, 0, 1, TARE_ERR_UNSUPPORTED, "not an importance matrix");
}

static void oddities_are_told(void **state) {
    (void)state;
    tare_report *report = tare_report_new();
    tare_buffer b;
    tare_importance *m;
    make_dat(&b);
    tare_store_le32(b.data + 4 + 4 + 19 + 8, 0xBF800000);
    tare_buffer_put_u8(&b, 0);
    assert_int_equal(try_open(&m, b.data, b.size, report, NULL), TARE_OK);
    assert_int_equal(help_findings(report, "importance.negative"), 1);
    assert_int_equal(help_findings(report, "importance.trailing"), 1);
    assert_int_equal(tare_report_count(report), 2);
    tare_importance_free(m);
    tare_buffer_free(&b);
    tare_report_free(report);
}

/* ---- converting by it ------------------------------------------------------------------------ */

#define COLS   256
#define ROWS   1500 /* three slices of these are several spans, none of which ends with a slice */
#define SLICES 3

static float number(uint32_t *seed) {
    *seed = *seed * 1664525 + 1013904223;
    return (float)(*seed >> 8) / (float)(1 << 24);
}

typedef struct fixture {
    made_model made;
    const float *weights; /* of the experts, then of the plain matrix */
    tare_buffer dat;
    tare_importance *importance;
} fixture;

/* A model of experts, one plain matrix, one that the importance matrix lacks, an embedding. */
static void set_up_entry(fixture *f, const char *experts, const char *plain, const char *entry) {
    static const uint64_t deep[] = {SLICES, ROWS, COLS}, flat[] = {4, COLS};
    static float values[(SLICES + 1) * COLS];
    uint32_t seed = 5;
    made_begin(&f->made, (size_t)8 << 20, 4, 8);
    const struct {
        const char *name;
        const uint64_t *dims;
        uint32_t n_dims;
    } tensors[] = {
        {experts, deep, 3}, {plain, flat, 2}, {"other", flat, 2}, {"token_embd.weight", flat, 2}};
    for (size_t t = 0; t < 4; t++) {
        uint8_t *bytes = made_add(&f->made, tare_str_of(tensors[t].name), TARE_ENCODING_F32,
                                  tensors[t].dims, tensors[t].n_dims);
        uint64_t n = f->made.model->catalog.tensors[t].n_elements;
        for (uint64_t i = 0; i < n; i++) {
            const float x = number(&seed) - 0.5F;
            tare_store_le32(bytes + 4 * i, tare_f32_bits(x));
        }
    }
    made_finish(&f->made, false, NULL, 0)->catalog.layout = NULL;
    for (size_t i = 0; i < (SLICES + 1) * COLS; i++) values[i] = number(&seed) * number(&seed);
    f->weights = values;
    tare_buffer_init(&f->dat, NULL);
    tare_buffer_put_u32(&f->dat, 2, false);
    put_entry(&f->dat, "blk.1.ffn_up_exps.weight", 1, values, SLICES * COLS);
    put_entry(&f->dat, entry, 1, values + SLICES * COLS, COLS);
    f->importance = open_bytes(f->dat.data, f->dat.size);
}

static void set_up(fixture *f, const char *experts, const char *plain) {
    set_up_entry(f, experts, plain, "blk.0.attn_v.weight");
}

static void tear_down(fixture *f) {
    tare_importance_free(f->importance);
    tare_buffer_free(&f->dat);
    made_free(&f->made);
}

/* Tensor t of the output is what the encoder makes of each slice with its weights. */
static void check_encoded(const fixture *f, size_t t, tare_encoding_id id, const float *weights,
                          const char *path) {
    const tare_tensor *in = tare_model_tensor(f->made.model, t);
    uint64_t n_slices = in->n_dims > 2 ? in->dims[0] : 1, rows = in->n_rows / n_slices;
    tare_model *out = help_open(path);
    int64_t at = tare_model_find_tensor(out, in->name);
    assert_true(at >= 0);
    size_t size = (size_t)tare_model_tensor(out, (size_t)at)->size_bytes;
    uint8_t *got = malloc(2 * size), *want = got + size;
    assert_int_equal(tare_tensor_read(got, out, (size_t)at, 0, 0, size, NULL), TARE_OK);
    float *values = malloc((size_t)in->size_bytes);
    assert_int_equal(tare_tensor_rows_f32(values, f->made.model, t, 0, in->n_rows, NULL), TARE_OK);
    for (uint64_t s = 0; s < n_slices; s++) {
        tare_encode_params params = {.size = sizeof(tare_encode_params),
                                     .importance = weights ? weights + s * COLS : NULL};
        tare_rows_mut dst = {.planes = {want + size / n_slices * s}, .n_rows = rows, .cols = COLS};
        assert_int_equal(
            tare_encode_rows(&dst, tare_encoding_get(id), values + s * rows * COLS, &params, NULL),
            TARE_OK);
    }
    assert_memory_equal(got, want, size);
    free(values);
    free(got);
    tare_model_free(out);
}

static void each_slice_has_its_own_row(void **state) {
    (void)state;
    static const tare_encoding_id types[] = {TARE_ENCODING_Q4_K, TARE_ENCODING_Q4_0,
                                             TARE_ENCODING_IQ4_NL, TARE_ENCODING_Q8_0};
    fixture f;
    set_up(&f, "blk.1.ffn_up_exps.weight", "blk.0.attn_v.weight");
    tare_convert_options options = tare_convert_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    tare_output_options output = tare_output_options_default();
    options.output = &output;
    options.importance = f.importance;
    output.force = true;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        bool is_weighted = types[i] != TARE_ENCODING_Q8_0;
        options.type = tare_encoding_get(types[i]);
        context.threads = 1 + (unsigned)i;
        context.report = tare_report_new();
        help_convert(help_path("out.gguf"), f.made.model, &options);
        check_encoded(&f, 0, types[i], f.weights, help_path("out.gguf"));
        check_encoded(&f, 1, types[i], f.weights + SLICES * COLS, help_path("out.gguf"));
        check_encoded(&f, 2, types[i], NULL, help_path("out.gguf"));
        assert_int_equal(help_findings(context.report, "convert.importance-missing"),
                         is_weighted ? 2 : 0);
        assert_int_equal(tare_report_count_level(context.report, TARE_LEVEL_WARNING),
                         is_weighted ? 1 : 0);
        tare_report_free(context.report);
    }
    tear_down(&f);
}

/* Hugging Face names, one of them of a single expert. */
static void names_are_found_by_role(void **state) {
    (void)state;
    fixture f;
    set_up(&f, "model.layers.1.x", "model.layers.1.block_sparse_moe.experts.2.w3.weight");
    tare_convert_options options = tare_convert_options_default();
    tare_output_options output = tare_output_options_default();
    options.output = &output;
    options.importance = f.importance;
    options.type = tare_encoding_get(TARE_ENCODING_Q4_K);
    output.force = true;
    help_convert(help_path("role.gguf"), f.made.model, &options);
    check_encoded(&f, 1, TARE_ENCODING_Q4_K, f.weights + 2 * COLS, help_path("role.gguf"));
    check_encoded(&f, 0, TARE_ENCODING_Q4_K, NULL, help_path("role.gguf"));
    tear_down(&f);
    set_up(&f, "x", "model.layers.0.self_attn.v_proj.weight");
    options.importance = f.importance;
    help_convert(help_path("role.gguf"), f.made.model, &options);
    check_encoded(&f, 1, TARE_ENCODING_Q4_K, f.weights + SLICES * COLS, help_path("role.gguf"));
    tear_down(&f);
    /* a role that several of a layer have: by what llama.cpp calls each */
    set_up_entry(&f, "x", "model.layers.0.self_attn.kv_a_proj_with_mqa.weight",
                 "blk.0.attn_kv_a_mqa.weight");
    options.importance = f.importance;
    help_convert(help_path("role.gguf"), f.made.model, &options);
    check_encoded(&f, 1, TARE_ENCODING_Q4_K, f.weights + SLICES * COLS, help_path("role.gguf"));
    tear_down(&f);
}

static void strict_refuses_what_is_missing(void **state) {
    (void)state;
    fixture f;
    tare_plan *plan;
    tare_error err = {0};
    tare_convert_options options = tare_convert_options_default();
    tare_output_options output = tare_output_options_default();
    options.output = &output;
    set_up(&f, "blk.1.ffn_up_exps.weight", "blk.0.attn_v.weight");
    options.importance = f.importance;
    options.type = tare_encoding_get(TARE_ENCODING_Q4_K);
    output.strict = true;
    assert_int_equal(tare_plan_new(&plan, help_path("no.gguf"), f.made.model, &options, &err),
                     TARE_ERR_UNSUPPORTED);
    assert_int_equal(err.item, 2);
    tear_down(&f);
}

/* llama-imatrix measures the output matrix on request, and token embeddings never. */
static void a_usual_matrix_is_complete(void **state) {
    (void)state;
    static const char *const names[] = {"output.weight", "lm_head.weight"};
    const tare_type_rule rule = {"^(output|lm_head|token_embd)",
                                 tare_encoding_get(TARE_ENCODING_Q6_K)};
    for (size_t i = 0; i < 2; i++) {
        fixture f;
        tare_plan *plan;
        tare_convert_options options = tare_convert_options_default();
        tare_output_options options_output = tare_output_options_default();
        options.output = &options_output;
        set_up(&f, names[i], "blk.0.attn_v.weight");
        options.importance = f.importance;
        options.rules = &rule;
        options.n_rules = 1;
        options_output.strict = true;
        assert_int_equal(tare_plan_new(&plan, help_path("no.gguf"), f.made.model, &options, NULL),
                         TARE_OK);
        tare_plan_free(plan);
        tear_down(&f);
    }
}

static void check_plan(const char *experts, const char *plain, tare_encoding_id id, bool has_matrix,
                       const char *what, int64_t item) {
    fixture f;
    tare_plan *plan;
    tare_error err = {0};
    tare_convert_options options = tare_convert_options_default();
    set_up(&f, experts, plain);
    options.importance = has_matrix ? f.importance : NULL;
    options.type = tare_encoding_get(id);
    assert_int_equal(tare_plan_new(&plan, help_path("no.gguf"), f.made.model, &options, &err),
                     TARE_ERR_ARG);
    if (!strstr(err.what, what)) fail_msg("\"%s\" does not say \"%s\"", err.what, what);
    assert_int_equal(err.item, item);
    tear_down(&f);
}

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    const char *experts = "blk.1.ffn_up_exps.weight", *plain = "blk.0.attn_v.weight";
    check_plan(experts, plain, TARE_ENCODING_IQ2_XXS, false, "type needs an importance", 0);
    check_plan(experts, plain, TARE_ENCODING_IQ2_XXS, true, "no entry for it", 2);
    check_plan(plain, "x", TARE_ENCODING_Q4_K, true, "another size", 0);
    check_plan("a", "b", TARE_ENCODING_Q4_K, true, "another model", -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dat_file_is_divided_by_its_calls),
        cmocka_unit_test(a_gguf_file_is_divided_slice_by_slice),
        cmocka_unit_test(values_are_found_in_the_file),
        cmocka_unit_test(entries_can_be_chosen),
        cmocka_unit_test(a_cut_file_is_truncated),
        cmocka_unit_test(impossible_fields_are_named),
        cmocka_unit_test(a_name_stands_once),
        cmocka_unit_test(sums_and_counts_belong_together),
        cmocka_unit_test(oddities_are_told),
        cmocka_unit_test_setup_teardown(each_slice_has_its_own_row, help_set_up, help_tear_down),
        cmocka_unit_test_setup_teardown(names_are_found_by_role, help_set_up, help_tear_down),
        cmocka_unit_test_setup_teardown(strict_refuses_what_is_missing, help_set_up,
                                        help_tear_down),
        cmocka_unit_test_setup_teardown(a_usual_matrix_is_complete, help_set_up, help_tear_down),
        cmocka_unit_test_setup_teardown(what_does_not_fit_is_refused, help_set_up, help_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
