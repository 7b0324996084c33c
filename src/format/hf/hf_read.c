/* SPDX-License-Identifier: MIT
 *
 * A Hugging Face directory as one model: its safetensors weights, and the other files of its top
 * folder as resources. Links are followed, since download caches are made of them. Which weights
 * are the model's follows huggingface transformers: model.safetensors, else the index and its
 * shards; else the only file or index of that kind. */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/report.h"
#include "base/str.h"
#include "format/safetensors/safetensors.h"

typedef struct entry {
    tare_str name; /* NUL-terminated */
    uint64_t size;
    mode_t mode; /* of what a link leads to; 0: it leads nowhere */
    bool is_weights;
} entry;

typedef struct folder {
    const tare_allocator *allocator;
    tare_arena arena;
    const tare_files *files;
    const char *path; /* ends with a slash */
    entry *entries;   /* sorted by name */
    size_t n, capacity;
} folder;

/* ---- listing --------------------------------------------------------------------------------- */

static void folder_free(folder *f) {
    tare_free(f->allocator, f->entries, f->capacity * sizeof *f->entries);
    tare_arena_free(&f->arena);
}

static tare_status add_entry(void *ctx, const tare_files_entry *seen, tare_error *err) {
    folder *f = ctx;
    void *entries = f->entries;
    if (!tare_grow(f->allocator, &entries, &f->capacity, f->n + 1, sizeof *f->entries)) {
        return tare_fail(err, TARE_ERR_NOMEM, "directory");
    }
    f->entries = entries;
    tare_str name = tare_arena_str(&f->arena, tare_str_of(seen->name));
    if (!name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "directory");
    f->entries[f->n++] = (entry){.name = name, .size = seen->size, .mode = seen->mode};
    return TARE_OK;
}

static int by_name(const void *a, const void *b) {
    return tare_str_compare(((const entry *)a)->name, ((const entry *)b)->name);
}

/* Lists a directory. *f is to be freed whatever comes back. */
static tare_status list(folder *f, const tare_files *files, const char *path,
                        const tare_allocator *allocator, tare_error *err) {
    *f = (folder){.allocator = allocator, .files = files};
    tare_arena_init(&f->arena, allocator);
    size_t n = strlen(path);
    f->path = tare_join_path(&f->arena, path, TARE_STR("/"));
    if (!f->path) return tare_fail(err, TARE_ERR_NOMEM, "directory");
    if (n > 0 && path[n - 1] == '/') f->path = path;
    tare_status status = tare_files_list(files, path, add_entry, f, err);
    if (f->n) qsort(f->entries, f->n, sizeof *f->entries, by_name);
    return status;
}

static entry *find(const folder *f, tare_str name) {
    const entry key = {.name = name};
    return f->n ? bsearch(&key, f->entries, f->n, sizeof key, by_name) : NULL;
}

static bool has_suffix(const entry *e, const char *suffix) {
    return S_ISREG(e->mode) && tare_str_ends(e->name, tare_str_of(suffix));
}

/* ---- which weights --------------------------------------------------------------------------- */

/* The only file with a suffix; *n: how many there are. */
static entry *only(const folder *f, const char *suffix, size_t *n) {
    entry *found = NULL;
    *n = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (!has_suffix(&f->entries[i], suffix)) continue;
        found = &f->entries[i];
        ++*n;
    }
    return *n == 1 ? found : NULL;
}

/* The file that leads to the weights: a safetensors file or an index. NULL: none, or no one can
 * tell which (*is_ambiguous). */
static entry *choose(const folder *f, bool *is_ambiguous) {
    static const char *const preferred[] = {
        TARE_SAFETENSORS_MODEL TARE_SAFETENSORS_SUFFIX,
        TARE_SAFETENSORS_MODEL TARE_SAFETENSORS_INDEX_SUFFIX,
    };
    *is_ambiguous = false;
    for (size_t i = 0; i < 2; i++) {
        entry *e = find(f, tare_str_of(preferred[i]));
        if (e && S_ISREG(e->mode)) return e;
    }
    size_t n_indexes, n_files;
    entry *index = only(f, TARE_SAFETENSORS_INDEX_SUFFIX, &n_indexes);
    entry *file = only(f, TARE_SAFETENSORS_SUFFIX, &n_files);
    *is_ambiguous = n_indexes > 1 || (n_indexes == 0 && n_files > 1);
    return n_indexes ? index : file;
}

