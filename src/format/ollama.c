/* SPDX-License-Identifier: MIT
 *
 * Manifests of Ollama, which have the form of those of Docker: a kind, a digest and a size for each
 * layer (docs/formats.md). */
#include "format/ollama.h"

#include <string.h>

#include "base/files.h"
#include "base/hash.h"
#include "base/json_node.h"
#include "base/os_path.h"
#include "base/reader.h"
#include "base/str.h"

#define FOLDER        "/manifests/"
#define KIND          "application/vnd.ollama.image."
#define DIGEST        "sha256:"
#define MANIFEST_MOST ((uint64_t)1 << 20)
#define CHECKED_MOST  ((uint64_t)1 << 20) /* of a layer whose digest is compared at once */
#define LAYERS_MOST   4096

typedef struct store {
    const char *blobs; /* ends with a slash */
    tare_arena *arena;
    tare_report *report;
    const char *model; /* path; NULL: not met yet */
} store;

/* All of a small file. */
static tare_status read_text(tare_str *out, const char *path, tare_arena *arena, tare_error *err) {
    tare_reader r;
    TARE_TRY(tare_reader_open(&r, path, TARE_MAP_NONE, err));
    const size_t n = r.size <= MANIFEST_MOST ? (size_t)r.size : 0;
    char *text = tare_arena_take(arena, n + 1);
    tare_status status =
        text ? tare_reader_read(&r, 0, text, n, err) : tare_fail(err, TARE_ERR_NOMEM, "manifest");
    tare_reader_close(&r);
    *out = (tare_str){text, n};
    return status;
}

static tare_status check_blob(const char *path, uint64_t size, tare_arena *arena, tare_error *err) {
    tare_reader r;
    uint8_t stated[32], found[32];
    tare_sha256 hash;
    tare_str text;
    TARE_TRY(tare_reader_open(&r, path, TARE_MAP_NONE, err));
    const bool has_size = r.size == size;
    tare_reader_close(&r);
    if (!has_size)
        return tare_fail(err, TARE_ERR_TRUNCATED,
                         "does not have the size that its manifest states");
    if (size > CHECKED_MOST || !tare_digest_in_name(stated, path)) return TARE_OK;
    TARE_TRY(read_text(&text, path, arena, err));
    tare_sha256_init(&hash);
    tare_sha256_update(&hash, text.ptr, text.len);
    tare_sha256_final(&hash, found);
    if (memcmp(found, stated, sizeof found) == 0) return TARE_OK;
    return tare_fail(err, TARE_ERR_CHECKSUM, "its SHA-256 is not the one in its name");
}

static void note_layer(const store *s, tare_str kind, const char *path) {
    const bool is_weights = tare_str_is(kind, "adapter") || tare_str_is(kind, "projector");
    tare_finding f = TARE_FINDING(INFO, TARE_OK, "ollama.layer");
    if (is_weights) f.level = TARE_LEVEL_WARNING;
    f.file = tare_str_of(path);
    f.item_kind = TARE_ITEM_RESOURCE;
    f.item_name = kind;
    f.text = is_weights
                 ? TARE_STR("weights in a file of their own: not part of the model, name the file")
                 : TARE_STR("a layer beside the weights: not part of the model");
    tare_report_add(s->report, &f);
}

static tare_status fail_layer(size_t i, const char *what, tare_error *err) {
    tare_fail(err, TARE_ERR_CORRUPT, what);
    tare_error_field(err, "layers", i, NULL, NULL);
    return TARE_ERR_CORRUPT;
}

