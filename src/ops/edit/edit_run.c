/* SPDX-License-Identifier: MIT
 *
 * Carrying an edit out. New files are created without a name in the same directory as the old ones:
 * copies that share data if the file system supports it, full copies of small files, files that are
 * laid out anew. The result is opened and checked. Then, if there is just one file, it takes its
 * name; if there are several, or a large file is changed in place, a journal is executed.
 * docs/edit.md. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os_file.h"
#include "base/outfile.h"
#include "base/outfile_os.h"
#include "base/outfile_stale.h"
#include "base/str.h"
#include "ops/convert/execute.h"
#include "ops/edit/edit_state.h"

/* A file up to this size is copied, which takes as long as making a journal durable, and is then
 * intact for every program at every moment. */
#define COPIED_BELOW ((uint64_t)64 << 20)

typedef struct runner {
    const tare_edit *e;
    size_t n;           /* targets */
    tare_outset **sets; /* of each that is made anew; NULL: none */
    int *fds;           /* of these; -1 */
    const char **names; /* resolved paths of what changes */
    size_t n_changed, leader;
    int dir_fd, lock_fd;
    _Atomic uint64_t done;
} runner;

static tare_status fail_file(tare_error *err, tare_status status, const char *file) {
    tare_error_file(err, file);
    return status;
}

/* ---- the files that change ------------------------------------------------------------------- */

/* Links followed; a file that is new lies in the edit's directory. */
static tare_status resolve(const char **out, const char *path, tare_arena *arena, tare_error *err) {
    const char *slash = strrchr(path, '/');
    char *whole = tare_path_real(path);
    if (whole) {
        *out = tare_arena_str(arena, tare_str_of(whole)).ptr;
        free(whole);
        return *out ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "paths");
    }
    const tare_str parent = {path, slash ? (size_t)(slash - path) + 1 : 0};
    const char *directory = parent.len ? tare_arena_str(arena, parent).ptr : ".";
    if (directory) whole = tare_path_real(directory);
    if (!whole) return fail_file(err, tare_fail_errno(err, errno, "cannot be found"), path);
    const char *folder = tare_join_path(arena, whole, TARE_STR("/"));
    if (folder) *out = tare_join_path(arena, folder, tare_str_of(slash ? slash + 1 : path));
    free(whole);
    return *out ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "paths");
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_in(const char *path, const char *other) {
    const size_t n = (size_t)(base_name(path) - path);
    return n == (size_t)(base_name(other) - other) && memcmp(path, other, n) == 0;
}

/* A file that can be the leader: it exists and has room for a mark. Files with tensors come first.
 */
static bool leads(const runner *r, size_t a, size_t b) {
    const tare_edit *e = r->e;
    const bool can_a = e->files[a].old_size >= TARE_EDIT_HEAD;
    const bool can_b = e->files[b].old_size >= TARE_EDIT_HEAD;
    if (can_a != can_b) return can_a;
    return e->targets[a].has_tensors && !e->targets[b].has_tensors;
}

static tare_status find_changed(runner *r, tare_arena *arena, tare_error *err) {
    for (size_t i = 0; i < r->n; i++) {
        if (r->e->files[i].action == TARE_EDIT_KEPT) continue;
        TARE_TRY(resolve(&r->names[i], r->e->files[i].path, arena, err));
        if (r->n_changed == 0 || leads(r, i, r->leader)) r->leader = i;
        r->n_changed++;
    }
    for (size_t i = 0; i < r->n; i++)
        if (r->names[i] && !is_in(r->names[i], r->names[r->leader]))
            return fail_file(err,
                             tare_fail(err, TARE_ERR_UNSUPPORTED,
                                       "the files to change are in several directories, and cannot "
                                       "be replaced in one step: write elsewhere, with -o"),
                             r->e->files[i].path);
    return TARE_OK;
}

static bool is_unchanged(const tare_file_facts *a, const tare_file_facts *b) {
    return tare_is_same_file(a, b) && a->size == b->size && a->seconds == b->seconds &&
           a->nanoseconds == b->nanoseconds;
}

static tare_status open_folder(runner *r, const char *leader, tare_arena *arena, tare_error *err) {
    const tare_str folder = {leader, (size_t)(base_name(leader) - leader)};
    const char *path = tare_arena_str(arena, folder).ptr;
    if (!path) return tare_fail(err, TARE_ERR_NOMEM, "paths");
    const int failed = tare_fd_open(&r->dir_fd, TARE_HERE, path, TARE_OPEN_FOLDER, 0);
    return failed ? fail_file(err, tare_fail_errno(err, failed, "cannot be opened"), path)
                  : TARE_OK;
}

