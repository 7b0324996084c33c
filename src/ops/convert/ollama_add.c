/* SPDX-License-Identifier: MIT
 *
 * A model in a store of Ollama: its weights and a summary of them as blobs, whose names are their digests,
 * and last the manifest that lists both (docs/formats.md). */
#include <tare/convert.h>
#include <tare/experimental/folder.h>
#include <tare/output.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "base/os_file.h"
#include "base/os_path.h"
#include "base/report.h"
#include "base/str.h"
#include "format/format.h"

#define MANIFESTS "/manifests/"
#define PREFIX    "sha256-"

enum { WINDOW = 1 << 20 };

/* A file of the store. */
typedef struct blob {
    char digest[65];
    uint64_t size;
} blob;

typedef struct adding {
    const char *manifest, *weights;
    tare_output_options output;
    tare_context context;
    tare_arena arena;
    const char *root; /* of the store */
} adding;

static tare_status no_memory(tare_error *err) {
    return tare_fail(err, TARE_ERR_NOMEM, "path");
}

/* ---- folders --------------------------------------------------------------------------------- */

static tare_status find_root(const char **out, const char *manifest, tare_arena *arena,
                             tare_error *err) {
    const char *at = NULL;
    for (const char *next = strstr(manifest, MANIFESTS); next; next = strstr(next + 1, MANIFESTS))
        at = next;
    if (!at) return tare_fail(err, TARE_ERR_ARG, "a path below a folder \"manifests\" expected");
    *out = tare_arena_str(arena, (tare_str){manifest, (size_t)(at - manifest)}).ptr;
    return *out ? TARE_OK : no_memory(err);
}

/* The folders below the root that lead to a file. */
static tare_status make_folders(adding *a, const char *file, tare_error *err) {
    const size_t n = strlen(file);
    char *path = tare_arena_take(&a->arena, n + 1);
    if (!path) return no_memory(err);
    memcpy(path, file, n + 1);
    for (size_t i = strlen(a->root) + 1; i < n; i++) {
        if (path[i] != '/') continue;
        path[i] = 0;
        const int failed = tare_folder_make(TARE_HERE, path, 0777);
        if (failed && failed != EEXIST) {
            const tare_status status = tare_fail_errno(err, failed, "the folder cannot be made");
            tare_error_file(err, path);
            return status;
        }
        path[i] = '/';
    }
    return TARE_OK;
}

static tare_status check(adding *a, tare_error *err) {
    TARE_TRY(find_root(&a->root, a->manifest, &a->arena, err));
    if (tare_path_stat(a->root, NULL) != TARE_PATH_FOLDER) {
        tare_fail(err, TARE_ERR_ARG,
                  "there is no store of Ollama: it is the folder that OLLAMA_MODELS names, else "
                  "~/.ollama/models");
        tare_error_file(err, a->root);
        return TARE_ERR_ARG;
    }
    if (a->output.force || !tare_path_has_entry(a->manifest)) return TARE_OK;
    tare_fail_code(err, TARE_ERR_ARG, TARE_CODE_OUTPUT_EXISTS, "the output exists");
    tare_error_file(err, a->manifest);
    return TARE_ERR_ARG;
}

/* ---- blobs ----------------------------------------------------------------------------------- */

static const char *blob_path(adding *a, const blob *b) {
    const char *folder = tare_join_path(&a->arena, a->root, TARE_STR("/blobs/" PREFIX));
    return folder ? tare_join_path(&a->arena, folder, tare_str_of(b->digest)) : NULL;
}

