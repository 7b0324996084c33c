/* SPDX-License-Identifier: MIT
 *
 * Finding the journal of an edit that was interrupted, and finishing it. The journal is in the same
 * directory as the files and names only files there; one that came with the model, or from another
 * user, is refused (edit_journal.c, "whose it is"). The mark on its leader shows whether it was
 * begun: without a mark the leader is either unchanged or already complete, and the journal has
 * nothing left to do. */
#include "ops/edit/edit_recover.h"

#include <stdlib.h>
#include <string.h>

#include "base/os_file.h"
#include "base/reader.h"
#include "base/str.h"

#define MOST_BYTES ((uint64_t)1 << 31) /* of a journal: a directory is 1 GiB at most */

static const char foreign[] =
    "journal of an edit that was not made here: its files, or their directory, are others. Nothing "
    "is changed; remove it if the model is whole";

typedef struct place {
    char *path;       /* links followed */
    const char *file; /* in it, that the user named; NULL: it is the directory itself */
    int fd;
    const tare_allocator *allocator;
} place;

/* False: the path leads to nothing that an edit could have been changing. */
static bool find_place(place *p, const char *path) {
    tare_file_facts facts;
    p->path = tare_path_real(path);
    if (!p->path || tare_entry_stat(&facts, TARE_HERE, p->path, true) != 0) return false;
    if (facts.kind != TARE_PATH_FILE)
        return tare_fd_open(&p->fd, TARE_HERE, p->path, TARE_OPEN_FOLDER, 0) == 0;
    char *name = strrchr(p->path, '/') + 1, first = *name;
    *name = '\0';
    const bool is_open = tare_fd_open(&p->fd, TARE_HERE, p->path, TARE_OPEN_FOLDER, 0) == 0;
    *name = first;
    p->file = name;
    return is_open;
}

static bool is_for(const place *p, const tare_edit_journal *j) {
    bool is_named = p->file == NULL;
    for (size_t i = 0; i < j->n_ops; i++) is_named |= !is_named && !strcmp(j->ops[i].name, p->file);
    return is_named;
}

/* Whether a file begins with the mark of an edit: of that one, or, with `id` NULL, of any. */
static bool has_mark(const place *p, const char *name, const uint8_t *id) {
    uint8_t head[TARE_EDIT_HEAD];
    const size_t n = sizeof TARE_EDIT_MARK - 1;
    size_t got;
    int fd;
    if (tare_fd_open(&fd, p->fd, name, TARE_OPEN_NO_LINK | TARE_OPEN_NO_WAIT, 0) != 0) return false;
    bool is_marked = tare_fd_read(&got, fd, 0, head, sizeof head) == 0 && got == sizeof head &&
                     memcmp(head, TARE_EDIT_MARK, n) == 0 &&
                     (!id || memcmp(head + n, id, sizeof head - n) == 0);
    tare_fd_close(fd);
    return is_marked;
}

static tare_status settle(tare_edit_recovery *out, const place *p, const char *name,
                          const tare_edit_journal *j, tare_error *err) {
    const bool has_begun = !j->ops[0].is_marked || has_mark(p, j->ops[0].name, j->id);
    if (has_begun) TARE_TRY(tare_edit_journal_finish(j, p->fd, err));
    TARE_TRY(tare_edit_journal_discard(j, p->fd, name, err));
    *out = has_begun ? TARE_EDIT_FINISHED : TARE_EDIT_UNDONE;
    return TARE_OK;
}

/* An incomplete journal was still being written when the edit was interrupted: nothing was begun.
 */
static tare_status settle_torn(tare_edit_recovery *out, const place *p, const char *name, int fd,
                               tare_error *err) {
    char leader[TARE_NAME_MOST + 1];
    tare_file_facts own;
    const size_t n = strlen(name) - sizeof TARE_EDIT_JOURNAL_SUFFIX; /* and the dot in front */
    memcpy(leader, name + 1, n);
    leader[n] = '\0';
    if (p->file && strcmp(p->file, leader) != 0) return TARE_OK;
    if (has_mark(p, leader, NULL)) {
        tare_fail(err, TARE_ERR_CORRUPT, "the journal of an interrupted edit is damaged");
        tare_error_file(err, name);
        return TARE_ERR_CORRUPT;
    }
    if (tare_fd_stat(&own, fd) != 0 || !tare_file_is_own(&own)) return TARE_OK;
    tare_entry_remove(p->fd, name);
    *out = TARE_EDIT_UNDONE;
    return TARE_OK;
}

