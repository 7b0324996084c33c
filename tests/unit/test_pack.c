/* SPDX-License-Identifier: MIT
 *
 * Faults guarded against: a file that does not come back byte for byte from its .wcodec, whatever
 * container, type, byte order or padding it has; bytes that depend on the number of threads; a
 * .wcodec that is larger than what it holds; an output that is there after a failure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <tare/experimental/containers.h>
#include <tare/experimental/packing.h>
#include <tare/inspect.h>

#include "convert_help.h"
#include "format/format.h"
#include "format/wcodec/wcodec_virtual.h"
#include "wc_random.h"

static const char *path_for(const char *name, const tare_format *format) {
    char full[64];
    snprintf(full, sizeof full, "%s%s", name, format->suffix);
    return help_path(full);
}

static bool is_directory(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void pack(const char *out, const char *in, tare_pack_options o) {
    tare_model *m = help_open(in);
    tare_pack_summary sum = tare_pack_summary_default();
    tare_error err = {0};
    const tare_output_options output = {.size = sizeof output, .force = true, .no_sync = true};
    o.output = &output;
    o.directory = is_directory(in) ? in : NULL;
    if (tare_pack(&sum, out, m, &o, &err) != TARE_OK) {
        char line[512];
        tare_error_format(line, sizeof line, &err, in);
        fail_msg("%s", line);
    }
    const tare_model_summary *all = tare_model_summarize(m);
    assert_int_equal(sum.n_tensors, all->n_tensors);
    assert_in_range(sum.to_bytes, 0,
                    sum.from_bytes + sum.from_bytes / 1000 + 4096 + 256 * sum.n_tensors);
    tare_model_free(m);
}

static tare_packed *open_store(const char *path) {
    tare_reader reader;
    tare_packed *store;
    tare_limits limits = tare_limits_default();
    assert_int_equal(tare_reader_open(&reader, path, false, NULL), TARE_OK);
    assert_int_equal(tare_packed_open(&store, &reader, &limits, NULL, NULL), TARE_OK);
    return store;
}

/* What the records restore is what lies at `source`, a file or all of a directory. */
static void check_files(const char *packed, const char *source) {
    tare_packed *store = open_store(packed);
    const tare_wcodec_index *index = tare_wcodec_store_index(store);
    if (is_directory(source)) assert_int_equal(index->n_files, help_count_entries(source));
    assert_int_equal(index->files_form, is_directory(source) ? 2 : 1);
    for (uint32_t i = 0; i < index->n_files; i++) {
        const tare_packed_file *f = &index->files[i];
        char path[512];
        size_t size;
        tare_reader reader;
        snprintf(path, sizeof path, "%s/%.*s", source, (int)f->name.len, f->name.ptr);
        uint8_t *bytes = help_read(is_directory(source) ? path : source, &size);
        assert_int_equal(f->size, size);
        assert_int_equal(
            tare_wcodec_store_reader(&reader, store, f->ranges, f->n_ranges, "file", NULL),
            TARE_OK);
        uint8_t *restored = malloc(size + 1);
        assert_int_equal(tare_reader_read(&reader, 0, restored, size, NULL), TARE_OK);
        assert_memory_equal(restored, bytes, size);
        tare_reader_close(&reader);
        free(restored);
        free(bytes);
    }
    tare_packed_free(store);
}

/* The packed model opens as what it was, and its header has the digest. */
static void check_model(const char *packed, const char *source) {
    tare_model *a = help_open(source), *b = help_open(packed);
    tare_digest digest;
    tare_packed *store = open_store(packed);
    help_check_same(a, b);
    assert_int_equal(tare_model_digest(NULL, &digest, a, NULL, NULL), TARE_OK);
    assert_memory_equal(digest.bytes, tare_wcodec_store_index(store)->digest, 32);
    tare_packed_free(store);
    tare_model_free(a);
    tare_model_free(b);
}

static void check(const char *source) {
    tare_pack_options o = tare_pack_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    const char *packed = help_path("packed.wcodec");
    context.threads = 2;
    pack(packed, source, o);
    check_files(packed, source);
    check_model(packed, source);
    help_remove(packed);
}

