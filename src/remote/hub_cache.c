/* SPDX-License-Identifier: MIT
 *
 * Models of the hub without the hub, as its tools have downloaded them (huggingface.co/docs, "How does
 * the cache work"). Nothing is asked of the hub, whatever is missing. */
#include "remote/hub_cache.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/files.h"
#include "base/os_path.h"
#include "base/reader.h"
#include "base/str.h"
#include "remote/hub_type.h"

#define REF_MOST 64 /* bytes of a file that names a commit */

/* "CACHE/models--ORG--NAME", of which a part follows. NULL: memory is out. */
static const char *put_path(tare_buffer *out, const tare_remote *r, const tare_hub_name *name,
                            const char *part, tare_str file) {
    out->size = 0;
    tare_buffer_put_text(out, r->options.hub_cache);
    tare_buffer_put_text(out, "/models--");
    for (size_t i = 0; i < name->model.len; i++) {
        if (name->model.ptr[i] == '/')
            tare_buffer_put_text(out, "--");
        else
            tare_buffer_put_u8(out, (uint8_t)name->model.ptr[i]);
    }
    tare_buffer_put_text(out, part);
    tare_buffer_put_str(out, file);
    tare_buffer_put_u8(out, 0);
    return out->failed ? NULL : (const char *)out->data;
}

/* The commit that a file of refs names. */
static bool read_ref(char commit[REF_MOST], const char *ref) {
    tare_reader reader;
    if (tare_reader_open(&reader, ref, TARE_MAP_NONE, NULL) != TARE_OK) return false;
    size_t n = reader.size < REF_MOST ? (size_t)reader.size : 0;
    bool is_read = tare_reader_read(&reader, 0, commit, n, NULL) == TARE_OK;
    tare_reader_close(&reader);
    while (n && (commit[n - 1] == '\n' || commit[n - 1] == '\r')) n--;
    commit[n] = 0;
    return is_read && tare_hub_is_commit((tare_str){commit, n});
}

/* The commit that a revision is, or that the cache last saw it be. */
static bool find_commit(char commit[REF_MOST], const tare_remote *r, const tare_hub_name *name,
                        tare_buffer *path) {
    if (tare_hub_is_commit(name->revision)) {
        memcpy(commit, name->revision.ptr, name->revision.len);
        commit[name->revision.len] = 0;
        return true;
    }
    const char *ref = put_path(path, r, name, "/refs/", name->revision);
    return ref && read_ref(commit, ref);
}

bool tare_hub_put_cached(tare_buffer *out, const tare_remote *r, const tare_hub_name *name,
                         tare_str commit, tare_str file) {
    if (!r->options.hub_cache || !put_path(out, r, name, "/snapshots/", commit)) return false;
    if (file.len) {
        out->size--; /* its NUL */
        tare_buffer_put_u8(out, '/');
        tare_buffer_put_str(out, file);
        tare_buffer_put_u8(out, 0);
    }
    return !out->failed && tare_path_has_entry((const char *)out->data);
}

/* ---- types ----------------------------------------------------------------------------------- */

/* The GGUF files of a snapshot and of its folders. */
typedef struct listing {
    tare_listing list;
    size_t capacity;
    tare_arena *arena;
    const char *root;
    tare_str folder; /* at hand, in the snapshot: empty, or ends with a slash */
} listing;

static tare_status add_file(listing *l, const tare_files_entry *entry, tare_error *err) {
    void *files = l->list.files;
    const tare_listed file = {
        .path = tare_str_of(tare_join_path(l->arena, tare_arena_str(l->arena, l->folder).ptr,
                                           tare_str_of(entry->name)))};
    if (!file.path.ptr ||
        !tare_grow(NULL, &files, &l->capacity, l->list.n + 1, sizeof *l->list.files))
        return tare_fail(err, TARE_ERR_NOMEM, "list of files");
    l->list.files = files;
    l->list.files[l->list.n++] = file;
    return TARE_OK;
}

static tare_status take_file(void *ctx, const tare_files_entry *entry, tare_error *err) {
    listing *l = ctx;
    if (tare_files_is_bookkeeping(tare_str_of(entry->name))) return TARE_OK;
    if (entry->kind == TARE_PATH_FILE) return add_file(l, entry, err);
    if (entry->kind != TARE_PATH_FOLDER || entry->is_link || l->folder.len) return TARE_OK;
    const char *folder = tare_join_path(l->arena, entry->name, TARE_STR("/"));
    const char *root = tare_join_path(l->arena, l->root, TARE_STR("/"));
    const char *path = root && folder ? tare_join_path(l->arena, root, tare_str_of(folder)) : NULL;
    if (!path) return tare_fail(err, TARE_ERR_NOMEM, "list of files");
    l->folder = tare_str_of(folder);
    const tare_status status = tare_files_list(NULL, path, take_file, l, err);
    l->folder = TARE_STR("");
    return status;
}