static tare_status take_layer(store *s, const tare_json_node *layer, size_t i, tare_error *err) {
    const tare_str type = tare_json_node_text(tare_json_member(layer, TARE_STR("mediaType")));
    const tare_str digest = tare_json_node_text(tare_json_member(layer, TARE_STR("digest")));
    uint8_t bytes[32];
    char name[80] = "sha256-";
    uint64_t size;
    if (!tare_json_node_u64(tare_json_member(layer, TARE_STR("size")), &size))
        return fail_layer(i, "size: a number of bytes expected", err);
    if (!tare_str_starts(digest, TARE_STR(DIGEST)) || digest.len != sizeof DIGEST - 1 + 64 ||
        !tare_unhex(bytes, digest.ptr + sizeof DIGEST - 1, 32))
        return fail_layer(i, "digest: sha256: and 64 hexadecimal digits expected", err);
    tare_hex(name + 7, bytes, 32);
    const char *path = tare_join_path(s->arena, s->blobs, tare_str_of(name));
    if (!path) return tare_fail(err, TARE_ERR_NOMEM, "path");
    if (!tare_str_starts(type, TARE_STR(KIND)))
        return fail_layer(i, "mediaType: " KIND "... expected", err);
    const tare_str kind = tare_str_cut(type, sizeof KIND - 1);
    if (tare_str_is(kind, "tensor"))
        return tare_fail(
            err, TARE_ERR_UNSUPPORTED,
            "a model of Ollama that is kept as single tensors, which is not supported");
    const tare_status status = check_blob(path, size, s->arena, err);
    if (status != TARE_OK) tare_error_file(err, path);
    if (status != TARE_OK) return status;
    if (tare_str_is(kind, "model") && s->model)
        return fail_layer(i, "a second model: one was expected", err);
    if (tare_str_is(kind, "model"))
        s->model = path;
    else
        note_layer(s, kind, path);
    return TARE_OK;
}

static tare_status read_manifest(store *s, tare_str text, tare_error *err) {
    const tare_json_node *root;
    size_t i = 0;
    TARE_TRY(tare_json_tree(&root, text, s->arena, err));
    const tare_json_node *layers = tare_json_member(root, TARE_STR("layers"));
    if (!layers || layers->type != TARE_JSON_ARRAY)
        return tare_fail(err, TARE_ERR_CORRUPT, "layers: a list expected, as a manifest has it");
    if (layers->n > LAYERS_MOST) return tare_fail(err, TARE_ERR_LIMIT, "layers: their number");
    for (const tare_json_node *layer = layers->child; layer; layer = layer->next)
        TARE_TRY(take_layer(s, layer, i++, err));
    return s->model ? TARE_OK
                    : tare_fail(err, TARE_ERR_UNSUPPORTED,
                                "a manifest without a layer of weights: the model is elsewhere");
}

/* Whether it may be a manifest: a small text of JSON in the folder of manifests, beside which there is
 * that of blobs. */
static bool is_manifest(const store *s, const char *path) {
    tare_reader r;
    char first = 0;
    if (tare_path_stat(s->blobs, NULL) != TARE_PATH_FOLDER ||
        tare_path_stat(path, NULL) != TARE_PATH_FILE ||
        tare_reader_open(&r, path, TARE_MAP_NONE, NULL) != TARE_OK)
        return false;
    if (r.size && r.size <= MANIFEST_MOST) (void)tare_reader_read(&r, 0, &first, 1, NULL);
    tare_reader_close(&r);
    return first == '{';
}

tare_status tare_ollama_enter(const char **out, const char *path, tare_arena *arena,
                              tare_report *report, tare_error *err) {
    store s = {.arena = arena, .report = report};
    tare_str text;
    *out = path;
    const char *at = NULL;
    for (const char *next = strstr(path, FOLDER); next; next = strstr(next + 1, FOLDER)) at = next;
    if (!at) return TARE_OK;
    const char *root = tare_arena_str(arena, (tare_str){path, (size_t)(at - path)}).ptr;
    s.blobs = root ? tare_join_path(arena, root, TARE_STR("/blobs/")) : NULL;
    if (!s.blobs) return tare_fail(err, TARE_ERR_NOMEM, "path");
    if (!is_manifest(&s, path)) return TARE_OK;
    tare_status status = read_text(&text, path, arena, err);
    if (status == TARE_OK) status = read_manifest(&s, text, err);
    if (status == TARE_OK) *out = s.model;
    if (status != TARE_OK && err && !err->file[0]) tare_error_file(err, path);
    return status;
}
