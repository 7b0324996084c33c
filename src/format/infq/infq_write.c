/* SPDX-License-Identifier: MIT
 *
 * Laying out INFQ packages: codes and scales of each tensor one after the other, as the public
 * converter does; other tensors in a file of their own; side files; the manifest. Unknown fields
 * stay in the entries they were in. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/buffer.h"
#include "base/str.h"
#include "encoding/outliers.h"
#include "encoding/table.h"
#include "format/infq/infq_adapters.h"
#include "format/resources.h"

typedef struct writer {
    tare_write_plan *plan;
    const tare_catalog *c;
    const tare_write_options *options;
    const tare_infq_layout *from; /* NULL: the source is no package */
    tare_buffer b;
} writer;

/* Where a tensor lies. */
typedef struct location {
    uint64_t data, outliers;
    size_t digest; /* in the manifest */
} location;

#define DIGEST_DIGITS 64

typedef struct payload {
    const char *weights, *outliers;
} payload;
static const payload of_tensors = {TARE_INFQ_WEIGHTS, TARE_INFQ_OUTLIERS_FILE};
static const payload of_adapters = {TARE_INFQ_ADAPTER_WEIGHTS, TARE_INFQ_ADAPTER_OUTLIERS};

static bool is_quantized(const tare_tensor *t) {
    return t->encoding->n_planes > 1;
}

/* ---- payload --------------------------------------------------------------------------------- */

/* Tensors [first, end) of a kind, one after the other, in one file; none: no file. places[i] is
 * where tensor i lies. Lists lie elsewhere. */
static tare_status place_tensors(writer *w, size_t first, size_t end, bool quantized,
                                 const char *name, location *places, tare_error *err) {
    uint32_t file = 0;
    uint64_t at = 0;
    bool is_open = false;
    for (size_t i = first; i < end; i++) {
        const tare_tensor *t = &w->c->tensors[i];
        if (is_quantized(t) != quantized) continue;
        if (!is_open) TARE_TRY(tare_write_plan_add_file(w->plan, name, &file, err));
        is_open = true;
        places[i].data = at;
        for (uint32_t p = 0; p < t->encoding->n_planes; p++) {
            if (t->encoding->planes[p].scope == TARE_PLANE_LIST) continue;
            const tare_extent e = {.kind = TARE_EXTENT_TENSOR,
                                   .file = file,
                                   .offset = at,
                                   .size = t->planes[p].size,
                                   .item = i,
                                   .plane = p};
            if (!tare_add_u64(at, e.size, &at) || at > TARE_INFQ_MOST)
                return tare_fail(err, TARE_ERR_LIMIT, "file: larger than 2^53 bytes");
            if (e.size) TARE_TRY(tare_write_plan_add(w->plan, &e, err));
        }
        w->plan->files[file].size = at;
    }
    return TARE_OK;
}

static uint64_t list_bytes(const tare_tensor *t) {
    const uint32_t list = tare_encoding_list_plane(t->encoding);
    return list < t->encoding->n_planes ? t->planes[list].size : 0;
}

/* Their lists in a file of their own, each from a multiple of 64 on. */
static tare_status place_outliers(writer *w, size_t first, size_t end, const char *name,
                                  location *places, tare_error *err) {
    uint32_t file = 0;
    uint64_t at = 0;
    for (size_t i = first; i < end; i++) {
        const tare_tensor *t = &w->c->tensors[i];
        const uint64_t size = list_bytes(t);
        if (size == 0) continue;
        if (at == 0) TARE_TRY(tare_write_plan_add_file(w->plan, name, &file, err));
        uint64_t *offset = &places[i].outliers;
        if (!tare_align_u64(at, TARE_INFQ_ALIGN, offset) || !tare_add_u64(*offset, size, &at) ||
            at > TARE_INFQ_MOST)
            return tare_fail(err, TARE_ERR_LIMIT, "file: larger than 2^53 bytes");
        const tare_extent e = {.kind = TARE_EXTENT_TENSOR,
                               .file = file,
                               .offset = *offset,
                               .size = size,
                               .item = i,
                               .plane = tare_encoding_list_plane(t->encoding)};
        TARE_TRY(tare_write_plan_add(w->plan, &e, err));
        w->plan->files[file].size = at;
    }
    return TARE_OK;
}

/* ---- the manifest ---------------------------------------------------------------------------- */

static void put_shape(tare_buffer *b, const tare_tensor *t) {
    tare_buffer_put_text(b, ", \"shape\": [");
    for (uint32_t d = 0; d < t->n_dims; d++)
        tare_buffer_printf(b, "%s%" PRIu64, d ? ", " : "", t->dims[d]);
    tare_buffer_put_text(b, "]");
}

