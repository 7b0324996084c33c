/* SPDX-License-Identifier: MIT
 *
 * Reading INFQ packages. The manifest is walked twice: for its outline, then entry by entry; every
 * fault has the position of the value it is about. */
#include "format/infq/infq_read.h"
#include "base/arith.h"
#include "base/str.h"
#include "format/infq/infq_adapters.h"
#include "format/safetensors/safetensors.h"

/* The parts of the manifest. */
typedef struct outline {
    tare_infq_value parts[TARE_INFQ_PARTS];
    tare_infq_value tensors, metadata, safetensors, files; /* of our own entry */
} outline;

/* ---- the outline ----------------------------------------------------------------------------- */

static bool unsupported(tare_infq_reader *r, const tare_infq_value *s, const char *what) {
    return tare_json_fail(&r->j, TARE_ERR_UNSUPPORTED, s->v.offset, what);
}

static bool scan_ours(tare_infq_reader *r, outline *o) {
    tare_json_value key;
    const tare_infq_value *ours = &o->parts[TARE_INFQ_OURS];
    if (ours->v.type == TARE_JSON_END) return true;
    if (ours->v.type != TARE_JSON_OBJECT)
        return tare_infq_fail(r, &ours->v, "tare: expected an object");
    tare_infq_begin(r, ours);
    while (tare_json_key(&r->j, &key) != TARE_JSON_END) {
        tare_infq_value *s = tare_json_is(&key, "tensors")       ? &o->tensors
                             : tare_json_is(&key, "metadata")    ? &o->metadata
                             : tare_json_is(&key, "safetensors") ? &o->safetensors
                             : tare_json_is(&key, "files")       ? &o->files
                                                                 : NULL;
        if (s)
            tare_infq_take(r, s, &key);
        else
            tare_infq_pass(r);
    }
    return r->j.err.status == TARE_OK;
}

static bool check_parts(tare_infq_reader *r, const outline *o, const tare_json_value *whole) {
    uint64_t version;
    const tare_infq_value *p = o->parts;
    if (p[TARE_INFQ_VERSION].v.type == TARE_JSON_END)
        return tare_infq_fail(r, whole, "version: missing");
    if (!tare_json_u64(&p[TARE_INFQ_VERSION].v, &version) || version != 1)
        return unsupported(r, &p[TARE_INFQ_VERSION], "version: expected 1");
    if (p[TARE_INFQ_ENDIANNESS].v.type == TARE_JSON_END)
        return tare_infq_fail(r, whole, "endianness: missing");
    if (!tare_json_is(&p[TARE_INFQ_ENDIANNESS].v, "LE"))
        return unsupported(r, &p[TARE_INFQ_ENDIANNESS], "endianness: expected \"LE\"");
    if (p[TARE_INFQ_TENSORS].v.type == TARE_JSON_END)
        return tare_infq_fail(r, whole, "tensors: missing");
    return true;
}

static bool scan(tare_infq_reader *r, outline *o) {
    tare_json_value whole, key;
    tare_json_init(&r->j, r->layout->manifest, 0, r->m->limits.nesting);
    if (tare_json_begin(&r->j, &whole) != TARE_JSON_OBJECT)
        return tare_infq_fail(r, &whole, "manifest: expected an object");
    while (tare_json_key(&r->j, &key) != TARE_JSON_END) {
        tare_infq_part part = tare_infq_find_part(&key);
        if (part < TARE_INFQ_PARTS)
            tare_infq_take(r, &o->parts[part], &key);
        else
            tare_infq_pass(r);
    }
    return tare_json_finish(&r->j) && check_parts(r, o, &whole) && scan_ours(r, o);
}

/* How many elements an array has; an absent one has none. */
static bool count(tare_infq_reader *r, const tare_infq_value *array, size_t *n, const char *what) {
    tare_json_value v;
    if (array->v.type == TARE_JSON_END) return true;
    if (array->v.type != TARE_JSON_ARRAY) return tare_infq_fail(r, &array->v, what);
    tare_infq_begin(r, array);
    while (tare_json_next(&r->j, &v) != TARE_JSON_END) {
        if ((*n)++ == r->m->limits.tensors)
            return tare_json_fail(&r->j, TARE_ERR_LIMIT, v.offset, "number of tensors");
        tare_json_skip(&r->j, &v, NULL);
    }
    return r->j.err.status == TARE_OK;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* While they are read: for each tensor, quantized ones first. */
typedef struct listing {
    size_t n_quantized;
    tare_str *entries;
    const tare_stated_digest **digests;
    uint64_t *places; /* of those that are not quantized: where they stood among all */
} listing;

static tare_status read_tensors(tare_infq_reader *r, const tare_infq_value *array,
                                bool is_quantized, listing *l, tare_error *err) {
    tare_json_value v;
    tare_infq_entry e;
    tare_infq_place place = {.list = is_quantized ? "tensors" : "tare.tensors"};
    if (array->v.type == TARE_JSON_END) return TARE_OK;
    tare_infq_begin(r, array);
    for (; tare_json_next(&r->j, &v) != TARE_JSON_END; place.index++) {
        size_t i = r->m->catalog.n_tensors;
        tare_tensor *t = &r->m->catalog.tensors[i];
        tare_status status = is_quantized
                                 ? tare_infq_read_quantized(r, &v, &place, true, t, &e, err)
                                 : tare_infq_read_other(r, &v, &place, t, &e, err);
        if (status != TARE_OK) {
            tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)i, t->name);
            return status;
        }
        l->entries[i] = e.text;
        l->digests[i] = e.sha256;
        l->places[i] = e.index;
        r->m->catalog.n_tensors++;
    }
    return tare_json_status(&r->j, err);
}

