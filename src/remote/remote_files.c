/* SPDX-License-Identifier: MIT
 *
 * Files and directories behind a URL. HTTP lists no directories: a model of the hub and a folder of a store are some.
 * Other files in the directory of a file are requested with its password, never with its query,
 * which may be a signature for that file alone.
 */
#include "remote/remote_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/hash.h"
#include "base/str.h"
#include "remote/hub_cache.h"
#include "remote/hub_type.h"
#include "remote/s3.h"

/* ---- addresses ------------------------------------------------------------------------------- */

/* Ends a buffer as a string; NULL: memory is out. */
static const char *text_of(tare_buffer *b) {
    tare_buffer_put_u8(b, 0);
    return b->failed ? NULL : (const char *)b->data;
}

static tare_status open_place(tare_remote_files *p, tare_reader *out, tare_remote_place *place,
                              tare_buffer *address, tare_error *err) {
    tare_remote_file *file;
    place->address = text_of(address);
    if (!place->address) return tare_fail(err, TARE_ERR_NOMEM, "a URL");
    place->from = p->from;
    place->sink = p->sink;
    TARE_TRY(tare_remote_file_open(out, &file, p->remote, place, err));
    file->opened = &p->opened;
    file->next_opened = p->opened;
    p->opened = file;
    return TARE_OK;
}

/* All files of a model come from one commit: that of the list, or of the first file. */
static tare_str revision_of(const tare_remote_files *p) {
    tare_str revision = p->list.commit.len ? p->list.commit : p->name.revision;
    pthread_mutex_lock(&p->remote->blocks->mutex);
    for (const tare_remote_file *f = p->list.commit.len ? NULL : p->opened; f; f = f->next_opened)
        if (f->commit[0]) revision = tare_str_of(f->commit);
    pthread_mutex_unlock(&p->remote->blocks->mutex);
    return revision;
}

/* The part of a path within a model of the hub, or within a store's folder; false: it is not in there. */
static bool within_model(const tare_remote_files *p, const char *path, tare_str *out) {
    tare_str text = tare_str_of(path);
    if (!p->base.len || !tare_str_starts(text, p->base)) return false;
    *out = tare_str_cut(text, p->base.len);
    if (out->len && out->ptr[0] != '/') return false;
    while (out->len && out->ptr[0] == '/') *out = tare_str_cut(*out, 1);
    while (out->len && out->ptr[out->len - 1] == '/') out->len--;
    return true;
}

/* Opens a file of the model where the hub's tools have downloaded it of the same commit; false: they have
 * not. */
static bool open_cached(const tare_remote_files *p, tare_reader *out, const char *name,
                        tare_buffer *path) {
    tare_str inner;
    const tare_str commit = revision_of(p);
    if (!within_model(p, name, &inner) || !tare_hub_is_commit(commit)) return false;
    const tare_listed *file = tare_listing_find(&p->list, inner);
    if (!tare_hub_put_cached(path, p->remote, &p->name, commit, inner) ||
        tare_reader_open(out, (const char *)path->data, TARE_MAP_NONE, NULL) != TARE_OK)
        return false;
    if (!p->list.n || (file && file->size == out->size)) return true;
    tare_reader_close(out);
    return false;
}

/* A file of the hub's or of a store's, of which a list may tell the size. */
static tare_status put_listed_address(const tare_remote_files *p, tare_buffer *out,
                                      tare_remote_place *place, tare_error *err) {
    tare_str path;
    if (!within_model(p, place->name, &path))
        return tare_fail_errno(err, ENOENT, "cannot be opened");
    place->is_hub = p->is_hub;
    place->is_s3 = p->is_s3;
    if (p->list.n) {
        const tare_listed *file = tare_listing_find(&p->list, path);
        if (!file) return tare_fail_errno(err, ENOENT, "cannot be opened");
        place->has_size = file->size != TARE_LISTED_NO_SIZE;
        place->size = place->has_size ? file->size : 0;
    }
    if (p->is_hub) {
        tare_hub_put_file(out, p->remote->options.hub_endpoint, &p->name, revision_of(p), path);
        return TARE_OK;
    }
    tare_buffer key;
    tare_buffer_init(&key, NULL);
    tare_buffer_put_str(&key, p->prefix);
    tare_buffer_put_str(&key, path);
    if (!key.failed)
        tare_s3_put_address(out, &p->remote->options, p->bucket,
                            (tare_str){(const char *)key.data, key.size});
    const tare_status status = tare_buffer_status(&key, err);
    tare_buffer_free(&key);
    return status;
}

