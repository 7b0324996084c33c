/* SPDX-License-Identifier: MIT
 *
 * The journal of an edit, and its execution. It is a write-ahead journal: its operations can be
 * repeated in full, however often they were begun. Its bytes, little-endian:
 *
 *   "TAREJRNL", u32 version 2, u32 operations, u8[8] id,
 *   u64 inode of the directory, of the journal, time of the journal's birth in ns; for each operation
 *     u32 size of name, u32 size of temporary, u32 is marked, u32 0, u64 inode, u64 inode of the
 *     temporary, name, temporary,
 *     u8[16] old head, u8[16] new head, u64 old size, u64 new size, u64 runs; for each run
 *       u64 offset, u64 size, bytes
 *   SHA-256 of all before
 */
#include "ops/edit/edit_journal.h"

#include <errno.h>
#include <string.h>

#include "base/arith.h"
#include "base/buffer.h"
#include "base/cursor.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/os_file.h"
#include "base/outfile_os.h"
#include "base/outfile_stale.h"
#include "base/str.h"
#include "ops/edit/edit_recover.h"

#define MAGIC       "TAREJRNL"
#define DIGEST_SIZE 32
#define VERSION     2
#define OP_BYTES    (32 + 2 * TARE_EDIT_HEAD + 24)
#define RUN_BYTES   16
#define PIECE       ((size_t)1 << 16) /* written at once */

/* ---- its bytes ------------------------------------------------------------------------------- */

static void put_op(tare_buffer *b, const tare_edit_op *op) {
    const char *temporary = op->temporary ? op->temporary : "";
    tare_buffer_put_u32(b, (uint32_t)strlen(op->name), false);
    tare_buffer_put_u32(b, (uint32_t)strlen(temporary), false);
    tare_buffer_put_u32(b, op->is_marked, false);
    tare_buffer_put_u32(b, 0, false);
    tare_buffer_put_u64(b, op->inode, false);
    tare_buffer_put_u64(b, op->temporary_inode, false);
    tare_buffer_put_text(b, op->name);
    tare_buffer_put_text(b, temporary);
    tare_buffer_put(b, op->old_head, TARE_EDIT_HEAD);
    tare_buffer_put(b, op->new_head, TARE_EDIT_HEAD);
    tare_buffer_put_u64(b, op->old_size, false);
    tare_buffer_put_u64(b, op->new_size, false);
    tare_buffer_put_u64(b, op->n_runs, false);
    for (size_t i = 0; i < op->n_runs; i++) {
        tare_buffer_put_u64(b, op->runs[i].offset, false);
        tare_buffer_put_u64(b, op->runs[i].size, false);
        tare_buffer_put(b, op->runs[i].bytes, (size_t)op->runs[i].size);
    }
}

static void digest_of(uint8_t out[DIGEST_SIZE], const uint8_t *bytes, size_t n) {
    tare_sha256 h;
    tare_sha256_init(&h);
    tare_sha256_update(&h, bytes, n);
    tare_sha256_final(&h, out);
}

static tare_status put_journal(tare_buffer *b, const tare_edit_journal *j, tare_error *err) {
    uint8_t digest[DIGEST_SIZE];
    tare_buffer_put_text(b, MAGIC);
    tare_buffer_put_u32(b, VERSION, false);
    tare_buffer_put_u32(b, (uint32_t)j->n_ops, false);
    tare_buffer_put(b, j->id, sizeof j->id);
    tare_buffer_put_u64(b, j->directory_inode, false);
    tare_buffer_put_u64(b, j->inode, false);
    tare_buffer_put_u64(b, j->born, false);
    for (size_t i = 0; i < j->n_ops; i++) put_op(b, &j->ops[i]);
    TARE_TRY(tare_buffer_status(b, err));
    digest_of(digest, b->data, b->size);
    tare_buffer_put(b, digest, sizeof digest);
    return tare_buffer_status(b, err);
}

