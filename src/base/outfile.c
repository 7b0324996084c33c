/* SPDX-License-Identifier: MIT
 *
 * Files that appear whole or not at all: docs/behaviour.md, "Writing".
 *
 * The invariants. (1) Until the commit nothing has the final name. (2) Whatever a dead run leaves
 * behind is called .OUT.tare-XXXXXX, and its lock is free: a live run holds a flock on its
 * temporary from before others can see it (unnamed file), or finds out that it lost it (named ones)
 * and takes another name. (3) The rename is the last step that can fail, and it is one step. */
#include "base/outfile_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/hash.h"
#include "base/os_file.h"
#include "base/outfile_os.h"
#include "base/str.h"

#define NAME_TRIES 64 /* of 62^6 names; more failures in a row have another cause */

/* ---- beginning ------------------------------------------------------------------------------- */

/* Keeps a path, `n` bytes of which count, without its trailing slashes. */
static tare_status set_path(tare_outset *set, const char *path, size_t n, tare_error *err) {
    size_t size;
    while (n > 1 && path[n - 1] == '/') n--;
    char *copy = tare_outset_text(set->allocator, path, n, &size);
    if (!copy) return tare_fail(err, TARE_ERR_NOMEM, "output path");
    tare_free(set->allocator, set->path, set->path_size);
    set->path = copy;
    set->path_size = size;
    return TARE_OK;
}

/* Replaces set->path, a link, by its target, whether or not that exists. */
static tare_status follow_link(tare_outset *set, tare_error *err) {
    char target[TARE_PATH_MOST];
    const char *slash = strrchr(set->path, '/');
    size_t from = slash ? (size_t)(slash - set->path) + 1 : 0;
    const int failed = from < sizeof target ? tare_link_read(target + from, sizeof target - from,
                                                             TARE_HERE, set->path)
                                            : ENAMETOOLONG;
    if (failed == ENAMETOOLONG)
        return tare_outset_fail(err, TARE_ERR_ARG, "output path: the link's is too long",
                                set->path);
    if (failed)
        return tare_outset_fail_errno(err, failed, "the output's link cannot be read", set->path);
    if (tare_path_is_whole(target + from))
        return set_path(set, target + from, strlen(target + from), err);
    memcpy(target, set->path, from);
    return set_path(set, target, strlen(target), err);
}

/* Follows links, so that the file they lead to is replaced or created, not the links. Something the
 * system can open but no path leads to, such as a pipe under /dev/fd, cannot be an output. */
static tare_status follow_links(tare_outset *set, tare_error *err) {
    tare_file_facts facts;
    while (tare_entry_stat(&facts, TARE_HERE, set->path, false) == 0 &&
           facts.kind == TARE_PATH_LINK) {
        char *resolved = tare_path_real(set->path);
        if (resolved) {
            const tare_status status = set_path(set, resolved, strlen(resolved), err);
            free(resolved);
            return status;
        }
        if (errno != ENOENT)
            return tare_outset_fail_errno(err, errno, "the output's link cannot be followed",
                                          set->path);
        if (tare_entry_stat(&facts, TARE_HERE, set->path, true) == 0)
            return tare_outset_fail(err, TARE_ERR_ARG,
                                    "the output exists and is not a regular file", set->path);
        TARE_TRY(follow_link(set, err));
    }
    return TARE_OK;
}

/* Content that programs find by its digest is not replaced under that name, nor put under another
 * one that a link has. */
static tare_status check_blob(const tare_outset *set, const char *path, tare_error *err) {
    if (strcmp(set->path, path) != 0 && tare_is_blob(set->path))
        return tare_outset_fail(err, TARE_ERR_ARG,
                                "the output is a link into a download cache, whose files are named "
                                "after their content: choose another output, or remove the link",
                                path);
    char *whole = tare_path_real(set->path);
    const bool is_blob = whole && tare_is_blob(whole);
    free(whole);
    return is_blob ? tare_outset_fail(err, TARE_ERR_ARG,
                                      "the output is in a download cache, whose files are named "
                                      "after their content: choose another output",
                                      path)
                   : TARE_OK;
}

