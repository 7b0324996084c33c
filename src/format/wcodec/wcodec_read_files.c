/* SPDX-License-Identifier: MIT
 *
 * A .wcodec with file records acts as those files: the driver of their format reads them, so
 * nothing that driver knows is lost. A file NAME of the container C has the path C/NAME. */
#include <errno.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/str.h"
#include "format/wcodec/wcodec_read.h"

/* The container as a directory. */
typedef struct packed {
    tare_files files; /* first: what drivers are handed */
    tare_model *m;
    tare_packed *store;
    const tare_packed_file **sorted; /* by name */
    size_t n;
    const char *root; /* the container's path */
} packed;

static int by_name(const void *a, const void *b) {
    const tare_packed_file *const *x = a, *const *y = b;
    return tare_str_compare((*x)->name, (*y)->name);
}

static const char *path_of(const packed *p, const tare_packed_file *f) {
    size_t n = strlen(p->root);
    char *path = tare_arena_take(&p->m->arena, n + 1 + f->name.len + 1);
    if (!path) return NULL;
    memcpy(path, p->root, n);
    path[n] = '/';
    memcpy(path + n + 1, f->name.ptr, f->name.len);
    return path;
}

static tare_status open_file(const packed *p, tare_reader *out, const tare_packed_file *f,
                             tare_error *err) {
    const char *path = path_of(p, f);
    if (!path) return tare_fail(err, TARE_ERR_NOMEM, "name of a file");
    return tare_wcodec_store_reader(out, p->store, f->ranges, f->n_ranges, path, err);
}

/* ---- as a directory -------------------------------------------------------------------------- */

static tare_status open_packed(const tare_files *files, tare_reader *out, const char *path,
                               tare_error *err) {
    const packed *p = (const packed *)(const void *)files;
    const char *inner = tare_path_within(p->root, path);
    *out = (tare_reader){.name = path, .fd = -1};
    const tare_packed_file key = {.name = tare_str_of(inner ? inner : "")}, *at = &key;
    const tare_packed_file *const *found =
        p->n ? bsearch(&at, p->sorted, p->n, sizeof at, by_name) : NULL;
    if (found) return open_file(p, out, *found, err);
    tare_fail_errno(err, ENOENT, "cannot be opened");
    tare_error_file(err, path);
    return TARE_ERR_IO;
}

/* A link that leads to no file of the container leads nowhere here. */
static tare_path_kind kind_of(const tare_packed_file *f) {
    if (f->entry.kind == TARE_PACKED_FOLDER) return TARE_PATH_FOLDER;
    return f->entry.kind == TARE_PACKED_LINK && !f->size ? TARE_PATH_NOTHING : TARE_PATH_FILE;
}

static tare_str file_at(const void *ctx, size_t i, tare_files_entry *entry) {
    const packed *p = ctx;
    const tare_packed_file *f = p->sorted[i];
    *entry = (tare_files_entry){
        .size = f->size, .kind = kind_of(f), .is_link = f->entry.kind == TARE_PACKED_LINK};
    return f->name;
}

