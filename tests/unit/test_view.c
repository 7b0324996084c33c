/* SPDX-License-Identifier: MIT
 *
 * Guards against: a file of a view that differs in a byte from what unpacking or converting writes,
 * wherever it is read from and by however many threads; a damaged segment that takes more with it than
 * itself; memory that grows with what is read; a file of a folder that is left out in silence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>

#include <tare/experimental/packing.h>
#include <tare/experimental/views.h>
#include <tare/private/synth.h>

#include "convert_help.h"
#include "format/packed.h"
#include "ops/convert/plan.h"
#include "ops/views/view_files.h"

static void check(tare_status status, const tare_error *err) {
    char line[512];
    if (status == TARE_OK) return;
    tare_error_format(line, sizeof line, err, NULL);
    fail_msg("%s", line);
}

static tare_source path_source(const char *path) {
    tare_source source = tare_source_default();
    source.kind = TARE_SOURCE_PATH;
    source.name = path;
    return source;
}

static tare_view *new_view(uint64_t cache_bytes, bool no_ahead, tare_report *report) {
    tare_view_options o = tare_view_options_default();
    tare_context context = tare_context_default();
    tare_view *view;
    tare_error err;
    o.context = &context;
    o.cache_bytes = cache_bytes;
    o.no_ahead = no_ahead;
    context.threads = 2;
    context.report = report;
    check(tare_view_new(&view, &o, &err), &err);
    return view;
}

/* A model of a few MiB in a file. */
static void make_model(const char *path) {
    tare_error err;
    tare_model *m;
    check(tare_synth_open(&m, "llama-tiny:bf16", NULL, &err), &err);
    tare_convert_options c = tare_convert_options_default();
    help_convert(path, m, &c);
    tare_model_free(m);
}

static void pack_file(const char *from, const char *to) {
    tare_pack_options o = tare_pack_options_default();
    tare_output_options output = tare_output_options_default();
    tare_error err;
    tare_model *m = help_open(from);
    output.no_sync = output.force = true;
    o.output = &output;
    check(tare_pack(NULL, to, m, &o, &err), &err);
    tare_model_free(m);
}

static uint64_t next_random(uint64_t *seed) {
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *seed >> 33;
}

/* A file of a view, and what it must be. */
typedef struct expected {
    tare_view *view;
    size_t file, n;
    const uint8_t *bytes;
    uint64_t seed;
    bool is_same;
} expected;

static bool reads_same(const expected *e, uint64_t offset, size_t n) {
    uint8_t *buf = malloc(n + 1);
    buf[n] = 0xA5;
    const bool is_same = tare_view_read(buf, e->view, e->file, offset, n, NULL) == TARE_OK &&
                         memcmp(buf, e->bytes + offset, n) == 0 && buf[n] == 0xA5;
    free(buf);
    return is_same;
}

/* All in order in steps of an odd size, then anywhere. */
static void *read_all(void *ctx) {
    expected *e = ctx;
    const size_t step = 30011 + (size_t)(next_random(&e->seed) % 9);
    e->is_same = true;
    for (size_t at = 0; at < e->n && e->is_same; at += step)
        e->is_same = reads_same(e, at, e->n - at < step ? e->n - at : step);
    for (unsigned i = 0; i < 200 && e->is_same && e->n; i++) {
        const uint64_t offset = next_random(&e->seed) % e->n;
        const uint64_t n = next_random(&e->seed) % (i % 8 ? 5000 : 300000);
        e->is_same = reads_same(e, offset, (size_t)(n < e->n - offset ? n : e->n - offset));
    }
    return NULL;
}

static size_t find_file(tare_view_file *out, const tare_view *view, const char *name) {
    *out = tare_view_file_default();
    for (size_t i = 0; tare_view_at(out, view, i); i++)
        if (tare_str_is(out->name, name)) return i;
    fail_msg("no file %s", name);
    return 0;
}