/* The output does not depend on threads, and with full effort the same files are restored. */
static void check_thoroughly(const char *source) {
    tare_pack_options o = tare_pack_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    const char *packed = help_path("packed.wcodec"), *other = help_path("other.wcodec");
    check(source);
    o.effort = TARE_EFFORT_FULL;
    context.threads = 1;
    pack(packed, source, o);
    check_files(packed, source);
    context.threads = 5;
    pack(other, source, o);
    help_check_same_file(packed, other);
    help_remove(packed);
    help_remove(other);
}

/* ---- every container ------------------------------------------------------------------------- */

static const unsigned everything =
    HELP_COMMON | HELP_CARRIED | HELP_BLOCKS | HELP_ALL_BLOCKS | HELP_METADATA;

static const char *make(const char *name, const tare_format *format,
                        const tare_convert_options *options) {
    made_model made;
    tare_convert_options o = *options;
    const char *path = path_for(name, format);
    o.to = format->name;
    o.opaque = true;
    help_convert(path, help_make(&made, everything), &o);
    made_free(&made);
    return path;
}

static void every_container_comes_back(void **state) {
    (void)state;
    const tare_convert_options options = tare_convert_options_default();
    unsigned n = 0;
    for (size_t i = 0; tare_format_row(i); i++) {
        const tare_format *format = tare_format_row(i);
        /* others hold nothing but their program's models: tests/judge/judge_whisper.py */
        const bool is_for_any = !format->caps->fixed_type;
        if (!format->write.plan || format == &tare_format_wcodec || !is_for_any) continue;
        const char *path = make("model", format, &options);
        if (format == &tare_format_gguf)
            check_thoroughly(path);
        else
            check(path);
        help_remove(path);
        n++;
    }
    assert_true(n >= 5);
}

static void sets_of_shards_come_back(void **state) {
    (void)state;
    tare_convert_options options = tare_convert_options_default();
    options.shard_size = 200000;
    check(make("shards", &tare_format_gguf, &options));
    check(make("folder", &tare_format_hf, &options));
}

static void big_endian_comes_back(void **state) {
    (void)state;
    tare_convert_options options = tare_convert_options_default();
    options.order = TARE_ORDER_BIG;
    check(make("big", &tare_format_gguf, &options));
}

/* Data after the end of a model, and other files in its directory, are restored too. */
static void odd_bytes_come_back(void **state) {
    (void)state;
    tare_convert_options options = tare_convert_options_default();
    const char *path = make("tail", &tare_format_gguf, &options);
    FILE *f = fopen(path, "ab");
    assert_non_null(f);
    for (unsigned i = 0; i < 100000; i++) fputc((int)(i * i >> 3 & 255), f);
    assert_int_equal(fclose(f), 0);
    check(path);
    char extra[200];
    path = make("beside", &tare_format_hf, &options);
    snprintf(extra, sizeof extra, "%s/.hidden", path);
    f = fopen(extra, "wb");
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
    check(path);
}

/* A model from memory has whatever name its caller likes, or none: its file still gets one that a
 * file can have. */
static void nameless_models_come_back(void **state) {
    (void)state;
    static const char *const names[] = {NULL, "", "a/", "/", "..", "some/name"};
    const tare_convert_options options = tare_convert_options_default();
    const char *path = make("named", &tare_format_gguf, &options);
    const char *packed = help_path("named.wcodec");
    tare_pack_options o = tare_pack_options_default();
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    size_t size;
    uint8_t *bytes = help_read(path, &size);
    output.force = output.no_sync = true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const tare_source source = {.size = sizeof(tare_source),
                                    .kind = TARE_SOURCE_MEMORY,
                                    .name = names[i],
                                    .memory = bytes,
                                    .n_bytes = size,
                                    .fd = -1};
        tare_model *m;
        assert_int_equal(tare_model_open(&m, &source, NULL, NULL), TARE_OK);
        assert_int_equal(tare_pack(NULL, packed, m, &o, NULL), TARE_OK);
        tare_model_free(m);
        check_files(packed, path);
    }
    tare_packed *store = open_store(packed);
    assert_true(tare_str_is(tare_wcodec_store_index(store)->files[0].name, "name"));
    tare_packed_free(store);
    free(bytes);
}

