/* SPDX-License-Identifier: MIT
 *
 * Files and directories by path, in the file system or in a substitute for it. */
#include "base/files.h"

#include <errno.h>
#include <string.h>

#include "base/os_file.h"
#include "base/outfile_stale.h"
#include "base/str.h"

tare_status tare_files_open(const tare_files *files, tare_reader *out, const char *path,
                            tare_map_mode map, tare_error *err) {
    return files ? files->open(files, out, path, err) : tare_reader_open(out, path, map, err);
}

typedef struct listing {
    int folder;
    tare_files_visit visit;
    void *ctx;
    tare_status status;
    tare_error *err;
} listing;

/* What leads nowhere is there with nothing in it; a file that cannot be looked at is no such
 * thing. 0, or an errno. */
static int stat_entry(tare_files_entry *e, int folder) {
    tare_file_facts own, facts;
    int failed = tare_entry_stat(&own, folder, e->name, false);
    e->is_link = !failed && own.kind == TARE_PATH_LINK;
    if (!failed) failed = tare_entry_stat(&facts, folder, e->name, true);
    if (failed == ENOENT || failed == ELOOP || failed == ENOTDIR ||
        (e->is_link && failed == EACCES))
        return 0;
    if (failed) return failed;
    e->size = facts.size;
    e->kind = facts.kind == TARE_PATH_DISK ? TARE_PATH_OTHER : facts.kind;
    return 0;
}

static int list_entry(void *ctx, const char *name) {
    listing *l = ctx;
    tare_files_entry e = {.name = name};
    const int failed = stat_entry(&e, l->folder);
    if (failed) {
        l->status = tare_fail_errno(l->err, failed, "its status cannot be read");
        tare_error_file(l->err, name);
    } else {
        l->status = l->visit(l->ctx, &e, l->err);
    }
    return l->status == TARE_OK ? 0 : -1;
}

static tare_status list_folder(const char *path, tare_files_visit visit, void *ctx,
                               tare_error *err) {
    listing l = {.visit = visit, .ctx = ctx, .err = err};
    int failed = tare_fd_open(&l.folder, TARE_HERE, path, TARE_OPEN_FOLDER, 0);
    if (failed) return tare_fail_errno(err, failed, "opening the directory");
    failed = tare_folder_names(l.folder, list_entry, &l);
    tare_fd_close(l.folder);
    if (l.status != TARE_OK) return l.status;
    return failed ? tare_fail_errno(err, failed, "listing the directory") : TARE_OK;
}

tare_status tare_files_list(const tare_files *files, const char *path, tare_files_visit visit,
                            void *ctx, tare_error *err) {
    if (files) return files->list(files, path, visit, ctx, err);
    return list_folder(path, visit, ctx, err);
}

/* ---- sorted lists ---------------------------------------------------------------------------- */

/* The first file whose path is not below `path`. */
static size_t first_from(const tare_file_list *list, tare_str path) {
    size_t low = 0, high = list->n;
    while (low < high) {
        tare_files_entry entry;
        size_t mid = low + (high - low) / 2;
        if (tare_str_compare(list->at(list->ctx, mid, &entry), path) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const char *tare_path_within(const char *root, const char *path) {
    const size_t n = strlen(root);
    if (strncmp(path, root, n) != 0 || (path[n] && path[n] != '/')) return NULL;
    path += n;
    while (*path == '/') path++;
    return path;
}

/* The files of a folder are adjacent, and so are those of each folder in it. */
tare_status tare_file_list_visit(const tare_file_list *list, tare_str folder, tare_arena *arena,
                                 tare_files_visit visit, void *ctx, tare_error *err) {
    tare_str before = {"", 0}, last = {"", 0};
    if (folder.len) {
        before = tare_arena_str(arena, folder);
        const char *prefix = before.ptr ? tare_join_path(arena, before.ptr, TARE_STR("/")) : NULL;
        if (!prefix) return tare_fail(err, TARE_ERR_NOMEM, "directory");
        before = tare_str_of(prefix);
    }
    for (size_t i = first_from(list, before); i < list->n; i++) {
        tare_files_entry e = {.name = NULL};
        const tare_str path = list->at(list->ctx, i, &e);
        if (!tare_str_starts(path, before)) break;
        const tare_str rest = tare_str_cut(path, before.len);
        const char *slash = rest.len ? memchr(rest.ptr, '/', rest.len) : NULL;
        const tare_str name = {rest.ptr, slash ? (size_t)(slash - rest.ptr) : rest.len};
        if (last.len && tare_str_equal(name, last)) continue;
        last = name;
        if (slash) e = (tare_files_entry){.kind = TARE_PATH_FOLDER};
        e.name = tare_arena_str(arena, name).ptr;
        if (!e.name) return tare_fail(err, TARE_ERR_NOMEM, "directory");
        TARE_TRY(visit(ctx, &e, err));
    }
    return TARE_OK;
}

tare_status tare_file_list_at(const tare_file_list *list, const char *root, const char *path,
                              tare_arena *arena, tare_files_visit visit, void *ctx,
                              tare_error *err) {
    const char *inner = tare_path_within(root, path);
    if (!inner) return tare_fail_errno(err, ENOENT, "opening the directory");
    tare_str folder = tare_str_of(inner);
    while (folder.len && folder.ptr[folder.len - 1] == '/') folder.len--;
    return tare_file_list_visit(list, folder, arena, visit, ctx, err);
}

/* ---- names ----------------------------------------------------------------------------------- */

const char *tare_join_path(tare_arena *arena, const char *directory, tare_str name) {
    size_t n = strlen(directory);
    char *path = tare_arena_take(arena, n + name.len + 1);
    if (!path) return NULL;
    memcpy(path, directory, n);
    memcpy(path + n, name.ptr, name.len);
    return path;
}

bool tare_files_is_bookkeeping(tare_str path) {
    for (size_t i = path.len; i > 0; i--)
        if (path.ptr[i - 1] == '/') {
            path = tare_str_cut(path, i);
            break;
        }
    return tare_str_is(path, ".git") || tare_str_is(path, ".cache") ||
           tare_str_starts(path, TARE_STR("._")) || tare_is_temp_name(path) ||
           tare_str_ends(path, TARE_STR(".aria2")) ||
           (path.len && *path.ptr == '.' && tare_str_ends(path, TARE_STR(".tare-edit")));
}

bool tare_is_plain_name(tare_str name) {
    if (name.len == 0 || tare_str_is(name, ".") || tare_str_is(name, "..")) return false;
    return !memchr(name.ptr, '/', name.len) && !memchr(name.ptr, 0, name.len);
}

bool tare_is_inner_path(tare_str path) {
    const char *slash;
    while ((slash = path.len ? memchr(path.ptr, '/', path.len) : NULL) != NULL) {
        const size_t n = (size_t)(slash - path.ptr);
        if (!tare_is_plain_name((tare_str){path.ptr, n})) return false;
        path = tare_str_cut(path, n + 1);
    }
    return tare_is_plain_name(path);
}
