/* SPDX-License-Identifier: MIT
 *
 * Which files are packed: those of a directory with all that lies in it but sub-folders, else those
 * that the model was opened from, and the index of a set of shards. */
#include "ops/packing/pack_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/report.h"
#include "base/str.h"
#include "format/safetensors/safetensors.h"

static tare_status add(tare_pack_files *f, const tare_reader *reader, tare_str name,
                       tare_error *err) {
    if (!tare_grow(f->arena.allocator, (void **)&f->files, &f->capacity, f->n + 1,
                   sizeof *f->files))
        return tare_fail(err, TARE_ERR_NOMEM, "files");
    f->files[f->n++] = (tare_wcodec_origin){reader, name};
    return TARE_OK;
}

static tare_status open_file(tare_pack_files *f, const char *path, tare_str name, tare_error *err) {
    tare_reader *r = TARE_NEW(&f->arena, tare_reader);
    if (!r || !tare_grow(f->arena.allocator, (void **)&f->opened, &f->opened_capacity,
                         f->n_opened + 1, sizeof *f->opened))
        return tare_fail(err, TARE_ERR_NOMEM, "files");
    tare_status status = tare_reader_open(r, path, false, err);
    if (status != TARE_OK) {
        tare_error_file(err, path);
        return status;
    }
    f->opened[f->n_opened++] = r;
    return add(f, r, name, err);
}

static tare_str last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return tare_str_of(slash && slash[1] ? slash + 1 : path);
}

/* ---- the files of a model -------------------------------------------------------------------- */

/* A set that was opened by an index has one file more. */
static const tare_safetensors_layout *index_of(const tare_model *m) {
    const tare_layout *layout = m->catalog.layout;
    bool is_set =
        layout && (layout->format == &tare_format_safetensors || layout->format == &tare_format_hf);
    const tare_safetensors_layout *set = is_set ? layout->detail : NULL;
    return set && set->index_path && set->index_path[0] ? set : NULL;
}

/* A model from memory may be without a name, or have one that no file can have. */
static tare_str name_of(const char *path) {
    tare_str name = last_part(path);
    bool is_none = !name.len || tare_str_is(name, ".") || tare_str_is(name, "..") ||
                   name.ptr[name.len - 1] == '/';
    return is_none ? TARE_STR("model") : name;
}

/* It was read whole when the model was opened. */
static tare_status add_index(tare_pack_files *f, const tare_safetensors_layout *set,
                             tare_error *err) {
    tare_reader *r = TARE_NEW(&f->arena, tare_reader);
    if (!r) return tare_fail(err, TARE_ERR_NOMEM, "files");
    tare_reader_memory(r, set->index_text.ptr, set->index_text.len, set->index_path);
    return add(f, r, last_part(set->index_path), err);
}

/* The side files of a Hugging Face directory have the names they have in it: "1_Pooling/x.json". */
static void name_side_files(tare_str *names, const tare_model *m) {
    const tare_catalog *c = &m->catalog;
    if (!c->layout || c->layout->format != &tare_format_hf) return;
    for (size_t i = 0; i < c->n_resources; i++) {
        const tare_resource_entry *r = &c->resources[i];
        bool is_file = !r->bytes && r->offset == 0 && r->info.size == m->files[r->file].reader.size;
        if (is_file) names[r->file] = r->info.name;
    }
}

static tare_status take_model(tare_pack_files *f, const tare_model *m, tare_error *err) {
    tare_str *names = TARE_NEW_ARRAY(&f->arena, tare_str, m->n_files);
    if (!names) return tare_fail(err, TARE_ERR_NOMEM, "files");
    for (size_t i = 0; i < m->n_files; i++) names[i] = name_of(m->files[i].name);
    name_side_files(names, m);
    for (size_t i = 0; i < m->n_files; i++) TARE_TRY(add(f, &m->files[i].reader, names[i], err));
    const tare_safetensors_layout *set = m->n_files ? index_of(m) : NULL;
    if (set) TARE_TRY(add_index(f, set, err));
    f->is_directory = f->n > 1;
    return TARE_OK;
}

