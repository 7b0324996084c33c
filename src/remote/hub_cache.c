/* SPDX-License-Identifier: MIT
 *
 * Models of the hub without the hub, as its tools have downloaded them (huggingface.co/docs, "How does
 * the cache work"). Nothing is asked of the hub, whatever is missing. */
#include "remote/hub_cache.h"

#include <errno.h>
#include <stdlib.h>

#include "base/os_path.h"
#include "base/reader.h"
#include "base/str.h"
#include "remote/hub.h"

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

/* The commit that a revision is, or that the cache last saw it be. */
static bool find_commit(char commit[REF_MOST], const tare_remote *r, const tare_hub_name *name,
                        tare_buffer *path) {
    tare_reader reader;
    if (tare_hub_is_commit(name->revision)) {
        memcpy(commit, name->revision.ptr, name->revision.len);
        commit[name->revision.len] = 0;
        return true;
    }
    const char *ref = put_path(path, r, name, "/refs/", name->revision);
    if (!ref || tare_reader_open(&reader, ref, TARE_MAP_NONE, NULL) != TARE_OK) return false;
    size_t n = reader.size < REF_MOST ? (size_t)reader.size : 0;
    bool is_read = tare_reader_read(&reader, 0, commit, n, NULL) == TARE_OK;
    tare_reader_close(&reader);
    while (n && (commit[n - 1] == '\n' || commit[n - 1] == '\r')) n--;
    commit[n] = 0;
    return is_read && tare_hub_is_commit((tare_str){commit, n});
}

static const char *find(const tare_remote *r, const tare_hub_name *name, tare_buffer *path) {
    char commit[REF_MOST];
    if (!r->options.hub_cache || !find_commit(commit, r, name, path)) return NULL;
    if (!put_path(path, r, name, "/snapshots/", tare_str_of(commit))) return NULL;
    if (name->path.len) {
        path->size--; /* its NUL */
        tare_buffer_put_u8(path, '/');
        tare_buffer_put_str(path, name->path);
        tare_buffer_put_u8(path, 0);
    }
    return !path->failed && tare_path_has_entry((const char *)path->data) ? (const char *)path->data
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
    if (found) found = *out = tare_arena_str(arena, tare_str_of(found)).ptr;
    tare_buffer_free(&path);
    if (found) return TARE_OK;
    tare_fail(err, TARE_ERR_IO,
              "offline: nothing is asked of the hub, and its cache on this machine does not have "
              "this");
    tare_error_code(err, TARE_CODE_NOT_FOUND);
    return TARE_ERR_IO;
}