static tare_status digest_file(blob *out, adding *a, tare_error *err) {
    uint8_t *window = tare_arena_take(&a->arena, WINDOW), digest[32];
    tare_sha256 hash;
    tare_reader r;
    if (!window) return no_memory(err);
    TARE_TRY(tare_reader_open(&r, a->weights, TARE_MAP_NONE, err));
    tare_status status = TARE_OK;
    tare_sha256_init(&hash);
    for (uint64_t at = 0; at < r.size && status == TARE_OK; at += WINDOW) {
        const size_t n = (size_t)(r.size - at < WINDOW ? r.size - at : WINDOW);
        status = tare_reader_read(&r, at, window, n, err);
        if (status == TARE_OK) tare_sha256_update(&hash, window, n);
    }
    out->size = r.size;
    tare_reader_close(&r);
    tare_sha256_final(&hash, digest);
    tare_hex(out->digest, digest, 32);
    return status;
}

/* A file gets the name that follows from its bytes: what has it there is the same. */
static tare_status place(const blob *b, adding *a, const char *file, tare_error *err) {
    tare_file_facts facts;
    const char *path = blob_path(a, b);
    if (!path) return no_memory(err);
    const bool is_there =
        tare_entry_stat(&facts, TARE_HERE, path, true) == 0 && facts.size == b->size;
    const int failed =
        is_there ? tare_entry_remove(TARE_HERE, file) : tare_entry_rename(TARE_HERE, file, path);
    if (!failed) return TARE_OK;
    const tare_status status =
        tare_fail_errno(err, failed, "cannot be given its name in the store");
    tare_error_file(err, file);
    return status;
}