/* ---- what is large or alike ------------------------------------------------------------------ */

static void fill_with_bf16(uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        bytes[2 * i] = (uint8_t)(i * 2654435761u >> 13);
        bytes[2 * i + 1] = (uint8_t)(0x3c + (i * 40503u >> 14) % 3);
    }
}

/* Several segments; tensors of the same bytes, of which one is stored, and some that look the same
 * where samples are taken, or have another shape or type. */
static void equal_tensors_are_stored_once(void **state) {
    (void)state;
    enum { ROWS = 300, COLS = 1024, EQUAL = 3, ALL = 7, BYTES = 2 * ROWS * COLS };
    static const char *const names[ALL] = {"a", "b", "c", "later", "sooner", "wide", "f16"};
    static const size_t other[ALL] = {[3] = BYTES - 300, [4] = 7};
    made_model made;
    const uint64_t dims[] = {ROWS, COLS}, wide[] = {COLS, ROWS};
    const tare_convert_options options = tare_convert_options_default();
    tare_pack_options o = tare_pack_options_default();
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    const char *path = help_path("large.gguf"), *packed = help_path("large.wcodec");
    made_begin(&made, 6 << 20, ALL, 64);
    for (unsigned t = 0; t < ALL; t++) {
        const tare_encoding_id id = t == 6 ? TARE_ENCODING_F16 : TARE_ENCODING_BF16;
        uint8_t *bytes = made_add(&made, tare_str_of(names[t]), id, t == 5 ? wide : dims, 2);
        fill_with_bf16(bytes, ROWS * COLS);
        bytes[other[t]] ^= other[t] != 0;
    }
    help_convert(path, made_finish(&made, false, NULL, 0), &options);
    check_thoroughly(path);
    tare_model *m = help_open(path);
    tare_pack_summary sum = tare_pack_summary_default();
    output.force = true;
    assert_int_equal(tare_pack(&sum, packed, m, &o, NULL), TARE_OK);
    assert_int_equal(sum.n_shared, EQUAL - 1);
    tare_model_free(m);
    made_free(&made);
}

/* Many small tensors that cannot shrink: what their planes would need is more than may be added. */
static void small_tensors_of_noise_hardly_grow(void **state) {
    (void)state;
    static const tare_encoding_id ids[] = {TARE_ENCODING_Q5_K, TARE_ENCODING_Q4_K,
                                           TARE_ENCODING_Q6_K, TARE_ENCODING_Q2_K};
    enum { TENSORS = 200 };
    const uint64_t dims[] = {64, 256};
    const tare_convert_options options = tare_convert_options_default();
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        const char *path = help_path("noise.gguf");
        made_model made;
        char names[TENSORS][16];
        uint64_t seed = 5;
        made_begin(&made, 4 << 20, TENSORS, 64);
        for (unsigned t = 0; t < TENSORS; t++) {
            snprintf(names[t], sizeof names[t], "noise.%u", t);
            uint8_t *bytes = made_add(&made, tare_str_of(names[t]), ids[i], dims, 2);
            size_t n = (size_t)made.model->catalog.tensors[t].size_bytes;
            for (size_t b = 0; b < n; b++) bytes[b] = (uint8_t)(wc_random(&seed) >> 56);
        }
        help_convert(path, made_finish(&made, false, NULL, 0), &options);
        const char *one = help_path("one.wcodec"), *two = help_path("two.wcodec");
        tare_pack_options o = tare_pack_options_default();
        tare_context context = tare_context_default();
        o.context = &context;
        context.threads = 1;
        pack(one, path, o); /* knows how much it may grow */
        context.threads = 2;
        pack(two, path, o);
        help_check_same_file(one, two);
        check_files(one, path);
        help_remove(one);
        help_remove(two);
        made_free(&made);
        help_remove(path);
    }
}

/* A base model and what training made of it: numbers changed here and there; of Q8_0 also scales.
 */