/* The name of a file of the directory, and of no other. */
static const char *take_name(tare_cursor *c, uint32_t n, tare_arena *arena) {
    const uint64_t at = tare_cursor_offset(c);
    const uint8_t *bytes = tare_cursor_take(c, n, "name");
    const tare_str name = {(const char *)bytes, n};
    if (!bytes) return NULL;
    if (n > TARE_NAME_MOST || !tare_is_plain_name(name)) {
        tare_cursor_fail(c, TARE_ERR_CORRUPT, at, "name: not that of a file in the directory");
        return NULL;
    }
    const char *copy = tare_arena_str(arena, name).ptr;
    if (!copy) tare_cursor_fail(c, TARE_ERR_NOMEM, at, "name");
    return copy;
}

static void take_head(tare_cursor *c, uint8_t head[TARE_EDIT_HEAD]) {
    const uint8_t *bytes = tare_cursor_take(c, TARE_EDIT_HEAD, "head");
    if (bytes) memcpy(head, bytes, TARE_EDIT_HEAD);
}

static bool take_runs(tare_cursor *c, tare_edit_op *op, tare_arena *arena) {
    const uint64_t at = tare_cursor_offset(c);
    const uint64_t n = tare_cursor_count(c, RUN_BYTES, "runs");
    op->runs = TARE_NEW_ARRAY(arena, tare_edit_piece, n);
    if (!op->runs) return tare_cursor_fail(c, TARE_ERR_NOMEM, at, "runs");
    for (; op->n_runs < n && tare_cursor_ok(c); op->n_runs++) {
        tare_edit_piece *r = &op->runs[op->n_runs];
        const uint64_t here = tare_cursor_offset(c);
        uint64_t end;
        r->offset = tare_cursor_u64(c, "offset");
        r->size = tare_cursor_u64(c, "size");
        r->bytes = tare_cursor_take(c, r->size, "bytes");
        if (!tare_add_u64(r->offset, r->size, &end) || end > op->new_size)
            tare_cursor_fail(c, TARE_ERR_CORRUPT, here, "run: beyond the end of the file");
    }
    return tare_cursor_ok(c);
}

static bool take_op(tare_cursor *c, tare_edit_op *op, tare_arena *arena) {
    const uint64_t at = tare_cursor_offset(c);
    const uint32_t n_name = tare_cursor_u32(c, "size of name");
    const uint32_t n_temporary = tare_cursor_u32(c, "size of temporary");
    *op = (tare_edit_op){.is_marked = tare_cursor_u32(c, "is marked") != 0};
    tare_cursor_u32(c, "reserved");
    op->inode = tare_cursor_u64(c, "inode");
    op->temporary_inode = tare_cursor_u64(c, "inode of the temporary");
    op->name = take_name(c, n_name, arena);
    if (n_temporary) op->temporary = take_name(c, n_temporary, arena);
    take_head(c, op->old_head);
    take_head(c, op->new_head);
    op->old_size = tare_cursor_u64(c, "old size");
    op->new_size = tare_cursor_u64(c, "new size");
    if (tare_cursor_ok(c) && (op->new_size > INT64_MAX || op->old_size > INT64_MAX))
        tare_cursor_fail(c, TARE_ERR_CORRUPT, at, "size: beyond 63 bits");
    if (tare_cursor_ok(c) && !op->temporary && op->is_marked &&
        (op->old_size < TARE_EDIT_HEAD || op->new_size < TARE_EDIT_HEAD))
        tare_cursor_fail(c, TARE_ERR_CORRUPT, at, "size: less than a mark");
    return take_runs(c, op, arena);
}