/* Keeps OUT's path, links followed, and finds its last part. */
static tare_status keep_path(tare_outset *set, const char *path, tare_error *err) {
    TARE_TRY(set_path(set, path, strlen(path), err));
    TARE_TRY(follow_links(set, err));
    TARE_TRY(check_blob(set, path, err));
    const char *slash = strrchr(set->path, '/');
    set->final_name = slash ? slash + 1 : set->path;
    if (!*set->final_name || strcmp(set->final_name, ".") == 0 ||
        strcmp(set->final_name, "..") == 0)
        return tare_outset_fail(err, TARE_ERR_ARG, "output path: expected a name to create", path);
    if (strlen(set->final_name) > TARE_NAME_MOST)
        return tare_outset_fail(err, TARE_ERR_ARG, "output path: the name is too long", path);
    return TARE_OK;
}

static tare_status open_parent(tare_outset *set, tare_error *err) {
    char *parent = set->path;
    size_t n = (size_t)(set->final_name - set->path);
    char kept = parent[n];
    parent[n] = '\0';
    const int failed =
        tare_fd_open(&set->parent_fd, TARE_HERE, n ? parent : ".", TARE_OPEN_FOLDER, 0);
    parent[n] = kept;
    if (failed == ENOENT)
        return tare_outset_fail(err, TARE_ERR_IO,
                                "the output's directory does not exist: make it first", set->path);
    if (failed)
        return tare_outset_fail_errno(err, failed, "the output's directory cannot be opened",
                                      set->path);
    return TARE_OK;
}

/* Deleting a directory that is replaced must never take more than a model with it. */
static tare_status check_old_directory(const tare_outset *set, tare_error *err) {
    bool has_subdirectory;
    int failed = tare_directory_is_flat(set->parent_fd, set->final_name, &has_subdirectory);
    if (failed)
        return tare_outset_fail_errno(err, failed, "the old output cannot be read", set->path);
    if (has_subdirectory)
        return tare_outset_fail(
            err, TARE_ERR_ARG,
            "the old output has folders in it, and is not replaced: choose another output, or "
            "remove it first",
            set->path);
    return TARE_OK;
}

static tare_status check_existing(tare_outset *set, tare_error *err) {
    tare_file_facts facts;
    const int failed = tare_entry_stat(&facts, set->parent_fd, set->final_name, false);
    if (failed == ENOENT) return TARE_OK;
    if (failed)
        return tare_outset_fail_errno(err, failed, "the status of the output cannot be read",
                                      set->path);
    /* First the failures that `force` would not help. */
    if (set->options.is_directory && facts.kind != TARE_PATH_FOLDER)
        return tare_outset_fail(err, TARE_ERR_ARG, "the output exists and is not a directory",
                                set->path);
    if (!set->options.is_directory && facts.kind != TARE_PATH_FILE && facts.kind != TARE_PATH_LINK)
        return tare_outset_fail(err, TARE_ERR_ARG, "the output exists and is not a regular file",
                                set->path);
    if (!set->options.force) return tare_outset_fail_exists(set, err);
    set->replaces_folder = set->options.is_directory;
    return set->options.is_directory ? check_old_directory(set, err) : TARE_OK;
}

static tare_status check_space(const tare_outset *set, tare_error *err) {
    uint64_t available;
    if (set->options.total_size == 0 || !tare_folder_free_bytes(&available, set->parent_fd) ||
        available >= set->options.total_size)
        return TARE_OK;
    tare_outset_fail(err, TARE_ERR_NOSPACE, "the output is larger than the free space", set->path);
    tare_error_detail(err, "%llu bytes, %llu are free", (unsigned long long)set->options.total_size,
                      (unsigned long long)available);
    return TARE_ERR_NOSPACE;
}

/* Takes the lock of a temporary that others can already see. False: another run, cleaning up, was
 * faster, and the file is gone or about to go. A file system without locks is no reason to stop, nor
 * is one whose files change their numbers: what still has a name has the one that was new. */
static bool hold(const tare_outset *set, int fd) {
    tare_file_facts mine, named;
    if (tare_fd_lock(fd) == EWOULDBLOCK) return false;
    return tare_fd_stat(&mine, fd) == 0 &&
           tare_entry_stat(&named, set->temp_parent_fd, set->temp_name, false) == 0 &&
           (tare_is_same_file(&mine, &named) || mine.n_names > 0);
}