static uint8_t *make_tuned(const char *path, tare_encoding_id id, unsigned generation) {
    made_model made;
    const uint64_t dims[] = {300, 1024};
    const tare_convert_options options = tare_convert_options_default();
    const tare_encoding *e = tare_encoding_get(id);
    made_begin(&made, 1 << 20, 1, 64);
    uint8_t *bytes = made_add(&made, TARE_STR("t"), id, dims, 2);
    size_t n = (size_t)made.model->catalog.tensors[0].size_bytes, unit = e->planes[0].unit_bytes;
    for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)(i * 2654435761u >> 11);
    for (size_t i = 0; i + unit <= n; i += unit) {
        bytes[i + 1] = (uint8_t)(0x24 + i / unit % 3);
        if (generation && i / unit % 50 == 0) bytes[i]++;
    }
    help_convert(path, made_finish(&made, false, NULL, 0), &options);
    uint8_t *copy = malloc(n);
    memcpy(copy, bytes, n);
    made_free(&made);
    return copy;
}

/* The tensor of a packed file, predicted from that of a model. */
static void check_predicted(const char *packed, const tare_model *base, const uint8_t *expected) {
    tare_packed *store = open_store(packed);
    const tare_wcodec_index *index = tare_wcodec_store_index(store);
    const tare_wcodec_layer *layer = &index->layers[0];
    const tare_plane *place = &base->catalog.tensors[0].planes[0];
    const tare_wc_source source = {.readers = {&base->files[place->file].reader},
                                   .starts = {place->offset}};
    tare_wc_opened opened;
    tare_wc_scratch scratch;
    tare_arena arena;
    tare_digest digest;
    tare_arena_init(&arena, NULL);
    tare_wc_scratch_init(&scratch, NULL);
    assert_int_equal(layer->kind, TARE_WCODEC_TENSOR);
    assert_int_equal(layer->base, 1);
    assert_int_equal(index->n_bases, 1);
    assert_int_equal(tare_model_digest(NULL, &digest, base, NULL, NULL), TARE_OK);
    assert_memory_equal(index->bases[0].digest, digest.bytes, 32);
    assert_int_equal(
        tare_wc_open_layer(&opened, tare_packed_source(store), &layer->coded, &arena, NULL),
        TARE_OK);
    opened.base = &source;
    size_t n = (size_t)layer->coded.region_bytes[0];
    uint8_t *bytes = malloc(n);
    assert_int_equal(tare_wc_read_region(bytes, &opened, 0, 0, n, &scratch, NULL), TARE_OK);
    assert_memory_equal(bytes, expected, n);
    free(bytes);
    tare_wc_scratch_free(&scratch);
    tare_arena_free(&arena);
    tare_packed_free(store);
}

static void a_fine_tune_is_what_it_differs_in(void **state) {
    (void)state;
    static const tare_encoding_id ids[] = {TARE_ENCODING_BF16, TARE_ENCODING_Q8_0};
    const char *first = help_path("first.gguf"), *tuned = help_path("tuned.gguf");
    const char *packed = help_path("tuned.wcodec");
    for (size_t i = 0; i < 2; i++) {
        tare_pack_options o = tare_pack_options_default();
        tare_output_options output = tare_output_options_default();
        o.output = &output;
        free(make_tuned(first, ids[i], 0));
        uint8_t *expected = make_tuned(tuned, ids[i], 1);
        tare_model *base = help_open(first);
        const tare_model *const bases[] = {base};
        o.bases = bases;
        o.base_hints = (const char *const[]){"first.gguf"};
        o.n_bases = 1;
        pack(packed, tuned, o);
        struct stat st;
        assert_int_equal(stat(packed, &st), 0);
        assert_in_range(st.st_size, 0, 100000); /* 600 kB and 319 kB alone */
        check_predicted(packed, base, expected);
        off_t fast = st.st_size;
        o.effort = TARE_EFFORT_FULL;
        output.force = true;
        pack(packed, tuned, o);
        assert_int_equal(stat(packed, &st), 0);
        assert_in_range(st.st_size, 0, fast);
        tare_model_free(base);
        free(expected);
        help_remove(first);
        help_remove(tuned);
    }
}