/* Moves tensors that are not quantized, which come last, to their original positions among all. */
static tare_status restore_order(tare_infq_reader *r, const listing *l, tare_error *err) {
    size_t n = r->m->catalog.n_tensors, quantized = 0, other = l->n_quantized;
    tare_tensor *tensors = TARE_NEW_ARRAY(&r->m->arena, tare_tensor, n);
    tare_str *entries = TARE_NEW_ARRAY(&r->m->arena, tare_str, n);
    const tare_stated_digest **digests =
        TARE_NEW_ARRAY(&r->m->arena, const tare_stated_digest *, n);
    if (!tensors || !entries || !digests) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    for (size_t i = 0; i < n; i++) {
        bool is_other = other < n && (quantized == l->n_quantized || l->places[other] <= i);
        size_t from = is_other ? other++ : quantized++;
        tensors[i] = r->m->catalog.tensors[from];
        entries[i] = l->entries[from];
        digests[i] = l->digests[from];
    }
    r->m->catalog.tensors = tensors;
    r->m->catalog.digests = digests;
    r->layout->entries = entries;
    return TARE_OK;
}

/* ---- metadata and side files ----------------------------------------------------------------- */

static tare_status read_metadata(tare_infq_reader *r, const tare_infq_value *s,
                                 tare_key_space space, tare_error *err) {
    tare_catalog *c = &r->m->catalog;
    size_t first = c->n_metadata;
    if (s->v.type == TARE_JSON_END) return TARE_OK;
    tare_status status = tare_metadata_from_json(&c->metadata, &c->n_metadata, s->text,
                                                 &r->m->arena, &r->m->limits, err);
    if (status != TARE_OK) {
        if (err && err->offset != TARE_NO_OFFSET) err->offset += s->v.offset;
        return status;
    }
    for (size_t i = first; i < c->n_metadata; i++) c->metadata[i].space = space;
    return TARE_OK;
}

static tare_status read_files(tare_infq_reader *r, const tare_infq_value *files, size_t n,
                              tare_error *err) {
    tare_json_value v;
    tare_catalog *c = &r->m->catalog;
    if (n == 0) return TARE_OK;
    c->resources = TARE_NEW_ARRAY(&r->m->arena, tare_resource_entry, n);
    if (!c->resources) return tare_fail(err, TARE_ERR_NOMEM, "resources");
    tare_infq_begin(r, files);
    while (tare_json_next(&r->j, &v) != TARE_JSON_END) {
        tare_resource_entry e = {.info = {tare_json_text(&v, &r->m->arena), 0}};
        tare_status status = tare_infq_open_file(r, &v, &e.file, err);
        if (status == TARE_OK) {
            e.info.size = r->m->files[e.file].reader.size;
            if (e.info.size > r->m->limits.resource_bytes)
                status = tare_fail_at(err, TARE_ERR_LIMIT, v.offset, "size of a side file");
        }
        if (status != TARE_OK) {
            tare_error_field(err, "tare.files", c->n_resources, NULL, NULL);
            return status;
        }
        c->resources[c->n_resources++] = e;
    }
    return tare_json_status(&r->j, err);
}

/* ---- the driver ------------------------------------------------------------------------------ */

static tare_status read_all(tare_infq_reader *r, tare_error *err) {
    outline o = {0};
    listing l = {0};
    size_t n_others = 0, n_files = 0, n_adapters = 0;
    const tare_infq_value *quantized = &o.parts[TARE_INFQ_TENSORS];
    const tare_infq_value *adapters = &o.parts[TARE_INFQ_ADAPTERS];
    if (!scan(r, &o) || !count(r, quantized, &l.n_quantized, "tensors: expected an array") ||
        !count(r, &o.tensors, &n_others, "tare.tensors: expected an array") ||
        !count(r, &o.files, &n_files, "tare.files: expected an array") ||
        !count(r, adapters, &n_adapters, "adapters: expected an array"))
        return tare_json_status(&r->j, err);
    size_t n = l.n_quantized + n_others;
    r->m->catalog.tensors = TARE_NEW_ARRAY(&r->m->arena, tare_tensor, n);
    l.entries = TARE_NEW_ARRAY(&r->m->arena, tare_str, n);
    l.digests = TARE_NEW_ARRAY(&r->m->arena, const tare_stated_digest *, n);
    l.places = TARE_NEW_ARRAY(&r->m->arena, uint64_t, n);
    if (!r->m->catalog.tensors || !l.entries || !l.digests || !l.places)
        return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    TARE_TRY(
        tare_infq_expect_files(r, 3 * ((uint64_t)n + 2 * (uint64_t)n_adapters) + n_files, err));
    TARE_TRY(read_tensors(r, quantized, true, &l, err));
    TARE_TRY(read_tensors(r, &o.tensors, false, &l, err));
    TARE_TRY(tare_infq_read_adapters(r, adapters, n_adapters, err));
    TARE_TRY(tare_infq_check_regions(r, err));
    TARE_TRY(restore_order(r, &l, err));
    TARE_TRY(read_metadata(r, &o.metadata, TARE_KEYS_MODEL, err));
    TARE_TRY(read_metadata(r, &o.safetensors, TARE_KEYS_SAFETENSORS, err));
    TARE_TRY(read_files(r, &o.files, n_files, err));
    TARE_TRY(tare_model_finish(r->m, r->options->context->report, err));
    tare_infq_finish_adapters(r->m);
    return TARE_OK;
}

