/* SPDX-License-Identifier: MIT
 *
 * Opens every case of the malformed corpus and compares what comes of it with what is expected:
 * status, byte offset, item and field of a refusal; level, code, offset and item of each finding.
 *
 * The fault it guards against: a check that has been lost, one that names the wrong place, one
 * that costs memory beyond the file's size. Single files are opened from their path, from
 * memory and through a callback, and must end the same way. Everything an opened file has is
 * walked and read. Only the public headers are used.
 *
 *     test_corpus FOLDER [-v] [NAME...]
 */
#include "expect.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

#include "support/visit.h"

#define MEMORY_BASE ((size_t)64 << 20) /* behaviour.md: 64 MiB + 3 times the directory */

/* ---- one case under test --------------------------------------------------------------------- */

typedef struct run {
    const char *name, *folder;
    const char *source; /* "path", "memory", "callback" */
    expectation want;
    char path[1024];
    int n_failures;
    bool verbose;
} run;

__attribute__((format(printf, 2, 3))) static void fail(run *r, const char *format, ...) {
    va_list args;
    va_start(args, format);
    printf("FAIL %s (%s): ", r->name, r->source);
    vprintf(format, args);
    printf("\n");
    va_end(args);
    r->n_failures++;
}

static void place_text(char *buf, size_t size, uint64_t offset) {
    if (offset == TARE_NO_OFFSET) {
        snprintf(buf, size, "none");
    } else {
        snprintf(buf, size, "%" PRIu64, offset);
    }
}

/* ---- the allocator that counts --------------------------------------------------------------- */

typedef struct counter {
    size_t now, peak;
} counter;

static void count(counter *c, size_t more, size_t less) {
    size_t now = __atomic_add_fetch(&c->now, more - less, __ATOMIC_RELAXED);
    if (now > c->peak) c->peak = now;
}

static void *count_alloc(void *ctx, size_t size) {
    void *p = malloc(size);
    if (p != NULL) count(ctx, size, 0);
    return p;
}

static void *count_resize(void *ctx, void *old, size_t old_size, size_t size) {
    void *p = realloc(old, size);
    if (p != NULL) count(ctx, size, old_size);
    return p;
}

static void count_free(void *ctx, void *p, size_t size) {
    if (p != NULL) count(ctx, 0, size);
    free(p);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool contains(const char *text, const char *part) {
    size_t n = strlen(part);
    for (; *text != 0; text++) {
        if (strncasecmp(text, part, n) == 0) return true;
    }
    return n == 0;
}

static bool ends_with_name(const char *path, const char *name) {
    size_t n = strlen(path), m = strlen(name);
    return n >= m && strcmp(path + n - m, name) == 0 && (n == m || path[n - m - 1] == '/');
}

static void compare_refusal(run *r, const tare_error *err) {
    const expectation *want = &r->want;
    char text[512], got[32], wanted[32];
    tare_error_format(text, sizeof text, err, r->want.open);
    if (r->verbose) printf("     %s\n", text);
    place_text(got, sizeof got, err->offset);
    place_text(wanted, sizeof wanted, want->offset);
    if (err->offset != want->offset) fail(r, "offset %s, not %s: %s", got, wanted, text);
    if (err->item_kind != want->item.kind || err->item != want->item.index) {
        fail(r, "item %s %" PRId64 ", not %s %" PRId64 ": %s", expect_item_text(err->item_kind),
             err->item, expect_item_text(want->item.kind), want->item.index, text);
    }
    char words[512];
    snprintf(words, sizeof words, "%s%s%s", err->field, err->field[0] ? ": " : "",
             err->what ? err->what : "");
    if (!contains(words, want->what)) fail(r, "\"%s\" does not say \"%s\"", words, want->what);
    if (want->file[0] != 0 && !ends_with_name(err->file, want->file)) {
        fail(r, "file \"%s\", not \"%s\": %s", err->file, want->file, text);
    }
}

static bool is_finding(const expect_finding *want, const tare_finding *f) {
    return f->level == want->level && strcmp(f->code, want->code) == 0 &&
           (!want->has_offset || f->offset == want->offset) && f->item_kind == want->item.kind &&
           f->item == want->item.index;
}

/* Each finding wanted is there, and nothing else above level info. */
static void compare_findings(run *r, const tare_report *report, const expect_finding *want,
                             size_t n_want) {
    bool seen[EXPECT_MAX] = {false};
    for (size_t i = 0; i < tare_report_count(report); i++) {
        const tare_finding *f = tare_report_at(report, i);
        if (f->level == TARE_LEVEL_INFO) continue;
        size_t k = 0;
        while (k < n_want && (seen[k] || !is_finding(&want[k], f))) k++;
        char at[32];
        place_text(at, sizeof at, f->offset);
        if (k < n_want) {
            seen[k] = true;
        } else {
            fail(r, "finding nobody expects: %s %s %s %s %" PRId64 " (%.*s)",
                 expect_level_text(f->level), f->code, at, expect_item_text(f->item_kind), f->item,
                 (int)f->text.len, f->text.ptr);
        }
        if (r->verbose) printf("     %s %s %s\n", expect_level_text(f->level), f->code, at);
    }
    for (size_t k = 0; k < n_want; k++) {
        char at[32];
        place_text(at, sizeof at, want[k].offset);
        if (!seen[k]) {
            fail(r, "finding missing: %s %s %s %s %" PRId64, expect_level_text(want[k].level),
                 want[k].code, at, expect_item_text(want[k].item.kind), want[k].item.index);
        }
    }
}

/* ---- an opened model ------------------------------------------------------------------------- */

static void field_value(char *buf, size_t size, const tare_model *m, const char *name) {
    const tare_model_summary *s = tare_model_summarize(m);
    const tare_tensor *t = tare_model_tensor(m, 0);
    const tare_metadata *k = tare_model_metadata(m, 0);
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {
        {"version", s->version},        {"alignment", s->alignment},
        {"tensors", s->n_tensors},      {"adapters", tare_adapters_count(tare_model_adapters(m))},
        {"keys", s->n_metadata},        {"resources", s->n_resources},
        {"files", s->n_files},          {"big-endian", s->is_big_endian},
        {"truncated", s->is_truncated}, {"dims", t != NULL ? t->n_dims : 0},
    };
    snprintf(buf, size, "?");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(name, numbers[i].name) == 0) snprintf(buf, size, "%" PRIu64, numbers[i].value);
    }
    if (strcmp(name, "format") == 0) snprintf(buf, size, "%s", s->format);
    if (strcmp(name, "tensor") == 0 && t != NULL) {
        snprintf(buf, size, "%.*s", (int)t->name.len, t->name.ptr);
    }
    if (strcmp(name, "key") == 0 && k != NULL) {
        snprintf(buf, size, "%.*s", (int)k->key.len, k->key.ptr);
    }
}

