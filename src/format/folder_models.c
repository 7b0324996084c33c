/* SPDX-License-Identifier: MIT
 *
 * The models in a folder of several: by the suffixes of their names, since opening all of them could
 * take long behind a URL; of a pipeline the folders of its parts. */
#include <stdlib.h>
#include <tare/experimental/folder.h>

#include "base/str.h"
#include "format/format.h"
#include "format/pipeline.h"
#include "remote/hub_cache.h"
#include "remote/hub_type.h"
#include "remote/remote_files.h"

struct tare_folder_models {
    tare_arena arena;
    const char *folder; /* ends with a slash */
    const char *below;  /* the folder in it that is listed: "", or ends with a slash */
    const char **names, **paths;
    size_t n, capacity;
    bool are_folders; /* behind a URL, which tells them by a slash */
};

/* Whether a file of this name, or a folder of shards, is a model, or the first file of one. */
static bool is_model(const tare_files_entry *entry) {
    const tare_str name = tare_str_of(entry->name);
    const tare_format *f;
    if (entry->kind != TARE_PATH_FILE && entry->kind != TARE_PATH_FOLDER) return false;
    if (tare_files_is_bookkeeping(name)) return false;
    for (size_t i = 0; (f = tare_format_row(i)) != NULL; i++) {
        if (f->is_directory || !f->suffix[0] || !tare_str_ends(name, tare_str_of(f->suffix)))
            continue;
        return !f->read.is_part || !f->read.is_part(name);
    }
    return false;
}

static tare_status add_name(tare_folder_models *list, tare_str name, tare_error *err) {
    void *names = list->names;
    if (!tare_grow(NULL, &names, &list->capacity, list->n + 1, sizeof *list->names))
        return tare_fail(err, TARE_ERR_NOMEM, "models of a folder");
    list->names = names;
    const char *kept = tare_join_path(&list->arena, list->below, name);
    if (!kept) return tare_fail(err, TARE_ERR_NOMEM, "models of a folder");
    list->names[list->n++] = kept;
    return TARE_OK;
}

static tare_status take_entry(void *ctx, const tare_files_entry *entry, tare_error *err) {
    return is_model(entry) ? add_name(ctx, tare_str_of(entry->name), err) : TARE_OK;
}

/* Below a folder only GGUF files are models by themselves; others may be parts of one. */
static tare_status take_gguf(void *ctx, const tare_files_entry *entry, tare_error *err) {
    const bool is_gguf =
        entry->kind == TARE_PATH_FILE && tare_str_ends(tare_str_of(entry->name), TARE_STR(".gguf"));
    return is_gguf ? take_entry(ctx, entry, err) : TARE_OK;
}

/* Models of the folder, then those of its folders: repositories have a folder for each type that is
 * in shards. */
typedef struct folders {
    tare_folder_models *models;
    const char **names;
    size_t n, capacity;
} folders;

static tare_status take_folder(void *ctx, const tare_files_entry *entry, tare_error *err) {
    folders *f = ctx;
    void *names = f->names;
    if (entry->kind != TARE_PATH_FOLDER || is_model(entry) ||
        tare_files_is_bookkeeping(tare_str_of(entry->name)))
        return TARE_OK;
    const char *name = tare_join_path(&f->models->arena, entry->name, TARE_STR("/"));
    if (!name || !tare_grow(NULL, &names, &f->capacity, f->n + 1, sizeof *f->names))
        return tare_fail(err, TARE_ERR_NOMEM, "models of a folder");
    f->names = names;
    f->names[f->n++] = name;
    return TARE_OK;
}

/* ---- pipelines ------------------------------------------------------------------------------- */

static bool has_folder(const folders *f, tare_str name) {
    for (size_t i = 0; i < f->n; i++) {
        const tare_str folder = {f->names[i], strlen(f->names[i]) - 1}; /* without its slash */
        if (tare_str_equal(folder, name)) return true;
    }
    return false;
}

/* Adds the parts of a pipeline that its index names, as [library, class], and that have no folder: they
 * are missed where they are opened. */