/* Makes the named temporary; 0 or an errno. */
static int make_named(tare_outset *set) {
    const int at = set->temp_parent_fd;
    const uint16_t others = set->is_copied ? 0700 : 0777; /* a folder that all may write to */
    int failed = 0;
    for (int i = 0; i < NAME_TRIES; i++) {
        tare_temp_name(set->temp_name, set->final_name);
        int fd = -1;
        if (!set->options.is_directory) {
            failed =
                tare_fd_open(&fd, at, set->temp_name,
                             TARE_OPEN_WRITE | TARE_OPEN_NEW | TARE_OPEN_NO_LINK, 0666 & others);
        } else {
            failed = tare_folder_make(at, set->temp_name, others);
            if (!failed)
                failed =
                    tare_fd_open(&fd, at, set->temp_name, TARE_OPEN_FOLDER | TARE_OPEN_NO_LINK, 0);
        }
        if (!failed && hold(set, fd)) {
            set->temp_fd = fd;
            return 0;
        }
        if (!failed) {
            tare_fd_close(fd);
            failed = EEXIST;
        }
        set->temp_name[0] = '\0';
        if (failed != EEXIST && failed != ENOENT) break;
    }
    return failed;
}

/* Closed first: a file system that stores a file when it is closed would make it anew. */
static void drop_temporary(tare_outset *set) {
    if (set->store) return;
    if (set->temp_fd >= 0) tare_fd_close(set->temp_fd);
    set->temp_fd = -1;
    tare_outset_remove_temporary(set, TARE_FOLDERS_MOST);
}

/* Makes the temporary, without a name where that can be; that it can be written is tried with another
 * file there. 0 or an errno. */
static int make_any(tare_outset *set) {
    const bool may_be_unnamed = !set->options.is_named && !set->options.is_directory;
    const int tried = may_be_unnamed ? tare_os_open_unnamed(set->temp_parent_fd) : -1;
    if (tried < 0) {
        const int failed = make_named(set);
        return failed ? failed : tare_outset_try_writing(set, -1);
    }
    const int failed = tare_outset_try_writing(set, tried);
    tare_fd_close(tried);
    if (failed) return failed;
    set->temp_fd = tare_os_open_unnamed(set->temp_parent_fd);
    if (set->temp_fd < 0) return make_named(set);
    (void)tare_fd_lock(set->temp_fd);
    return 0;
}

/* 0 or an errno. */
static int make_here(tare_outset *set) {
    const int failed = make_any(set);
    if (!failed || !set->temp_name[0]) return failed;
    if (set->temp_parent_fd == set->parent_fd)
        memcpy(set->tried_name, set->temp_name, sizeof set->temp_name);
    tare_fd_close(set->temp_fd);
    set->temp_fd = -1;
    tare_remove_tree(set->temp_parent_fd, set->temp_name, TARE_FOLDERS_MOST);
    set->temp_name[0] = '\0';
    return failed;
}

/* Whether a folder can take the old one's place, which is found out before the work, with an empty
 * one. 0 or an errno. */
static int try_exchange(tare_outset *set) {
    char other[TARE_TEMP_NAME_SIZE], name[TARE_TEMP_NAME_SIZE];
    if (!set->replaces_folder || set->is_copied) return 0;
    tare_temp_name(other, set->final_name);
    int failed = tare_folder_make(set->parent_fd, other, 0700);
    if (failed) return failed;
    failed = tare_os_exchange(set->parent_fd, set->temp_name, other);
    if (!failed) {
        memcpy(name, set->temp_name, sizeof name);
        memcpy(set->temp_name, other, sizeof other);
        memcpy(other, name, sizeof name);
    }
    tare_folder_remove(set->parent_fd, other);
    return failed;
}

/* Object stores and their like take files from the first byte to the last: the output is made in
 * another file system, and copied when it is complete. */
static int make_elsewhere(tare_outset *set) {
    const int fd = tare_outset_open_elsewhere(&set->temp_parent);
    if (fd < 0) return ENOTSUP;
    set->temp_parent_fd = fd;
    set->is_copied = true;
    tare_remove_stale(fd, set->final_name, set->options.report);
    return make_here(set);
}

static tare_status keep_temp_path(tare_outset *set, tare_error *err) {
    const char *parent = set->temp_parent ? set->temp_parent : set->path;
    const size_t name = strlen(set->temp_name);
    const size_t n = set->temp_parent ? strlen(parent) : (size_t)(set->final_name - set->path);
    set->temp_path_size = n + name + 1;
    set->temp_path = tare_alloc(set->allocator, set->temp_path_size);
    if (!set->temp_path) return tare_fail(err, TARE_ERR_NOMEM, "output path");
    memcpy(set->temp_path, parent, n);
    memcpy(set->temp_path + n, set->temp_name, name + 1);
    return TARE_OK;
}

