/* SPDX-License-Identifier: MIT
 *
 * Guards against: bytes that depend on threads, on the kind of source or on where they go; odd
 * numbers that are not told; memory that grows with the model; outputs that a stop, a failure or
 * `strict` leaves behind; a check of the result that sees nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#include <fcntl.h>
#include <math.h>
#include <pthread.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "convert_help.h"
#include "ops/convert/conversion.h"
#include "ops/convert/execute.h"

static const tare_encoding *enc(tare_encoding_id id) {
    return tare_encoding_get(id);
}

static tare_model *finish(made_model *made) {
    tare_model *m = made_finish(made, false, NULL, 0);
    m->catalog.layout = NULL;
    return m;
}

/* ---- the same bytes -------------------------------------------------------------------------- */

/* Several chunks and pieces: 3 Mi floats, 9 MiB of other numbers. */
static tare_model *make_large(made_model *made) {
    static const uint64_t floats[] = {48, 65536}, bytes[] = {9, 1 << 20};
    made_begin(made, (size_t)32 << 20, 3, 8);
    help_add(made, "floats.weight", TARE_ENCODING_F32, floats, 2);
    help_add(made, "bytes", TARE_ENCODING_U8, bytes, 2);
    return finish(made);
}

static void threads_do_not_show(void **state) {
    (void)state;
    static const tare_encoding_id types[] = {TARE_ENCODING_F16, TARE_ENCODING_Q4_0};
    made_model made;
    const tare_model *m = make_large(&made);
    for (size_t t = 0; t < 2; t++) {
        tare_convert_options options = tare_convert_options_default();
        tare_context context = tare_context_default();
        options.context = &context;
        tare_output_options output = tare_output_options_default();
        options.output = &output;
        options.type = enc(types[t]);
        output.force = true;
        context.threads = 1;
        help_convert(help_path("one.gguf"), m, &options);
        for (unsigned threads = 2; threads < 8; threads += 3) {
            context.threads = threads;
            options.order = TARE_ORDER_KEEP;
            help_convert(help_path("more.gguf"), m, &options);
            help_check_same_file(help_path("one.gguf"), help_path("more.gguf"));
        }
    }
    made_free(&made);
}

typedef struct memory {
    const uint8_t *bytes;
    size_t size;
    uint64_t furthest, most_back; /* the end of what was read; how far a read went back from it */
    pthread_mutex_t lock;         /* of these two: threads read */
} memory;

static tare_status read_memory(void *ctx, uint64_t offset, void *buf, size_t n) {
    memory *m = ctx;
    if (offset > m->size || n > m->size - offset) return TARE_ERR_IO;
    pthread_mutex_lock(&m->lock);
    if (offset < m->furthest && m->furthest - offset > m->most_back)
        m->most_back = m->furthest - offset;
    if (offset + n > m->furthest) m->furthest = offset + n;
    pthread_mutex_unlock(&m->lock);
    memcpy(buf, m->bytes + offset, n);
    return TARE_OK;
}

/* Plans of one input that run together make what each makes alone, and read no more than a chunk or a
 * piece of a copy again. */
static void several_go_together(void **state) {
    (void)state;
    static const tare_encoding_id types[] = {TARE_ENCODING_Q8_0, TARE_ENCODING_F16,
                                             TARE_ENCODING_Q4_K};
    static const char *const alone[] = {"a.gguf", "b.safetensors", "c.gguf"};
    static const char *const together[] = {"d.gguf", "e.safetensors", "f.gguf"};
    made_model made;
    memory whole = {.lock = PTHREAD_MUTEX_INITIALIZER};
    tare_plan *plans[3];
    tare_convert_result results[3];
    tare_convert_options options = tare_convert_options_default();
    tare_context context = tare_context_default();
    tare_error err;
    options.context = &context;
    context.threads = 1;
    help_convert(help_path("in.safetensors"), make_large(&made), &options);
    made_free(&made);
    uint8_t *bytes = help_read(help_path("in.safetensors"), &whole.size);
    whole.bytes = bytes;
    tare_source source = tare_source_default();
    source.kind = TARE_SOURCE_CALLBACK;
    source.read = read_memory;
    source.read_ctx = &whole;
    source.n_bytes = whole.size;
    tare_model *m;
    assert_int_equal(tare_model_open(&m, &source, NULL, &err), TARE_OK);
    for (size_t i = 0; i < 3; i++) {
        options.type = enc(types[i]);
        help_convert(help_path(alone[i]), m, &options);
        assert_int_equal(tare_plan_new(&plans[i], help_path(together[i]), m, &options, &err),
                         TARE_OK);
        results[i] = tare_convert_result_default();
    }
    whole.furthest = whole.most_back = 0;
    assert_int_equal(tare_plans_run(results, (const tare_plan *const *)plans, 3, &err), TARE_OK);
    assert_true(whole.furthest > (size_t)20 << 20);
    assert_true(whole.most_back <= (size_t)4 << 20);
    for (size_t i = 0; i < 3; i++) {
        help_check_same_file(help_path(alone[i]), help_path(together[i]));
        assert_int_equal(results[i].written_bytes, tare_plan_summarize(plans[i])->write_bytes);
        tare_plan_free(plans[i]);
    }
    tare_model_free(m);
    free(bytes);
}