/* Ensures that no other edit is changing them and that they have not changed since they were read.
 */
static tare_status take_lock(runner *r, tare_arena *arena, tare_error *err) {
    const char *leader = r->names[r->leader];
    TARE_TRY(open_folder(r, leader, arena, err));
    if (r->e->targets[r->leader].was.n_names &&
        tare_fd_open(&r->lock_fd, TARE_HERE, leader, 0, 0) == 0 &&
        tare_fd_lock(r->lock_fd) == EWOULDBLOCK)
        return fail_file(err, tare_fail(err, TARE_ERR_ARG, "another edit of it is running"),
                         leader);
    for (size_t i = 0; i < r->n; i++) {
        tare_file_facts now;
        if (!r->names[i]) continue;
        const bool is_there = tare_entry_stat(&now, TARE_HERE, r->names[i], true) == 0;
        const tare_file_facts *was = &r->e->targets[i].was;
        if (is_there == (was->n_names != 0) && (!is_there || is_unchanged(was, &now))) continue;
        return fail_file(err, tare_fail(err, TARE_ERR_IO, "was changed since it was read"),
                         r->e->files[i].path);
    }
    return TARE_OK;
}

/* ---- making files ---------------------------------------------------------------------------- */

static tare_status begin_file(runner *r, size_t i, uint64_t size, tare_error *err) {
    const tare_out_options options = {.force = true,
                                      .no_sync = r->e->options.output->no_sync,
                                      .keeps_old = true,
                                      .total_size = size,
                                      .report = r->e->options.context->report};
    uint32_t index;
    TARE_TRY(
        tare_outset_new(&r->sets[i], r->names[i], &options, r->e->options.context->allocator, err));
    TARE_TRY(tare_outset_add(r->sets[i], NULL, size, &index, err));
    r->fds[i] = tare_outset_fd(r->sets[i]);
    return TARE_OK;
}

static void drop_file(runner *r, size_t i) {
    tare_outset_free(r->sets[i]);
    r->sets[i] = NULL;
    r->fds[i] = -1;
}

static tare_status write_runs(runner *r, size_t i, tare_error *err) {
    const tare_edit_target *t = &r->e->targets[i];
    for (size_t k = 0; k < t->n_runs; k++)
        TARE_TRY(tare_outset_write(r->sets[i], 0, t->runs[k].offset, t->runs[k].bytes,
                                   (size_t)t->runs[k].size, err));
    return TARE_OK;
}

static tare_status copy_all(runner *r, size_t i, int fd, tare_error *err) {
    const size_t scratch_size = (size_t)1 << 20;
    const tare_edit_file *f = &r->e->files[i];
    const uint64_t n = f->old_size < f->new_size ? f->old_size : f->new_size;
    uint8_t *scratch = tare_alloc(r->e->options.context->allocator, scratch_size);
    if (!scratch) return tare_fail(err, TARE_ERR_NOMEM, "buffer");
    tare_status status = tare_outset_copy(r->sets[i], 0, 0, fd, 0, n, scratch, scratch_size, err);
    tare_free(r->e->options.context->allocator, scratch, scratch_size);
    return status;
}

/* A copy that shares the data of the file, or else, of a small one or one that has other names,
 * that has its own. *is_made false: neither. */
static tare_status copy_file(bool *is_made, runner *r, size_t i, tare_error *err) {
    const tare_edit_file *f = &r->e->files[i];
    const tare_file_facts *was = &r->e->targets[i].was;
    *is_made = false;
    if (r->e->options.way == TARE_EDIT_IN_PLACE) return TARE_OK;
    int fd;
    int failed = tare_fd_open(&fd, TARE_HERE, r->names[i], 0, 0);
    if (failed) return fail_file(err, tare_fail_errno(err, failed, "cannot be opened"), f->path);
    tare_status status = begin_file(r, i, 0, err);
    if (status == TARE_OK) *is_made = tare_os_clone(fd, r->fds[i]);
    failed = *is_made ? tare_fd_resize(r->fds[i], f->new_size) : 0;
    if (failed)
        status = fail_file(err, tare_fail_errno(err, failed, "cannot be given its size"), f->path);
    if (status == TARE_OK && !*is_made) {
        drop_file(r, i);
        if (was->size <= COPIED_BELOW || was->n_names > 1) {
            status = begin_file(r, i, f->new_size, err);
            if (status == TARE_OK) status = copy_all(r, i, fd, err);
            *is_made = true;
        }
    }
    tare_fd_close(fd);
    return status == TARE_OK && *is_made ? write_runs(r, i, err) : status;
}

/* ---- what is laid out anew ------------------------------------------------------------------- */

