/* SPDX-License-Identifier: MIT
 *
 * The Hugging Face hub: names, addresses and lists of files (huggingface.co/docs/hub/api). */
#include "remote/hub.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/str.h"
#include "remote/url.h"

#define SCHEME        "hf://"
#define LIST_DEPTH    16 /* of the containers in a list of files; the hub's have 5 */
#define COMMIT_DIGITS 40

/* ---- names ----------------------------------------------------------------------------------- */

static const char *const form =
    "hf://ORG/NAME[@REVISION][/FILE], or :TYPE in place of /FILE, expected";
static const char *const type_form =
    "a type of GGUF expected behind the colon, as in hf://ORG/NAME:Q4_K_M";

static tare_str take_until(tare_str *rest, const char *stops) {
    size_t n = 0;
    while (n < rest->len && !strchr(stops, rest->ptr[n])) n++;
    tare_str run = {rest->ptr, n};
    *rest = tare_str_cut(*rest, n);
    return run;
}

/* An organisation or a model: letters, digits, '-', '_' and '.', and nothing that a path skips. */
static bool is_word(tare_str word) {
    for (size_t i = 0; i < word.len; i++) {
        char c = word.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              (c && strchr("-_.", c))))
            return false;
    }
    return word.len > 0 && !tare_str_is(word, ".") && !tare_str_is(word, "..");
}

/* A revision ends at the next slash; refs/pr/N and refs/convert/NAME, which the hub itself creates,
 * include theirs. */
static tare_str take_reference(tare_str *rest, const char *stops) {
    const tare_str all = *rest;
    tare_str text = take_until(rest, stops);
    if (!tare_str_starts(all, TARE_STR("refs/pr/")) &&
        !tare_str_starts(all, TARE_STR("refs/convert/")))
        return text;
    for (int i = 0; i < 2; i++) {
        *rest = tare_str_cut(*rest, 1);
        take_until(rest, stops);
    }
    text.len = all.len - rest->len;
    return text;
}

/* The revision after the '@', with %XX unescaped. */
static tare_status take_revision(tare_str *out, tare_str *rest, tare_arena *arena,
                                 tare_error *err) {
    const tare_str text = take_reference(rest, "/:");
    tare_buffer plain;
    tare_buffer_init(&plain, NULL);
    bool is_good = tare_url_unescape(&plain, text) && plain.size > 0;
    *out = tare_arena_str(arena, (tare_str){(const char *)plain.data, plain.size});
    tare_status status = tare_buffer_status(&plain, err);
    tare_buffer_free(&plain);
    if (status != TARE_OK || !out->ptr) return tare_fail(err, TARE_ERR_NOMEM, "revision");
    if (!is_good || !tare_listing_is_path(*out)) return tare_fail(err, TARE_ERR_ARG, form);
    return TARE_OK;
}

