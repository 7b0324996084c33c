/* SPDX-License-Identifier: MIT
 *
 * Finding the journal of an edit that was interrupted, and finishing it. The journal is in the same
 * directory as the files and names only files there; one that came with the model, or from another
 * user, is refused (edit_journal.c, "whose it is"). The mark on its leader shows whether it was
 * begun: without a mark the leader is either unchanged or already complete, and the journal has
 * nothing left to do. */
#include "ops/edit/edit_recover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/reader.h"
#include "base/str.h"

#define MOST_BYTES ((uint64_t)1 << 31) /* of a journal: a directory is 1 GiB at most */

static const char foreign[] =
    "journal of an edit that was not made here: its files, or their directory, are others. Nothing "
    "is changed; remove it if the model is whole";

typedef struct place {
    char path[PATH_MAX]; /* of the directory */
    const char *file;    /* that the user named; NULL: the directory itself */
    int fd;
    const tare_allocator *allocator;
} place;

/* False: the path leads to nothing that an edit could have been changing. */
static bool find_place(place *p, const char *path) {
    struct stat st;
    if (!realpath(path, p->path) || stat(p->path, &st) != 0) return false;
    if (S_ISREG(st.st_mode)) {
        char *slash = strrchr(p->path, '/');
        *slash = '\0';
        p->file = slash + 1;
    }
    p->fd = open(*p->path ? p->path : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return p->fd >= 0;
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
    int fd = openat(p->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return false;
    bool is_marked = pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head &&
                     memcmp(head, TARE_EDIT_MARK, n) == 0 &&
                     (!id || memcmp(head + n, id, sizeof head - n) == 0);
    close(fd);
    return is_marked;
}

static tare_status settle(tare_edit_recovery *out, const place *p, const char *name,
                          const tare_edit_journal *j, tare_error *err) {
    const bool has_begun = !j->ops[0].is_marked || has_mark(p, j->ops[0].name, j->id);
    if (has_begun) TARE_TRY(tare_edit_journal_finish(j, p->fd, err));
    tare_edit_journal_discard(j, p->fd, name);
    *out = has_begun ? TARE_EDIT_FINISHED : TARE_EDIT_UNDONE;
    return TARE_OK;
}

/* An incomplete journal was still being written when the edit was interrupted: nothing was begun.
 */
static tare_status settle_torn(tare_edit_recovery *out, const place *p, const char *name, int fd,
                               tare_error *err) {
    char leader[NAME_MAX + 1];
    struct stat own;
    const size_t n = strlen(name) - sizeof TARE_EDIT_JOURNAL_SUFFIX; /* and the dot in front */
    memcpy(leader, name + 1, n);
    leader[n] = '\0';
    if (p->file && strcmp(p->file, leader) != 0) return TARE_OK;
    if (has_mark(p, leader, NULL)) {
        tare_fail(err, TARE_ERR_CORRUPT, "the journal of an interrupted edit is damaged");
        tare_error_file(err, name);
        return TARE_ERR_CORRUPT;
    }
    if (fstat(fd, &own) != 0 || own.st_uid != geteuid()) return TARE_OK;
    unlinkat(p->fd, name, 0);
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
    int fd = openat(p->fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return TARE_OK; /* gone, or this user may not write to it */
    if (!tare_edit_journal_lock(fd, p->fd, name)) {
        close(fd);
        return tare_fail(err, TARE_ERR_ARG, "another edit is at work here");
    }
    tare_arena_init(&arena, p->allocator);
    tare_status status = read_journal(&bytes, fd, p, name, &size, err);
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
    close(fd);
    return status;
}

tare_status tare_edit_recover(tare_edit_recovery *out, const char *path,
                              const tare_allocator *allocator, tare_error *err) {
    TARE_REQUIRE(out && path, err);
    place p = {.fd = -1, .allocator = allocator};
    const tare_str suffix = TARE_STR(TARE_EDIT_JOURNAL_SUFFIX);
    tare_status status = TARE_OK;
    *out = TARE_EDIT_NOTHING;
    if (!find_place(&p, path)) return TARE_OK; /* whoever opens it says what is wrong */
    DIR *dir = opendir(*p.path ? p.path : "/");
    for (struct dirent *d; dir && status == TARE_OK && (d = readdir(dir));) {
        const tare_str name = tare_str_of(d->d_name);
        if (name.len > suffix.len + 1 && name.ptr[0] == '.' && tare_str_ends(name, suffix))
            status = recover(out, &p, d->d_name, err);
    }
    if (dir) closedir(dir);
    if (status == TARE_OK && *out == TARE_EDIT_NOTHING && p.file && has_mark(&p, p.file, NULL)) {
        status = tare_fail(err, TARE_ERR_CORRUPT,
                           "an edit of it was interrupted, and its journal is not beside it");
        tare_error_file(err, path);
    }
    close(p.fd);
    return status;
}