static bool is_known_field(const tare_json_value *key) {
    return tare_infq_find_field(key) < TARE_INFQ_FIELDS;
}
static bool is_known_outlier_field(const tare_json_value *key) {
    return tare_infq_find_outlier_field(key) < TARE_INFQ_OUTLIER_FIELDS;
}
static bool is_known_part(const tare_json_value *key) {
    return tare_infq_find_part(key) < TARE_INFQ_PARTS;
}

/* The entries of an object that are not known, each behind `before`. */
static void put_unknown(tare_buffer *b, tare_str object, bool (*is_known)(const tare_json_value *),
                        const char *before) {
    tare_json j;
    tare_json_value key, value;
    tare_str text;
    tare_json_init(&j, object, 0, TARE_JSON_MAX_DEPTH);
    if (tare_json_begin(&j, &value) != TARE_JSON_OBJECT) return;
    while (tare_json_key(&j, &key) != TARE_JSON_END) {
        tare_json_next(&j, &value);
        if (!tare_json_skip(&j, &value, &text)) return;
        if (is_known(&key)) continue;
        tare_buffer_put_text(b, before);
        tare_buffer_put_str(b, key.raw);
        tare_buffer_put_text(b, ": ");
        tare_buffer_put_str(b, text);
    }
}

/* The text of the entry that a tensor was read from; empty: there is none. */
static tare_str entry_of(const writer *w, size_t i) {
    int64_t at = -1;
    if (w->from && w->options->extras.origins) at = (int64_t)w->options->extras.origins[i];
    if (w->from && !w->options->extras.origins)
        at = tare_model_find_tensor(w->options->source, w->c->tensors[i].name);
    return at >= 0 ? w->from->entries[at] : (tare_str){"", 0};
}

/* A field of an object; empty: it has none. */
static tare_str text_of(tare_str object, tare_infq_field field) {
    tare_json j;
    tare_json_value key, value;
    tare_str text;
    tare_json_init(&j, object, 0, TARE_JSON_MAX_DEPTH);
    if (tare_json_begin(&j, &value) != TARE_JSON_OBJECT) return (tare_str){"", 0};
    while (tare_json_key(&j, &key) != TARE_JSON_END) {
        tare_json_next(&j, &value);
        if (!tare_json_skip(&j, &value, &text)) break;
        if (tare_infq_find_field(&key) == field) return text;
    }
    return (tare_str){"", 0};
}

static void put_outliers(writer *w, const tare_tensor *t, tare_str entry, const char *file,
                         uint64_t offset) {
    tare_buffer *b = &w->b;
    if (list_bytes(t) == 0) return;
    tare_buffer_printf(b, ", \"outliers\": {\"data_file\": \"%s\", \"offset\": %" PRIu64, file,
                       offset);
    tare_buffer_printf(b, ", \"count\": %" PRIu64, list_bytes(t) / TARE_OUTLIER_BYTES);
    tare_buffer_printf(
        b, ", \"record_bytes\": %d, \"layout\": \"" TARE_INFQ_RECORD "\", \"align\": %d",
        TARE_OUTLIER_BYTES, TARE_INFQ_ALIGN);
    put_unknown(b, text_of(entry, TARE_INFQ_OUTLIERS), is_known_outlier_field, ", ");
    tare_buffer_put_text(b, "}");
}

/* `entry`: what it was read from, or empty. */
static void put_quantized(writer *w, const tare_tensor *t, tare_str entry, const payload *files,
                          const location *at) {
    tare_buffer *b = &w->b;
    tare_buffer_printf(b, ", \"dtype\": \"%s\", \"rows\": %" PRIu64 ", \"cols\": %" PRIu64,
                       t->encoding->name, t->n_rows, t->cols);
    tare_buffer_printf(b, ", \"block\": %d, \"scale_dtype\": \"fp16\"", TARE_INFQ_BLOCK);
    tare_buffer_put_text(b, ", \"layout\": \"rowmajor_blocked\"");
    tare_buffer_printf(b, ", \"data_file\": \"%s\", \"offset_data\": %" PRIu64, files->weights,
                       at->data);
    tare_buffer_printf(b, ", \"offset_scales\": %" PRIu64, at->data + t->planes[0].size);
    put_outliers(w, t, entry, files->outliers, at->outliers);
}