static tare_status read_journal(uint8_t **bytes, int fd, const place *p, const char *name,
                                size_t *size, tare_error *err) {
    tare_reader r;
    tare_status status = tare_reader_fd(&r, fd, name, false, err);
    if (status == TARE_OK && r.size > MOST_BYTES)
        status = tare_fail(err, TARE_ERR_LIMIT, "the journal of an edit is too large");
    if (status == TARE_OK) {
        *size = (size_t)r.size;
        *bytes = tare_alloc(p->allocator, *size + 1);
        status = *bytes ? tare_reader_read(&r, 0, *bytes, *size, err)
                        : tare_fail(err, TARE_ERR_NOMEM, "journal of an edit");
    }
    return status;
}

static tare_status recover(tare_edit_recovery *out, const place *p, const char *name,
                           tare_error *err) {
    tare_edit_journal j;
    tare_arena arena;
    uint8_t *bytes = NULL;
    size_t size = 0;
    int fd;
    if (tare_fd_open(&fd, p->fd, name, TARE_OPEN_WRITE | TARE_OPEN_NO_LINK | TARE_OPEN_NO_WAIT,
                     0) != 0)
        return TARE_OK; /* gone, or this user may not write to it */
    tare_status status = tare_edit_journal_lock(fd, p->fd, name, err);
    if (status != TARE_OK) {
        tare_fd_close(fd);
        return status;
    }
    tare_arena_init(&arena, p->allocator);
    status = read_journal(&bytes, fd, p, name, &size, err);
    if (status == TARE_OK) {
        status = tare_edit_journal_parse(&j, bytes, size, &arena, err);
        if (status == TARE_ERR_CORRUPT || status == TARE_ERR_TRUNCATED)
            status = settle_torn(out, p, name, fd, err);
        else if (status == TARE_OK && is_for(p, &j))
            status = tare_edit_journal_is_ours(&j, p->fd, fd)
                         ? settle(out, p, name, &j, err)
                         : tare_fail(err, TARE_ERR_UNSUPPORTED, foreign);
        if (status == TARE_ERR_UNSUPPORTED) tare_error_file(err, name);
    }
    if (bytes) tare_free(p->allocator, bytes, size + 1);
    tare_arena_free(&arena);
    tare_fd_close(fd);
    return status;
}

typedef struct search {
    tare_edit_recovery *out;
    const place *p;
    tare_status status;
    tare_error *err;
} search;

static int recover_entry(void *ctx, const char *entry) {
    search *s = ctx;
    const tare_str name = tare_str_of(entry), suffix = TARE_STR(TARE_EDIT_JOURNAL_SUFFIX);
    if (name.len > suffix.len + 1 && name.ptr[0] == '.' && tare_str_ends(name, suffix))
        s->status = recover(s->out, s->p, entry, s->err);
    return s->status == TARE_OK ? 0 : -1;
}

tare_status tare_edit_recover(tare_edit_recovery *out, const char *path,
                              const tare_allocator *allocator, tare_error *err) {
    TARE_REQUIRE(out && path, err);
    place p = {.fd = -1, .allocator = allocator};
    search s = {.out = out, .p = &p, .err = err};
    *out = TARE_EDIT_NOTHING;
    if (find_place(&p, path)) { /* else whoever opens it says what is wrong */
        (void)tare_folder_names(p.fd, recover_entry, &s);
        if (s.status == TARE_OK && *out == TARE_EDIT_NOTHING && p.file &&
            has_mark(&p, p.file, NULL)) {
            s.status = tare_fail(err, TARE_ERR_CORRUPT,
                                 "an edit of it was interrupted, and its journal is not beside it");
            tare_error_file(err, path);
        }
        tare_fd_close(p.fd);
    }
    free(p.path);
    return s.status;
}