/* ---- resources ------------------------------------------------------------------------------- */

/* Weights in other files than the model's: not part of it, in whatever format. */
static bool is_other_weights(const entry *e) {
    static const char *const suffixes[] = {
        ".safetensors", ".safetensors.index.json",
        ".bin",         ".bin.index.json",
        ".pt",          ".pth",
        ".ckpt",        ".pkl",
        ".onnx",        ".onnx_data",
        ".h5",          ".msgpack",
        ".gguf",        ".ggml",
        ".tflite",      ".npz",
        ".ot",
    };
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        if (has_suffix(e, suffixes[i])) return true;
    }
    return false;
}

/* Whether a file becomes a resource; what does not is reported. */
static bool is_resource(const entry *e, const tare_model *m, tare_report *report) {
    tare_finding finding = TARE_FINDING(WARNING, TARE_OK, "hf.not-a-file");
    finding.item_kind = TARE_ITEM_RESOURCE;
    finding.item_name = e->name;
    if (S_ISDIR(e->mode)) {
        finding.code = "hf.sub-folder";
        finding.text = TARE_STR("a sub-folder is not part of the model");
    } else if (!S_ISREG(e->mode)) {
        finding.text = TARE_STR("neither a file nor a link to one: not part of the model");
    } else if (is_other_weights(e)) {
        finding.level = TARE_LEVEL_INFO;
        finding.code = "hf.other-weights";
        finding.text = TARE_STR("weights in another file: not part of the model");
    } else if (e->size > m->limits.resource_bytes) {
        finding.code = "hf.large-file";
        finding.text = TARE_STR("larger than the limit for resources: not part of the model");
    } else {
        return true;
    }
    tare_report_add(report, &finding);
    return false;
}

static tare_status add_resource(tare_model *m, const folder *f, const entry *e, tare_error *err) {
    tare_resource_entry r = {.info = {tare_arena_str(&m->arena, e->name), 0}};
    const char *path = tare_join_path(&m->arena, f->path, e->name);
    if (!path || !r.info.name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "resource");
    tare_reader reader;
    tare_status status = tare_files_open(f->files, &reader, path, false, err);
    if (status != TARE_OK) {
        tare_error_file(err, path);
        return status;
    }
    r.info.size = reader.size;
    status = tare_model_add_file(m, &reader, path, &r.file, err);
    if (status != TARE_OK) {
        tare_reader_close(&reader);
        return status;
    }
    m->catalog.resources[m->catalog.n_resources++] = r;
    return TARE_OK;
}

static void note_shadowed(const tare_resource_entry *r, tare_report *report) {
    tare_finding finding = TARE_FINDING(INFO, TARE_OK, "hf.resource-twice");
    finding.item_kind = TARE_ITEM_RESOURCE;
    finding.item_name = r->info.name;
    finding.text = TARE_STR("in the weights' header too: the directory's file is taken");
    tare_report_add(report, &finding);
}

/* The directory's files, then what a header holds and the directory does not. */
static tare_status add_resources(tare_model *m, const folder *f, tare_report *report,
                                 tare_error *err) {
    const tare_resource_entry *inner = m->catalog.resources;
    size_t n_inner = m->catalog.n_resources;
    m->catalog.resources = TARE_NEW_ARRAY(&m->arena, tare_resource_entry, f->n + n_inner);
    m->catalog.n_resources = 0;
    if (!m->catalog.resources) return tare_fail(err, TARE_ERR_NOMEM, "resources");
    for (size_t i = 0; i < f->n; i++) {
        const entry *e = &f->entries[i];
        if (e->is_weights || !is_resource(e, m, report)) continue;
        TARE_TRY(add_resource(m, f, e, err));
    }
    for (size_t i = 0; i < n_inner; i++) {
        if (find(f, inner[i].info.name)) {
            note_shadowed(&inner[i], report);
        } else {
            m->catalog.resources[m->catalog.n_resources++] = inner[i];
        }
    }
    return TARE_OK;
}

/* ---- the driver ------------------------------------------------------------------------------ */