static tare_status list_packed(const tare_files *files, const char *path, tare_files_visit visit,
                               void *ctx, tare_error *err) {
    const packed *p = (const packed *)(const void *)files;
    const tare_file_list list = {p->n, file_at, p};
    return tare_file_list_at(&list, p->root, path, &p->m->arena, visit, ctx, err);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* A container within a container is treated as a plain file: it is not opened. */
static const tare_format *driver_of(const tare_probe *probe) {
    const tare_format *f;
    for (size_t i = 0; (f = tare_format_row(i)) != NULL; i++)
        if (f != &tare_format_wcodec && f->read.probe(probe)) return f;
    return NULL;
}

static tare_status run_driver(const packed *p, const tare_open_context *ctx, bool *is_ours,
                              tare_error *err) {
    const tare_format *format = driver_of(ctx->probe);
    *is_ours = format != NULL;
    if (format) p->m->held_format = format->name;
    return format ? tare_driver_open(p->m, format, ctx, err) : TARE_OK;
}

static tare_status open_single(const packed *p, const tare_packed_file *of,
                               const tare_open_options *options, bool *is_ours, tare_error *err) {
    uint8_t head[TARE_PROBE_BYTES];
    tare_reader file;
    tare_open_options alone = *options; /* a shard, if it is one: no other is in the container */
    alone.one_shard = true;
    TARE_TRY(open_file(p, &file, of, err));
    tare_source source = {
        .size = sizeof(tare_source), .kind = TARE_SOURCE_CALLBACK, .name = file.name, .fd = -1};
    tare_probe probe = {.head = head,
                        .head_size = (size_t)tare_min_u64(file.size, sizeof head),
                        .file_size = file.size,
                        .files = &p->files};
    tare_open_context ctx = {&source, &alone, &probe, &file, NULL, {0}};
    tare_status status = tare_reader_read(&file, 0, head, probe.head_size, err);
    if (status == TARE_OK) status = run_driver(p, &ctx, is_ours, err);
    tare_reader_close(&file);
    return status;
}

static tare_status open_directory(const packed *p, const tare_open_options *options, bool *is_ours,
                                  tare_error *err) {
    tare_reader none = {.fd = -1};
    tare_status failed = TARE_OK;
    tare_source source = {
        .size = sizeof(tare_source), .kind = TARE_SOURCE_PATH, .name = p->root, .fd = -1};
    tare_probe probe = {
        .path = p->root, .is_directory = true, .files = &p->files, .failed = &failed};
    tare_open_context ctx = {&source, options, &probe, &none, NULL, {0}};
    TARE_TRY(run_driver(p, &ctx, is_ours, err));
    return *is_ours || failed == TARE_OK ? TARE_OK
                                         : tare_fail(err, failed, "what a container holds");
}

static tare_status find_inner(const tare_packed_file **out, const packed *p, tare_str name,
                              tare_error *err) {
    const tare_packed_file key = {.name = name}, *at = &key;
    const tare_packed_file *const *found = bsearch(&at, p->sorted, p->n, sizeof at, by_name);
    if (found && (*found)->entry.kind == TARE_PACKED_FILE) {
        *out = *found;
        return TARE_OK;
    }
    tare_fail(err, TARE_ERR_ARG, "the container has no file of this name");
    tare_error_item(err, TARE_ITEM_RESOURCE, -1, name);
    return TARE_ERR_ARG;
}

/* Whether its files are several models: the first tensor is called "FILE::TENSOR". */
static bool holds_several(const tare_wcodec_index *x) {
    const tare_wcodec_layer *l = x->layers, *end = l + x->n_layers;
    while (l < end && l->kind != TARE_WCODEC_TENSOR) l++;
    for (uint32_t i = 0; l < end && i < x->n_files; i++) {
        const tare_str name = x->files[i].name;
        if (tare_str_starts(l->name, name) &&
            tare_str_starts(tare_str_cut(l->name, name.len), TARE_STR("::")))
            return true;
    }
    return false;
}

tare_status tare_wcodec_open_files(tare_model *m, tare_packed *store,
                                   const tare_open_options *options, tare_str inner, bool *is_ours,
                                   tare_error *err) {
    const tare_wcodec_index *x = tare_wcodec_store_index(store);
    packed p = {.files = {open_packed, list_packed},
                .m = m,
                .store = store,
                .n = x->n_files,
                .root = tare_packed_source(store)->name};
    *is_ours = false;
    if (!inner.len && holds_several(x)) return TARE_OK;
    p.sorted = TARE_NEW_ARRAY(&m->arena, const tare_packed_file *, p.n);
    if (!p.sorted) return tare_fail(err, TARE_ERR_NOMEM, "list of files");
    for (size_t i = 0; i < p.n; i++) p.sorted[i] = &x->files[i];
    qsort(p.sorted, p.n, sizeof *p.sorted, by_name);
    const tare_packed_file *one = x->files_form == 1 ? p.sorted[0] : NULL;
    if (inner.len) TARE_TRY(find_inner(&one, &p, inner, err));
    if (inner.len && x->n_files > 1) tare_wcodec_store_note_part(store);
    tare_wcodec_store_opening(store, true);
    tare_status status = one ? open_single(&p, one, options, is_ours, err)
                             : open_directory(&p, options, is_ours, err);
    tare_wcodec_store_opening(store, false);
    return status;
}