/* ---- the files of a directory ---------------------------------------------------------------- */

/* The names that the model's files have in their directory. */
typedef struct own_files {
    const tare_model *model;
    tare_str *names;
    tare_name_index index;
} own_files;

/* The path from the directory on; of a file that was opened by another path, its last part. */
static tare_str name_within(const char *directory, const char *path) {
    size_t n = strlen(directory);
    bool is_within =
        strncmp(path, directory, n) == 0 && (path[n] == '/' || (n && path[n - 1] == '/'));
    if (!is_within) return last_part(path);
    path += n;
    while (*path == '/') path++;
    return tare_str_of(path);
}

static tare_status list_own(own_files *own, const tare_model *m, const char *directory,
                            tare_arena *arena, tare_error *err) {
    *own = (own_files){.model = m, .names = TARE_NEW_ARRAY(arena, tare_str, m->n_files)};
    if (!own->names) return tare_fail(err, TARE_ERR_NOMEM, "files");
    for (size_t i = 0; i < m->n_files; i++)
        own->names[i] = name_within(directory, m->files[i].name);
    return tare_name_index_build(&own->index, arena, own->names, m->n_files, sizeof *own->names,
                                 "two files of the model have the same name", err);
}

/* The model's own reader of a file, which its tensors are known by; NULL: it has none. */
static const tare_reader *find_own(const own_files *own, tare_str name) {
    int64_t i = tare_name_index_find(&own->index, own->names, sizeof *own->names, name);
    return i < 0 ? NULL : &own->model->files[i].reader;
}

/* Whether a file of the model lies in a folder of the directory, or in one of that. */
static bool has_own_in(const own_files *own, tare_str folder) {
    for (size_t i = 0; i < own->model->n_files; i++) {
        const tare_str *name = &own->names[i];
        if (name->len > folder.len && name->ptr[folder.len] == '/' &&
            memcmp(name->ptr, folder.ptr, folder.len) == 0)
            return true;
    }
    return false;
}

static tare_status leave_out(const tare_pack_options *o, tare_str name, bool is_folder,
                             tare_error *err) {
    static const char *const what[] = {"neither a file nor a link to one: not packed",
                                       "a sub-folder is not packed"};
    if (o->strict) {
        tare_fail(err, TARE_ERR_UNSUPPORTED, what[is_folder]);
        tare_error_item(err, TARE_ITEM_RESOURCE, -1, name);
        return TARE_ERR_UNSUPPORTED;
    }
    tare_finding finding = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "pack.left-out");
    finding.item_kind = TARE_ITEM_RESOURCE;
    finding.item_name = name;
    finding.text = tare_str_of(what[is_folder]);
    tare_report_add(o->report, &finding);
    return TARE_OK;
}

/* A walk through the directory: `base` ends in a slash, and what follows it in a path is the name.
 */
typedef struct taking {
    tare_pack_files *f;
    const own_files *own;
    const tare_pack_options *o;
    const char *base;
} taking;

static tare_status take_folder(const taking *t, const char *path, tare_error *err);

/* Folders are taken, with all in them, where the model lies in them. */
static tare_status take_entry(const taking *t, const char *path, tare_error *err) {
    struct stat st;
    tare_str name = tare_str_of(path + strlen(t->base));
    bool is_there = stat(path, &st) == 0, is_folder = is_there && S_ISDIR(st.st_mode);
    if (is_folder && has_own_in(t->own, name)) return take_folder(t, path, err);
    if (!is_there || !S_ISREG(st.st_mode)) return leave_out(t->o, name, is_folder, err);
    const tare_reader *reader = find_own(t->own, name);
    return reader ? add(t->f, reader, name, err) : open_file(t->f, path, name, err);
}