/* The file itself, or one beside it, whose name is not escaped yet. */
static tare_status put_address(const tare_remote_files *p, tare_buffer *out,
                               tare_remote_place *place, tare_error *err) {
    tare_str path = tare_str_of(place->name), root = tare_str_of(p->root);
    place->userinfo = p->userinfo;
    if (tare_str_equal(path, root)) {
        tare_url_put(out, &p->url, true);
        return TARE_OK;
    }
    size_t folder = root.len;
    while (folder && root.ptr[folder - 1] != '/') folder--;
    if (!tare_str_starts(path, (tare_str){root.ptr, folder}))
        return tare_fail_errno(err, ENOENT, "cannot be opened");
    tare_buffer_put(out, root.ptr, folder);
    tare_url_put_path(out, tare_str_cut(path, folder), false, true);
    return TARE_OK;
}

/* What is said of the version of a file that was opened: of the hub the commit, of a store's folder what
 * its list says, as not every file of it is asked for now; else what the file's own answer does. Empty:
 * nothing is. */
static tare_str version_of(const tare_remote_files *p, const char *path,
                           char room[TARE_VALIDATOR_MAX]) {
    tare_str inner;
    if (p->is_hub) {
        const tare_str commit = revision_of(p);
        return tare_hub_is_commit(commit) ? commit : TARE_STR("");
    }
    if (p->list.n && within_model(p, path, &inner)) {
        const tare_listed *file = tare_listing_find(&p->list, inner);
        return file ? file->tag : TARE_STR("");
    }
    pthread_mutex_lock(&p->remote->blocks->mutex);
    const char *tag = tare_response_validator(p->opened->etag, p->opened->modified);
    snprintf(room, TARE_VALIDATOR_MAX, "%s", tag ? tag : "");
    pthread_mutex_unlock(&p->remote->blocks->mutex);
    return tare_str_of(room);
}

static void note_version(tare_reader *out, const tare_remote_files *p, const char *path) {
    char room[TARE_VALIDATOR_MAX];
    tare_sha256 h;
    const tare_str version = version_of(p, path, room);
    if (!version.len) return;
    tare_sha256_init(&h);
    tare_sha256_update(&h, version.ptr, version.len);
    tare_sha256_final(&h, out->version.digest);
    out->version.is_known = true;
}

static tare_status open_remote(const tare_files *files, tare_reader *out, const char *path,
                               tare_error *err) {
    tare_remote_files *p = (tare_remote_files *)(uintptr_t)files;
    tare_remote_place place = {.name = path};
    tare_buffer address;
    tare_buffer_init(&address, NULL);
    if (p->is_hub && open_cached(p, out, path, &address)) {
        out->name = path;
        note_version(out, p, path);
        tare_buffer_free(&address);
        return TARE_OK;
    }
    address.size = 0;
    *out = (tare_reader){.name = path, .fd = -1};
    tare_status status = p->base.len ? put_listed_address(p, &address, &place, err)
                                     : put_address(p, &address, &place, err);
    if (status == TARE_OK) status = open_place(p, out, &place, &address, err);
    if (status == TARE_OK)
        note_version(out, p, path);
    else
        tare_error_file(err, path);
    tare_buffer_free(&address);
    return status;
}

/* ---- directories ----------------------------------------------------------------------------- */

static tare_str file_at(const void *ctx, size_t i, tare_files_entry *entry) {
    const tare_listing *list = ctx;
    const tare_listed *f = &list->files[i];
    *entry = (tare_files_entry){.size = f->size == TARE_LISTED_NO_SIZE ? 0 : f->size,
                                .kind = TARE_PATH_FILE};
    return f->path;
}

static tare_status list_remote(const tare_files *files, const char *path, tare_files_visit visit,
                               void *ctx, tare_error *err) {
    tare_remote_files *p = (tare_remote_files *)(uintptr_t)files;
    const tare_file_list list = {p->list.n, file_at, &p->list};
    tare_str folder;
    if (!p->is_directory || !within_model(p, path, &folder))
        return tare_fail_errno(err, ENOENT, "opening the directory");
    return tare_file_list_visit(&list, folder, &p->arena, visit, ctx, err);
}

/* All of what a list's address leads to. */
static tare_status read_list(tare_str *out, tare_remote_files *p, const tare_reader *reader,
                             const tare_limits *limits, tare_error *err) {
    size_t size;
    if (reader->size > limits->metadata_bytes || !tare_size_of_u64(reader->size, &size))
        return tare_fail(err, TARE_ERR_LIMIT, "list of files: size");
    char *text = tare_arena_take(&p->arena, size);
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, "list of files");
    *out = (tare_str){text, size};
    return tare_reader_read(reader, 0, text, size, err);
}

static tare_status fetch_text(tare_str *out, tare_remote_files *p, tare_buffer *address,
                              const tare_limits *limits, tare_error *err) {
    tare_remote_file *file;
    tare_reader reader;
    const tare_remote_place place = {
        .name = p->root, .address = text_of(address), .is_hub = p->is_hub, .is_s3 = p->is_s3};
    if (!place.address) return tare_fail(err, TARE_ERR_NOMEM, "a URL");
    TARE_TRY(tare_remote_file_open(&reader, &file, p->remote, &place, err));
    const tare_status status = read_list(out, p, &reader, limits, err);
    tare_reader_close(&reader);
    return status;
}