tare_status tare_edit_journal_parse(tare_edit_journal *out, const uint8_t *bytes, size_t size,
                                    tare_arena *arena, tare_error *err) {
    uint8_t digest[DIGEST_SIZE];
    tare_cursor c;
    *out = (tare_edit_journal){.n_ops = 0};
    if (size < DIGEST_SIZE) return tare_fail(err, TARE_ERR_CORRUPT, "journal: not whole");
    digest_of(digest, bytes, size - DIGEST_SIZE);
    if (memcmp(digest, bytes + size - DIGEST_SIZE, DIGEST_SIZE) != 0)
        return tare_fail(err, TARE_ERR_CORRUPT, "journal: not whole");
    tare_cursor_init(&c, bytes, size - DIGEST_SIZE, 0);
    const uint8_t *magic = tare_cursor_take(&c, sizeof MAGIC - 1, "magic");
    if (magic && memcmp(magic, MAGIC, sizeof MAGIC - 1) != 0)
        tare_cursor_fail(&c, TARE_ERR_CORRUPT, 0, "journal: magic");
    if (tare_cursor_u32(&c, "version") != VERSION && tare_cursor_ok(&c))
        tare_cursor_fail(
            &c, TARE_ERR_UNSUPPORTED, 8,
            "journal of an edit: written by another version of tare or another program");
    const uint32_t n = tare_cursor_u32(&c, "operations");
    const uint8_t *id = tare_cursor_take(&c, sizeof out->id, "id");
    if (id) memcpy(out->id, id, sizeof out->id);
    out->directory_inode = tare_cursor_u64(&c, "inode of the directory");
    out->inode = tare_cursor_u64(&c, "inode of the journal");
    out->born = tare_cursor_u64(&c, "birth of the journal");
    if (!tare_cursor_fits(&c, n, OP_BYTES, 12, "operations") || n == 0)
        tare_cursor_fail(&c, TARE_ERR_CORRUPT, 12, "journal: no operations");
    TARE_TRY(tare_cursor_status(&c, err));
    out->ops = TARE_NEW_ARRAY(arena, tare_edit_op, n);
    if (!out->ops) return tare_fail(err, TARE_ERR_NOMEM, "journal");
    while (out->n_ops < n && take_op(&c, &out->ops[out->n_ops], arena)) out->n_ops++;
    return tare_cursor_status(&c, err);
}

/* ---- whose it is ----------------------------------------------------------------------------- */

/* 0: there is no such file, or it is not an ordinary one. */
static uint64_t inode_of(int dir_fd, const char *name) {
    tare_file_facts facts;
    const bool is_there =
        name && tare_entry_stat(&facts, dir_fd, name, false) == 0 && facts.kind == TARE_PATH_FILE;
    return is_there ? facts.inode : 0;
}

static tare_status identify(tare_edit_journal *j, int dir_fd, int fd, tare_error *err) {
    tare_file_facts directory, own;
    int failed = tare_fd_stat(&directory, dir_fd);
    if (!failed) failed = tare_fd_stat(&own, fd);
    if (failed) return tare_fail_errno(err, failed, "the journal of the edit cannot be made");
    j->directory_inode = directory.inode;
    j->inode = own.inode;
    j->born = tare_fd_birth(fd);
    for (size_t i = 0; i < j->n_ops; i++) {
        j->ops[i].inode = inode_of(dir_fd, j->ops[i].name);
        j->ops[i].temporary_inode = inode_of(dir_fd, j->ops[i].temporary);
    }
    return TARE_OK;
}

/* The file is as before, or its new one has its name already; what is to be renamed is the edit's
 * own. */
static bool is_op_ours(const tare_edit_op *op, int dir_fd) {
    const uint64_t now = inode_of(dir_fd, op->name);
    if (!op->temporary) return op->inode && now == op->inode;
    const uint64_t temporary = inode_of(dir_fd, op->temporary);
    if (!op->temporary_inode || !tare_is_temp_name(tare_str_of(op->temporary))) return false;
    return temporary ? temporary == op->temporary_inode && now == op->inode
                     : now == op->temporary_inode || now == op->inode;
}

bool tare_edit_journal_is_ours(const tare_edit_journal *j, int dir_fd, int fd) {
    tare_file_facts directory, own;
    bool is_ours = tare_fd_stat(&directory, dir_fd) == 0 && tare_fd_stat(&own, fd) == 0 &&
                   own.kind == TARE_PATH_FILE && tare_file_is_own(&own) && own.n_names == 1 &&
                   directory.inode == j->directory_inode && own.inode == j->inode &&
                   tare_fd_birth(fd) == j->born;
    for (size_t i = 0; is_ours && i < j->n_ops; i++) is_ours = is_op_ours(&j->ops[i], dir_fd);
    return is_ours;
}

/* ---- doing it -------------------------------------------------------------------------------- */