static void check_model(run *r, const tare_model *m, const tare_report *report) {
    const expectation *want = &r->want;
    compare_findings(r, report, want->findings, want->n_findings);
    for (size_t i = 0; i < want->n_fields; i++) {
        char got[64];
        field_value(got, sizeof got, m, want->fields[i].name);
        if (strcmp(got, want->fields[i].value) != 0) {
            fail(r, "%s is %s, not %s", want->fields[i].name, got, want->fields[i].value);
        }
    }
    const tare_model_summary *s = tare_model_summarize(m);
    tare_status status = visit_model(m);
    if (status != TARE_OK && !s->is_truncated && want->n_reads == 0) {
        fail(r, "reading what was opened: %s", tare_status_text(status));
    }
    for (size_t i = 0; i < want->n_reads; i++) {
        status = visit_tensor(m, want->reads[i].tensor);
        if (status != want->reads[i].status) {
            fail(r, "reading tensor %zu: %s", want->reads[i].tensor, tare_status_text(status));
        }
    }
    if (s->is_truncated) return;
    tare_report *deep = tare_report_new();
    tare_context options = tare_context_default();
    options.report = deep;
    options.threads = 1;
    const tare_model *stored = tare_model_as_stored(m); /* which is what is verified */
    if (deep == NULL || tare_verify_resources(stored, &options, NULL) != TARE_OK ||
        tare_verify_data(stored, &options, NULL) != TARE_OK) {
        fail(r, "tare_verify_resources or tare_verify_data failed");
    }
    compare_findings(r, deep, want->deep, want->n_deep);
    tare_report_free(deep);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* One way to open a file: checks what was opened and frees it. Fills *err where it fails. */
static tare_status open_model(run *r, const tare_source *source, const tare_open_options *options,
                              tare_error *err) {
    tare_model *m = NULL;
    const clock_t start = clock();
    tare_status status = tare_model_open(&m, source, options, err);
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (r->verbose) printf("     %.3f s\n", seconds);
    if (status == TARE_OK && r->want.status == TARE_OK) check_model(r, m, options->context->report);
    if (status != TARE_OK && m != NULL) fail(r, "a model in spite of a failure");
    tare_model_free(m);
    return status;
}

static tare_status open_importance(run *r, const tare_source *source,
                                   const tare_open_options *options, tare_error *err) {
    tare_importance *m = NULL;
    tare_status status = tare_importance_open(&m, source, options, err);
    if (status == TARE_OK && r->want.status == TARE_OK)
        compare_findings(r, options->context->report, r->want.findings, r->want.n_findings);
    if (status != TARE_OK && m != NULL) fail(r, "a matrix in spite of a failure");
    tare_importance_free(m);
    return status;
}

static void open_source(run *r, const tare_source *source, uint64_t file_bytes) {
    counter used = {0, 0};
    const tare_allocator allocator = {&used, count_alloc, count_resize, count_free};
    tare_report *report = tare_report_new();
    tare_open_options options = tare_open_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    context.allocator = &allocator;
    context.report = report;
    options.one_shard = r->want.one_shard;
    tare_error err;
    tare_status status = r->want.is_importance ? open_importance(r, source, &options, &err)
                                               : open_model(r, source, &options, &err);
    if (r->verbose) printf("     %zu bytes at most\n", used.peak);
    if (status != r->want.status) {
        char text[512] = "";
        if (status != TARE_OK) tare_error_format(text, sizeof text, &err, r->want.open);
        fail(r, "%s, not %s: %s", tare_status_text(status), tare_status_text(r->want.status), text);
    } else if (status != TARE_OK) {
        if (err.status != status) fail(r, "err->status is not what was returned");
        compare_refusal(r, &err);
    }
    tare_report_free(report);
    if (used.now != 0) fail(r, "%zu bytes are not freed", used.now);
    if (used.peak > MEMORY_BASE + 3 * file_bytes) {
        fail(r, "%zu bytes of memory for a file of %" PRIu64, used.peak, file_bytes);
    }
}

typedef struct content {
    uint8_t *bytes;
    size_t size;
} content;

static tare_status read_content(void *ctx, uint64_t offset, void *buf, size_t n) {
    const content *c = ctx;
    if (offset > c->size || n > c->size - offset) return TARE_ERR_IO;
    if (n > 0) memcpy(buf, c->bytes + offset, n);
    return TARE_OK;
}

/* The file in memory of exactly its size, so that ASan sees every byte read beyond it. */
static bool load(content *c, const char *path, size_t size) {
    FILE *f = fopen(path, "rb");
    c->size = size;
    c->bytes = malloc(size ? size : 1);
    bool ok = f != NULL && c->bytes != NULL && fread(c->bytes, 1, size, f) == size;
    if (f != NULL) fclose(f);
    return ok;
}

static void run_file(run *r, size_t size) {
    content c;
    if (!load(&c, r->path, size)) {
        fail(r, "cannot be read");
    } else {
        const tare_source memory = {.size = sizeof(tare_source),
                                    .kind = TARE_SOURCE_MEMORY,
                                    .name = r->want.open,
                                    .memory = c.bytes,
                                    .n_bytes = c.size};
        const tare_source callback = {.size = sizeof(tare_source),
                                      .kind = TARE_SOURCE_CALLBACK,
                                      .name = r->want.open,
                                      .n_bytes = c.size,
                                      .read = read_content,
                                      .read_ctx = &c};
        r->source = "memory";
        open_source(r, &memory, c.size);
        r->source = "callback";
        open_source(r, &callback, c.size);
    }
    free(c.bytes);
}

static int run_case(const char *folder, const char *name, bool verbose) {
    run r = {.name = name, .folder = folder, .source = "path", .verbose = verbose};
    snprintf(r.path, sizeof r.path, "%s/%s.expect", folder, name);
    if (!expect_load(&r.want, r.path)) return 1;
    snprintf(r.path, sizeof r.path, "%s/%s", folder, r.want.open);
    if (verbose) printf("case %s\n", name);
    struct stat st;
    if (stat(r.path, &st) != 0) {
        fail(&r, "%s is not there", r.path);
        return 1;
    }
    bool alone = strchr(r.want.open, '/') == NULL && !S_ISDIR(st.st_mode);
    const tare_source path = {
        .size = sizeof(tare_source), .kind = TARE_SOURCE_PATH, .name = r.path};
    open_source(&r, &path, (uint64_t)st.st_size);
    if (alone) run_file(&r, (size_t)st.st_size);
    return r.n_failures;
}

int main(int argc, char **argv) {
    bool verbose = argc > 2 && strcmp(argv[2], "-v") == 0;
    int first = verbose ? 3 : 2, n_cases = 0, n_failed = 0;
    char path[1024], name[256];
    setvbuf(stdout, NULL, _IOLBF, 0); /* what was said before a crash is seen */
    if (argc < 2) return printf("usage: test_corpus FOLDER [-v] [NAME...]\n"), 2;
    for (int i = first; i < argc; i++, n_cases++) {
        n_failed += run_case(argv[1], argv[i], verbose) != 0;
    }
    snprintf(path, sizeof path, "%s/cases.txt", argv[1]);
    FILE *list = argc > first ? NULL : fopen(path, "r");
    while (list != NULL && fgets(name, sizeof name, list) != NULL) {
        name[strcspn(name, "\n")] = 0;
        n_failed += run_case(argv[1], name, verbose) != 0;
        n_cases++;
    }
    if (list != NULL) fclose(list);
    printf("golden: %d cases, %d failed\n", n_cases, n_failed);
    return n_failed != 0 || n_cases == 0;
}