static tare_status fetch_list(tare_remote_files *p, const tare_limits *limits, tare_error *err) {
    tare_str text;
    tare_buffer address;
    tare_buffer_init(&address, NULL);
    tare_hub_put_list(&address, p->remote->options.hub_endpoint, &p->name);
    tare_status status = fetch_text(&text, p, &address, limits, err);
    tare_buffer_free(&address);
    if (status == TARE_OK) status = tare_hub_list_parse(&p->list, text, &p->arena, limits, err);
    if (status != TARE_OK) tare_error_file(err, p->root);
    return status;
}

/* ---- folders of stores ----------------------------------------------------------------------- */

static tare_status fetch_pages(tare_remote_files *p, const tare_limits *limits, tare_error *err) {
    tare_status status = TARE_OK;
    tare_str token = TARE_STR(""), text;
    do {
        const size_t before = p->list.n;
        tare_buffer address;
        tare_buffer_init(&address, NULL);
        tare_s3_put_list(&address, &p->remote->options, p->bucket, p->prefix, token);
        const tare_str last = token;
        status = fetch_text(&text, p, &address, limits, err);
        tare_buffer_free(&address);
        if (status == TARE_OK)
            status = tare_s3_list_parse(&p->list, &token, text, p->prefix, &p->arena, limits, err);
        if (status == TARE_OK && token.len && p->list.n == before && tare_str_equal(token, last))
            status = tare_fail(err, TARE_ERR_CORRUPT, "NextContinuationToken: the same page again");
    } while (status == TARE_OK && token.len);
    return status;
}

static tare_status fetch_objects(tare_remote_files *p, const tare_limits *limits, tare_error *err) {
    tare_status status = fetch_pages(p, limits, err);
    if (status == TARE_OK && p->list.n == 0)
        status = tare_fail_code(err, TARE_ERR_IO, TARE_CODE_NOT_FOUND,
                                "the bucket has no object whose key begins so");
    if (status == TARE_OK) status = tare_listing_seal(&p->list, &p->arena, err);
    if (status != TARE_OK) {
        tare_listing_drop(&p->list);
        tare_error_file(err, p->root);
    }
    return status;
}

static tare_status begin_s3(tare_remote_files *p, const char *url, const tare_limits *limits,
                            tare_error *err) {
    tare_s3_name name;
    const char *text = tare_arena_str(&p->arena, tare_str_of(url)).ptr;
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, "a URL");
    p->root = text;
    TARE_TRY(tare_s3_name_parse(&name, text, err));
    TARE_TRY(tare_s3_check_options(&p->remote->options, err));
    p->is_s3 = true;
    p->bucket = name.bucket;
    p->base = name.root;
    if (!name.is_folder) return TARE_OK;
    p->is_directory = true;
    if (name.key.len) {
        p->base.len += 1 + name.key.len;
        p->prefix = (tare_str){name.key.ptr, name.key.len + 1};
    }
    p->root = tare_arena_str(&p->arena, p->base).ptr;
    if (!p->root) return tare_fail(err, TARE_ERR_NOMEM, "a URL");
    return fetch_objects(p, limits, err);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

/* Of a model of which a type is named the file of that type is what the URL leads to. */
static tare_status enter_type(tare_remote_files *p, const tare_limits *limits, tare_error *err) {
    size_t picked = 0;
    const tare_str type = p->name.type;
    p->name.type = TARE_STR("");
    TARE_TRY(fetch_list(p, limits, err));
    tare_status status = tare_hub_pick(&picked, &p->list, type, err);
    if (status != TARE_OK) {
        tare_error_file(err, p->root);
        return status;
    }
    tare_buffer root;
    tare_buffer_init(&root, NULL);
    tare_buffer_put_str(&root, p->name.root);
    tare_buffer_put_text(&root, "/");
    tare_buffer_put_str(&root, p->list.files[picked].path);
    p->root = tare_arena_str(&p->arena, (tare_str){(const char *)root.data, root.size}).ptr;
    if (root.failed || !p->root) status = tare_fail(err, TARE_ERR_NOMEM, "a URL");
    tare_buffer_free(&root);
    if (status == TARE_OK) status = tare_hub_name_parse(&p->name, p->root, &p->arena, err);
    p->base = p->name.root;
    return status;
}

