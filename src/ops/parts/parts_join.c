/* SPDX-License-Identifier: MIT
 *
 * Putting parts together. Their records, one after the other, are the list of the output's files and
 * say which bytes of the parts are whose. Bytes that all parts have put in their place already only
 * get the output's name. */
#include <errno.h>
#include <string.h>

#include "base/arith.h"
#include "base/files.h"
#include "base/os_file.h"
#include "base/outfile.h"
#include "base/outfile_os.h"
#include "base/pool.h"
#include "base/report.h"
#include "base/str.h"
#include "ops/output/destination.h"
#include "ops/output/replaced.h"
#include "ops/parts/parts_state.h"

#define STEP    ((uint64_t)64 << 20) /* bytes between two looks at whether to stop */
#define SCRATCH ((size_t)1 << 20)    /* where the system cannot copy by itself */

typedef struct joining {
    const tare_parts *parts;
    const char *out_path; /* of the output: the parts' own or another */
    tare_output_options output;
    tare_arena arena;
    tare_part_piece *files; /* of the output, in its order: n_bytes is what the parts have */
    size_t n_files;
    tare_outset *set;
    void *scratch;
    uint64_t done;
    tare_join_result result;
} joining;

static const tare_part_record *record_at(const joining *j, uint32_t i) {
    return &j->parts->found[i].record;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static const char *const state_texts[] = {
    [TARE_PART_MISSING] = "this part is missing",
    [TARE_PART_UNFINISHED] = "this part is not finished: it has no record",
    [TARE_PART_STALE] = "this part was made from another input or with other options than the "
                        "others: make it again",
    [TARE_PART_FOREIGN] = "the record beside this part is of another part or output",
    [TARE_PART_DOUBLED] = "this part is there besides those that are needed: remove it",
    [TARE_PART_DAMAGED] = "this part does not have the bytes that its record says, or no record "
                          "that can be read",
};

static tare_status check_states(const joining *j, tare_error *err) {
    const tare_parts *p = j->parts;
    for (size_t i = 0; i < p->n_found; i++) {
        const tare_part_found *f = &p->found[i];
        if (f->info.state == TARE_PART_DONE) continue;
        const char *path = f->path ? f->path
                                   : tare_part_path((tare_arena *)(uintptr_t)&j->arena, p->out_path,
                                                    f->info.index, f->info.count);
        tare_fail(err, TARE_ERR_ARG,
                  tare_path_has_entry(p->out_path)
                      ? "this part is not done, and the output is there: if a join was stopped "
                        "while it removed the parts, remove what it left; else make it again"
                      : state_texts[f->info.state]);
        tare_error_file(err, path ? path : p->out_path);
        return TARE_ERR_ARG;
    }
    return TARE_OK;
}

static tare_status fail_piece(const joining *j, uint32_t i, tare_error *err) {
    tare_fail(err, TARE_ERR_CORRUPT, "the records do not say which bytes each file has");
    tare_error_file(err, j->parts->found[i].path);
    return TARE_ERR_CORRUPT;
}

/* A piece goes on with the file before it, or begins one. */
static tare_status add_piece(joining *j, uint32_t part, const tare_part_piece *piece,
                             tare_error *err) {
    tare_part_piece *last = j->n_files ? &j->files[j->n_files - 1] : NULL;
    const bool is_open = last && last->n_bytes < last->file.n_bytes;
    if (piece->offset == 0 && !is_open) {
        j->files[j->n_files++] = *piece;
        return TARE_OK;
    }
    if (!is_open || piece->offset != last->n_bytes || piece->file.n_bytes != last->file.n_bytes ||
        !tare_str_equal(piece->file.name, last->file.name))
        return fail_piece(j, part, err);
    last->n_bytes += piece->n_bytes;
    return TARE_OK;
}

static tare_status collect(joining *j, tare_error *err) {
    const tare_parts *p = j->parts;
    size_t n = 0;
    for (uint32_t i = 0; i < p->count; i++) n += record_at(j, i)->n_pieces;
    j->files = TARE_NEW_ARRAY(&j->arena, tare_part_piece, n);
    if (!j->files) return tare_fail(err, TARE_ERR_NOMEM, "files of an output");
    for (uint32_t i = 0; i < p->count; i++)
        for (size_t k = 0; k < record_at(j, i)->n_pieces; k++)
            TARE_TRY(add_piece(j, i, &record_at(j, i)->pieces[k], err));
    const tare_part_piece *last = j->n_files ? &j->files[j->n_files - 1] : NULL;
    const bool is_whole = !last || last->n_bytes == last->file.n_bytes;
    if (!is_whole || (!record_at(j, 0)->is_directory && j->n_files != 1))
        return fail_piece(j, p->count - 1, err);
    j->result.total_bytes = record_at(j, 0)->total;
    j->result.n_files = j->n_files;
    j->result.is_directory = record_at(j, 0)->is_directory;
    return TARE_OK;
}

/* ---- parts that are files -------------------------------------------------------------------- */

static uint16_t withheld_of(const joining *j) {
    unsigned withheld = 0;
    for (uint32_t i = 0; i < j->parts->count; i++) withheld |= record_at(j, i)->withheld;
    return (uint16_t)withheld;
}

static tare_out_options out_options(const joining *j) {
    return (tare_out_options){.is_directory = j->result.is_directory,
                              .has_folders = j->result.is_directory,
                              .force = j->output.force,
                              .no_sync = j->output.no_sync,
                              .withheld = withheld_of(j),
                              .total_size = j->result.total_bytes,
                              .report = j->parts->context.report,
                              .store = tare_output_store(&j->output)};
}

static tare_status add_files(joining *j, tare_error *err) {
    for (size_t i = 0; i < j->n_files; i++) {
        const tare_view_file *f = &j->files[i].file;
        const char *name = j->result.is_directory ? f->name.ptr : NULL;
        uint32_t index;
        if (f->kind == TARE_VIEW_FILE)
            TARE_TRY(tare_outset_add(j->set, name, f->n_bytes, &index, err));
        else
            TARE_TRY(tare_outset_add_entry(
                j->set, name, f->kind == TARE_VIEW_LINK ? f->target.ptr : NULL, &index, err));
        if (f->is_stated && name)
            tare_outset_stamp(j->set, index, f->mode, f->seconds, f->nanoseconds);
    }
    return TARE_OK;
}

static tare_status place_piece(joining *j, uint32_t file, const tare_part_piece *piece, int fd,
                               uint64_t from, tare_error *err) {
    const tare_context *c = &j->parts->context;
    for (uint64_t at = 0; at < piece->n_bytes;) {
        const uint64_t n = tare_min_u64(STEP, piece->n_bytes - at);
        TARE_TRY(tare_cancel_check(c->cancel, err));
        TARE_TRY(tare_outset_copy(j->set, file, piece->offset + at, fd, from + at, n, j->scratch,
                                  SCRATCH, err));
        at += n;
        j->done += n;
        if (c->progress && c->progress(c->progress_ctx, j->done, j->result.total_bytes))
            return tare_fail(err, TARE_ERR_CANCELLED, "cancelled");
    }
    if (piece->offset + piece->n_bytes == piece->file.n_bytes && piece->file.kind == TARE_VIEW_FILE)
        return tare_outset_member_done(j->set, file, err);
    return TARE_OK;
}

/* *file: of the output, that the next piece belongs to. */
static tare_status place_part(joining *j, uint32_t i, uint32_t *file, tare_error *err) {
    const tare_part_found *f = &j->parts->found[i];
    uint64_t from = 0;
    int fd;
    const int e = tare_fd_open(&fd, TARE_HERE, f->path, 0, 0);
    tare_status status = e ? tare_fail_errno(err, e, "the part cannot be read") : TARE_OK;
    for (size_t k = 0; k < f->record.n_pieces && status == TARE_OK; k++) {
        const tare_part_piece *piece = &f->record.pieces[k];
        status = tare_part_piece_check(piece, f->path, from, &j->parts->context, err);
        if (status == TARE_OK) status = place_piece(j, *file, piece, fd, from, err);
        from += piece->n_bytes;
        if (piece->offset + piece->n_bytes == piece->file.n_bytes) ++*file;
    }
    if (!e) tare_fd_close(fd);
    if (status != TARE_OK) tare_error_file(err, f->path);
    return status;
}

static tare_status join_files(joining *j, tare_error *err) {
    const tare_out_options o = out_options(j);
    uint32_t file = 0;
    if (j->result.is_directory && j->output.force) TARE_TRY(tare_check_replaced(j->out_path, err));
    if (j->output.dry_run)
        return tare_outset_check(j->out_path, &o, j->parts->context.allocator, err);
    j->scratch = tare_arena_take(&j->arena, SCRATCH);
    if (!j->scratch) return tare_fail(err, TARE_ERR_NOMEM, "buffer");
    TARE_TRY(tare_outset_new(&j->set, j->out_path, &o, j->parts->context.allocator, err));
    TARE_TRY(add_files(j, err));
    for (uint32_t i = 0; i < j->parts->count; i++) TARE_TRY(place_part(j, i, &file, err));
    return tare_outset_commit(j->set, err);
}

/* ---- parts in one output --------------------------------------------------------------------- */

static tare_status fail_shared(const char *path, int os_error, const char *what, tare_error *err) {
    const tare_status status =
        os_error ? tare_fail_errno(err, os_error, what) : tare_fail(err, TARE_ERR_ARG, what);
    tare_error_file(err, path);
    return status;
}

static const char *shared_file(joining *j, const tare_part_piece *file) {
    const char *whole = j->parts->shared_path;
    return j->result.is_directory ? tare_part_inner(&j->arena, whole, file->file.name) : whole;
}

/* Whether all folders above an entry are folders: what lies behind a link is none of the output's. */
static tare_status check_above(joining *j, const tare_view_file *f, tare_error *err) {
    tare_file_facts facts;
    for (size_t i = 0; i < f->name.len; i++) {
        if (f->name.ptr[i] != '/') continue;
        const tare_str above = {f->name.ptr, i};
        const char *path = tare_part_inner(&j->arena, j->parts->shared_path, above);
        if (!path) return tare_fail(err, TARE_ERR_NOMEM, "name of a file");
        const int e = tare_entry_stat(&facts, TARE_HERE, path, false);
        if (e == ENOENT) return TARE_OK;
        if (e)
            return fail_shared(path, e,
                               "the status of a folder that the parts share cannot be read", err);
        if (facts.kind != TARE_PATH_FOLDER)
            return fail_shared(path, 0, "files of the output lie in it, and it is not a folder",
                               err);
    }
    return TARE_OK;
}

typedef struct extras {
    joining *j;
    const char *folder;
    size_t n_files;
} extras;

/* Counts what is there: with all that has to be there, as many files are all that there is. */
static tare_status count_entry(void *ctx, const tare_files_entry *entry, tare_error *err) {
    extras *x = ctx;
    if (entry->kind != TARE_PATH_FOLDER || entry->is_link) {
        x->n_files++;
        return TARE_OK;
    }
    const char *inner = tare_part_inner(&x->j->arena, x->folder, tare_str_of(entry->name));
    extras below = {.j = x->j, .folder = inner};
    if (!inner) return tare_fail(err, TARE_ERR_NOMEM, "files of an output");
    TARE_TRY(tare_files_list(NULL, inner, count_entry, &below, err));
    x->n_files += below.n_files;
    return TARE_OK;
}

static tare_status check_shared_bytes(joining *j, tare_error *err) {
    for (uint32_t i = 0; i < j->parts->count; i++)
        for (size_t k = 0; k < record_at(j, i)->n_pieces; k++) {
            const tare_part_piece *piece = &record_at(j, i)->pieces[k];
            const char *path = shared_file(j, piece);
            if (!path) return tare_fail(err, TARE_ERR_NOMEM, "name of a file");
            const tare_status status =
                tare_part_piece_check(piece, path, piece->offset, &j->parts->context, err);
            if (status == TARE_ERR_CORRUPT)
                tare_error_detail(err, "part %u of %u", i + 1, j->parts->count);
            TARE_TRY(status);
        }
    return TARE_OK;
}

static tare_status check_shared(joining *j, tare_error *err) {
    tare_file_facts facts;
    size_t n = 0;
    for (size_t i = 0; i < j->n_files; i++) {
        const tare_part_piece *f = &j->files[i];
        const char *path = shared_file(j, f);
        if (!path) return tare_fail(err, TARE_ERR_NOMEM, "name of a file");
        TARE_TRY(check_above(j, &f->file, err));
        if (f->file.kind == TARE_VIEW_LINK) n += tare_path_has_entry(path); /* of a join before */
        if (f->file.kind != TARE_VIEW_FILE) continue;
        const int e = tare_entry_stat(&facts, TARE_HERE, path, false);
        if (e)
            return fail_shared(path, e, "the status of a file that the parts share cannot be read",
                               err);
        if (facts.kind != TARE_PATH_FILE || facts.size != f->file.n_bytes)
            return fail_shared(path, 0, "a file that the parts share does not have its size", err);
        n++;
    }
    TARE_TRY(check_shared_bytes(j, err));
    if (!j->result.is_directory) return TARE_OK;
    extras x = {.j = j, .folder = j->parts->shared_path};
    TARE_TRY(tare_files_list(NULL, j->parts->shared_path, count_entry, &x, err));
    if (x.n_files != n)
        return fail_shared(j->parts->shared_path, 0,
                           "holds files that are none of the output's: remove it and make the "
                           "parts again",
                           err);
    return TARE_OK;
}

/* A link or an empty folder, which a join that was stopped may have made. */
static tare_status make_shared(const tare_view_file *f, const char *path, tare_error *err) {
    const bool is_link = f->kind == TARE_VIEW_LINK;
    tare_file_facts there;
    int e = is_link ? tare_link_make(TARE_HERE, path, f->target.ptr)
                    : tare_folder_make(TARE_HERE, path, 0777);
    if (e == EEXIST) {
        e = tare_entry_stat(&there, TARE_HERE, path, false);
        if (e == 0 && there.kind != (is_link ? TARE_PATH_LINK : TARE_PATH_FOLDER)) e = EEXIST;
    }
    return e ? fail_shared(path, e, "the entry cannot be made", err) : TARE_OK;
}

/* Links, empty folders, permissions and times come last. */
static tare_status finish_shared(joining *j, tare_error *err) {
    for (size_t i = 0; i < j->n_files && j->result.is_directory; i++) {
        const tare_view_file *f = &j->files[i].file;
        const tare_file_facts facts = {
            .mode = f->mode, .seconds = f->seconds, .nanoseconds = f->nanoseconds};
        const char *path = shared_file(j, &j->files[i]);
        int e = 0;
        if (!path) return tare_fail(err, TARE_ERR_NOMEM, "name of a file");
        TARE_TRY(check_above(j, f, err)); /* again: a link may have been made above it */
        if (f->kind != TARE_VIEW_FILE) TARE_TRY(make_shared(f, path, err));
        if (f->is_stated && f->kind == TARE_VIEW_LINK)
            e = tare_entry_set_time(TARE_HERE, path, &facts);
        else if (f->is_stated)
            e = tare_entry_set(TARE_HERE, path, &facts);
        if (e) return fail_shared(path, e, "the entry cannot be given its mode and time", err);
    }
    return TARE_OK;
}

static tare_status join_shared(joining *j, tare_error *err) {
    if (j->out_path != j->parts->out_path)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "parts of one file that all share become the output where they are: join "
                         "them under their own name");
    const char *out_path = j->out_path;
    const bool is_taken = tare_path_has_entry(out_path);
    TARE_TRY(check_shared(j, err));
    if (is_taken && (!j->output.force || j->result.is_directory)) {
        tare_fail_code(err, TARE_ERR_ARG, TARE_CODE_OUTPUT_EXISTS,
                       j->output.force ? "the output exists: move the old directory away first"
                                       : "the output exists");
        tare_error_file(err, out_path);
        return TARE_ERR_ARG;
    }
    if (j->output.dry_run) return TARE_OK;
    TARE_TRY(finish_shared(j, err));
    const int e = j->output.force ? tare_entry_rename(TARE_HERE, j->parts->shared_path, out_path)
                                  : tare_os_rename_new(TARE_HERE, j->parts->shared_path, out_path);
    return e ? fail_shared(out_path, e, "the output cannot get its name", err) : TARE_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void note_left(const joining *j, const char *path) {
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_IO, "parts.left");
    f.file = tare_str_of(path);
    tare_report_addf(j->parts->context.report, &f,
                     "cannot be removed; the output is whole, and this is not needed any more");
}

