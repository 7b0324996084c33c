/* SPDX-License-Identifier: MIT
 *
 * The files of an edit as they will be, before any has its name: the driver opens them like
 * existing files, and they are compared with the plan. */
#include <errno.h>
#include <string.h>

#include "base/arith.h"
#include "base/str.h"
#include "ops/convert/conversion.h"
#include "ops/edit/edit_state.h"

typedef struct view {
    tare_files files; /* first: drivers see it as such */
    const tare_edit *e;
    const tare_edit_part *part;
    const int *fds;
} view;

/* ---- one file -------------------------------------------------------------------------------- */

typedef struct patched {
    const tare_edit_target *target;
    const tare_allocator *allocator;
    tare_reader old;
    uint64_t size;
} patched;

static tare_status read_patched(void *ctx, uint64_t offset, void *buf, size_t n, tare_error *err) {
    const patched *p = ctx;
    const uint64_t end = offset + n;
    const uint64_t old_end = tare_min_u64(end, p->old.size);
    if (offset < old_end)
        TARE_TRY(tare_reader_read(&p->old, offset, buf, (size_t)(old_end - offset), err));
    for (size_t i = 0; i < p->target->n_runs; i++) {
        const tare_edit_piece *r = &p->target->runs[i];
        const uint64_t from = tare_max_u64(r->offset, offset);
        const uint64_t to = tare_min_u64(r->offset + r->size, end);
        if (from < to)
            memcpy((uint8_t *)buf + (from - offset), r->bytes + (from - r->offset),
                   (size_t)(to - from));
    }
    return TARE_OK;
}

static void close_patched(void *ctx) {
    patched *p = ctx;
    tare_reader_close(&p->old);
    tare_free(p->allocator, p, sizeof *p);
}

static tare_status open_patched(tare_reader *out, const view *v, size_t target, tare_error *err) {
    const tare_edit_file *f = &v->e->files[target];
    patched *p = tare_alloc(v->e->options.context->allocator, sizeof *p);
    if (!p) return tare_fail(err, TARE_ERR_NOMEM, "edit");
    *p = (patched){.target = &v->e->targets[target],
                   .allocator = v->e->options.context->allocator,
                   .old = {.fd = -1},
                   .size = f->new_size};
    tare_status status = f->old_size ? tare_reader_open(&p->old, f->path, false, err) : TARE_OK;
    if (status != TARE_OK) {
        tare_free(p->allocator, p, sizeof *p);
        return status;
    }
    *out = (tare_reader){.name = f->path,
                         .size = f->new_size,
                         .fd = -1,
                         .fetch = read_patched,
                         .read_ctx = p,
                         .close = close_patched};
    return TARE_OK;
}

/* ---- a directory ----------------------------------------------------------------------------- */

static int64_t find_target(const view *v, const char *path) {
    for (size_t i = 0; i < v->e->summary.n_files; i++)
        if (v->e->files[i].action != TARE_EDIT_KEPT && strcmp(v->e->files[i].path, path) == 0)
            return (int64_t)i;
    return -1;
}

static tare_status open_file(const tare_files *files, tare_reader *out, const char *path,
                             tare_error *err) {
    const view *v = (const view *)(const void *)files;
    const int64_t i = find_target(v, path);
    if (i < 0) return tare_reader_open(out, path, false, err);
    if (v->fds[i] >= 0) return tare_reader_fd(out, v->fds[i], v->e->files[i].path, false, err);
    return open_patched(out, v, (size_t)i, err);
}

typedef struct listing {
    const view *v;
    const char *path;
    tare_files_visit visit;
    void *ctx;
} listing;

/* The target of a name in a directory; -1: none. */
static int64_t target_in(const listing *l, const char *name, tare_error *err) {
    tare_arena arena;
    tare_arena_init(&arena, l->v->e->options.context->allocator);
    const tare_str folder = tare_str_of(l->path);
    const bool has_slash = folder.len && folder.ptr[folder.len - 1] == '/';
    const char *path = has_slash ? l->path : tare_join_path(&arena, l->path, TARE_STR("/"));
    if (path) path = tare_join_path(&arena, path, tare_str_of(name));
    const int64_t i = path ? find_target(l->v, path) : -1;
    if (!path) tare_fail(err, TARE_ERR_NOMEM, "paths");
    tare_arena_free(&arena);
    return i;
}

static tare_status visit_old(void *ctx, const tare_files_entry *entry, tare_error *err) {
    const listing *l = ctx;
    tare_files_entry now = *entry;
    const int64_t i = target_in(l, entry->name, err);
    if (i >= 0) now.size = l->v->e->files[i].new_size;
    return l->visit(l->ctx, &now, err);
}

static tare_status list_files(const tare_files *files, const char *path, tare_files_visit visit,
                              void *ctx, tare_error *err) {
    const view *v = (const view *)(const void *)files;
    listing l = {.v = v, .path = path, .visit = visit, .ctx = ctx};
    TARE_TRY(tare_files_list(NULL, path, visit_old, &l, err));
    for (size_t i = 0; i < v->e->summary.n_files; i++) {
        const tare_edit_file *f = &v->e->files[i];
        const char *slash = strrchr(f->path, '/');
        const char *name = slash ? slash + 1 : f->path;
        if (v->e->targets[i].was.n_names || f->action == TARE_EDIT_KEPT) continue;
        if (target_in(&l, name, err) != (int64_t)i) continue; /* of another directory */
        const tare_files_entry entry = {.name = name, .size = f->new_size, .kind = TARE_PATH_FILE};
        TARE_TRY(visit(ctx, &entry, err));
    }
    return TARE_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

static tare_status open_part(tare_model **out, const view *v, tare_error *err) {
    const tare_edit *e = v->e;
    tare_open_options options = tare_open_options_default();
    const tare_context context = {
        .size = sizeof context, .allocator = e->context.allocator, .limits = &e->limits};
    tare_source source = {
        .size = sizeof(tare_source), .kind = TARE_SOURCE_PATH, .name = e->root, .fd = -1};
    tare_probe probe = {.path = e->root, .is_directory = true, .files = &v->files};
    tare_reader first = {.fd = -1};
    options.context = &context;
    options.format = e->format->name;
    options.one_shard = e->n_parts > 1;
    if (!e->directory) {
        source.name = probe.path = v->part->model->files[0].name;
        probe.is_directory = false;
        TARE_TRY(open_file(&v->files, &first, source.name, err));
        probe.file_size = first.size;
    }
    tare_status status = tare_model_new(out, &context, err);
    if (status == TARE_OK) {
        const tare_open_context ctx = {&source, &options, &probe, &first, NULL, {0}};
        (*out)->format = e->format->name;
        status = e->format->read.open(*out, &ctx, err);
    }
    tare_reader_close(&first);
    return status;
}

tare_status tare_edit_check(const tare_edit *e, const tare_edit_part *part, const int *fds,
                            tare_error *err) {
    const view v = {.files = {open_file, list_files}, .e = e, .part = part, .fds = fds};
    tare_model *m = NULL;
    tare_status status = open_part(&m, &v, err);
    if (status == TARE_OK) status = tare_convert_check_model(part->plan, m, err);
    tare_model_free(m);
    return status;
}
