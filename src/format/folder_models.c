/* SPDX-License-Identifier: MIT
 *
 * The models in a folder of several: by the suffixes of their names, since opening all of them could
 * take long behind a URL. */
#include <stdlib.h>
#include <tare/experimental/folder.h>

#include "base/str.h"
#include "format/format.h"
#include "remote/remote_files.h"

struct tare_folder_models {
    tare_arena arena;
    const char *folder; /* ends with a slash */
    const char **names, **paths;
    size_t n, capacity;
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

static tare_status take_entry(void *ctx, const tare_files_entry *entry, tare_error *err) {
    tare_folder_models *list = ctx;
    void *names = list->names;
    if (!is_model(entry)) return TARE_OK;
    if (!tare_grow(NULL, &names, &list->capacity, list->n + 1, sizeof *list->names))
        return tare_fail(err, TARE_ERR_NOMEM, "models of a folder");
    list->names = names;
    const tare_str name = tare_str_of(entry->name);
    const char *kept = tare_join_path(&list->arena, "", name);
    if (!kept) return tare_fail(err, TARE_ERR_NOMEM, "models of a folder");
    list->names[list->n++] = kept;
    return TARE_OK;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static tare_status make_paths(tare_folder_models *list, tare_error *err) {
    qsort(list->names, list->n, sizeof *list->names, by_name);
    list->paths = TARE_NEW_ARRAY(&list->arena, const char *, list->n);
    for (size_t i = 0; list->paths && i < list->n; i++) {
        list->paths[i] = tare_join_path(&list->arena, list->folder, tare_str_of(list->names[i]));
        if (!list->paths[i]) list->paths = NULL;
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
        status = tare_files_list(&files.files, files.root, take_entry, list, err);
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
    if (tare_path_look(source->name, NULL) != TARE_PATH_FOLDER ||
        tare_foreign_folder(NULL, source->name))
        return TARE_OK;
    return tare_files_list(NULL, source->name, take_entry, list, err);
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

tare_status tare_folder_models_list(tare_folder_models **out, const tare_source *source,
                                    tare_error *err) {
    tare_source own;
    *out = NULL;
    TARE_TRY(tare_source_read(&own, source, err));
    tare_folder_models *list = tare_alloc(NULL, sizeof *list);
    if (!list) return tare_fail(err, TARE_ERR_NOMEM, "models of a folder");
    *list = (tare_folder_models){.n = 0};
    tare_arena_init(&list->arena, NULL);
    tare_status status = TARE_OK;
    if ((own.kind == TARE_SOURCE_PATH || own.kind == TARE_SOURCE_URL) && own.name)
        status = list_folder(list, &own, err);
    if (status == TARE_OK && (list->n < 2 || is_one(&own))) list->n = 0;
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
