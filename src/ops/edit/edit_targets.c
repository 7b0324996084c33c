/* SPDX-License-Identifier: MIT
 *
 * Derives from a layout what has to be done: which files stay, which differ only outside of
 * tensors, and which have to be rewritten. A tensor whose position in the layout is that in the
 * file is not touched; the bytes between such tensors are assembled in memory and compared. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/hash.h"
#include "base/str.h"
#include "ops/edit/edit_state.h"
#include "ops/item_walk.h"

/* The most that is assembled in memory; anything larger is written through the plan. */
#define MOST_BYTES ((uint64_t)1 << 31)

/* One file of a plan, and its extents in order. */
typedef struct layout {
    tare_edit *e;
    const tare_edit_part *part;
    const tare_extent *const *extents;
    size_t n_extents;
    const tare_write_file *file;
    const char *path;
    tare_reader old; /* the file as it is; fd -1 and size 0: there is none */
} layout;

/* ---- what stays ------------------------------------------------------------------------------ */

/* Whether a file that was read is the one that is laid out. */
static bool is_this_file(const layout *l, const char *name) {
    if (!l->file->name) return true; /* there is but one */
    const tare_str path = tare_str_of(name), end = tare_str_of(l->file->name);
    return tare_str_ends(path, end) &&
           (path.len == end.len || path.ptr[path.len - end.len - 1] == '/');
}

static bool is_fixed_tensor(const layout *l, const tare_extent *e) {
    const tare_plan *p = l->part->plan;
    const tare_planned *planned = &p->tensors[e->item];
    const tare_tensor *to = &p->catalog.tensors[e->item];
    const tare_tensor *from = planned->from == p->in
                                  ? tare_model_stored(p->in, planned->source)
                                  : &planned->from->catalog.tensors[planned->source];
    if (tare_planned_is_made(planned) || from->encoding->n_planes != to->encoding->n_planes ||
        tare_model_is_big_endian(planned->from) != p->files.is_big_endian)
        return false;
    const tare_plane *plane = &from->planes[e->plane];
    return plane->offset == e->offset && plane->size == e->size &&
           is_this_file(l, planned->from->files[plane->file].name);
}

static bool is_fixed(const layout *l, const tare_extent *e) {
    switch (e->kind) {
    case TARE_EXTENT_TENSOR:
        return is_fixed_tensor(l, e);
    case TARE_EXTENT_COPY:
        return e->source_offset == e->offset &&
               is_this_file(l, l->part->plan->in->files[e->item].name);
    default:
        return false;
    }
}

/* A side file that is a resource of its own, and nobody has changed. */
static bool is_kept_resource(const layout *l) {
    const tare_catalog *in = &l->part->model->catalog;
    if (!l->file->name || l->n_extents > 1) return false;
    const int64_t at = tare_model_find_resource(l->part->model, tare_str_of(l->file->name));
    return at >= 0 && l->part->resources[at].bytes == in->resources[at].bytes &&
           l->file->size == in->resources[at].info.size &&
           (l->n_extents == 0 ||
            (l->extents[0]->kind == TARE_EXTENT_RESOURCE && l->extents[0]->item == (size_t)at));
}

/* ---- what is put together -------------------------------------------------------------------- */

/* SHA-256 of a tensor's planes: stated by the input, or computed. */
static tare_status digest_tensor(char hex[65], const tare_plan *p, size_t item, tare_error *err) {
    const tare_model *m = p->tensors[item].from;
    const size_t source = p->tensors[item].source;
    const tare_tensor *t = &m->catalog.tensors[source];
    uint8_t digest[32];
    if (m->catalog.digests && m->catalog.digests[source]) {
        tare_hex(hex, m->catalog.digests[source]->bytes, sizeof digest);
        return TARE_OK;
    }
    tare_sha256 h;
    uint8_t *buf = tare_alloc(m->allocator, TARE_PIECE);
    if (!buf) return tare_fail(err, TARE_ERR_NOMEM, "digest");
    tare_status status = TARE_OK;
    tare_sha256_init(&h);
    for (uint32_t plane = 0; status == TARE_OK && plane < t->encoding->n_planes; plane++)
        for (uint64_t at = 0, n; status == TARE_OK && at < t->planes[plane].size; at += n) {
            n = tare_min_u64(t->planes[plane].size - at, TARE_PIECE);
            status = tare_tensor_read(buf, m, source, plane, at, (size_t)n, err);
            if (status == TARE_OK) tare_sha256_update(&h, buf, (size_t)n);
        }
    tare_sha256_final(&h, digest);
    tare_free(m->allocator, buf, TARE_PIECE);
    tare_hex(hex, digest, sizeof digest);
    return status;
}