/* What is left would be no good without the base. */
static void the_base_is_not_replaced(void **state) {
    (void)state;
    const char *first = help_path("kept.gguf");
    tare_pack_options o = tare_pack_options_default();
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    tare_error err;
    free(make_tuned(first, TARE_ENCODING_BF16, 0));
    tare_model *m = help_open(first), *base = help_open(first);
    o.bases = &(const tare_model *const){base};
    o.n_bases = 1;
    output.force = output.no_sync = true;
    assert_int_equal(tare_pack(NULL, first, m, &o, &err), TARE_ERR_ARG);
    tare_model_free(m);
    const char *tuned = help_path("tuned.gguf");
    free(make_tuned(tuned, TARE_ENCODING_BF16, 1));
    m = help_open(tuned);
    assert_int_equal(tare_pack(NULL, first, m, &o, &err), TARE_ERR_ARG);
    assert_non_null(strstr(err.what, "base"));
    tare_model_free(m);
    tare_model_free(base);
    help_remove(tuned);
    help_remove(first);
}

/* Each form can be asked for, and brings the same bytes back. */
static void every_mode_comes_back(void **state) {
    (void)state;
    const tare_convert_options options = tare_convert_options_default();
    const char *packed = help_path("mode.wcodec");
    const char *path = make("modes", &tare_format_gguf, &options);
    for (int mode = TARE_CODED_SMALLEST; mode <= TARE_CODED_STRUCTURED; mode++) {
        /* What is slowest is tried in one size; segments are cut for all modes in one place. */
        unsigned most = mode == TARE_CODED_STRUCTURED ? 0 : 14;
        for (unsigned log2 = 0; log2 <= most; log2 += 14) {
            tare_pack_options o = tare_pack_options_default();
            tare_output_options output = tare_output_options_default();
            o.output = &output;
            tare_model *m = help_open(path);
            o.mode = (tare_coded_mode)mode;
            o.log2_segment = log2;
            output.force = output.no_sync = true;
            assert_int_equal(tare_pack(NULL, packed, m, &o, NULL), TARE_OK);
            tare_model_free(m);
            check_files(packed, path);
        }
    }
}

/* ---- failures -------------------------------------------------------------------------------- */

static void nothing_is_left_of_a_failure(void **state) {
    (void)state;
    const tare_convert_options options = tare_convert_options_default();
    tare_pack_options o = tare_pack_options_default();
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    const char *path = make("cut", &tare_format_gguf, &options), *out = help_path("cut.wcodec");
    tare_model *m = help_open(path);
    tare_error err;
    output.no_sync = true;
    assert_int_equal(tare_pack(NULL, path, m, &o, &err), TARE_ERR_ARG);
    output.force = true;
    assert_int_equal(tare_pack(NULL, path, m, &o, &err), TARE_ERR_ARG);
    output.force = false;
    tare_model_free(m);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size - 100), 0);
    m = help_open(path);
    assert_int_equal(tare_pack(NULL, out, m, &o, &err), TARE_ERR_TRUNCATED);
    assert_int_not_equal(access(out, F_OK), 0);
    tare_model_free(m);
}

static bool stop(void *ctx, uint64_t done, uint64_t total) {
    (void)ctx, (void)done, (void)total;
    return true;
}

static void stopping_leaves_nothing(void **state) {
    (void)state;
    const tare_convert_options options = tare_convert_options_default();
    tare_pack_options o = tare_pack_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    const char *path = make("stop", &tare_format_gguf, &options), *out = help_path("stop.wcodec");
    tare_model *m = help_open(path);
    context.progress = stop;
    assert_int_equal(tare_pack(NULL, out, m, &o, NULL), TARE_ERR_CANCELLED);
    assert_int_not_equal(access(out, F_OK), 0);
    tare_model_free(m);
}

/* ---- progress of conversions ----------------------------------------------------------------- */

typedef struct watched {
    uint64_t last, total, stop_at; /* stop_at: in hundredths of the total; 0: never */
    bool is_stopped;
} watched;