/* Path, mapped path, descriptor, memory, callback: one result, to a file and through a pipe's end.
 */
static void sources_do_not_show(void **state) {
    (void)state;
    made_model made;
    tare_convert_options options = tare_convert_options_default();
    tare_output_options output = tare_output_options_default();
    options.output = &output;
    const char *in = help_path("in.safetensors"), *expected = help_path("expected.gguf"),
               *out = help_path("out.gguf"), *piped = help_path("piped.gguf");
    help_convert(in, make_large(&made), &options);
    made_free(&made);
    memory whole = {.lock = PTHREAD_MUTEX_INITIALIZER};
    uint8_t *bytes = help_read(in, &whole.size);
    whole.bytes = bytes;
    int fd = open(in, O_RDONLY);
    const tare_source sources[] = {
        {.size = sizeof(tare_source), .kind = TARE_SOURCE_PATH, .name = in},
        {.size = sizeof(tare_source), .kind = TARE_SOURCE_PATH, .name = in},
        {.size = sizeof(tare_source), .kind = TARE_SOURCE_FD, .fd = fd},
        {.size = sizeof(tare_source),
         .kind = TARE_SOURCE_MEMORY,
         .memory = bytes,
         .n_bytes = whole.size},
        {.size = sizeof(tare_source),
         .kind = TARE_SOURCE_CALLBACK,
         .read = read_memory,
         .read_ctx = &whole,
         .n_bytes = whole.size},
    };
    const tare_type_rule rule = {"weight", enc(TARE_ENCODING_Q8_0)};
    options.rules = &rule;
    options.n_rules = 1;
    output.force = true;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        tare_open_options open = tare_open_options_default();
        tare_model *m;
        tare_plan *p;
        open.map = i == 1;
        assert_int_equal(tare_model_open(&m, &sources[i], &open, NULL), TARE_OK);
        options.verify = true;
        help_convert(i == 0 ? expected : out, m, &options);
        if (i > 0) help_check_same_file(expected, out);
        int to = creat(piped, 0600);
        options.verify = false;
        options.to = "gguf";
        assert_int_equal(tare_plan_new(&p, NULL, m, &options, NULL), TARE_OK);
        assert_int_equal(tare_plan_run_fd(NULL, p, to, NULL), TARE_OK);
        options.to = NULL;
        tare_plan_free(p);
        close(to);
        help_check_same_file(expected, piped);
        tare_model_free(m);
    }
    close(fd);
    free(bytes);
}

static tare_status read_failing(void *ctx, uint64_t offset, void *buf, size_t n) {
    const memory *m = ctx;
    return offset > m->size / 2 ? TARE_ERR_IO : read_memory(ctx, offset, buf, n);
}