static tare_status fetch(uint8_t *to, const layout *l, const tare_extent *e, tare_error *err) {
    const tare_plan *p = l->part->plan;
    char hex[65];
    switch (e->kind) {
    case TARE_EXTENT_BYTES:
        memcpy(to, e->bytes, (size_t)e->size);
        return TARE_OK;
    case TARE_EXTENT_RESOURCE:
        return tare_resource_read(to, p->in, e->item, 0, (size_t)e->size, err);
    case TARE_EXTENT_COPY:
        return tare_reader_read(&p->in->files[e->item].reader, e->source_offset, to,
                                (size_t)e->size, err);
    case TARE_EXTENT_DIGEST:
        TARE_TRY(digest_tensor(hex, p, e->item, err));
        memcpy(to, hex, sizeof hex - 1);
        return TARE_OK;
    case TARE_EXTENT_TENSOR:
        break;
    }
    return tare_fail(err, TARE_ERR_UNSUPPORTED, "edit: a tensor among the bytes of the directory");
}

/* The bytes from `from` to `to`, and those extents that lie there. */
static tare_status put_together(tare_edit_piece *out, const layout *l, uint64_t from, uint64_t to,
                                size_t first, size_t end, tare_error *err) {
    uint8_t *bytes = tare_arena_take(&l->e->arena, (size_t)(to - from));
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "edit");
    for (size_t i = first; i < end; i++)
        TARE_TRY(fetch(bytes + (l->extents[i]->offset - from), l, l->extents[i], err));
    *out = (tare_edit_piece){from, to - from, bytes};
    return TARE_OK;
}

/* Everything between the parts that stay in place. */
static tare_status collect(tare_edit_target *t, const layout *l, tare_error *err) {
    uint64_t at = 0;
    size_t first = 0;
    t->runs = TARE_NEW_ARRAY(&l->e->arena, tare_edit_piece, l->n_extents + 1);
    if (!t->runs) return tare_fail(err, TARE_ERR_NOMEM, "edit");
    for (size_t i = 0; i <= l->n_extents; i++) {
        const tare_extent *e = i < l->n_extents ? l->extents[i] : NULL;
        if (e && !is_fixed(l, e)) continue;
        const uint64_t end = e ? e->offset : l->file->size;
        if (end > at) TARE_TRY(put_together(&t->runs[t->n_runs++], l, at, end, first, i, err));
        if (e) at = e->offset + e->size;
        first = i + 1;
    }
    return TARE_OK;
}

/* Cuts a run down to what differs from the file. */
static tare_status narrow(tare_edit_piece *r, const layout *l, tare_error *err) {
    const tare_allocator *a = l->e->options.context->allocator;
    const uint64_t there = r->offset < l->old.size ? l->old.size - r->offset : 0;
    const size_t n = (size_t)tare_min_u64(r->size, there);
    uint8_t *old = tare_alloc(a, n + 1);
    if (!old) return tare_fail(err, TARE_ERR_NOMEM, "edit");
    tare_status status = n ? tare_reader_read(&l->old, r->offset, old, n, err) : TARE_OK;
    if (status == TARE_OK) {
        size_t head = 0;
        uint64_t size = r->size;
        while (head < n && old[head] == r->bytes[head]) head++;
        const bool has_tail = size == n; /* else there is more than the file had */
        while (has_tail && size > head && old[size - 1] == r->bytes[size - 1]) size--;
        r->offset += head;
        r->bytes += head;
        r->size = size - head;
    }
    tare_free(a, old, n + 1);
    return status;
}