static bool watch(void *ctx, uint64_t done, uint64_t total) {
    watched *w = ctx;
    assert_true(done >= w->last && done <= total);
    assert_true(w->total == 0 || w->total == total);
    w->last = done;
    w->total = total;
    w->is_stopped |= w->stop_at && done * 100 >= total * w->stop_at;
    return w->is_stopped;
}

static tare_status convert_watched(watched *w, const tare_model *m) {
    tare_convert_options o = tare_convert_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    tare_error err;
    o.type = tare_encoding_get(TARE_ENCODING_Q8_0);
    o.opaque = o.verify = output.no_sync = output.force = true;
    context.threads = 2;
    context.progress = watch;
    context.progress_ctx = w;
    return tare_convert(help_path("watched.wcodec"), m, &o, &err);
}

/* Encoding, digests, packing and reading back have one common progress; wherever it is stopped, no
 * output is left. */
static void progress_is_of_all_steps(void **state) {
    (void)state;
    made_model made;
    const tare_model *m = help_make(&made, HELP_COMMON | HELP_CARRIED | HELP_METADATA);
    watched w = {0};
    assert_int_equal(convert_watched(&w, m), TARE_OK);
    assert_true(w.total && w.last > w.total - w.total / 10);
    help_remove(help_path("watched.wcodec"));
    size_t n = help_count_entries(help_dir);
    for (uint64_t at = 1; at < 100; at += 14) {
        w = (watched){.stop_at = at};
        if (convert_watched(&w, m) == TARE_OK) fail_msg("not stopped at %d %%", (int)at);
        assert_int_equal(help_count_entries(help_dir), n);
    }
    made_free(&made);
}

/* Tensors are read more than once, to be hashed, counted and encoded; in the progress the model has
 * the size of its file. */
static void progress_counts_bytes_of_the_file(void **state) {
    (void)state;
    const tare_convert_options options = tare_convert_options_default();
    tare_pack_options o = tare_pack_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_pack_summary sum = tare_pack_summary_default();
    const char *path = make("watched", &tare_format_gguf, &options);
    tare_model *m = help_open(path);
    watched w = {0};
    context.progress = watch;
    context.progress_ctx = &w;
    assert_int_equal(tare_pack(&sum, help_path("watched.wcodec"), m, &o, NULL), TARE_OK);
    assert_int_equal(w.total, sum.from_bytes);
    assert_true(w.last <= w.total && w.last > w.total - w.total / 10);
    tare_model_free(m);
    help_remove(help_path("watched.wcodec"));
}

static void effort_is_for_packing(void **state) {
    (void)state;
    made_model made;
    const tare_model *m = help_make(&made, HELP_COMMON);
    tare_convert_options o = tare_convert_options_default();
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    tare_convert_wcodec_options wcodec = tare_convert_wcodec_options_default();
    tare_error err;
    wcodec.effort = TARE_EFFORT_FULL;
    o.wcodec = &wcodec;
    o.opaque = output.no_sync = true;
    assert_int_equal(tare_convert(help_path("effort.gguf"), m, &o, &err), TARE_ERR_ARG);
    assert_int_not_equal(access(help_path("effort.gguf"), F_OK), 0);
    made_free(&made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_container_comes_back),
        cmocka_unit_test(sets_of_shards_come_back),
        cmocka_unit_test(big_endian_comes_back),
        cmocka_unit_test(odd_bytes_come_back),
        cmocka_unit_test(nameless_models_come_back),
        cmocka_unit_test(equal_tensors_are_stored_once),
        cmocka_unit_test(small_tensors_of_noise_hardly_grow),
        cmocka_unit_test(a_fine_tune_is_what_it_differs_in),
        cmocka_unit_test(the_base_is_not_replaced),
        cmocka_unit_test(every_mode_comes_back),
        cmocka_unit_test(nothing_is_left_of_a_failure),
        cmocka_unit_test(stopping_leaves_nothing),
        cmocka_unit_test(progress_is_of_all_steps),
        cmocka_unit_test(progress_counts_bytes_of_the_file),
        cmocka_unit_test(effort_is_for_packing),
    };
    return cmocka_run_group_tests(tests, help_set_up, help_tear_down);
}
