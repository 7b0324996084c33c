/* SPDX-License-Identifier: MIT
 *
 * The files of a folder in a view: each .wcodec as what it was packed from, all others as they are. */
#include <string.h>

#include "base/file_cache.h"
#include "base/files.h"
#include "base/report.h"
#include "base/str.h"
#include "format/format.h"
#include "ops/views/view_files.h"

/* ---- files as they are ----------------------------------------------------------------------- */

/* Few of them are open at once. */
typedef struct plain_files {
    const tare_allocator *allocator;
    tare_file_cache *cache;
    tare_reader **readers;
    size_t n, capacity;
    uint32_t index; /* of the source */
} plain_files;

static tare_status locate(tare_view_piece *out, void *ctx, uint32_t number, uint64_t offset,
                          tare_error *err) {
    (void)ctx, (void)number, (void)err;
    *out = (tare_view_piece){offset, offset + 1};
    return TARE_OK;
}

static tare_status make(uint8_t *out, void *ctx, uint32_t number, uint64_t offset, size_t n,
                        tare_error *err) {
    const plain_files *p = ctx;
    return tare_reader_read(p->readers[number], offset, out, n, err);
}

static void free_plain(void *ctx) {
    plain_files *p = ctx;
    const tare_allocator *a = p->allocator;
    for (size_t i = 0; i < p->n; i++) tare_reader_close(p->readers[i]);
    tare_file_cache_free(p->cache);
    tare_free(a, p->readers, p->capacity * sizeof *p->readers);
    tare_free(a, p, sizeof *p);
}

static tare_status begin_plain(plain_files **out, tare_view *view, tare_error *err) {
    const tare_allocator *a = tare_view_context(view)->allocator;
    plain_files *p = tare_alloc(a, sizeof *p);
    if (!p) return tare_fail(err, TARE_ERR_NOMEM, "folder");
    *p = (plain_files){.allocator = a, .cache = tare_file_cache_new(a)};
    if (!p->cache) {
        tare_free(a, p, sizeof *p);
        return tare_fail(err, TARE_ERR_NOMEM, "folder");
    }
    const tare_view_source source = {
        .locate = locate, .make = make, .free = free_plain, .ctx = p, .is_plain = true};
    TARE_TRY(tare_view_add_source(&p->index, view, &source, err));
    *out = p;
    return TARE_OK;
}

static tare_status add_plain(tare_view *view, plain_files *p, const char *path, tare_str name,
                             tare_error *err) {
    tare_view_file f = tare_view_file_default();
    tare_reader *r = TARE_NEW(tare_view_arena(view), tare_reader);
    if (!r || !tare_grow(p->allocator, (void **)&p->readers, &p->capacity, p->n + 1,
                         sizeof(tare_reader *)))
        return tare_fail(err, TARE_ERR_NOMEM, "folder");
    TARE_TRY(tare_reader_open(r, path, TARE_MAP_NONE, err));
    p->readers[p->n++] = r;
    TARE_TRY(tare_file_cache_put(p->cache, r, err));
    f.name = name;
    f.n_bytes = r->size;
    return tare_view_add_file(view, p->index, (uint32_t)(p->n - 1), TARE_STR(""), &f, err);
}

/* ---- the folder ------------------------------------------------------------------------------ */

/* Files are added in the order of two passes: first all that is no .wcodec, so that names do not
 * depend on the order in which the system lists them. */
typedef struct walk {
    tare_view *view;
    plain_files *plain;
    const char *path;
    tare_str folder; /* within the view */
    bool recursive, is_packed;
    const tare_open_options *options;
} walk;

static bool is_packed(tare_str name) {
    return name.len > 7 && tare_str_ends(name, TARE_STR(".wcodec"));
}

static void report_as_is(const walk *w, const char *name, const tare_error *why) {
    char text[512];
    tare_finding f = TARE_FINDING(INFO, why->status, "view.as-is");
    f.file = tare_str_of(name);
    tare_error_format(text, sizeof text, why, NULL);
    tare_report_addf(tare_view_context(w->view)->report, &f, "is shown as the .wcodec it is: %s",
                     text);
}

static tare_status add_entry(const walk *w, const char *path, tare_str name, tare_error *err) {
    bool is_ours;
    tare_error why;
    if (!w->is_packed) return add_plain(w->view, w->plain, path, name, err);
    TARE_TRY(tare_view_add_found(&is_ours, &why, w->view, path, name.ptr, w->options, err));
    if (is_ours) return TARE_OK;
    report_as_is(w, name.ptr, &why);
    return add_plain(w->view, w->plain, path, name, err);
}

static tare_status walk_folder(const walk *w, tare_error *err);

static tare_status visit(void *ctx, const tare_files_entry *entry, tare_error *err) {
    const walk *w = ctx;
    tare_arena *arena = tare_view_arena(w->view);
    const tare_str own = tare_str_of(entry->name);
    const tare_str path = tare_view_join(arena, tare_str_of(w->path), own);
    const tare_str name = tare_view_join(arena, w->folder, own);
    if (!path.ptr || !name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "view");
    if (entry->kind == TARE_PATH_FILE)
        return is_packed(own) == w->is_packed ? add_entry(w, path.ptr, name, err) : TARE_OK;
    /* A link to a folder may lead back to where it lies. */
    if (entry->kind != TARE_PATH_FOLDER || !w->recursive || entry->is_link) return TARE_OK;
    walk inner = *w;
    inner.path = path.ptr;
    inner.folder = name;
    return walk_folder(&inner, err);
}

static tare_status walk_folder(const walk *w, tare_error *err) {
    return tare_files_list(NULL, w->path, visit, (void *)(uintptr_t)w, err);
}

tare_status tare_view_add_folder(tare_view *view, const char *path, bool recursive,
                                 const tare_open_options *options, tare_error *err) {
    TARE_REQUIRE(view && path, err);
    walk w = {.view = view, .path = path, .recursive = recursive, .options = options};
    TARE_TRY(begin_plain(&w.plain, view, err));
    TARE_TRY(walk_folder(&w, err));
    w.is_packed = true;
    return walk_folder(&w, err);
}