static void put_other(writer *w, const tare_tensor *t, uint64_t offset, size_t index) {
    tare_buffer_printf(&w->b, ", \"dtype\": \"%s\", \"data_file\": \"" TARE_INFQ_OTHERS "\"",
                       t->encoding->name);
    tare_buffer_printf(&w->b, ", \"offset_data\": %" PRIu64 ", \"index\": %zu", offset, index);
}

/* Room for a value that is known only when the tensor is written. */
static size_t put_digest(tare_buffer *b) {
    tare_buffer_put_text(b, ", \"sha256\": \"");
    const size_t at = b->size;
    tare_buffer_printf(b, "%0*d\"", DIGEST_DIGITS, 0);
    return at;
}

static void put_tensors(writer *w, bool quantized, location *places) {
    const char *before = "\n    {\"name\": ";
    tare_buffer_put_text(&w->b, "\"tensors\": [");
    for (size_t i = 0; i < w->c->n_tensors; i++) {
        const tare_tensor *t = &w->c->tensors[i];
        if (is_quantized(t) != quantized) continue;
        tare_buffer_put_text(&w->b, before);
        tare_buffer_put_json(&w->b, t->name);
        if (quantized)
            put_quantized(w, t, entry_of(w, i), &of_tensors, &places[i]);
        else
            put_other(w, t, places[i].data, i);
        put_shape(&w->b, t);
        places[i].digest = put_digest(&w->b);
        put_unknown(&w->b, entry_of(w, i), is_known_field, ", ");
        tare_buffer_put_text(&w->b, "}");
        before = ",\n    {\"name\": ";
    }
    tare_buffer_put_text(&w->b, "]");
}

/* One factor, with the unknown fields of the entry that it was read from. */
static void put_factor(writer *w, const char *key, size_t i, location *places, tare_str text) {
    const tare_tensor *t = &w->c->tensors[i];
    tare_buffer_printf(&w->b, ",\n     \"%s\": {\"name\": ", key);
    tare_buffer_put_json(&w->b, t->name);
    put_quantized(w, t, text, &of_adapters, &places[i]);
    put_shape(&w->b, t);
    places[i].digest = put_digest(&w->b);
    if (text.len) put_unknown(&w->b, text, is_known_field, ", ");
    tare_buffer_put_text(&w->b, "}");
}

/* The public loader does not understand exponents: writes as many decimals as reproduce the number,
 * if that is possible. */
static void put_scale(tare_buffer *b, double x) {
    char text[400];
    for (int decimals = 0; decimals < 40; decimals++) {
        snprintf(text, sizeof text, "%.*f", decimals, x);
        if (strtod(text, NULL) == x) break;
    }
    if (strtod(text, NULL) != x) snprintf(text, sizeof text, "%.17g", x);
    tare_buffer_put_text(b, text);
}

static void put_adapters(writer *w, location *places) {
    const tare_catalog *c = w->c;
    const tare_write_extras *extras = &w->options->extras;
    tare_buffer_put_text(&w->b, ",\n  \"adapters\": [");
    for (size_t i = 0; i < extras->n_adapters; i++) {
        const tare_stored_adapter *a = &extras->adapters[i];
        const size_t at = c->n_tensors + 2 * i;
        const bool is_known = w->from && a->origin != SIZE_MAX;
        const tare_str *texts = is_known ? &w->from->factors[2 * a->origin] : NULL;
        tare_buffer_put_text(&w->b, i ? ",\n    {\"name\": " : "\n    {\"name\": ");
        tare_buffer_put_json(&w->b, a->name);
        tare_buffer_printf(&w->b, ", \"rank\": %" PRIu64 ", \"scale\": ", c->tensors[at].cols);
        put_scale(&w->b, a->scale);
        put_factor(w, "A", at, places, texts ? texts[0] : (tare_str){"", 0});
        put_factor(w, "B", at + 1, places, texts ? texts[1] : (tare_str){"", 0});
        if (is_known)
            put_unknown(&w->b, w->from->adapters[a->origin], tare_infq_is_adapter_field, ", ");
        tare_buffer_put_text(&w->b, "}");
    }
    tare_buffer_put_text(&w->b, "]");
}

static void put_metadata(writer *w, const char *name, tare_key_space space) {
    bool has_some = false;
    for (size_t i = 0; i < w->c->n_metadata; i++) has_some |= w->c->metadata[i].space == space;
    if (!has_some) return;
    tare_buffer_printf(&w->b, ",\n    \"%s\": ", name);
    tare_metadata_to_json(&w->b, w->c->metadata, w->c->n_metadata, space);
}