/* By `n` threads at once. */
static void check_file(tare_view *view, const char *name, const char *path, unsigned n) {
    tare_view_file file;
    size_t size;
    pthread_t threads[8];
    expected e[8];
    const size_t i = find_file(&file, view, name);
    uint8_t *bytes = help_read(path, &size);
    assert_int_equal(file.n_bytes, size);
    for (unsigned t = 0; t < n; t++) {
        e[t] = (expected){view, i, size, bytes, 7 * t + 1, false};
        assert_int_equal(pthread_create(&threads[t], NULL, read_all, &e[t]), 0);
    }
    for (unsigned t = 0; t < n; t++) pthread_join(threads[t], NULL);
    for (unsigned t = 0; t < n; t++) assert_true(e[t].is_same);
    assert_int_equal(tare_view_read(bytes, view, i, size, 1, NULL), TARE_ERR_TRUNCATED);
    assert_int_equal(tare_view_read(bytes, view, i, size + 1, 0, NULL), TARE_ERR_TRUNCATED);
    free(bytes);
}

/* ---- packed ---------------------------------------------------------------------------------- */

static void packed_files_are_as_unpacked(void **state) {
    (void)state;
    tare_error err;
    make_model(help_path("a.gguf"));
    pack_file(help_path("a.gguf"), help_path("a.gguf.wcodec"));
    const tare_source source = path_source(help_path("a.gguf.wcodec"));
    for (unsigned n = 1; n <= 8; n *= 2) {
        tare_view *view = new_view(n == 1 ? 1 : 0, n == 2, NULL);
        check(tare_view_add_packed(view, n == 1 ? "other.gguf" : "", &source, NULL, &err), &err);
        assert_int_equal(tare_view_count(view), 1);
        check_file(view, n == 1 ? "other.gguf" : "a.gguf", help_path("a.gguf"), n);
        assert_int_equal(
            tare_view_add_packed(view, n == 1 ? "other.gguf" : "", &source, NULL, &err),
            TARE_ERR_ARG);
        tare_view_free(view);
    }
}

/* ---- computed -------------------------------------------------------------------------------- */

/* Converts to `to`, a file or a folder, and compares its files with those of a view. */
static void check_plan(const tare_model *m, const char *to, tare_convert_options *o) {
    tare_plan *plan;
    tare_error err;
    char name[64];
    help_convert(help_path(to), m, o);
    check(tare_plan_new(&plan, help_path(to), m, o, &err), &err);
    tare_view *view = new_view(0, false, NULL);
    check(tare_view_add_plan(view, to, plan, &err), &err);
    for (size_t i = 0; i < plan->files.n_files; i++) {
        const char *inner = plan->files.files[i].name;
        snprintf(name, sizeof name, "%s%s%s", to, inner ? "/" : "", inner ? inner : "");
        check_file(view, name, help_path(name), 3);
    }
    tare_view_free(view);
    tare_plan_free(plan);
    help_remove(help_path(to));
}

static void conversions_are_as_written(void **state) {
    (void)state;
    made_model made;
    tare_convert_options o = tare_convert_options_default();
    tare_model *m = help_open(help_path("a.gguf"));
    check_plan(m, "same.gguf", &o);
    o.type = tare_encoding_get(TARE_ENCODING_Q4_K);
    check_plan(m, "q4.gguf", &o);
    o.order = TARE_ORDER_BIG;
    check_plan(m, "q4-big.gguf", &o);
    o.order = TARE_ORDER_KEEP;
    o.type = tare_encoding_get(TARE_ENCODING_F16);
    check_plan(m, "f16.safetensors", &o);
    o.to = "hf";
    o.shard_size = 300000;
    check_plan(m, "directory", &o);
    tare_model_free(m);
    m = help_make(&made, HELP_COMMON | HELP_CARRIED | HELP_METADATA);
    o = tare_convert_options_default();
    check_plan(m, "all.safetensors", &o);
    check_plan(m, "all.gguf", &o);
    made_free(&made);
}