/* The file of a type in a snapshot, whose path is in `path` and becomes that of the file. */
static tare_status enter_type(tare_buffer *path, tare_str type, tare_arena *arena,
                              tare_error *err) {
    size_t picked = 0;
    listing l = {.arena = arena,
                 .root = tare_arena_str(arena, tare_str_of((const char *)path->data)).ptr};
    if (!l.root) return tare_fail(err, TARE_ERR_NOMEM, "path");
    l.folder = TARE_STR("");
    tare_status status = tare_files_list(NULL, l.root, take_file, &l, err);
    if (status == TARE_OK) status = tare_hub_pick(&picked, &l.list, type, err);
    if (status == TARE_OK) {
        path->size--; /* its NUL */
        tare_buffer_put_u8(path, '/');
        tare_buffer_put_str(path, l.list.files[picked].path);
        tare_buffer_put_u8(path, 0);
        status = tare_buffer_status(path, err);
    }
    tare_free(NULL, l.list.files, l.capacity * sizeof *l.list.files);
    return status;
}

/* ---- what a name leads to -------------------------------------------------------------------- */

static const char *find(const tare_remote *r, const tare_hub_name *name, tare_buffer *path) {
    char commit[REF_MOST];
    if (!r->options.hub_cache || !find_commit(commit, r, name, path)) return NULL;
    return tare_hub_put_cached(path, r, name, tare_str_of(commit), name->path)
               ? (const char *)path->data
               : NULL;
}

static bool is_of_hub(const tare_remote *r, const char *url) {
    tare_url parts;
    return tare_url_split(&parts, url, NULL) == TARE_OK && tare_url_same_origin(&parts, &r->hub);
}

tare_status tare_hub_cached(const char **out, const tare_remote *r, const char *url,
                            tare_arena *arena, tare_error *err) {
    tare_hub_name name;
    tare_buffer path;
    *out = NULL;
    if (!r->options.is_offline) return TARE_OK;
    if (!tare_same_letters(url, "hf://", 5)) {
        if (!is_of_hub(r, url)) return TARE_OK;
        return tare_fail(err, TARE_ERR_IO,
                         "offline: nothing is asked of the hub; hf://ORG/NAME opens what its cache "
                         "has");
    }
    TARE_TRY(tare_hub_name_parse(&name, url, arena, err));
    tare_buffer_init(&path, NULL);
    const char *found = find(r, &name, &path);
    tare_status status =
        found && name.type.len ? enter_type(&path, name.type, arena, err) : TARE_OK;
    if (found) found = *out = tare_arena_str(arena, tare_str_of((const char *)path.data)).ptr;
    tare_buffer_free(&path);
    if (status != TARE_OK) tare_error_file(err, url);
    if (status != TARE_OK || found) return status;
    tare_fail(err, TARE_ERR_IO,
              "offline: nothing is asked of the hub, and its cache on this machine does not have "
              "this");
    tare_error_code(err, TARE_CODE_NOT_FOUND);
    return TARE_ERR_IO;
}

/* ---- folders of the cache that are named ------------------------------------------------------ */

typedef struct snapshots {
    tare_arena *arena;
    const char *only;
    size_t n;
} snapshots;

static tare_status take_snapshot(void *ctx, const tare_files_entry *entry, tare_error *err) {
    snapshots *s = ctx;
    const tare_str name = tare_str_of(entry->name);
    if (entry->kind != TARE_PATH_FOLDER || !tare_hub_is_commit(name)) return TARE_OK;
    s->only = tare_arena_str(s->arena, name).ptr;
    s->n++;
    return s->only ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "path");
}

/* folder + "/" + name, in the arena. */
static const char *below(const char *folder, const char *name, tare_arena *arena) {
    const size_t n = strlen(folder);
    const bool has_slash = n && folder[n - 1] == '/';
    const char *slashed = tare_join_path(arena, folder, has_slash ? TARE_STR("") : TARE_STR("/"));
    return slashed ? tare_join_path(arena, slashed, tare_str_of(name)) : NULL;
}

static tare_status choose_snapshot(const char **out, const char *path, const char *all,
                                   tare_arena *arena, tare_error *err) {
    char commit[REF_MOST];
    snapshots seen = {.arena = arena};
    const char *ref = below(path, "refs/main", arena);
    if (!ref) return tare_fail(err, TARE_ERR_NOMEM, "path");
    TARE_TRY(tare_files_list(NULL, all, take_snapshot, &seen, err));
    if (!seen.n) return TARE_OK; /* not of the cache */
    const char *named = read_ref(commit, ref) ? below(all, commit, arena) : NULL;
    if (named && tare_path_has_entry(named))
        *out = named;
    else if (seen.n == 1)
        *out = below(all, seen.only, arena);
    else
        return tare_fail(err, TARE_ERR_ARG,
                         "several snapshots of a model, none of which is that of its refs/main: "
                         "name one of them");
    return *out ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "path");
}

tare_status tare_hub_enter_cache(const char **out, const char *path, tare_arena *arena,
                                 tare_error *err) {
    const char *all = below(path, "snapshots", arena);
    *out = path;
    if (!all) return tare_fail(err, TARE_ERR_NOMEM, "path");
    if (tare_path_stat(all, NULL) != TARE_PATH_FOLDER) return TARE_OK;
    const tare_status status = choose_snapshot(out, path, all, arena, err);
    if (status != TARE_OK) tare_error_file(err, path);
    return status;
}