static tare_status fail_exchange(const tare_outset *set, tare_error *err) {
    return tare_outset_fail(err, TARE_ERR_UNSUPPORTED,
                            "this file system cannot exchange directories: remove the old output",
                            set->path);
}

static tare_status make_temporary(tare_outset *set, tare_error *err) {
    set->temp_parent_fd = set->parent_fd;
    int failed = make_here(set);
    if (tare_os_is_unsupported(failed) || failed == ENAMETOOLONG) {
        set->has_short_names = failed == ENAMETOOLONG;
        failed = make_elsewhere(set);
        if (tare_os_is_unsupported(failed))
            return tare_outset_fail(err, TARE_ERR_UNSUPPORTED,
                                    "this file system takes files only from the first byte to the "
                                    "last, and so do /var/tmp and /tmp, where it could be made: "
                                    "write it elsewhere, or to standard output (-)",
                                    set->path);
    }
    if (failed)
        return tare_outset_fail_errno(err, failed, "the output cannot be created", set->path);
    failed = try_exchange(set);
    if (tare_os_is_unsupported(failed)) return fail_exchange(set, err);
    if (failed)
        return tare_outset_fail_errno(err, failed, "the output cannot be created", set->path);
    return set->options.is_directory ? keep_temp_path(set, err) : TARE_OK;
}

/* Where the output is to be, and whether it may be there. Changes nothing on disk. */
static tare_status look(tare_outset *set, const char *path, tare_error *err) {
    TARE_TRY(keep_path(set, path, err));
    TARE_TRY(open_parent(set, err));
    return check_existing(set, err);
}

/* Whether a file can be created in the directory, for callers that will not try it. */
static tare_status check_writable(const tare_outset *set, tare_error *err) {
    const int failed = tare_folder_can_write(set->parent_fd);
    if (!failed) return TARE_OK;
    return tare_outset_fail_errno(err, failed, "the output cannot be created", set->path);
}

tare_status tare_outset_check(const char *path, const tare_out_options *options,
                              const tare_allocator *allocator, tare_error *err) {
    tare_outset set = {.allocator = allocator,
                       .options = *options,
                       .parent_fd = -1,
                       .temp_parent_fd = -1,
                       .temp_fd = -1};
    if (tare_outset_is_stored(path, options))
        return options->store->check(options->store->ctx, path, options, err);
    tare_status status = look(&set, path, err);
    if (status == TARE_OK) status = check_writable(&set, err);
    if (status == TARE_OK) status = check_space(&set, err);
    if (set.parent_fd >= 0) tare_fd_close(set.parent_fd);
    tare_free(allocator, set.path, set.path_size);
    return status;
}

static tare_status make_locks(tare_outset *set, tare_error *err) {
    set->has_mutex = pthread_mutex_init(&set->mutex, NULL) == 0;
    while (set->n_writing < TARE_OUT_WRITERS &&
           pthread_mutex_init(&set->writing[set->n_writing], NULL) == 0)
        set->n_writing++;
    if (!set->has_mutex || set->n_writing < TARE_OUT_WRITERS)
        return tare_fail(err, TARE_ERR_NOMEM, "output lock");
    return TARE_OK;
}

static tare_status begin(tare_outset *set, const char *path, tare_error *err) {
    TARE_TRY(make_locks(set, err));
    if (tare_outset_is_stored(path, &set->options)) return tare_outset_begin_store(set, path, err);
    TARE_TRY(look(set, path, err));
    tare_remove_stale(set->parent_fd, set->final_name, set->options.report);
    TARE_TRY(check_space(set, err));
    return make_temporary(set, err);
}

static tare_status withhold(const tare_outset *set, int fd, tare_error *err) {
    int failed = tare_outset_withhold(set, fd);
    if (!failed) return TARE_OK;
    return tare_outset_fail_errno(err, failed, "the output cannot be given permissions", set->path);
}