/* The file of a plan goes into the set of its target. */
typedef struct sink {
    runner *r;
    const tare_edit_part *part;
    size_t first; /* target of the plan's first file */
} sink;

static tare_status put(void *ctx, uint32_t file, uint64_t offset, const void *bytes, size_t n,
                       tare_scratch *scratch, tare_error *err) {
    const sink *s = ctx;
    (void)scratch;
    return tare_outset_write(s->r->sets[s->first + file], 0, offset, bytes, n, err);
}

#define COPY_SCRATCH ((size_t)1 << 20)

static tare_status copy(void *ctx, uint32_t file, uint64_t offset, int in_fd, uint64_t in_offset,
                        uint64_t n, tare_scratch *scratch, tare_error *err) {
    const sink *s = ctx;
    uint8_t *buf = tare_scratch_get(scratch, TARE_SCRATCH_STORED, COPY_SCRATCH);
    if (!buf) return tare_fail(err, TARE_ERR_NOMEM, "buffer");
    return tare_outset_copy(s->r->sets[s->first + file], 0, offset, in_fd, in_offset, n, buf,
                            COPY_SCRATCH, err);
}

static bool is_laid_out(const runner *r, size_t i) {
    return r->e->files[i].action == TARE_EDIT_WRITTEN && r->e->targets[i].has_tensors;
}

/* The extents of files that are laid out anew; those of other files are not read at all. */
static tare_status lay_out(runner *r, const tare_edit_part *part, size_t first, tare_arena *arena,
                           tare_error *err) {
    tare_plan plan = *part->plan;
    sink s = {.r = r, .part = part, .first = first};
    tare_execution *x = NULL;
    plan.files.n_extents = 0;
    plan.files.extents = TARE_NEW_ARRAY(arena, tare_extent, part->plan->files.n_extents);
    if (!plan.files.extents) return tare_fail(err, TARE_ERR_NOMEM, "edit");
    for (size_t i = 0; i < part->plan->files.n_extents; i++) {
        const tare_extent *e = &part->plan->files.extents[i];
        if (is_laid_out(r, first + e->file)) plan.files.extents[plan.files.n_extents++] = *e;
    }
    const tare_sink to = {.ctx = &s, .put = put, .copy = copy};
    TARE_TRY(tare_execution_new(&x, &plan, false, err));
    tare_status status =
        tare_execution_run(x, &to, NULL, &r->done, r->e->summary.written_bytes, err);
    tare_execution_free(x);
    return status;
}