typedef struct worker {
    const tare_edit_journal *j;
    int dir_fd;
    bool no_sync;
    const tare_edit_watch *watch;
    bool has_begun;
} worker;

static void before(const worker *w, const char *step) {
    if (w->watch) w->watch->before(w->watch->ctx, step);
}

static tare_status fail_on(tare_error *err, int os_error, const char *what, const char *name) {
    tare_status status = tare_fail_errno(err, os_error, what);
    tare_error_file(err, name);
    return status;
}

static tare_status put(const worker *w, int fd, const tare_edit_op *op, uint64_t offset,
                       const uint8_t *bytes, size_t n, const char *step, tare_error *err) {
    while (n > 0) {
        const size_t part = (size_t)tare_min_u64(n, PIECE);
        before(w, step);
        const int failed = tare_fd_write(fd, offset, bytes, part);
        if (failed) return fail_on(err, failed, "cannot be written", op->name);
        bytes += part;
        offset += part;
        n -= part;
    }
    return TARE_OK;
}

static tare_status sync_file(const worker *w, int fd, const char *name, tare_error *err) {
    int failed = w->no_sync ? 0 : tare_os_sync(fd);
    return failed ? fail_on(err, failed, "cannot be synced", name) : TARE_OK;
}

static void mark_of(uint8_t mark[TARE_EDIT_HEAD], const tare_edit_journal *j) {
    memcpy(mark, TARE_EDIT_MARK, TARE_EDIT_HEAD - sizeof j->id);
    memcpy(mark + TARE_EDIT_HEAD - sizeof j->id, j->id, sizeof j->id);
}

/* Opens a file that is marked or written into, and verifies by its first bytes that it is the
 * intended one. */
static tare_status open_op(int *out, const worker *w, const tare_edit_op *op, tare_error *err) {
    uint8_t mark[TARE_EDIT_HEAD], head[TARE_EDIT_HEAD];
    tare_file_facts facts;
    size_t got;
    int fd;
    mark_of(mark, w->j);
    const int failed = tare_fd_open(&fd, w->dir_fd, op->name,
                                    TARE_OPEN_WRITE | TARE_OPEN_NO_LINK | TARE_OPEN_NO_WAIT, 0);
    if (failed) return fail_on(err, failed, "cannot be opened for writing", op->name);
    bool is_right = tare_fd_stat(&facts, fd) == 0 && facts.kind == TARE_PATH_FILE;
    if (op->temporary)
        is_right = is_right && facts.size >= TARE_EDIT_HEAD;
    else
        is_right = is_right && (facts.size == op->old_size || facts.size == op->new_size);
    if (is_right && op->is_marked)
        is_right =
            tare_fd_read(&got, fd, 0, head, sizeof head) == 0 && got == sizeof head &&
            (memcmp(head, op->old_head, sizeof head) == 0 ||
             memcmp(head, op->new_head, sizeof head) == 0 || memcmp(head, mark, sizeof head) == 0);
    if (!is_right) {
        tare_fd_close(fd);
        tare_fail(err, TARE_ERR_IO, "is no longer the file that the edit began with");
        tare_error_file(err, op->name);
        return TARE_ERR_IO;
    }
    *out = fd;
    return TARE_OK;
}

static tare_status mark(worker *w, const tare_edit_op *op, tare_error *err) {
    uint8_t bytes[TARE_EDIT_HEAD];
    int fd;
    if (!op->is_marked) return TARE_OK;
    mark_of(bytes, w->j);
    TARE_TRY(open_op(&fd, w, op, err));
    w->has_begun = true; /* it is unknown what a failed write left behind */
    tare_status status = put(w, fd, op, 0, bytes, sizeof bytes, "mark", err);
    if (status == TARE_OK) status = sync_file(w, fd, op->name, err);
    tare_fd_close(fd);
    return status;
}