tare_status tare_hub_name_parse(tare_hub_name *out, const char *text, tare_arena *arena,
                                tare_error *err) {
    *out = (tare_hub_name){.revision = TARE_STR(TARE_HUB_REVISION)};
    tare_str rest = tare_str_cut(tare_str_of(text), sizeof SCHEME - 1);
    const char *model = rest.ptr;
    tare_str org = take_until(&rest, "/@:");
    if (rest.len == 0 || rest.ptr[0] != '/') return tare_fail(err, TARE_ERR_ARG, form);
    rest = tare_str_cut(rest, 1);
    tare_str name = take_until(&rest, "/@:");
    if (!is_word(org) || !is_word(name)) return tare_fail(err, TARE_ERR_ARG, form);
    out->model = (tare_str){model, (size_t)(name.ptr + name.len - model)};
    if (rest.len && rest.ptr[0] == '@') {
        rest = tare_str_cut(rest, 1);
        TARE_TRY(take_revision(&out->revision, &rest, arena, err));
    }
    out->root = (tare_str){text, (size_t)(rest.ptr - text)};
    if (rest.len && rest.ptr[0] == ':') {
        out->type = tare_str_cut(rest, 1);
        return is_word(out->type) ? TARE_OK : tare_fail(err, TARE_ERR_ARG, type_form);
    }
    while (rest.len && rest.ptr[0] == '/') rest = tare_str_cut(rest, 1);
    out->is_folder = rest.len == 0 || rest.ptr[rest.len - 1] == '/';
    while (rest.len && rest.ptr[rest.len - 1] == '/') rest.len--;
    if (rest.len && !tare_listing_is_path(rest)) return tare_fail(err, TARE_ERR_ARG, form);
    out->path = rest;
    return TARE_OK;
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void put_endpoint(tare_buffer *out, const char *endpoint) {
    tare_str base = tare_str_of(endpoint);
    while (base.len && base.ptr[base.len - 1] == '/') base.len--;
    tare_buffer_put_str(out, base);
}

void tare_hub_put_file(tare_buffer *out, const char *endpoint, const tare_hub_name *name,
                       tare_str revision, tare_str file) {
    put_endpoint(out, endpoint);
    tare_buffer_put_text(out, "/");
    tare_buffer_put_str(out, name->model);
    tare_buffer_put_text(out, "/resolve/");
    tare_url_put_path(out, revision, true, false);
    tare_buffer_put_text(out, "/");
    tare_url_put_path(out, file, false, false);
}

void tare_hub_put_list(tare_buffer *out, const char *endpoint, const tare_hub_name *name) {
    put_endpoint(out, endpoint);
    tare_buffer_put_text(out, "/api/models/");
    tare_buffer_put_str(out, name->model);
    tare_buffer_put_text(out, "/revision/");
    tare_url_put_path(out, name->revision, true, false);
    tare_buffer_put_text(out, "?blobs=true");
}

bool tare_hub_shows_file(tare_str kind) {
    return tare_str_is(kind, "blob") || tare_str_is(kind, "raw") || tare_str_is(kind, "resolve");
}

void tare_hub_put_shown(tare_buffer *out, tare_str rest) {
    rest = tare_str_cut(rest, 1);
    const tare_str revision = take_reference(&rest, "/");
    tare_buffer_put_text(out, "resolve/");
    for (size_t i = 0; i < revision.len; i++) {
        if (revision.ptr[i] == '/')
            tare_buffer_put_text(out, "%2F");
        else
            tare_buffer_put(out, revision.ptr + i, 1);
    }
    tare_buffer_put_str(out, rest);
}

bool tare_hub_page(tare_str *kind, tare_str *rest, tare_str path) {
    tare_str org, name;
    *rest = tare_str_cut(path, path.len && path.ptr[0] == '/');
    org = take_until(rest, "/");
    *rest = tare_str_cut(*rest, 1);
    name = take_until(rest, "/");
    *rest = tare_str_cut(*rest, 1);
    *kind = take_until(rest, "/");
    if (!is_word(org) || !is_word(name) || tare_str_is(org, "api")) return false;
    if (tare_hub_shows_file(*kind)) return rest->len > 1;
    return (kind->len == 0 && rest->len == 0) || tare_str_is(*kind, "tree") ||
           tare_str_is(*kind, "commits") || tare_str_is(*kind, "discussions");
}

/* ---- lists ----------------------------------------------------------------------------------- */

typedef struct reading {
    tare_json json;
    tare_arena *arena;
    const tare_limits *limits;
    tare_listing *list;
} reading;

bool tare_hub_is_commit(tare_str text) {
    for (size_t i = 0; i < text.len; i++)
        if (!((text.ptr[i] >= '0' && text.ptr[i] <= '9') ||
              (text.ptr[i] >= 'a' && text.ptr[i] <= 'f')))
            return false;
    return text.len == COMMIT_DIGITS;
}

/* A string in the arena; false: not one, or memory is out. */
static bool read_text(reading *r, const tare_json_value *v, tare_str *out) {
    if (v->type != TARE_JSON_STRING)
        return tare_json_fail(&r->json, TARE_ERR_CORRUPT, v->offset, "a string expected");
    *out = tare_json_text(v, r->arena);
    if (out->ptr) *out = tare_arena_str(r->arena, *out);
    return out->ptr || tare_json_fail(&r->json, TARE_ERR_NOMEM, v->offset, "list of files");
}

static bool read_path(reading *r, const tare_json_value *v, tare_listed *file) {
    if (!read_text(r, v, &file->path)) return false;
    return tare_listing_is_path(file->path) ||
           tare_json_fail(&r->json, TARE_ERR_CORRUPT, v->offset,
                          "rfilename: a path in the model expected");
}

static bool read_size(reading *r, const tare_json_value *v, tare_listed *file) {
    if (v->type == TARE_JSON_NULL) return true;
    return (tare_json_u64(v, &file->size) && file->size <= INT64_MAX) ||
           tare_json_fail(&r->json, TARE_ERR_CORRUPT, v->offset,
                          "size: a number of bytes expected");
}

/* A digest in hexadecimal digits; false: not one of n bytes, so none is stated. */
static bool is_digest(uint8_t *out, size_t n, const tare_json_value *v) {
    return v->type == TARE_JSON_STRING && v->raw.len == 2 * n + 2 &&
           tare_unhex(out, v->raw.ptr + 1, n);
}

/* {"sha256": ...} of a file in LFS; null where it is not. */
static bool read_lfs(reading *r, const tare_json_value *object, tare_listed *file) {
    tare_json_value key, v;
    if (object->type != TARE_JSON_OBJECT) return tare_json_skip(&r->json, object, NULL);
    while (tare_json_key(&r->json, &key) != TARE_JSON_END) {
        if (tare_json_next(&r->json, &v) == TARE_JSON_END) return false;
        if (tare_json_is(&key, "sha256"))
            file->has_sha256 = is_digest(file->sha256, sizeof file->sha256, &v);
        if (!tare_json_skip(&r->json, &v, NULL)) return false;
    }
    return r->json.err.status == TARE_OK;
}

static bool read_blob(reading *r, const tare_json_value *v, tare_listed *file) {
    file->has_blob = is_digest(file->blob, sizeof file->blob, v);
    return tare_json_skip(&r->json, v, NULL);
}

static bool read_file(reading *r, const tare_json_value *entry) {
    tare_json_value key, v;
    tare_listed file = {.size = TARE_LISTED_NO_SIZE};
    if (entry->type != TARE_JSON_OBJECT)
        return tare_json_fail(&r->json, TARE_ERR_CORRUPT, entry->offset, "an object expected");
    while (tare_json_key(&r->json, &key) != TARE_JSON_END) {
        if (tare_json_next(&r->json, &v) == TARE_JSON_END) return false;
        bool is_good = tare_json_is(&key, "rfilename") ? read_path(r, &v, &file)
                       : tare_json_is(&key, "size")    ? read_size(r, &v, &file)
                       : tare_json_is(&key, "lfs")     ? read_lfs(r, &v, &file)
                       : tare_json_is(&key, "blobId")  ? read_blob(r, &v, &file)
                                                       : tare_json_skip(&r->json, &v, NULL);
        if (!is_good) return false;
    }
    if (r->json.err.status != TARE_OK) return false;
    if (!file.path.ptr)
        return tare_json_fail(&r->json, TARE_ERR_CORRUPT, entry->offset, "rfilename: missing");
    return tare_listing_add(r->list, &file) ||
           tare_json_fail(&r->json, TARE_ERR_NOMEM, entry->offset, "list of files");
}

static bool read_files(reading *r, const tare_json_value *array) {
    tare_json_value v;
    if (array->type != TARE_JSON_ARRAY)
        return tare_json_fail(&r->json, TARE_ERR_CORRUPT, array->offset,
                              "siblings: an array expected");
    while (tare_json_next(&r->json, &v) != TARE_JSON_END) {
        if (r->list->n >= r->limits->tensors)
            return tare_json_fail(&r->json, TARE_ERR_LIMIT, v.offset, "number of files");
        if (!read_file(r, &v)) {
            tare_error_field(&r->json.err, "siblings", r->list->n, NULL, NULL);
            return false;
        }
    }
    return r->json.err.status == TARE_OK;
}

static bool read_commit(reading *r, const tare_json_value *v) {
    if (v->type == TARE_JSON_NULL) return true;
    if (!read_text(r, v, &r->list->commit)) return false;
    return tare_hub_is_commit(r->list->commit) ||
           tare_json_fail(&r->json, TARE_ERR_CORRUPT, v->offset,
                          "sha: 40 hexadecimal digits expected");
}

static bool read_list(reading *r) {
    tare_json_value top, key, v;
    bool has_files = false;
    if (tare_json_begin(&r->json, &top) == TARE_JSON_END) return false;
    if (top.type != TARE_JSON_OBJECT)
        return tare_json_fail(&r->json, TARE_ERR_CORRUPT, top.offset, "an object expected");
    while (tare_json_key(&r->json, &key) != TARE_JSON_END) {
        if (tare_json_next(&r->json, &v) == TARE_JSON_END) return false;
        bool is_files = tare_json_is(&key, "siblings");
        if (is_files && has_files)
            return tare_json_fail(&r->json, TARE_ERR_CORRUPT, key.offset, "siblings: given twice");
        has_files = has_files || is_files;
        bool is_good = is_files                    ? read_files(r, &v)
                       : tare_json_is(&key, "sha") ? read_commit(r, &v)
                                                   : tare_json_skip(&r->json, &v, NULL);
        if (!is_good) return false;
    }
    if (r->json.err.status != TARE_OK || !tare_json_finish(&r->json)) return false;
    return has_files || tare_json_fail(&r->json, TARE_ERR_CORRUPT, top.offset, "siblings: missing");
}

tare_status tare_hub_list_parse(tare_listing *out, tare_str json, tare_arena *arena,
                                const tare_limits *limits, tare_error *err) {
    *out = (tare_listing){.n = 0};
    reading r = {.arena = arena, .limits = limits, .list = out};
    tare_json_init(&r.json, json, 0, LIST_DEPTH);
    bool is_good = read_list(&r);
    tare_status status =
        is_good ? tare_listing_seal(out, arena, err) : tare_json_status(&r.json, err);
    if (status != TARE_OK) tare_listing_drop(out);
    return status;
}