/* ---- one file -------------------------------------------------------------------------------- */

/* Whether all tensors stay in place and the bytes to assemble are not too many. */
static bool can_stay(tare_edit_target *t, const layout *l) {
    uint64_t rest = l->file->size;
    bool can = true;
    for (size_t i = 0; i < l->n_extents; i++) {
        const bool fixed = is_fixed(l, l->extents[i]);
        t->has_tensors |= l->extents[i]->kind == TARE_EXTENT_TENSOR;
        can &= fixed || l->extents[i]->kind != TARE_EXTENT_TENSOR;
        if (fixed) rest -= l->extents[i]->size;
    }
    return can && rest <= MOST_BYTES;
}

static tare_status judge(tare_edit_target *t, tare_edit_file *f, const layout *l, tare_error *err) {
    f->old_size = l->old.size;
    f->new_size = l->file->size;
    if (is_kept_resource(l)) return TARE_OK;
    f->action = TARE_EDIT_WRITTEN;
    if (!can_stay(t, l)) {
        t->has_tensors = true; /* or as much as if it had */
        return TARE_OK;
    }
    TARE_TRY(collect(t, l, err));
    size_t n = 0;
    for (size_t i = 0; i < t->n_runs; i++) {
        tare_edit_piece r = t->runs[i];
        TARE_TRY(narrow(&r, l, err));
        f->changed_bytes += r.size;
        if (t->has_tensors && r.size) t->runs[n++] = r;
    }
    if (t->has_tensors) t->n_runs = n;
    if (f->changed_bytes == 0 && f->old_size == f->new_size && t->was.n_names)
        f->action = TARE_EDIT_KEPT;
    else if (t->has_tensors)
        f->action = TARE_EDIT_PATCHED;
    return TARE_OK;
}

/* The file as it is; one that is new is empty. */
static tare_status open_old(layout *l, tare_edit_target *t, tare_error *err) {
    l->old = (tare_reader){.fd = -1};
    const int failed = tare_entry_stat(&t->was, TARE_HERE, l->path, true);
    if (!failed) return tare_reader_open(&l->old, l->path, false, err);
    t->was = (tare_file_facts){.n_names = 0};
    if (failed == ENOENT) return TARE_OK;
    tare_fail_errno(err, failed, "its status cannot be read");
    tare_error_file(err, l->path);
    return TARE_ERR_IO;
}