/* The runs of a file, without the bytes covered by a mark. */
static tare_status put_runs(const worker *w, int fd, const tare_edit_op *op, tare_error *err) {
    for (size_t i = 0; i < op->n_runs; i++) {
        const tare_edit_piece *r = &op->runs[i];
        uint64_t from = op->is_marked && r->offset < TARE_EDIT_HEAD ? TARE_EDIT_HEAD : r->offset;
        const uint64_t end = r->offset + r->size;
        if (from < end)
            TARE_TRY(put(w, fd, op, from, r->bytes + (from - r->offset), (size_t)(end - from),
                         "write", err));
    }
    before(w, "resize");
    const int failed = op->old_size != op->new_size ? tare_fd_resize(fd, op->new_size) : 0;
    if (failed) return fail_on(err, failed, "cannot be given its size", op->name);
    return sync_file(w, fd, op->name, err);
}

static tare_status change(worker *w, const tare_edit_op *op, tare_error *err) {
    int fd;
    if (op->temporary) return TARE_OK;
    TARE_TRY(open_op(&fd, w, op, err));
    w->has_begun = true;
    tare_status status = put_runs(w, fd, op, err);
    tare_fd_close(fd);
    return status;
}

/* Before the journal is there: whether the files can be written into, which those of object stores
 * cannot. Their first bytes are written as they are. */
static tare_status try_place(const worker *w, const tare_edit_op *op, tare_error *err) {
    uint8_t head[TARE_EDIT_HEAD];
    size_t got = 0;
    int fd;
    if (!op->is_marked) return TARE_OK;
    int failed = tare_fd_open(&fd, w->dir_fd, op->name,
                              TARE_OPEN_WRITE | TARE_OPEN_NO_LINK | TARE_OPEN_NO_WAIT, 0);
    if (failed) return fail_on(err, failed, "cannot be opened for writing", op->name);
    failed = tare_fd_read(&got, fd, 0, head, sizeof head);
    const bool is_it = !failed && got == sizeof head && memcmp(head, op->old_head, got) == 0;
    if (is_it) failed = tare_fd_write(fd, 0, head, sizeof head);
    const int failed_to_close = tare_fd_close(fd);
    if (!failed) failed = failed_to_close;
    if (failed)
        return fail_on(err, failed,
                       "cannot be read and written at any place: choose another output", op->name);
    if (is_it) return TARE_OK;
    tare_fail(err, TARE_ERR_IO, "was changed since it was read");
    tare_error_file(err, op->name);
    return TARE_ERR_IO;
}

/* Gives a file its name, or its first bytes. */
static tare_status finish(worker *w, const tare_edit_op *op, tare_error *err) {
    int fd;
    if (op->temporary) {
        w->has_begun = true;
        before(w, "rename");
        const int failed = tare_entry_rename(w->dir_fd, op->temporary, op->name);
        if (failed && failed != ENOENT)
            return fail_on(err, failed, "cannot be given its name", op->name);
        return TARE_OK; /* ENOENT: it had its name before */
    }
    if (!op->is_marked) return TARE_OK;
    TARE_TRY(open_op(&fd, w, op, err));
    tare_status status = put(w, fd, op, 0, op->new_head, TARE_EDIT_HEAD, "unmark", err);
    if (status == TARE_OK) status = sync_file(w, fd, op->name, err);
    tare_fd_close(fd);
    return status;
}

static tare_status carry_out(worker *w, tare_error *err) {
    const tare_edit_journal *j = w->j;
    for (size_t i = 0; i < j->n_ops; i++) TARE_TRY(mark(w, &j->ops[i], err));
    for (size_t i = 0; i < j->n_ops; i++) TARE_TRY(change(w, &j->ops[i], err));
    for (size_t i = 1; i < j->n_ops; i++) TARE_TRY(finish(w, &j->ops[i], err));
    TARE_TRY(sync_file(w, w->dir_fd, j->ops[0].name, err));
    TARE_TRY(finish(w, &j->ops[0], err));
    return sync_file(w, w->dir_fd, j->ops[0].name, err);
}