static void a_failing_source_leaves_nothing(void **state) {
    (void)state;
    made_model made;
    tare_convert_options options = tare_convert_options_default();
    const char *in = help_path("in.safetensors"), *out = help_path("out.gguf");
    help_convert(in, make_large(&made), &options);
    made_free(&made);
    memory whole = {.lock = PTHREAD_MUTEX_INITIALIZER};
    uint8_t *bytes = help_read(in, &whole.size);
    whole.bytes = bytes;
    const tare_source source = {.size = sizeof(tare_source),
                                .kind = TARE_SOURCE_CALLBACK,
                                .read = read_failing,
                                .read_ctx = &whole,
                                .n_bytes = whole.size};
    tare_model *m;
    assert_int_equal(tare_model_open(&m, &source, NULL, NULL), TARE_OK);
    tare_error err;
    assert_int_equal(help_try(out, m, &options, &err), TARE_ERR_IO);
    options.type = enc(TARE_ENCODING_F16);
    assert_int_equal(help_try(out, m, &options, &err), TARE_ERR_IO);
    assert_int_equal(help_count_entries(help_dir), 1);
    tare_model_free(m);
    free(bytes);
}

/* ---- odd numbers ----------------------------------------------------------------------------- */

static void set(uint8_t *bytes, size_t i, float value) {
    tare_store_le32(bytes + 4 * i, tare_f32_bits(value));
}

static bool has_finding(const tare_report *report, const char *code, const char *text) {
    for (size_t i = 0; i < tare_report_count(report); i++) {
        const tare_finding *f = tare_report_at(report, i);
        if (strcmp(f->code, code) == 0 && tare_str_is(f->text, text)) return true;
    }
    return false;
}

static void odd_numbers_are_counted(void **state) {
    (void)state;
    static const uint64_t dims[] = {8, 65536}; /* two chunks */
    static const tare_encoding_id types[] = {TARE_ENCODING_F16, TARE_ENCODING_Q4_0};
    made_model made;
    made_begin(&made, (size_t)4 << 20, 2, 8);
    uint8_t *w = made_add(&made, TARE_STR("odd.weight"), TARE_ENCODING_F32, dims, 2);
    help_add(&made, "even.weight", TARE_ENCODING_F32, dims + 1, 0);
    set(w, 300000, NAN);
    set(w, 300001, NAN);
    set(w, 7, INFINITY);
    set(w, 400000, -INFINITY);
    set(w, 100, 1e6f); /* beyond F16, and as a scale of Q4_0 */
    set(w, 500000, -1e6f);
    set(w, 500100, 65519.0f); /* rounds down to the largest F16 */
    const tare_model *m = finish(&made);
    for (size_t t = 0; t < 2; t++) {
        tare_convert_options options = tare_convert_options_default();
        tare_context context = tare_context_default();
        options.context = &context;
        tare_output_options output = tare_output_options_default();
        options.output = &output;
        options.type = enc(types[t]);
        context.report = tare_report_new();
        context.threads = (unsigned)t + 1;
        output.force = true;
        help_convert(help_path("odd.gguf"), m, &options);
        assert_true(has_finding(context.report, "convert.nan", "2 NaN, first at element 300000"));
        assert_true(has_finding(context.report, "convert.inf", "2 Inf, first at element 7"));
        /* Q4_0 counts scales: that of the block the number is in, by its first element. */
        assert_true(has_finding(context.report, "convert.overflow",
                                t ? "2 out of range for the type, first at element 96"
                                  : "2 out of range for the type, first at element 100"));
        output.strict = true;
        tare_error err;
        output.force = false;
        assert_int_equal(help_try(help_path("strict.gguf"), m, &options, &err),
                         TARE_ERR_UNSUPPORTED);
        assert_string_equal(err.item_name, "odd.weight");
        assert_int_equal(help_count_entries(help_dir), 1);
        tare_report_free(context.report);
    }
    made_free(&made);
}

/* ---- stopping -------------------------------------------------------------------------------- */

static bool stop_at_once(void *ctx, uint64_t done, uint64_t total) {
    (void)done, (void)total;
    ++*(int *)ctx;
    return true;
}