static tare_status begin_hub(tare_remote_files *p, const char *url, const tare_limits *limits,
                             tare_error *err) {
    tare_str root = tare_str_of(url);
    while (root.len && root.ptr[root.len - 1] == '/') root.len--;
    p->root = tare_arena_str(&p->arena, root).ptr;
    if (!p->root) return tare_fail(err, TARE_ERR_NOMEM, "a URL");
    TARE_TRY(tare_hub_name_parse(&p->name, p->root, &p->arena, err));
    p->base = p->name.root;
    p->is_hub = true;
    if (p->remote->options.is_offline)
        return tare_fail(err, TARE_ERR_IO, "offline: nothing is asked of the hub");
    if (p->name.type.len) return enter_type(p, limits, err);
    p->is_directory = p->name.is_folder || root.ptr[root.len] == '/';
    return p->is_directory ? fetch_list(p, limits, err) : TARE_OK;
}

static bool is_of_hub(const tare_remote_files *p) {
    tare_url usual;
    return tare_url_same_origin(&p->url, &p->remote->hub) ||
           (tare_url_split(&usual, TARE_HUB_ENDPOINT, NULL) == TARE_OK &&
            tare_url_same_origin(&p->url, &usual));
}

/* A page of the hub that shows a file is taken for the file; one that shows a model has none. */
static tare_status leave_page(tare_remote_files *p, bool *shows_model, tare_error *err) {
    tare_url *url = &p->url;
    tare_str kind, rest;
    *shows_model = false;
    if (!is_of_hub(p) || !tare_hub_page(&kind, &rest, url->path)) return TARE_OK;
    *shows_model = !tare_hub_shows_file(kind);
    if (*shows_model) return TARE_OK;
    tare_buffer path;
    tare_buffer_init(&path, NULL);
    tare_buffer_put(&path, url->path.ptr, (size_t)(kind.ptr - url->path.ptr));
    tare_hub_put_shown(&path, rest);
    url->path = tare_arena_str(&p->arena, (tare_str){(const char *)path.data, path.size});
    const bool is_good = !path.failed && url->path.ptr;
    tare_buffer_free(&path);
    return is_good ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "a URL");
}

static tare_status begin_file(tare_remote_files *p, tare_error *err) {
    tare_buffer text;
    tare_buffer_init(&text, NULL);
    tare_url_put(&text, &p->url, false);
    p->root = tare_arena_str(&p->arena, (tare_str){(const char *)text.data, text.size}).ptr;
    bool is_good = true;
    if (p->url.userinfo.len) {
        text.size = 0;
        is_good = tare_url_unescape(&text, p->url.userinfo);
        p->userinfo = tare_arena_str(&p->arena, (tare_str){(const char *)text.data, text.size}).ptr;
    }
    bool has_memory = !text.failed && p->root && (p->userinfo || p->url.userinfo.len == 0);
    tare_buffer_free(&text);
    if (!has_memory) return tare_fail(err, TARE_ERR_NOMEM, "a URL");
    if (!is_good) return tare_fail(err, TARE_ERR_ARG, "URL: a malformed %XX in user or password");
    if (p->url.path.len == 0 || p->url.path.ptr[p->url.path.len - 1] == '/') {
        tare_fail(err, TARE_ERR_ARG,
                  "a web server lists no directories: name a file, or open a "
                  "model of the hub as hf://ORG/NAME");
        tare_error_file(err, p->root);
        return TARE_ERR_ARG;
    }
    return TARE_OK;
}

tare_status tare_remote_files_begin(tare_remote_files *out, tare_remote *remote, const char *url,
                                    const tare_limits *limits, tare_error *err) {
    *out = (tare_remote_files){.files = {open_remote, list_remote}, .remote = remote};
    tare_arena_init(&out->arena, remote->options.context->allocator);
    if (tare_same_letters(url, "hf://", 5)) return begin_hub(out, url, limits, err);
    if (tare_same_letters(url, "s3://", 5)) return begin_s3(out, url, limits, err);
    const char *kept = tare_arena_str(&out->arena, tare_str_of(url)).ptr;
    if (!kept) return tare_fail(err, TARE_ERR_NOMEM, "a URL");
    TARE_TRY(tare_url_split(&out->url, kept, err));
    bool shows_model;
    TARE_TRY(leave_page(out, &shows_model, err));
    TARE_TRY(begin_file(out, err));
    if (!shows_model) return TARE_OK;
    tare_fail(err, TARE_ERR_ARG,
              "a page of the hub about a model, not a file: open the model as hf://ORG/NAME");
    tare_error_file(err, out->root);
    return TARE_ERR_ARG;
}

void tare_remote_files_end(tare_remote_files *p, bool is_opened) {
    pthread_mutex_lock(&p->remote->blocks->mutex);
    for (tare_remote_file *f = p->opened; f; f = f->next_opened) {
        f->blocks.is_opened = is_opened;
        f->opened = NULL;
    }
    pthread_mutex_unlock(&p->remote->blocks->mutex);
    tare_arena_free(&p->arena);
}