tare_status tare_edit_journal_finish(const tare_edit_journal *journal, int dir_fd,
                                     tare_error *err) {
    worker w = {.j = journal, .dir_fd = dir_fd};
    return carry_out(&w, err);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* ".NAME.tare-edit", beside the leader. */
static void journal_name(char out[TARE_NAME_MOST + 1], const char *leader) {
    const size_t most = TARE_NAME_MOST - sizeof TARE_EDIT_JOURNAL_SUFFIX;
    const size_t n = (size_t)tare_min_u64(strlen(leader), most);
    out[0] = '.';
    memcpy(out + 1, leader, n);
    memcpy(out + 1 + n, TARE_EDIT_JOURNAL_SUFFIX, sizeof TARE_EDIT_JOURNAL_SUFFIX);
}

tare_status tare_edit_journal_discard(const tare_edit_journal *journal, int dir_fd,
                                      const char *name, tare_error *err) {
    for (size_t i = 0; i < journal->n_ops; i++)
        if (journal->ops[i].temporary) tare_entry_remove(dir_fd, journal->ops[i].temporary);
    const int failed = name ? tare_entry_remove(dir_fd, name) : 0;
    if (!failed || failed == ENOENT) return TARE_OK;
    return fail_on(err, failed, "this journal of an edit that is over cannot be removed", name);
}

tare_status tare_edit_journal_lock(int fd, int dir_fd, const char *name, tare_error *err) {
    tare_file_facts a, b;
    const int failed = tare_fd_lock(fd);
    if (failed && failed != EWOULDBLOCK)
        return fail_on(err, failed,
                       "cannot be locked, as edits of files where they are must be: "
                       "choose another output",
                       name);
    if (!failed && tare_fd_stat(&a, fd) == 0 && tare_entry_stat(&b, dir_fd, name, false) == 0 &&
        tare_is_same_file(&a, &b))
        return TARE_OK;
    tare_fail(err, TARE_ERR_ARG, "another edit of this file is running");
    tare_error_file(err, name);
    return TARE_ERR_ARG;
}

/* A new file, locked for as long as *fd is open. */
static tare_status make_journal(int *fd, const worker *w, const char *name, tare_error *err) {
    before(w, "journal");
    const int failed = tare_fd_open(fd, w->dir_fd, name,
                                    TARE_OPEN_WRITE | TARE_OPEN_NEW | TARE_OPEN_NO_LINK, 0600);
    if (failed) return fail_on(err, failed, "the journal of the edit cannot be made", name);
    return tare_edit_journal_lock(*fd, w->dir_fd, name, err);
}

static tare_status write_journal(const worker *w, int fd, const char *name, const tare_buffer *b,
                                 tare_error *err) {
    const tare_edit_op file = {.name = name};
    TARE_TRY(put(w, fd, &file, 0, b->data, b->size, "journal", err));
    TARE_TRY(sync_file(w, fd, name, err));
    return sync_file(w, w->dir_fd, name, err);
}

tare_status tare_edit_journal_run(tare_edit_journal *journal, int dir_fd, bool no_sync,
                                  const tare_edit_watch *watch, const tare_allocator *allocator,
                                  tare_error *err) {
    worker w = {.j = journal, .dir_fd = dir_fd, .no_sync = no_sync, .watch = watch};
    char name[TARE_NAME_MOST + 1];
    tare_buffer b;
    int fd = -1;
    journal_name(name, journal->ops[0].name);
    tare_buffer_init(&b, allocator);
    tare_status status = TARE_OK;
    for (size_t i = 0; i < journal->n_ops && status == TARE_OK; i++)
        status = try_place(&w, &journal->ops[i], err);
    if (status == TARE_OK) status = make_journal(&fd, &w, name, err);
    if (status == TARE_OK) status = identify(journal, dir_fd, fd, err);
    if (status == TARE_OK) status = put_journal(&b, journal, err);
    if (status == TARE_OK) status = write_journal(&w, fd, name, &b, err);
    tare_buffer_free(&b);
    if (status == TARE_OK) status = carry_out(&w, err);
    before(&w, "end");
    if (status == TARE_OK)
        status = tare_edit_journal_discard(journal, dir_fd, name, err);
    else if (!w.has_begun)
        (void)tare_edit_journal_discard(journal, dir_fd, fd >= 0 ? name : NULL, NULL);
    else
        tare_error_code(err, TARE_CODE_EDIT_BEGUN);
    if (fd >= 0) tare_fd_close(fd);
    return status;
}