/* Bytes before records: whoever is stopped in between leaves parts that nobody takes for whole. */
static void remove_parts(joining *j) {
    for (uint32_t i = 0; i < j->parts->count; i++) {
        const tare_part_found *f = &j->parts->found[i];
        const char *record = tare_part_record_path(&j->arena, f->path);
        if (f->has_bytes && tare_entry_remove(TARE_HERE, f->path) != 0) note_left(j, f->path);
        if (record && tare_entry_remove(TARE_HERE, record) != 0) note_left(j, record);
    }
}

static tare_status join_ranges(joining *j, tare_error *err) {
    TARE_TRY(collect(j, err));
    return record_at(j, 0)->is_shared ? join_shared(j, err) : join_files(j, err);
}

tare_status tare_parts_join(tare_join_result *out, const tare_parts *parts, const char *to,
                            bool keep, const tare_output_options *output, tare_error *err) {
    TARE_REQUIRE(parts, err);
    if (out) TARE_TRY(tare_result_check(out, err));
    joining j = {.parts = parts,
                 .out_path = to ? to : parts->out_path,
                 .result = tare_join_result_default()};
    TARE_TRY(tare_output_keep(&j.output, &output, err));
    tare_arena_init(&j.arena, parts->context.allocator);
    tare_status status = check_states(&j, err);
    j.result.n_files = 1;
    if (status == TARE_OK && record_at(&j, 0)->is_packed)
        status = tare_parts_join_packed(&j.result.total_bytes, parts, j.out_path, &j.output,
                                        withheld_of(&j), err);
    else if (status == TARE_OK)
        status = join_ranges(&j, err);
    if (status == TARE_OK && !keep && !j.output.dry_run) remove_parts(&j);
    if (status == TARE_OK && out) tare_result_write(out, &j.result, sizeof j.result);
    tare_outset_free(j.set);
    tare_arena_free(&j.arena);
    return status;
}

TARE_DEFINE_INIT(tare_join_result)