static tare_status load_manifest(tare_infq_reader *r, const char *path, tare_error *err) {
    tare_reader opened;
    size_t size;
    TARE_TRY(tare_files_open(r->files, &opened, path, false, err));
    tare_status status = tare_model_add_file(r->m, &opened, path, &r->manifest_file, err);
    if (status != TARE_OK) {
        tare_reader_close(&opened);
        return status;
    }
    const tare_reader *manifest = &r->m->files[r->manifest_file].reader;
    if (manifest->size > r->m->limits.metadata_bytes || !tare_size_of_u64(manifest->size, &size))
        return tare_fail(err, TARE_ERR_LIMIT, "size of the manifest");
    char *text = tare_arena_take(&r->m->arena, size);
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, "manifest");
    r->layout->manifest = (tare_str){text, size};
    r->m->directory_bytes = size;
    return tare_reader_read(manifest, 0, text, size, err);
}

static tare_status open_infq(tare_model *m, const tare_open_context *ctx, tare_error *err) {
    if (ctx->source->kind != TARE_SOURCE_PATH || !ctx->probe->is_directory)
        return tare_fail(err, TARE_ERR_ARG, "an INFQ package is a directory, given by path");
    tare_layout *layout = TARE_NEW(&m->arena, tare_layout);
    tare_infq_reader r = {.m = m,
                          .options = ctx->options,
                          .files = ctx->probe->files,
                          .directory = tare_join_path(&m->arena, ctx->source->name, TARE_STR("/")),
                          .layout = TARE_NEW(&m->arena, tare_infq_layout)};
    const char *path =
        r.directory ? tare_join_path(&m->arena, r.directory, TARE_STR(TARE_INFQ_MANIFEST)) : NULL;
    if (!layout || !r.layout || !path) return tare_fail(err, TARE_ERR_NOMEM, "layout");
    *layout = (tare_layout){.version = 1, .alignment = 1, .detail = r.layout};
    m->catalog.layout = layout;
    m->directory_file = path;
    tare_status status = load_manifest(&r, path, err);
    if (status == TARE_OK) status = read_all(&r, err);
    tare_infq_free_regions(&r);
    /* Positions are those of the manifest. */
    if (status != TARE_OK && status != TARE_ERR_IO) tare_error_file(err, path);
    return status;
}

/* A manifest says in its first bytes what it describes. */
static bool has_text(const char *head, size_t size, const char *text) {
    size_t n = strlen(text);
    for (size_t i = 0; i + n <= size; i++)
        if (memcmp(head + i, text, n) == 0) return true;
    return false;
}

static bool probe(const tare_probe *p) {
    char head[TARE_PROBE_BYTES];
    tare_arena arena;
    tare_reader opened;
    bool is_ours = false;
    if (!p->is_directory) return false;
    tare_arena_init(&arena, NULL);
    const char *path = tare_join_path(&arena, p->path, TARE_STR("/" TARE_INFQ_MANIFEST));
    if (path && tare_files_open(p->files, &opened, path, false, NULL) == TARE_OK) {
        size_t n = (size_t)tare_min_u64(opened.size, sizeof head);
        if (tare_reader_read(&opened, 0, head, n, NULL) == TARE_OK)
            is_ours = has_text(head, n, "\"endianness\"") || has_text(head, n, "_rowwise\"");
        tare_reader_close(&opened);
    }
    tare_arena_free(&arena);
    return is_ours;
}

const tare_format tare_format_infq = {
    .name = "infq",
    .description = "INFQ package: a directory of row-wise quantized weights",
    .suffix = ".infq",
    .is_directory = true,
    .main_file = TARE_INFQ_MANIFEST,
    .caps = &tare_infq_caps,
    .read = {.probe = probe, .open = open_infq},
    .write = {.version = 1, .floats_become = TARE_ENCODING_INT8_ROWWISE, .plan = tare_infq_plan},
    .stored = {.extras = TARE_EXTRA_ADAPTERS},
};