static tare_status add_target(tare_edit *e, const tare_edit_part *part, uint32_t file,
                              const tare_extent *const *extents, size_t n, tare_error *err) {
    tare_edit_target *t = &e->targets[e->summary.n_files];
    tare_edit_file *f = &e->files[e->summary.n_files++];
    layout l = {.e = e,
                .part = part,
                .extents = extents,
                .n_extents = n,
                .file = &part->plan->files.files[file],
                .path = part->model->files[0].name};
    if (e->directory) l.path = tare_join_path(&e->arena, e->directory, tare_str_of(l.file->name));
    if (!l.path) return tare_fail(err, TARE_ERR_NOMEM, "paths");
    *t = (tare_edit_target){.part = part, .file = file};
    *f = (tare_edit_file){.path = l.path};
    TARE_TRY(open_old(&l, t, err));
    tare_status status = judge(t, f, &l, err);
    tare_reader_close(&l.old);
    if (f->action != TARE_EDIT_PATCHED) f->changed_bytes = 0;
    e->summary.changed_bytes += f->changed_bytes;
    if (f->action == TARE_EDIT_WRITTEN) e->summary.written_bytes += f->new_size;
    if (f->action == TARE_EDIT_WRITTEN && t->has_tensors) e->summary.is_in_place = false;
    return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b) {
    const tare_extent *x = *(const tare_extent *const *)a, *y = *(const tare_extent *const *)b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static tare_status add_part(tare_edit *e, const tare_edit_part *part, tare_error *err) {
    const tare_write_plan *w = &part->plan->files;
    const tare_extent **sorted = TARE_NEW_ARRAY(&e->arena, const tare_extent *, w->n_extents);
    if (!sorted) return tare_fail(err, TARE_ERR_NOMEM, "edit");
    for (size_t i = 0; i < w->n_extents; i++) sorted[i] = &w->extents[i];
    if (w->n_extents) qsort(sorted, w->n_extents, sizeof *sorted, by_place);
    for (size_t f = 0, first = 0, end; f < w->n_files; f++, first = end) {
        for (end = first; end < w->n_extents && sorted[end]->file == f;) end++;
        TARE_TRY(add_target(e, part, (uint32_t)f, sorted + first, end - first, err));
    }
    return TARE_OK;
}

/* A file of the model that is not in the layout would be left behind without a purpose. */
static tare_status check_left(const tare_edit *e, tare_error *err) {
    const tare_edit_part *part = &e->parts[0];
    for (size_t i = 0; e->directory && i < part->model->n_files; i++) {
        bool is_found = false;
        for (size_t k = 0; k < e->summary.n_files && !is_found; k++) {
            const layout l = {.file = &part->plan->files.files[e->targets[k].file]};
            is_found = is_this_file(&l, part->model->files[i].name);
        }
        if (is_found) continue;
        tare_fail(err, TARE_ERR_UNSUPPORTED,
                  "the file has no place in what would be written: write it elsewhere, with -o");
        tare_error_file(err, part->model->files[i].name);
        return TARE_ERR_UNSUPPORTED;
    }
    return TARE_OK;
}

/* Content that programs find by its digest is not changed under that name. */
static tare_status check_blobs(const tare_edit *e, tare_error *err) {
    for (size_t i = 0; i < e->summary.n_files; i++) {
        if (e->files[i].action == TARE_EDIT_KEPT) continue;
        char *whole = tare_path_real(e->files[i].path);
        const bool is_blob = whole && tare_is_blob(whole);
        free(whole);
        if (!is_blob) continue;
        tare_fail(err, TARE_ERR_ARG,
                  "in a download cache, where files are named after their content: the edit is "
                  "written elsewhere, with -o");
        tare_error_file(err, e->files[i].path);
        return TARE_ERR_ARG;
    }
    return TARE_OK;
}

/* Whoever has the file under another name asked for nothing: a copy leaves them the old one. */
static tare_status check_names(const tare_edit *e, tare_error *err) {
    if (e->options.way != TARE_EDIT_IN_PLACE) return TARE_OK;
    for (size_t i = 0; i < e->summary.n_files; i++) {
        if (e->files[i].action == TARE_EDIT_KEPT || e->targets[i].was.n_names < 2) continue;
        tare_fail(err, TARE_ERR_ARG,
                  "it has other names (hard links), which would change, too: without `in_place` "
                  "they keep the old file");
        tare_error_file(err, e->files[i].path);
        return TARE_ERR_ARG;
    }
    return TARE_OK;
}

tare_status tare_edit_find_targets(tare_edit *e, tare_error *err) {
    size_t n = 0;
    for (size_t i = 0; i < e->n_parts; i++) n += e->parts[i].plan->files.n_files;
    e->targets = TARE_NEW_ARRAY(&e->arena, tare_edit_target, n);
    e->files = TARE_NEW_ARRAY(&e->arena, tare_edit_file, n);
    if (!e->targets || !e->files) return tare_fail(err, TARE_ERR_NOMEM, "edit");
    e->summary.is_in_place = true;
    for (size_t i = 0; i < e->n_parts; i++) TARE_TRY(add_part(e, &e->parts[i], err));
    TARE_TRY(check_left(e, err));
    TARE_TRY(check_blobs(e, err));
    TARE_TRY(check_names(e, err));
    if (e->summary.is_in_place || e->options.way != TARE_EDIT_IN_PLACE) return TARE_OK;
    return tare_fail(err, TARE_ERR_UNSUPPORTED,
                     "not in place: the new header does not fit in the space of the old one, or "
                     "tensors would move");
}