static tare_status make_files(runner *r, tare_arena *arena, tare_error *err) {
    const tare_edit *e = r->e;
    for (size_t i = 0; i < r->n; i++) {
        bool is_made;
        if (e->files[i].action == TARE_EDIT_PATCHED)
            TARE_TRY(copy_file(&is_made, r, i, err));
        else if (e->files[i].action == TARE_EDIT_WRITTEN)
            TARE_TRY(begin_file(r, i, e->files[i].new_size, err));
        if (e->files[i].action == TARE_EDIT_WRITTEN && !e->targets[i].has_tensors)
            TARE_TRY(write_runs(r, i, err));
    }
    for (size_t i = 0; i < r->n; i += e->targets[i].part->plan->files.n_files) {
        bool is_needed = false;
        for (size_t k = 0; k < e->targets[i].part->plan->files.n_files; k++)
            is_needed |= is_laid_out(r, i + k);
        if (is_needed) TARE_TRY(lay_out(r, e->targets[i].part, i, arena, err));
    }
    for (size_t i = 0; i < e->n_parts; i++) TARE_TRY(tare_edit_check(e, &e->parts[i], r->fds, err));
    return TARE_OK;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Permissions, and the owner where that is allowed, are those of the file that is replaced. */
static void keep_attributes(const runner *r, size_t i) {
    const tare_file_facts *was = &r->e->targets[i].was;
    if (r->fds[i] < 0 || !was->n_names) return;
    const bool has_owner = tare_fd_set_owner(r->fds[i], was) == 0;
    (void)tare_fd_set_mode(r->fds[i], has_owner ? was->mode : was->mode & 0777);
}

static tare_status head_of(uint8_t head[TARE_EDIT_HEAD], const char *path, tare_error *err) {
    tare_reader reader;
    TARE_TRY(tare_reader_open(&reader, path, false, err));
    tare_status status = tare_reader_read(&reader, 0, head, TARE_EDIT_HEAD, err);
    tare_reader_close(&reader);
    return status;
}

/* What is to become of a target, once its new file has a name. */
static tare_status describe(tare_edit_op *op, runner *r, size_t i, tare_error *err) {
    const tare_edit_target *t = &r->e->targets[i];
    const tare_edit_file *f = &r->e->files[i];
    const bool is_replaced = r->sets[i] != NULL;
    const bool has_room = f->old_size >= TARE_EDIT_HEAD && f->new_size >= TARE_EDIT_HEAD;
    *op = (tare_edit_op){.name = base_name(r->names[i]),
                         .old_size = f->old_size,
                         .new_size = f->new_size,
                         /* another name of a replaced file would keep the mark */
                         .is_marked = has_room && !(is_replaced && t->was.n_names > 1)};
    if (is_replaced && i != r->leader) op->is_marked = false;
    if (op->is_marked) TARE_TRY(head_of(op->old_head, r->names[i], err));
    memcpy(op->new_head, op->old_head, TARE_EDIT_HEAD);
    if (is_replaced) return tare_outset_release(r->sets[i], &op->temporary, err);
    op->runs = t->runs;
    op->n_runs = t->n_runs;
    for (size_t k = 0; k < t->n_runs; k++)
        for (uint64_t b = 0; b < t->runs[k].size && t->runs[k].offset + b < TARE_EDIT_HEAD; b++)
            op->new_head[t->runs[k].offset + b] = t->runs[k].bytes[b];
    return TARE_OK;
}

static tare_status run_journal(runner *r, const tare_edit_watch *watch, tare_arena *arena,
                               tare_error *err) {
    tare_edit_journal j = {.ops = TARE_NEW_ARRAY(arena, tare_edit_op, r->n_changed)};
    char random[sizeof j.id + 1];
    if (!j.ops) return tare_fail(err, TARE_ERR_NOMEM, "journal");
    tare_random_name(random, sizeof j.id);
    memcpy(j.id, random, sizeof j.id);
    tare_status status = describe(&j.ops[j.n_ops++], r, r->leader, err);
    for (size_t i = 0; i < r->n && status == TARE_OK; i++)
        if (r->names[i] && i != r->leader) status = describe(&j.ops[j.n_ops++], r, i, err);
    if (status == TARE_OK)
        return tare_edit_journal_run(&j, r->dir_fd, r->e->options.output->no_sync, watch,
                                     r->e->options.context->allocator, err);
    for (size_t i = 0; i < j.n_ops; i++)
        if (j.ops[i].temporary) tare_entry_remove(r->dir_fd, j.ops[i].temporary);
    return status;
}

static void keep_times(const runner *r) {
    for (size_t i = 0; i < r->n && r->e->options.keep_time; i++) {
        const tare_file_facts *was = &r->e->targets[i].was;
        if (r->names[i] && was->n_names) (void)tare_entry_set_time(TARE_HERE, r->names[i], was);
    }
}

static tare_status run(runner *r, const tare_edit_watch *watch, tare_arena *arena,
                       tare_error *err) {
    TARE_TRY(find_changed(r, arena, err));
    if (r->n_changed == 0) return TARE_OK;
    TARE_TRY(take_lock(r, arena, err));
    TARE_TRY(make_files(r, arena, err));
    for (size_t i = 0; i < r->n; i++) keep_attributes(r, i);
    if (r->n_changed == 1 && r->sets[r->leader]) {
        if (watch) watch->before(watch->ctx, "rename");
        TARE_TRY(tare_outset_commit(r->sets[r->leader], err));
    } else {
        TARE_TRY(run_journal(r, watch, arena, err));
    }
    keep_times(r);
    return TARE_OK;
}

tare_status tare_edit_run_watched(const tare_edit *e, const tare_edit_watch *watch,
                                  tare_error *err) {
    TARE_REQUIRE(e, err);
    if (e->options.out_path) return tare_plan_run(NULL, e->parts[0].plan, err);
    runner r = {.e = e, .n = e->summary.n_files, .dir_fd = -1, .lock_fd = -1};
    tare_arena arena;
    tare_arena_init(&arena, e->options.context->allocator);
    r.sets = TARE_NEW_ARRAY(&arena, tare_outset *, r.n);
    r.fds = TARE_NEW_ARRAY(&arena, int, r.n);
    r.names = TARE_NEW_ARRAY(&arena, const char *, r.n);
    tare_status status = TARE_OK;
    if (!r.sets || !r.fds || !r.names) status = tare_fail(err, TARE_ERR_NOMEM, "edit");
    for (size_t i = 0; i < r.n && status == TARE_OK; i++) r.fds[i] = -1;
    if (status == TARE_OK) status = run(&r, watch, &arena, err);
    for (size_t i = 0; i < r.n && r.sets; i++) tare_outset_free(r.sets[i]);
    if (r.lock_fd >= 0) tare_fd_close(r.lock_fd);
    if (r.dir_fd >= 0) tare_fd_close(r.dir_fd);
    tare_arena_free(&arena);
    return status;
}