tare_status tare_outset_new(tare_outset **out, const char *path, const tare_out_options *options,
                            const tare_allocator *allocator, tare_error *err) {
    *out = NULL;
    tare_outset *set = tare_alloc(allocator, sizeof *set);
    if (!set) return tare_fail(err, TARE_ERR_NOMEM, "output");
    *set = (tare_outset){.allocator = allocator,
                         .options = *options,
                         .parent_fd = -1,
                         .temp_parent_fd = -1,
                         .temp_fd = -1};
    tare_status status = begin(set, path, err);
    if (status == TARE_OK && !set->store) status = withhold(set, set->temp_fd, err);
    if (status == TARE_OK)
        *out = set;
    else
        tare_outset_free(set);
    return status;
}

/* ---- the end --------------------------------------------------------------------------------- */

static tare_status sync_all(tare_outset *set, tare_error *err) {
    for (size_t i = 0; i < set->n_members; i++) {
        const tare_out_member *m = &set->members[i];
        if (m->name && !m->is_entry && (!m->is_made || m->fd >= 0))
            TARE_TRY(tare_outset_member_done(set, (uint32_t)i, err));
    }
    TARE_TRY(tare_outset_finish_entries(set, err));
    int failed = set->options.is_directory ? 0 : tare_os_flush(set->temp_fd);
    if (failed)
        return tare_outset_fail_errno(err, failed, "the output cannot be written", set->path);
    if (set->options.no_sync) return TARE_OK;
    TARE_TRY(tare_outset_sync_folders(set, err));
    failed = tare_os_sync(set->temp_fd);
    if (failed)
        return tare_outset_fail_errno(err, failed, "the output cannot be synced", set->path);
    return TARE_OK;
}

tare_status tare_outset_sync(tare_outset *set, tare_error *err) {
    if (set->store) return tare_store_fail_rewritten(set->path, err);
    TARE_TRY(sync_all(set, err));
    if (!set->options.no_sync && !set->options.is_directory) tare_os_forget(set->temp_fd);
    return TARE_OK;
}

/* Whether the temporary cannot be renamed to whatever name: a refusal may be about what has the final
 * name, which is another user's, or must not change. */
static bool lacks_renaming(tare_outset *set, int os_error) {
    char other[TARE_TEMP_NAME_SIZE];
    if (!tare_out_lacks_names(os_error)) return false;
    tare_temp_name(other, set->final_name);
    if (tare_entry_rename(set->parent_fd, set->temp_name, other) != 0) return true;
    memcpy(set->temp_name, other, sizeof other);
    return false;
}

/* Gives an unnamed file its temporary name; 0 or an errno. */
static int give_name(tare_outset *set) {
    for (int i = 0; i < NAME_TRIES; i++) {
        char name[TARE_TEMP_NAME_SIZE];
        tare_temp_name(name, set->final_name);
        int failed = tare_os_link(set->temp_fd, set->parent_fd, name);
        if (failed == EEXIST) continue;
        if (!failed) memcpy(set->temp_name, name, sizeof name);
        return failed;
    }
    return EEXIST;
}

/* The one step that makes OUT appear. */
static tare_status rename_to_final(tare_outset *set, tare_error *err) {
    if (set->is_copied) return tare_outset_place(set, err);
    int failed = tare_os_rename_new(set->parent_fd, set->temp_name, set->final_name);
    if (failed == EEXIST && !set->options.force) return tare_outset_fail_exists(set, err);
    bool was_exchanged = false;
    if (failed == EEXIST && set->options.is_directory) {
        failed = tare_os_exchange(set->parent_fd, set->temp_name, set->final_name);
        if (tare_os_is_unsupported(failed)) return fail_exchange(set, err);
        was_exchanged = !failed;
    } else if (failed == EEXIST) {
        failed = tare_entry_rename(set->parent_fd, set->temp_name, set->final_name);
    }
    if (lacks_renaming(set, failed)) return tare_outset_place(set, err);
    if (failed)
        return tare_outset_fail_errno(err, failed, "the output cannot be given its name",
                                      set->path);
    set->is_committed = true;
    /* What has the temporary name now is the old directory; the next run would remove it too. */
    if (was_exchanged) tare_outset_remove_temporary(set, 0);
    set->temp_name[0] = '\0';
    return TARE_OK;
}

/* Whole, and under its temporary name. */
static tare_status complete(tare_outset *set, tare_error *err) {
    TARE_TRY(sync_all(set, err));
    int failed = set->temp_name[0] || set->is_copied ? 0 : give_name(set);
    if (tare_out_lacks_names(failed)) set->is_copied = true;
    if (failed == ENAMETOOLONG) set->has_short_names = true;
    if (!failed || set->is_copied) return TARE_OK;
    return tare_outset_fail_errno(err, failed, "the output cannot be given a name", set->path);
}