/* NULL at the end, where errno is 0, and for a failure. */
static const struct dirent *next_entry(DIR *directory) {
    errno = 0;
    return readdir(directory);
}

static tare_status take_folder(const taking *t, const char *path, tare_error *err) {
    tare_arena *arena = &t->f->arena;
    const char *inside = path == t->base ? path : tare_join_path(arena, path, TARE_STR("/"));
    DIR *directory = inside ? opendir(inside) : NULL;
    if (!inside) return tare_fail(err, TARE_ERR_NOMEM, "files");
    if (!directory) return tare_fail_errno(err, errno, "opening the directory");
    tare_status status = TARE_OK;
    for (const struct dirent *d; status == TARE_OK && (d = next_entry(directory));) {
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0) continue;
        const char *entry = tare_join_path(arena, inside, tare_str_of(d->d_name));
        status = entry ? take_entry(t, entry, err) : tare_fail(err, TARE_ERR_NOMEM, "files");
    }
    if (status == TARE_OK && errno) status = tare_fail_errno(err, errno, "reading the directory");
    closedir(directory);
    return status;
}

static bool has_reader(const tare_pack_files *f, const tare_reader *reader) {
    size_t i = 0;
    while (i < f->n && f->files[i].reader != reader) i++;
    return i < f->n;
}

/* Without one of its files what is packed would be no model. */
static tare_status expect_all(const tare_pack_files *f, const tare_model *m, tare_error *err) {
    for (size_t i = 0; i < m->n_files; i++) {
        if (has_reader(f, &m->files[i].reader)) continue;
        tare_fail(err, TARE_ERR_UNSUPPORTED,
                  "a file of the model does not lie in the directory: not packed");
        tare_error_file(err, m->files[i].name);
        return TARE_ERR_UNSUPPORTED;
    }
    return TARE_OK;
}

static tare_status take_directory(tare_pack_files *f, const tare_model *m,
                                  const tare_pack_options *o, tare_error *err) {
    own_files own;
    const taking t = {f, &own, o, tare_join_path(&f->arena, o->directory, TARE_STR("/"))};
    if (!t.base) return tare_fail(err, TARE_ERR_NOMEM, "files");
    TARE_TRY(list_own(&own, m, o->directory, &f->arena, err));
    f->is_directory = true;
    /* What opening does not count as the model's is packed all the same, or left out here. */
    tare_report_remove(o->report, "hf.sub-folder");
    tare_report_remove(o->report, "hf.not-a-file");
    tare_report_remove(o->report, "hf.large-file");
    TARE_TRY(take_folder(&t, t.base, err));
    return expect_all(f, m, err);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
    return tare_str_compare(((const tare_wcodec_origin *)a)->name,
                            ((const tare_wcodec_origin *)b)->name);
}

tare_status tare_pack_files_open(tare_pack_files *f, const tare_model *in,
                                 const tare_pack_options *options, tare_error *err) {
    *f = (tare_pack_files){0};
    tare_arena_init(&f->arena, options->allocator);
    TARE_TRY(options->directory ? take_directory(f, in, options, err) : take_model(f, in, err));
    if (f->n) qsort(f->files, f->n, sizeof *f->files, by_name);
    for (size_t i = 1; i < f->n; i++)
        if (tare_str_equal(f->files[i - 1].name, f->files[i].name))
            return tare_fail(err, TARE_ERR_UNSUPPORTED,
                             "two files of the model have the same name");
    return TARE_OK;
}

void tare_pack_files_free(tare_pack_files *f) {
    const tare_allocator *a = f->arena.allocator;
    for (size_t i = 0; i < f->n_opened; i++) tare_reader_close(f->opened[i]);
    tare_free(a, f->opened, f->opened_capacity * sizeof *f->opened);
    tare_free(a, f->files, f->capacity * sizeof *f->files);
    tare_arena_free(&f->arena);
}