static tare_status open_weights(tare_model *m, tare_safetensors_layout *layout, const folder *f,
                                entry *main_file, const tare_open_options *options,
                                tare_error *err) {
    main_file->is_weights = true;
    if (!has_suffix(main_file, TARE_SAFETENSORS_INDEX_SUFFIX)) {
        TARE_TRY(tare_safetensors_make_shards(m, layout, 1, err));
        TARE_TRY(
            tare_safetensors_open_shard(m, layout, 0, f->path, main_file->name, options->map, err));
        tare_status s = tare_safetensors_load(m, layout, &tare_format_hf, options->report, err);
        if (s != TARE_OK) tare_error_file(err, m->files[layout->shards[0].file].name);
        return s;
    }
    layout->index_name = tare_arena_str(&m->arena, main_file->name).ptr;
    const char *path = tare_join_path(&m->arena, f->path, main_file->name);
    layout->index_path = path;
    if (!layout->index_name || !path) return tare_fail(err, TARE_ERR_NOMEM, "index");
    tare_reader reader;
    tare_status status = tare_files_open(f->files, &reader, path, false, err);
    if (status == TARE_OK) {
        status = tare_safetensors_read_index(m, layout, &reader, err);
        tare_reader_close(&reader);
    }
    if (status != TARE_OK) {
        tare_error_file(err, path);
        return status;
    }
    return tare_safetensors_open_index(m, layout, f->path, &tare_format_hf, options, err);
}

/* Why there are no weights to open, and what to do about it. */
static const char *missing_weights(const folder *f, bool is_ambiguous) {
    if (is_ambiguous) return "a directory with several safetensors models: name a file";
    for (size_t i = 0; i < f->n; i++) {
        const entry *e = &f->entries[i];
        if (has_suffix(e, ".bin") || has_suffix(e, ".pt") || has_suffix(e, ".pth")) {
            return "a directory without safetensors weights; PyTorch pickles can run code when "
                   "loaded: get the safetensors version";
        }
    }
    return "a directory without safetensors weights";
}

static tare_status open_folder(tare_model *m, folder *f, const tare_open_options *options,
                               tare_error *err) {
    bool is_ambiguous;
    entry *main_file = choose(f, &is_ambiguous);
    if (!main_file) return tare_fail(err, TARE_ERR_UNSUPPORTED, missing_weights(f, is_ambiguous));
    tare_safetensors_layout *layout = TARE_NEW(&m->arena, tare_safetensors_layout);
    if (!layout) return tare_fail(err, TARE_ERR_NOMEM, "layout");
    layout->files = f->files;
    TARE_TRY(open_weights(m, layout, f, main_file, options, err));
    for (size_t i = 0; i < layout->n_shards; i++) {
        entry *e = find(f, tare_str_of(layout->shards[i].name));
        if (e) e->is_weights = true;
    }
    TARE_TRY(add_resources(m, f, options->report, err));
    return tare_model_finish(m, options->report, err);
}

static tare_status open_hf(tare_model *m, const tare_open_context *ctx, tare_error *err) {
    if (ctx->source->kind != TARE_SOURCE_PATH || !ctx->probe->is_directory) {
        return tare_fail(err, TARE_ERR_ARG, "a Hugging Face model is a directory, given by path");
    }
    folder f;
    tare_status status = list(&f, ctx->probe->files, ctx->source->name, m->allocator, err);
    if (status == TARE_OK) status = open_folder(m, &f, ctx->options, err);
    folder_free(&f);
    return status;
}

static bool probe(const tare_probe *p) {
    folder f;
    bool is_ours = false;
    if (!p->is_directory) return false;
    if (list(&f, p->files, p->path, NULL, NULL) == TARE_OK) {
        bool is_ambiguous;
        is_ours = choose(&f, &is_ambiguous) || is_ambiguous || find(&f, TARE_STR("config.json"));
    }
    folder_free(&f);
    return is_ours;
}

const tare_format tare_format_hf = {
    .name = "hf",
    .description = "Hugging Face directory: safetensors and side files",
    .suffix = "",
    .is_directory = true,
    .caps = &tare_safetensors_caps,
    .probe = probe,
    .open = open_hf,
    .plan = tare_hf_plan,
};