tare_status tare_outset_release(tare_outset *set, const char **name, tare_error *err) {
    if (set->store) return tare_store_fail_rewritten(set->path, err);
    TARE_TRY(complete(set, err));
    if (set->is_copied)
        return tare_outset_fail(err, TARE_ERR_UNSUPPORTED,
                                "this file system cannot rename files: write elsewhere", set->path);
    set->is_committed = true;
    *name = set->temp_name;
    return TARE_OK;
}

tare_status tare_outset_commit(tare_outset *set, tare_error *err) {
    if (set->store) return tare_outset_commit_objects(set, err);
    TARE_TRY(complete(set, err));
    TARE_TRY(rename_to_final(set, err));
    int failed = set->options.no_sync ? 0 : tare_os_sync(set->parent_fd);
    if (failed)
        return tare_outset_fail_errno(err, failed, "the output's directory: sync", set->path);
    return TARE_OK;
}

void tare_outset_free(tare_outset *set) {
    if (!set) return;
    for (size_t i = 0; i < set->n_members; i++) {
        tare_out_member *m = &set->members[i];
        if (set->store) set->store->free(m->object);
        if (!m->name) continue;
        if (m->fd >= 0) tare_fd_close(m->fd);
        tare_free(set->allocator, m->name, m->name_size);
        tare_free(set->allocator, m->target, m->target_size);
    }
    if (set->is_committed) set->temp_name[0] = '\0';
    drop_temporary(set);
    if (set->tried_name[0]) tare_outset_remove(set, set->parent_fd, set->tried_name, 0);
    if (set->temp_parent_fd >= 0 && set->temp_parent_fd != set->parent_fd)
        tare_fd_close(set->temp_parent_fd);
    if (set->parent_fd >= 0) tare_fd_close(set->parent_fd);
    if (set->has_mutex) pthread_mutex_destroy(&set->mutex);
    while (set->n_writing > 0) pthread_mutex_destroy(&set->writing[--set->n_writing]);
    tare_free(set->allocator, set->members, set->members_capacity * sizeof *set->members);
    tare_free(set->allocator, set->temp_path, set->temp_path_size);
    tare_free(set->allocator, set->path, set->path_size);
    tare_free(set->allocator, set, sizeof *set);
}

static bool is_file(const tare_file_facts *facts, const tare_reader *file) {
    return file->has_identity && facts->device == file->device && facts->inode == file->inode;
}

/* What is no file of the system is known by its name: objects of a store. */
static bool is_named(const char *path, const tare_reader *file, bool as_folder) {
    const size_t n = strlen(path);
    if (file->has_identity || !file->name || !strstr(path, "://") ||
        strncmp(path, file->name, n) != 0)
        return false;
    return !file->name[n] || (as_folder && (file->name[n] == '/' || (n && path[n - 1] == '/')));
}

bool tare_same_file(const char *path, const tare_reader *file) {
    tare_file_facts facts;
    if (is_named(path, file, false)) return true;
    return tare_entry_stat(&facts, TARE_HERE, path, true) == 0 && is_file(&facts, file);
}

typedef struct search {
    int folder;
    const tare_reader *file;
} search;

enum { FOUND = -1 };

static int find_file(void *ctx, const char *name) {
    const search *s = ctx;
    tare_file_facts facts;
    const bool is_it =
        tare_entry_stat(&facts, s->folder, name, false) == 0 && is_file(&facts, s->file);
    return is_it ? FOUND : 0;
}

bool tare_holds_file(const char *path, const tare_reader *file) {
    search s = {.file = file};
    if (tare_same_file(path, file) || is_named(path, file, true)) return true;
    if (!file->has_identity || tare_fd_open(&s.folder, TARE_HERE, path, TARE_OPEN_FOLDER, 0))
        return false;
    const bool is_found = tare_folder_names(s.folder, find_file, &s) == FOUND;
    tare_fd_close(s.folder);
    return is_found;
}

bool tare_same_path(const char *a, const char *b) {
    tare_file_facts fa, fb;
    return tare_entry_stat(&fa, TARE_HERE, a, true) == 0 &&
           tare_entry_stat(&fb, TARE_HERE, b, true) == 0 && tare_is_same_file(&fa, &fb);
}