static void put_ours(writer *w, location *places) {
    tare_buffer_put_text(&w->b, ",\n  \"tare\": {");
    put_tensors(w, false, places);
    put_metadata(w, "metadata", TARE_KEYS_MODEL);
    put_metadata(w, "safetensors", TARE_KEYS_SAFETENSORS);
    tare_buffer_put_text(&w->b, ",\n    \"files\": [");
    for (size_t i = 0; i < w->c->n_resources; i++) {
        if (i) tare_buffer_put_text(&w->b, ", ");
        tare_buffer_put_json(&w->b, w->c->resources[i].info.name);
    }
    tare_buffer_put_text(&w->b, "]}");
}

/* The text that goes up to a tensor's digest, and that. */
static tare_status add_digest(writer *w, tare_extent *text, const location *places, size_t i,
                              tare_error *err) {
    const tare_extent digest = {.kind = TARE_EXTENT_DIGEST,
                                .file = text->file,
                                .offset = places[i].digest,
                                .size = DIGEST_DIGITS,
                                .item = i};
    const uint64_t size = digest.offset - text->offset;
    text->size = size;
    TARE_TRY(tare_write_plan_add(w->plan, text, err));
    TARE_TRY(tare_write_plan_add(w->plan, &digest, err));
    text->bytes += size + digest.size;
    text->offset = digest.offset + digest.size;
    return TARE_OK;
}

/* The text of the manifest between digests, and these, in the order in which it has them. */
static tare_status add_manifest(writer *w, uint32_t file, const uint8_t *text,
                                const location *places, tare_error *err) {
    const size_t n = w->c->n_tensors, n_all = n + 2 * w->options->extras.n_adapters;
    tare_extent rest = {.kind = TARE_EXTENT_BYTES, .file = file, .bytes = text};
    for (size_t i = 0; i < n; i++)
        if (is_quantized(&w->c->tensors[i])) TARE_TRY(add_digest(w, &rest, places, i, err));
    for (size_t i = n; i < n_all; i++) TARE_TRY(add_digest(w, &rest, places, i, err));
    for (size_t i = 0; i < n; i++)
        if (!is_quantized(&w->c->tensors[i])) TARE_TRY(add_digest(w, &rest, places, i, err));
    rest.size = w->b.size - rest.offset;
    return tare_write_plan_add(w->plan, &rest, err);
}

static tare_status write_all(writer *w, tare_error *err) {
    uint32_t file;
    const size_t n = w->c->n_tensors, n_all = n + 2 * w->options->extras.n_adapters;
    location *places = TARE_NEW_ARRAY(w->plan->arena, location, n_all);
    if (!places) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    TARE_TRY(place_tensors(w, 0, n, true, of_tensors.weights, places, err));
    TARE_TRY(place_tensors(w, 0, n, false, TARE_INFQ_OTHERS, places, err));
    TARE_TRY(place_outliers(w, 0, n, of_tensors.outliers, places, err));
    TARE_TRY(place_tensors(w, n, n_all, true, of_adapters.weights, places, err));
    TARE_TRY(place_outliers(w, n, n_all, of_adapters.outliers, places, err));
    TARE_TRY(tare_write_plan_add_file(w->plan, TARE_INFQ_MANIFEST, &file, err));
    tare_buffer_put_text(&w->b, "{\n  \"version\": 1,\n  \"endianness\": \"LE\",\n  ");
    put_tensors(w, true, places);
    put_adapters(w, places);
    if (w->from) put_unknown(&w->b, w->from->manifest, is_known_part, ",\n  ");
    put_ours(w, places);
    tare_buffer_put_text(&w->b, "\n}\n");
    TARE_TRY(tare_buffer_status(&w->b, err));
    uint8_t *text = tare_arena_take(w->plan->arena, w->b.size);
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, "manifest");
    memcpy(text, w->b.data, w->b.size);
    w->plan->files[file].size = w->b.size;
    TARE_TRY(add_manifest(w, file, text, places, err));
    return tare_plan_resource_files(w->plan, w->c, err);
}

tare_status tare_infq_plan(tare_write_plan *out, const tare_catalog *catalog,
                           const tare_write_options *options, tare_error *err) {
    writer w = {.plan = out, .c = catalog, .options = options};
    if (options->order == TARE_ORDER_BIG)
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "INFQ is little-endian");
    if (options->shard_size || options->part_of)
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "INFQ has no shards");
    if (options->alignment > 1)
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "alignment: INFQ has no alignment to choose");
    if (catalog->layout && options->source) w.from = catalog->layout->detail;
    out->is_directory = true;
    tare_buffer_init(&w.b, out->arena->allocator);
    tare_status status = write_all(&w, err);
    tare_buffer_free(&w.b);
    return status;
}