static tare_status place_text(blob *out, adding *a, const tare_buffer *text, tare_error *err) {
    tare_sha256_hex(out->digest, text->data, text->size);
    out->size = text->size;
    const char *file = tare_join_path(&a->arena, a->weights, TARE_STR(".json"));
    if (!file) return no_memory(err);
    TARE_TRY(tare_file_write(file, text->data, text->size, NULL, &a->output, &a->context, err));
    return place(out, a, file, err);
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* "7B", "1.8M": how Ollama shows numbers of parameters. */
static void put_count(tare_buffer *b, uint64_t n) {
    static const char units[] = "KMBT";
    double x = (double)n;
    int unit = -1;
    while (x >= 1000 && unit < 3) x /= 1000, unit++;
    if (unit < 0)
        tare_buffer_printf(b, "%.0f", x);
    else
        tare_buffer_printf(b, x < 10 ? "%.1f%c" : "%.0f%c", x, units[unit]);
}

/* The name of general.file_type, else of the type of most bytes. */
static const char *file_type(const tare_model *m) {
    const int64_t key = tare_model_find_key(m, TARE_STR("general.file_type"));
    const tare_value *v = key < 0 ? NULL : &m->catalog.metadata[key].value;
    const tare_mix *mix;
    for (size_t i = 0; v && v->type == TARE_VALUE_U32 && (mix = tare_mix_at(i)) != NULL; i++)
        if (mix->file_type >= 0 && (uint64_t)mix->file_type == v->as.u) return mix->name;
    return "unknown";
}

static void put_summary(tare_buffer *b, const tare_model *m, const blob *weights) {
    const tare_str family = tare_catalog_get_str(&m->catalog, "general.architecture");
    tare_buffer_put_text(b, "{\"model_format\":\"gguf\",\"model_family\":");
    tare_buffer_put_json(b, family);
    tare_buffer_put_text(b, ",\"model_families\":[");
    tare_buffer_put_json(b, family);
    tare_buffer_put_text(b, "],\"model_type\":\"");
    put_count(b, m->summary.n_parameters);
    tare_buffer_printf(b,
                       "\",\"file_type\":\"%s\",\"architecture\":\"amd64\",\"os\":\"linux\","
                       "\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"sha256:%s\"]}}",
                       file_type(m), weights->digest);
}

static void put_layer(tare_buffer *b, const char *type, const blob *of) {
    tare_buffer_printf(b, "{\"mediaType\":\"%s\",\"digest\":\"sha256:%s\",\"size\":%llu}", type,
                       of->digest, (unsigned long long)of->size);
}

static void put_manifest(tare_buffer *b, const blob *summary, const blob *weights) {
    tare_buffer_put_text(b, "{\"schemaVersion\":2,\"mediaType\":"
                            "\"application/vnd.docker.distribution.manifest.v2+json\",\"config\":");
    put_layer(b, "application/vnd.docker.container.image.v1+json", summary);
    tare_buffer_put_text(b, ",\"layers\":[");
    put_layer(b, "application/vnd.ollama.image.model", weights);
    tare_buffer_put_text(b, "]}");
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Templates of chats are Jinja's in GGUF and Go's in the store. */
static void note_template(const adding *a, const tare_model *m) {
    tare_finding f = TARE_FINDING(WARNING, TARE_OK, "ollama.no-template");
    if (tare_model_find_key(m, TARE_STR("tokenizer.chat_template")) < 0) return;
    f.item_kind = TARE_ITEM_KEY;
    f.item_name = TARE_STR("tokenizer.chat_template");
    f.text =
        TARE_STR("Ollama has templates of another kind, and the model has none for it: add one "
                 "with ollama create and a Modelfile (FROM, TEMPLATE)");
    tare_report_add(a->context.report, &f);
}

static tare_status write_texts(adding *a, const tare_model *m, const blob *weights,
                               tare_error *err) {
    tare_buffer text;
    blob summary;
    tare_buffer_init(&text, a->context.allocator);
    put_summary(&text, m, weights);
    tare_status status = tare_buffer_status(&text, err);
    if (status == TARE_OK) status = place_text(&summary, a, &text, err);
    text.size = 0;
    if (status == TARE_OK) {
        put_manifest(&text, &summary, weights);
        status = tare_buffer_status(&text, err);
    }
    if (status == TARE_OK) status = make_folders(a, a->manifest, err);
    if (status == TARE_OK)
        status =
            tare_file_write(a->manifest, text.data, text.size, NULL, &a->output, &a->context, err);
    tare_buffer_free(&text);
    return status;
}

static tare_status add(adding *a, tare_error *err) {
    tare_open_options open = tare_open_options_default();
    tare_context quiet = a->context;
    tare_model *m;
    blob weights;
    TARE_TRY(check(a, err));
    quiet.report = NULL;
    open.context = &quiet;
    TARE_TRY(tare_open_path(&m, a->weights, &open, err));
    tare_status status =
        strcmp(m->format, "gguf") == 0 && m->n_files == 1
            ? TARE_OK
            : tare_fail(err, TARE_ERR_ARG, "a GGUF file in one piece expected, for Ollama");
    if (status == TARE_OK) status = digest_file(&weights, a, err);
    if (status == TARE_OK) status = place(&weights, a, a->weights, err);
    if (status == TARE_OK) status = write_texts(a, m, &weights, err);
    if (status == TARE_OK) note_template(a, m);
    tare_model_free(m);
    return status;
}

static tare_status begin(adding *a, const char *manifest, const tare_output_options *output,
                         const tare_context *context, tare_error *err) {
    *a = (adding){.manifest = manifest};
    TARE_TRY(tare_context_keep(&a->context, &context, err));
    TARE_TRY(tare_output_keep(&a->output, &output, err));
    tare_arena_init(&a->arena, a->context.allocator);
    return TARE_OK;
}

tare_status tare_ollama_begin(const char *manifest, const char *weights,
                              const tare_output_options *output, tare_error *err) {
    adding a;
    TARE_REQUIRE(manifest && weights, err);
    TARE_TRY(begin(&a, manifest, output, NULL, err));
    tare_status status = check(&a, err);
    if (status == TARE_OK && !a.output.dry_run) status = make_folders(&a, weights, err);
    tare_arena_free(&a.arena);
    return status;
}

tare_status tare_ollama_add(const char *manifest, const char *weights,
                            const tare_output_options *output, const tare_context *context,
                            tare_error *err) {
    adding a;
    TARE_REQUIRE(manifest && weights, err);
    TARE_TRY(begin(&a, manifest, output, context, err));
    a.weights = weights;
    const tare_status status = add(&a, err);
    tare_arena_free(&a.arena);
    return status;
}