static void a_stop_leaves_nothing(void **state) {
    (void)state;
    made_model made;
    int calls = 0;
    tare_error err;
    tare_convert_options options = tare_convert_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    tare_output_options output = tare_output_options_default();
    options.output = &output;
    const tare_model *m = make_large(&made);
    help_convert(help_path("out.gguf"), m, &options);
    context.progress = stop_at_once;
    context.progress_ctx = &calls;
    output.force = true;
    options.type = enc(TARE_ENCODING_Q8_0);
    for (context.threads = 1; context.threads < 3; context.threads++)
        assert_int_equal(help_try(help_path("out.gguf"), m, &options, &err), TARE_ERR_CANCELLED);
    assert_true(calls > 0);
    assert_int_equal(help_count_entries(help_dir), 1);
    tare_model *old = help_open(help_path("out.gguf"));
    assert_int_equal(tare_model_tensor(old, 0)->encoding->id, TARE_ENCODING_F32);
    tare_model_free(old);
    made_free(&made);
}

typedef struct progress {
    uint64_t last, total;
} progress;

static bool note_progress(void *ctx, uint64_t done, uint64_t total) {
    progress *p = ctx;
    assert_true(done >= p->last && done <= total);
    *p = (progress){done, total};
    return false;
}

static void progress_reaches_its_total(void **state) {
    (void)state;
    made_model made;
    progress seen = {0, 0};
    tare_convert_options options = tare_convert_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    context.progress = note_progress;
    context.progress_ctx = &seen;
    options.verify = true;
    help_convert(help_path("out.gguf"), make_large(&made), &options);
    assert_true(seen.total > 2 * (20 << 20));
    assert_int_equal(seen.last, seen.total);
    made_free(&made);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static _Atomic size_t in_use, peak;

static void *count_alloc(void *ctx, size_t size) {
    (void)ctx;
    size_t now = atomic_fetch_add(&in_use, size) + size, before = atomic_load(&peak);
    while (now > before && !atomic_compare_exchange_weak(&peak, &before, now)) continue;
    return malloc(size);
}

static void count_free(void *ctx, void *ptr, size_t size) {
    (void)ctx;
    atomic_fetch_sub(&in_use, size);
    free(ptr);
}

static void *count_resize(void *ctx, void *ptr, size_t old_size, size_t new_size) {
    void *moved = count_alloc(ctx, new_size);
    if (!moved) return NULL;
    memcpy(moved, ptr, old_size < new_size ? old_size : new_size);
    count_free(ctx, ptr, old_size);
    return moved;
}

/* A safetensors file of one tensor that is all zeros, and as a file takes no memory: a single row
 * of 48 Mi floats. */
static const char header[] = "{\"w\":{\"dtype\":\"F32\",\"shape\":[1,50331648],\"data_offsets\":"
                             "[0,201326592]}}";

static tare_status read_zeros(void *ctx, uint64_t offset, void *buf, size_t n) {
    (void)ctx;
    uint8_t head[8 + sizeof header];
    tare_store_le64(head, sizeof header - 1);
    memcpy(head + 8, header, sizeof header);
    for (size_t i = 0; i < n && i < (1 << 16); i++)
        ((uint8_t *)buf)[i] = offset + i < 8 + sizeof header - 1 ? head[offset + i] : 0;
    if (n > 1 << 16) memset((uint8_t *)buf + (1 << 16), 0, n - (1 << 16));
    return TARE_OK;
}

static void memory_is_bounded(void **state) {
    (void)state;
    const tare_allocator counting = {NULL, count_alloc, count_resize, count_free};
    static const char *const to[] = {"f16", "q4_0", NULL};
    const tare_source source = {.size = sizeof(tare_source),
                                .kind = TARE_SOURCE_CALLBACK,
                                .read = read_zeros,
                                .n_bytes = 8 + sizeof header - 1 + 201326592};
    for (size_t i = 0; i < 3; i++) {
        tare_open_options open = tare_open_options_default();
        tare_context context = tare_context_default();
        open.context = &context;
        tare_convert_options options = tare_convert_options_default();
        tare_context options_context = tare_context_default();
        options.context = &options_context;
        tare_output_options output = tare_output_options_default();
        options.output = &output;
        tare_model *m;
        context.allocator = options_context.allocator = &counting;
        options.type = to[i] ? tare_encoding_find(tare_str_of(to[i])) : NULL;
        options_context.threads = 3;
        output.force = true;
        options.verify = true;
        atomic_store(&peak, 0);
        assert_int_equal(tare_model_open(&m, &source, &open, NULL), TARE_OK);
        help_convert(help_path("out.gguf"), m, &options);
        tare_model_free(m);
        print_message("%s: peak %zu KiB\n", to[i] ? to[i] : "copy", atomic_load(&peak) >> 10);
        assert_true(atomic_load(&peak) < (size_t)3 * 16 << 20); /* not even the 64 MiB beside it */
        assert_int_equal(atomic_load(&in_use), 0);
    }
}

/* ---- the check ------------------------------------------------------------------------------- */

/* Every byte that is written differently is found, by the comparison or by the reader. */
static void the_check_sees_changed_bytes(void **state) {
    (void)state;
    made_model made;
    tare_plan *plan;
    tare_outset *out;
    tare_execution *x;
    uint32_t index;
    _Atomic uint64_t done = 0, hinted = 0;
    tare_out_options options = {.no_sync = true};
    const char *path = help_path("out.gguf");
    const tare_model *m = help_make(&made, HELP_COMMON | HELP_METADATA);
    assert_int_equal(tare_plan_new(&plan, path, m, NULL, NULL), TARE_OK);
    uint64_t size = plan->files.files[0].size;
    assert_int_equal(tare_outset_new(&out, path, &options, NULL, NULL), TARE_OK);
    assert_int_equal(tare_outset_add(out, NULL, size, &index, NULL), TARE_OK);
    assert_int_equal(tare_execution_new(&x, plan, false, NULL), TARE_OK);
    tare_file_sink files = {out, &hinted};
    tare_compare_sink comparison = {out};
    tare_sink write = tare_sink_of_files(&files), compare = tare_sink_of_comparison(&comparison);
    assert_int_equal(tare_execution_run(x, &write, NULL, &done, 0, NULL), TARE_OK);
    assert_int_equal(tare_execution_run(x, &compare, NULL, &done, 0, NULL), TARE_OK);
    assert_int_equal(tare_convert_check(plan, out, NULL), TARE_OK);
    size_t n_covered = 0;
    for (uint64_t at = 0; at < size; at += 101) {
        uint8_t byte, changed;
        tare_error err = {0};
        assert_int_equal(tare_outset_read(out, 0, at, &byte, 1, NULL), TARE_OK);
        changed = byte ^ 0x10;
        assert_int_equal(tare_outset_write(out, 0, at, &changed, 1, NULL), TARE_OK);
        tare_status status = tare_execution_run(x, &compare, NULL, &done, 0, &err);
        if (status != TARE_OK) {
            assert_int_equal(status, TARE_ERR_CHECKSUM);
            assert_int_equal(err.offset, at);
            n_covered++;
        }
        assert_int_equal(tare_outset_write(out, 0, at, &byte, 1, NULL), TARE_OK);
    }
    assert_true(n_covered > size / 101 / 2); /* the rest is padding */
    tare_execution_free(x);
    tare_outset_free(out);
    tare_plan_free(plan);
    made_free(&made);
}

/* A result that is another model: each kind of difference is named. */
static void the_check_sees_another_model(void **state) {
    (void)state;
    made_model made;
    tare_error err;
    tare_convert_options options = tare_convert_options_default();
    const char *path = help_path("out.gguf");
    help_convert(path, help_make(&made, HELP_COMMON | HELP_METADATA), &options);
    tare_model *m = help_open(path);
    for (int change = 0; change < 4; change++) {
        tare_plan *plan;
        tare_outset *out;
        uint32_t index;
        tare_out_options force = {.no_sync = true, .force = true};
        size_t size;
        uint8_t *bytes = help_read(path, &size);
        assert_int_equal(tare_plan_new(&plan, help_path("x.gguf"), m, NULL, NULL), TARE_OK);
        assert_int_equal(tare_outset_new(&out, help_path("x.gguf"), &force, NULL, NULL), TARE_OK);
        assert_int_equal(tare_outset_add(out, NULL, size, &index, NULL), TARE_OK);
        assert_int_equal(tare_outset_write(out, 0, 0, bytes, size, NULL), TARE_OK);
        /* What is on disk stays; what was meant changes. */
        tare_tensor changed = *plan->tensors[3].becomes;
        tare_catalog *c = &plan->catalog;
        if (change == 0) changed.name = TARE_STR("other");
        if (change == 1) changed.encoding = enc(TARE_ENCODING_BOOL);
        plan->tensors[3].becomes = &changed;
        if (change == 2) c->metadata[3].value.as.u ^= 1;
        if (change == 3) c->resources[0].info.size++;
        assert_int_equal(tare_convert_check(plan, out, &err), TARE_ERR_CHECKSUM);
        assert_int_equal(err.item_kind, change < 2    ? TARE_ITEM_TENSOR
                                        : change == 2 ? TARE_ITEM_KEY
                                                      : TARE_ITEM_RESOURCE);
        tare_outset_free(out);
        tare_plan_free(plan);
        free(bytes);
    }
    tare_model_free(m);
    made_free(&made);
}

/* ---- real files ------------------------------------------------------------------------------ */

static void real_files_come_back(void **state) {
    (void)state;
    static const char *const names[] = {"ggml-types.gguf", "ggml-vocab-bert-bge.gguf",
                                        "ggml-vocab-llama-spm.gguf", "silero_vad_16k.safetensors",
                                        "voices.safetensors"};
    const char *data = getenv("TARE_TEST_DATA");
    if (!data || !*data) {
        print_message("SKIP: TARE_TEST_DATA is not set, 5 files not converted\n");
        skip();
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char in[512];
        snprintf(in, sizeof in, "%s/%s", data, names[i]);
        bool is_gguf = strstr(names[i], ".gguf") != NULL;
        const char *same = help_path(is_gguf ? "same.gguf" : "same.safetensors"),
                   *other = help_path(is_gguf ? "other.safetensors" : "other.gguf"),
                   *back = help_path(is_gguf ? "back.gguf" : "back.safetensors");
        tare_convert_options options = tare_convert_options_default();
        tare_output_options output = tare_output_options_default();
        options.output = &output;
        output.force = options.verify = output.strict = true;
        tare_model *a = help_open(in);
        help_convert(same, a, &options);
        help_check_same_file(in, same);
        options.opaque = true;
        help_convert(other, a, &options);
        tare_model *b = help_open(other);
        help_check_same(a, b);
        help_convert(back, b, &options);
        tare_model *c = help_open(back);
        help_check_same(a, c);
        tare_model_free(c);
        tare_model_free(b);
        tare_model_free(a);
    }
}

#define T(f) cmocka_unit_test_setup_teardown(f, help_set_up, help_tear_down)

/* Formats that have the largest number for all beyond: each is counted, none in silence. */
static void largest_numbers_for_all_beyond_are_counted(void **state) {
    (void)state;
    static const struct {
        tare_encoding_id id;
        float largest;
    } rows[] = {{TARE_ENCODING_NVFP4, 2688}, {TARE_ENCODING_F4, 6}};
    for (size_t t = 0; t < sizeof rows / sizeof *rows; t++)
        for (int beyond = 0; beyond < 2; beyond++) {
            made_model made;
            const uint64_t dims[2] = {4, 64};
            made_begin(&made, 4096, 1, 8);
            uint8_t *w = made_add(&made, TARE_STR("x.weight"), TARE_ENCODING_F32, dims, 2);
            set(w, 9, rows[t].largest);
            set(w, 70, beyond ? -1e38f : INFINITY);
            const tare_model *m = finish(&made);
            tare_convert_options options = tare_convert_options_default();
            tare_context context = tare_context_default();
            tare_output_options output = tare_output_options_default();
            options.context = &context;
            options.output = &output;
            options.type = enc(rows[t].id);
            context.report = tare_report_new();
            output.force = true;
            help_convert(help_path("odd.gguf"), m, &options);
            assert_int_equal(has_finding(context.report, "convert.overflow",
                                         "1 out of range for the type, first at element 70"),
                             beyond);
            tare_report_free(context.report);
            made_free(&made);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(threads_do_not_show),          T(several_go_together),
        T(sources_do_not_show),          T(a_failing_source_leaves_nothing),
        T(odd_numbers_are_counted),      T(a_stop_leaves_nothing),
        T(progress_reaches_its_total),   T(memory_is_bounded),
        T(the_check_sees_changed_bytes), T(the_check_sees_another_model),
        T(real_files_come_back),         T(largest_numbers_for_all_beyond_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