static tare_status add_missing(tare_folder_models *list, const tare_files *files, const char *path,
                               const folders *there, tare_error *err) {
    const tare_json_node *index;
    TARE_TRY(tare_pipeline_index(&index, files, path, &list->arena, err));
    for (const tare_json_node *part = index->child; part; part = part->next) {
        const bool is_part = part->type == TARE_JSON_ARRAY && part->n == 2 &&
                             part->child->type == TARE_JSON_STRING &&
                             part->child->next->type == TARE_JSON_STRING;
        if (is_part && tare_is_plain_name(part->key) && !has_folder(there, part->key))
            TARE_TRY(add_name(list, part->key, err));
    }
    return TARE_OK;
}

/* A part with a config.json is a model: without weights it lacks something. */
static tare_status see_weights(void *ctx, const tare_files_entry *entry, tare_error *err) {
    static const char *const suffixes[] = {".safetensors", ".bin", ".gguf", ".onnx"};
    (void)err;
    *(bool *)ctx |= strcmp(entry->name, "config.json") == 0;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        *(bool *)ctx |= entry->kind == TARE_PATH_FILE &&
                        tare_str_ends(tare_str_of(entry->name), tare_str_of(suffixes[i]));
    return TARE_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* The models of a folder: the files in it, or the folder itself, a part of a pipeline with weights. */
static tare_status list_inner(tare_folder_models *list, const tare_files *files, const char *path,
                              bool is_part, tare_error *err) {
    bool has_weights = false;
    if (!is_part) {
        /* a folder that cannot be read has no models here */
        (void)tare_files_list(files, path, take_gguf, list, NULL);
        return TARE_OK;
    }
    (void)tare_files_list(files, path, see_weights, &has_weights, NULL);
    tare_str name = tare_str_of(list->below);
    name.len--; /* its slash */
    list->below = "";
    return has_weights ? add_name(list, name, err) : TARE_OK;
}

static tare_status list_files(tare_folder_models *list, const tare_files *files, const char *path,
                              tare_error *err) {
    folders f = {.models = list};
    const bool has_parts = tare_is_pipeline(files, path);
    list->below = "";
    tare_status status = TARE_OK;
    if (!has_parts) status = tare_files_list(files, path, take_entry, list, err);
    if (status == TARE_OK) status = tare_files_list(files, path, take_folder, &f, err);
    list->are_folders = has_parts && files;
    if (status == TARE_OK && has_parts) status = add_missing(list, files, path, &f, err);
    for (size_t i = 0; i < f.n && status == TARE_OK; i++) {
        list->below = f.names[i];
        const char *inner = tare_join_path(&list->arena, list->folder, tare_str_of(f.names[i]));
        if (!inner) status = tare_fail(err, TARE_ERR_NOMEM, "models of a folder");
        if (inner) status = list_inner(list, files, inner, has_parts, err);
    }
    tare_free(NULL, f.names, f.capacity * sizeof *f.names);
    return status;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static tare_status make_paths(tare_folder_models *list, tare_error *err) {
    qsort(list->names, list->n, sizeof *list->names, by_name);
    list->paths = TARE_NEW_ARRAY(&list->arena, const char *, list->n);
    for (size_t i = 0; list->paths && i < list->n; i++) {
        const char *path = tare_join_path(&list->arena, list->folder, tare_str_of(list->names[i]));
        if (path && list->are_folders) path = tare_join_path(&list->arena, path, TARE_STR("/"));
        list->paths[i] = path;
        if (!path) list->paths = NULL;
    }
    return list->paths ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "models of a folder");
}

static tare_status list_remote(tare_folder_models *list, const tare_source *source,
                               tare_error *err) {
    const tare_limits limits = tare_limits_default();
    tare_remote_files files;
    tare_status status =
        tare_remote_files_begin(&files, source->remote, source->name, &limits, err);
    if (status == TARE_OK && files.is_directory)
        status = list_files(list, &files.files, files.root, err);
    tare_remote_files_end(&files, false);
    return status;
}

static tare_status list_folder(tare_folder_models *list, const tare_source *source,
                               tare_error *err) {
    const size_t n = strlen(source->name);
    const bool has_slash = n && source->name[n - 1] == '/';
    list->folder = tare_join_path(&list->arena, source->name, TARE_STR("/"));
    if (has_slash) list->folder = tare_join_path(&list->arena, source->name, TARE_STR(""));
    if (!list->folder) return tare_fail(err, TARE_ERR_NOMEM, "models of a folder");
    if (source->kind == TARE_SOURCE_URL) return list_remote(list, source, err);
    if (tare_path_stat(source->name, NULL) != TARE_PATH_FOLDER ||
        (tare_foreign_folder(NULL, source->name) && !tare_is_pipeline(NULL, source->name)))
        return TARE_OK;
    return list_files(list, NULL, source->name, err);
}

/* A folder that opens is one model, whatever files are in it. */
static bool is_one(const tare_source *source) {
    const tare_context context = tare_context_default();
    tare_open_options options = tare_open_options_default();
    tare_model *model;
    options.context = &context;
    const tare_status status = tare_format_open(&model, source, &options, NULL);
    tare_model_free(model);
    return status == TARE_OK;
}

/* Of a model of the hub of which a type is named: *type, and as the source's name all of the model;
 * where the hub may not be asked, the folder of it in the cache. */
static tare_status split_type(tare_str *type, tare_source *source, tare_arena *arena,
                              tare_error *err) {
    tare_hub_name name;
    *type = TARE_STR("");
    if (source->kind != TARE_SOURCE_URL || !source->remote ||
        !tare_same_letters(source->name, "hf://", 5))
        return TARE_OK;
    TARE_TRY(tare_hub_name_parse(&name, source->name, arena, err));
    *type = name.type;
    if (type->len) source->name = tare_arena_str(arena, name.root).ptr;
    if (!source->name) return tare_fail(err, TARE_ERR_NOMEM, "a URL");
    const char *cached;
    TARE_TRY(tare_hub_cached(&cached, source->remote, source->name, arena, err));
    if (cached) source->kind = TARE_SOURCE_PATH;
    if (cached) source->name = cached;
    return TARE_OK;
}

/* Those of a type, if there are any. */
static void keep_type(tare_folder_models *list, tare_str type) {
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        if (tare_hub_is_of_type(tare_str_of(list->names[i]), type))
            list->names[n++] = list->names[i];
    if (n) list->n = n;
}

tare_status tare_folder_models_list(tare_folder_models **out, const tare_source *source,
                                    tare_error *err) {
    tare_source own;
    *out = NULL;
    TARE_TRY(tare_source_read(&own, source, err));
    tare_folder_models *list = tare_alloc(NULL, sizeof *list);
    if (!list) return tare_fail(err, TARE_ERR_NOMEM, "models of a folder");
    *list = (tare_folder_models){.n = 0};
    tare_arena_init(&list->arena, NULL);
    tare_str type = TARE_STR("");
    tare_status status = TARE_OK;
    const bool is_named = (own.kind == TARE_SOURCE_PATH || own.kind == TARE_SOURCE_URL) && own.name;
    if (is_named) status = split_type(&type, &own, &list->arena, err);
    if (status == TARE_OK && is_named && own.kind == TARE_SOURCE_PATH)
        status = tare_hub_enter_cache(&own.name, own.name, &list->arena, err);
    if (status == TARE_OK && is_named) status = list_folder(list, &own, err);
    if (type.len)
        keep_type(list, type);
    else if (status == TARE_OK && (list->n < 2 || is_one(&own)))
        list->n = 0;
    if (status == TARE_OK && list->n) status = make_paths(list, err);
    if (status == TARE_OK)
        *out = list;
    else
        tare_folder_models_free(list);
    return status;
}

size_t tare_folder_models_count(const tare_folder_models *list) {
    return list ? list->n : 0;
}

const char *tare_folder_models_name(const tare_folder_models *list, size_t i) {
    return list && i < list->n ? list->names[i] : "";
}

const char *tare_folder_models_path(const tare_folder_models *list, size_t i) {
    return list && i < list->n ? list->paths[i] : "";
}

void tare_folder_models_free(tare_folder_models *list) {
    if (!list) return;
    tare_free(NULL, list->names, list->capacity * sizeof *list->names);
    tare_arena_free(&list->arena);
    tare_free(NULL, list, sizeof *list);
}
