/* SPDX-License-Identifier: MIT
 *
 * Listing a Hugging Face directory. Folders are traversed so that the files in them stay with the
 * model (a sentence-transformers model does not work without 1_Pooling/config.json), but within
 * bounds: a directory may hold everything a training run left behind. */
#include "format/hf/hf_folder.h"

#include <stdlib.h>

#include "base/outfile_stale.h"
#include "base/str.h"
#include "format/safetensors/safetensors.h"

/* The maximum number of files in all folders together: each takes a descriptor while the model is
 * open. */
#define FILES_MOST 256

void tare_hf_folder_free(tare_hf_folder *f) {
    tare_free(f->allocator, f->entries, f->capacity * sizeof *f->entries);
    tare_arena_free(&f->arena);
}

static tare_status add_entry(void *ctx, const tare_files_entry *seen, tare_error *err) {
    tare_hf_folder *f = ctx;
    void *entries = f->entries;
    if (!tare_grow(f->allocator, &entries, &f->capacity, f->n + 1, sizeof *f->entries))
        return tare_fail(err, TARE_ERR_NOMEM, "directory");
    f->entries = entries;
    const tare_str name = tare_str_of(seen->name);
    const char *path = tare_join_path(&f->arena, f->at, name);
    if (!path) return tare_fail(err, TARE_ERR_NOMEM, "directory");
    f->entries[f->n++] = (tare_hf_entry){.name = {path, strlen(f->at) + name.len},
                                         .size = seen->size,
                                         .kind = seen->kind,
                                         .is_link = seen->is_link};
    return TARE_OK;
}

static int by_name(const void *a, const void *b) {
    return tare_str_compare(((const tare_hf_entry *)a)->name, ((const tare_hf_entry *)b)->name);
}

static void sort(tare_hf_folder *f) {
    if (f->n) qsort(f->entries, f->n, sizeof *f->entries, by_name);
}

tare_status tare_hf_list(tare_hf_folder *f, const tare_files *files, const char *path,
                         const tare_allocator *allocator, tare_error *err) {
    *f = (tare_hf_folder){.allocator = allocator, .files = files, .at = ""};
    tare_arena_init(&f->arena, allocator);
    size_t n = strlen(path);
    f->path = tare_join_path(&f->arena, path, TARE_STR("/"));
    if (!f->path) return tare_fail(err, TARE_ERR_NOMEM, "directory");
    if (n > 0 && path[n - 1] == '/') f->path = path;
    tare_status status = tare_files_list(files, path, add_entry, f, err);
    sort(f);
    return status;
}

bool tare_hf_probe(tare_hf_folder *f, const tare_probe *p) {
    *f = (tare_hf_folder){.at = ""};
    tare_arena_init(&f->arena, NULL);
    if (!p->is_directory) return false;
    const tare_status status = tare_hf_list(f, p->files, p->path, NULL, NULL);
    if (p->failed && (status == TARE_ERR_IO || status == TARE_ERR_NOMEM)) *p->failed = status;
    return status == TARE_OK;
}

/* ---- folders --------------------------------------------------------------------------------- */

static bool is_walked(const tare_hf_entry *e) {
    return e->kind == TARE_PATH_FOLDER && !e->is_link && !tare_files_is_bookkeeping(e->name);
}

/* Appends the contents of the folder that is entry i; the entry then no longer has a name. */
static tare_status open_folder(tare_hf_folder *f, size_t i, tare_error *err) {
    const tare_str name = f->entries[i].name;
    const char *path = tare_join_path(&f->arena, f->path, name);
    f->at = tare_join_path(&f->arena, name.ptr, TARE_STR("/"));
    if (!path || !f->at) return tare_fail(err, TARE_ERR_NOMEM, "directory");
    f->entries[i].name.len = 0;
    return tare_files_list(f->files, path, add_entry, f, err);
}

static unsigned depth_of(tare_str name) {
    unsigned n = 0;
    for (size_t i = 0; i < name.len; i++) n += name.ptr[i] == '/';
    return n;
}

/* Walks through entry i and all folders in it, after the entries there are. False: it holds more
 * than `most` files, or folders nested too deeply. */
static tare_status walk(bool *fits, tare_hf_folder *f, size_t i, size_t most, tare_error *err) {
    const size_t before = f->n;
    size_t n_files = 0;
    *fits = true;
    TARE_TRY(open_folder(f, i, err));
    for (size_t k = before; k < f->n && *fits; k++) {
        n_files += f->entries[k].kind != TARE_PATH_FOLDER;
        *fits = n_files <= most && f->n - before <= 4 * (size_t)FILES_MOST &&
                depth_of(f->entries[k].name) < TARE_FOLDERS_MOST;
        if (*fits && is_walked(&f->entries[k])) TARE_TRY(open_folder(f, k, err));
    }
    return TARE_OK;
}

tare_status tare_hf_list_folders(tare_hf_folder *f, tare_error *err) {
    const size_t n_top = f->n;
    size_t n_files = 0;
    for (size_t i = 0; i < n_top; i++) {
        const size_t before = f->n;
        const tare_str name = f->entries[i].name;
        bool fits;
        if (!is_walked(&f->entries[i])) continue;
        TARE_TRY(walk(&fits, f, i, FILES_MOST - n_files, err));
        if (fits) {
            n_files += f->n - before;
            if (n_files > FILES_MOST) n_files = FILES_MOST;
        } else { /* as if it had not been looked into */
            f->n = before;
            f->entries[i].name = name;
        }
    }
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++)
        if (f->entries[i].name.len) f->entries[n++] = f->entries[i];
    f->n = n;
    sort(f);
    return TARE_OK;
}

/* ---- looking --------------------------------------------------------------------------------- */

tare_hf_entry *tare_hf_find(const tare_hf_folder *f, tare_str name) {
    const tare_hf_entry key = {.name = name};
    return f->n ? bsearch(&key, f->entries, f->n, sizeof key, by_name) : NULL;
}

bool tare_hf_has_suffix(const tare_hf_entry *e, const char *suffix) {
    return e->kind == TARE_PATH_FILE && !memchr(e->name.ptr, '/', e->name.len) &&
           !tare_files_is_bookkeeping(e->name) && tare_str_ends(e->name, tare_str_of(suffix));
}