static void what_cannot_be_computed_is_refused(void **state) {
    (void)state;
    static const char *const names[] = {"a.wcodec", "a.infq"};
    tare_model *m = help_open(help_path("a.gguf"));
    for (unsigned i = 0; i < 2; i++) {
        tare_convert_options o = tare_convert_options_default();
        tare_plan *plan;
        tare_error err;
        check(tare_plan_new(&plan, help_path(names[i]), m, &o, &err), &err);
        tare_view *view = new_view(0, false, NULL);
        assert_int_equal(tare_view_add_plan(view, names[i], plan, &err), TARE_ERR_UNSUPPORTED);
        tare_view_free(view);
        tare_plan_free(plan);
    }
    tare_model_free(m);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Each page that can be read is right, and few cannot. */
static void damage_stays_in_its_segment(void **state) {
    (void)state;
    tare_error err;
    tare_view_file file;
    size_t size, packed_size, n_bad = 0, n_pages = 0;
    uint8_t page[4096];
    uint8_t *bytes = help_read(help_path("a.gguf"), &size);
    uint8_t *packed = help_read(help_path("a.gguf.wcodec"), &packed_size);
    packed[packed_size / 2] ^= 1;
    tare_source source = tare_source_default();
    source.kind = TARE_SOURCE_MEMORY;
    source.memory = packed;
    source.n_bytes = packed_size;
    tare_view *view = new_view(0, false, NULL);
    check(tare_view_add_packed(view, "", &source, NULL, &err), &err);
    const size_t i = find_file(&file, view, "a.gguf");
    for (size_t at = 0; at < size; at += sizeof page, n_pages++) {
        const size_t n = size - at < sizeof page ? size - at : sizeof page;
        const tare_status status = tare_view_read(page, view, i, at, n, &err);
        n_bad += status != TARE_OK;
        if (status == TARE_OK) assert_memory_equal(page, bytes + at, n);
        if (status != TARE_OK) assert_true(err.what && err.what[0]);
    }
    assert_true(n_bad > 0 && n_bad < n_pages / 2);
    tare_view_free(view);
    free(packed);
    free(bytes);
}

/* ---- memory ---------------------------------------------------------------------------------- */

typedef struct counted {
    pthread_mutex_t mutex;
    size_t now, most;
} counted;

static void count(counted *c, size_t more, size_t less) {
    pthread_mutex_lock(&c->mutex);
    c->now = c->now + more - less;
    if (c->now > c->most) c->most = c->now;
    pthread_mutex_unlock(&c->mutex);
}

static void *counted_alloc(void *ctx, size_t size) {
    count(ctx, size, 0);
    return malloc(size);
}

static void *counted_resize(void *ctx, void *ptr, size_t old_size, size_t size) {
    count(ctx, size, old_size);
    return realloc(ptr, size);
}

static void counted_free(void *ctx, void *ptr, size_t size) {
    if (ptr) count(ctx, 0, size);
    free(ptr);
}

static void memory_is_bounded(void **state) {
    (void)state;
    counted c = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    const tare_allocator allocator = {&c, counted_alloc, counted_resize, counted_free};
    tare_view_options o = tare_view_options_default();
    tare_context context = tare_context_default();
    made_model made;
    tare_convert_options convert = tare_convert_options_default();
    tare_error err;
    tare_view *view;
    static uint8_t buf[1 << 20];
    const uint64_t dims[] = {48 << 10, 1024};
    made_begin(&made, 200 << 20, 4, 2);
    help_add(&made, "big.weight", TARE_ENCODING_F16, dims, 2);
    help_convert(help_path("big.gguf"), made_finish(&made, false, NULL, 0), &convert);
    made_free(&made);
    pack_file(help_path("big.gguf"), help_path("big.wcodec"));
    o.context = &context;
    o.cache_bytes = 16 << 20;
    context.allocator = &allocator;
    context.threads = 1;
    const tare_source source = path_source(help_path("big.wcodec"));
    check(tare_view_new(&view, &o, &err), &err);
    check(tare_view_add_packed(view, "", &source, NULL, &err), &err);
    tare_view_file file = tare_view_file_default();
    assert_true(tare_view_at(&file, view, 0));
    assert_true(file.n_bytes > 90 << 20);
    for (uint64_t at = 0; at + sizeof buf <= file.n_bytes; at += sizeof buf)
        check(tare_view_read(buf, view, 0, at, sizeof buf, &err), &err);
    tare_view_free(view);
    assert_int_equal(c.now, 0);
    /* The budget, and a piece and a decoder for the reader and for a thread of the view. */
    assert_true(c.most < (16 << 20) + 2 * (16 << 20));
}

/* ---- folders --------------------------------------------------------------------------------- */

static void write_text(const char *name, const char *text) {
    FILE *f = fopen(help_path(name), "wb");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void a_folder_shows_what_was_packed(void **state) {
    (void)state;
    tare_error err;
    tare_view_file file;
    mkdir(help_path("f"), 0755);
    mkdir(help_path("f/in"), 0755);
    help_remove(help_path("f/x"));
    pack_file(help_path("a.gguf"), help_path("f/one.wcodec"));
    pack_file(help_path("a.gguf"), help_path("f/in/two.gguf.wcodec"));
    pack_file(help_path("a.gguf"), help_path("f/taken.txt.wcodec"));
    write_text("f/taken.txt.gguf", "taken");
    write_text("f/broken.wcodec", "WCODEC and no more");
    write_text("f/note.txt", "some words");
    tare_report *report = tare_report_new();
    tare_view *view = new_view(0, false, report);
    check(tare_view_add_folder(view, help_path("f"), false, NULL, &err), &err);
    assert_int_equal(tare_view_count(view), 5);
    tare_view_free(view);
    assert_int_equal(help_findings(report, "view.as-is"), 2);
    view = new_view(0, false, NULL);
    check(tare_view_add_folder(view, help_path("f"), true, NULL, &err), &err);
    assert_int_equal(tare_view_count(view), 6);
    check_file(view, "one.gguf", help_path("a.gguf"), 2);
    check_file(view, "in/two.gguf", help_path("a.gguf"), 2);
    check_file(view, "note.txt", help_path("f/note.txt"), 1);
    check_file(view, "broken.wcodec", help_path("f/broken.wcodec"), 1);
    check_file(view, "taken.txt.wcodec", help_path("f/taken.txt.wcodec"), 1);
    find_file(&file, view, "taken.txt.gguf");
    assert_int_equal(file.n_bytes, 5);
    tare_view_free(view);
    tare_report_free(report);
}

/* A source that counts what is made. */
enum { PIECE = 1 << 20, PIECES = 64 };

static tare_status locate_counted(tare_view_piece *out, void *ctx, uint32_t number, uint64_t offset,
                                  tare_error *err) {
    (void)ctx, (void)number, (void)err;
    *out = (tare_view_piece){offset / PIECE * PIECE, offset / PIECE * PIECE + PIECE};
    return TARE_OK;
}

static tare_status make_counted(uint8_t *out, void *ctx, uint32_t number, uint64_t offset, size_t n,
                                tare_error *err) {
    (void)number, (void)offset, (void)err;
    memset(out, 1, n);
    atomic_fetch_add((_Atomic unsigned *)ctx, 1);
    return TARE_OK;
}

static void free_counted(void *ctx) {
    (void)ctx;
}

/* Nothing is made ahead for whoever reads here and there, now and then near the last place, nor for
 * reads of which no order is to be concluded. */
static void only_what_is_read_is_made(void **state) {
    _Atomic unsigned n_made;
    (void)state;
    for (int alone = 0; alone < 2; alone++) {
        atomic_init(&n_made, 0);
        tare_view *view = new_view(0, false, NULL);
        const tare_view_source source = {
            .locate = locate_counted, .make = make_counted, .free = free_counted, .ctx = &n_made};
        tare_view_file f = tare_view_file_default();
        uint32_t index;
        tare_error err;
        uint8_t room[16];
        f.name = tare_str_of("f");
        f.n_bytes = (uint64_t)PIECE * PIECES;
        check(tare_view_add_source(&index, view, &source, &err), &err);
        check(tare_view_add_file(view, index, 0, (tare_str){0}, &f, &err), &err);
        for (unsigned i = 0; i < 16; i++) { /* 0, 1, 32, 33, 2, 3, 34, 35, ... */
            const unsigned here = i / 4 * 2 + i % 2 + (i & 2) * 16, piece = alone ? i : here;
            const uint64_t at = (uint64_t)piece * PIECE + 100;
            check(alone ? tare_view_read_alone(room, view, 0, at, sizeof room, &err)
                        : tare_view_read(room, view, 0, at, sizeof room, &err),
                  &err);
        }
        tare_view_free(view);
        assert_int_equal(n_made, 16);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_files_are_as_unpacked),
        cmocka_unit_test(conversions_are_as_written),
        cmocka_unit_test(what_cannot_be_computed_is_refused),
        cmocka_unit_test(damage_stays_in_its_segment),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(only_what_is_read_is_made),
        cmocka_unit_test(a_folder_shows_what_was_packed),
    };
    return cmocka_run_group_tests(tests, help_set_up, help_tear_down);
}
