/* SPDX-License-Identifier: MIT
 *
 * Stand-ins, the reading side: the record "tare.carried" is untrusted, like the rest of the file.
 * An entry can only give a stored tensor another name, shape or type over the same bytes; one that
 * asks for more is reported and ignored. docs/behaviour.md, "Conversion". */
#include "encoding/outliers.h"
#include "model/stand_in.h"

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/hash.h"
#include "base/report.h"
#include "base/str.h"
#include "model/own_record.h"

typedef struct entry {
    tare_str name; /* first: an index over names reads it */
    tare_str stored;
    tare_str type;
    uint64_t number;
    uint64_t dims[TARE_MAX_DIMS];
    uint32_t n_dims;
    const char *fault; /* why it is ignored; NULL: it holds */
    size_t tensor;
} entry;

typedef struct restore {
    tare_model *m;
    tare_report *report;
    tare_arena scratch;
    entry *entries;
    size_t n_entries, capacity;
    uint64_t version;
} restore;

/* ---- reading --------------------------------------------------------------------------------- */

static bool fail_form(tare_json *j, const tare_json_value *v, const char *what) {
    return tare_json_fail(j, TARE_ERR_CORRUPT, v->offset, what);
}

/* {"hex":"6162"} with its brace already open. */
static bool read_hex(tare_json *j, tare_str *out, tare_arena *arena) {
    tare_json_value key, v;
    if (tare_json_key(j, &key) != TARE_JSON_STRING || tare_json_next(j, &v) != TARE_JSON_STRING)
        return false;
    tare_str hex = tare_json_text(&v, arena);
    uint8_t *bytes = tare_arena_take(arena, hex.len / 2 + 1);
    if (!hex.ptr || !bytes) return tare_json_fail(j, TARE_ERR_NOMEM, v.offset, "carried name");
    if (hex.len % 2 || !tare_unhex(bytes, hex.ptr, hex.len / 2))
        return fail_form(j, &v, "carried name: expected hexadecimal digits");
    *out = (tare_str){(const char *)bytes, hex.len / 2};
    return tare_json_key(j, &key) == TARE_JSON_END;
}

static bool read_text(tare_json *j, tare_str *out, tare_arena *arena) {
    tare_json_value v;
    switch (tare_json_next(j, &v)) {
    case TARE_JSON_STRING:
        *out = tare_json_text(&v, arena);
        return out->ptr || tare_json_fail(j, TARE_ERR_NOMEM, v.offset, "carried name");
    case TARE_JSON_OBJECT:
        return read_hex(j, out, arena);
    default:
        return fail_form(j, &v, "carried tensor: expected a string");
    }
}

static bool read_shape(tare_json *j, entry *e) {
    tare_json_value v;
    if (tare_json_next(j, &v) != TARE_JSON_ARRAY)
        return fail_form(j, &v, "carried shape: expected an array");
    e->n_dims = 0;
    while (tare_json_next(j, &v) == TARE_JSON_NUMBER) {
        if (e->n_dims == TARE_MAX_DIMS || !tare_json_u64(&v, &e->dims[e->n_dims]))
            return fail_form(j, &v, "carried shape: expected at most 8 whole numbers");
        e->n_dims++;
    }
    return v.type == TARE_JSON_END || fail_form(j, &v, "carried shape: expected whole numbers");
}

static bool read_number(tare_json *j, uint64_t *out) {
    tare_json_value v;
    return tare_json_next(j, &v) == TARE_JSON_NUMBER && tare_json_u64(&v, out);
}

static bool read_member_of(entry *e, tare_json *j, const tare_json_value *key, tare_arena *arena) {
    if (tare_json_is(key, "stored")) return read_text(j, &e->stored, arena);
    if (tare_json_is(key, "name")) return read_text(j, &e->name, arena);
    if (tare_json_is(key, "type")) return read_text(j, &e->type, arena);
    if (tare_json_is(key, "shape")) return read_shape(j, e);
    if (tare_json_is(key, "number")) return read_number(j, &e->number);
    return tare_own_record_pass(j);
}

static bool read_entry(void *ctx, tare_json *j, const tare_json_value *at) {
    restore *r = ctx;
    tare_json_value key;
    if (!tare_grow(r->m->allocator, (void **)&r->entries, &r->capacity, r->n_entries + 1,
                   sizeof *r->entries))
        return tare_json_fail(j, TARE_ERR_NOMEM, at->offset, "carried tensors");
    entry *e = &r->entries[r->n_entries++];
    *e = (entry){0};
    while (tare_json_key(j, &key) == TARE_JSON_STRING)
        if (!read_member_of(e, j, &key, &r->scratch)) return false;
    return j->err.status == TARE_OK;
}

static bool read_member(void *ctx, tare_json *j, const tare_json_value *key) {
    restore *r = ctx;
    if (tare_json_is(key, "tensors"))
        return tare_own_record_list(j, read_entry, r, "carried tensors: expected objects");
    if (tare_json_is(key, "version")) return read_number(j, &r->version);
    return tare_own_record_pass(j);
}

/* CORRUPT: the text is not one of our records. */
static tare_status read_record(restore *r, tare_str text, tare_error *err) {
    TARE_TRY(tare_own_record_read(text, read_member, r, err));
    if (r->version != 1)
        return tare_fail(err, TARE_ERR_CORRUPT, "record of carried tensors: not of version 1");
    return TARE_OK;
}

/* ---- checking -------------------------------------------------------------------------------- */

/* Whether bytes stored under `stored` can be taken for `true_one`: the same type, a plain type of
 * the same width, or whole bytes. In all three the byte order of the file is that of the stored
 * type, and its units do not cross those of the other. */
static bool may_stand_for(const tare_encoding *stored, const tare_encoding *true_one) {
    if (stored == true_one) return true;
    if (stored->kind != TARE_KIND_INTEGER || stored->is_bit_packed) return false;
    uint32_t width = stored->planes[0].unit_bytes;
    if (width == 1) return true;
    return true_one->kind != TARE_KIND_BLOCK && true_one->kind != TARE_KIND_UNKNOWN &&
           !true_one->is_bit_packed && true_one->planes[0].unit == 1 &&
           true_one->planes[0].unit_bytes == width;
}

/* The planes of an entry's tensor. Its list is whatever its other planes leave of the stored bytes.
 */
static tare_status build(const entry *e, const tare_model *m, uint64_t stored_bytes,
                         const tare_encoding **encoding, uint64_t *planes, uint64_t *size) {
    *encoding = tare_encoding_find(e->type);
    if (!*encoding || e->n_dims > m->limits.dims) return TARE_ERR_UNSUPPORTED;
    *size = 0;
    if ((*encoding)->kind == TARE_KIND_UNKNOWN) return TARE_OK;
    TARE_TRY(tare_encoding_sizes(planes, *encoding, e->dims, e->n_dims, NULL));
    for (uint32_t p = 0; p < (*encoding)->n_planes; p++)
        if (!tare_add_u64(*size, planes[p], size)) return TARE_ERR_LIMIT;
    const uint32_t list = tare_encoding_list_plane(*encoding);
    if (list < (*encoding)->n_planes && *size && *size < stored_bytes &&
        (stored_bytes - *size) % (*encoding)->planes[list].unit_bytes == 0) {
        planes[list] = stored_bytes - *size;
        *size = stored_bytes;
    }
    return TARE_OK;
}

static const char *entry_fault(const restore *r, const entry *e) {
    const tare_tensor *stored = &r->m->catalog.tensors[e->tensor];
    const tare_encoding *encoding;
    uint64_t planes[TARE_MAX_PLANES], size;
    if (e->name.len > r->m->limits.name_bytes) return "its name is too long";
    if (build(e, r->m, stored->size_bytes, &encoding, planes, &size) != TARE_OK)
        return "its type or shape is not possible";
    bool is_unknown = encoding->kind == TARE_KIND_UNKNOWN;
    if (is_unknown && e->number > UINT32_MAX) return "its type has an impossible number";
    bool is_empty = size == 0 && stored->size_bytes == 1; /* a byte that stands for nothing */
    if (!is_unknown && size != stored->size_bytes && !is_empty)
        return "its size is not that of the stored tensor";
    if (!may_stand_for(stored->encoding, encoding))
        return "the stored type cannot stand for its type";
    for (uint32_t p = 0; encoding == stored->encoding && p < encoding->n_planes; p++)
        if (!is_unknown && !is_empty && planes[p] != stored->planes[p].size)
            return "its size is not that of the stored tensor";
    return NULL;
}

/* Finds the stored tensors, and which entries hold. If stored names are not unique, nothing is
 * restored; the driver's own check of names reports it. */
static tare_status check_entries(restore *r, tare_error *err) {
    tare_name_index stored, names;
    tare_model *m = r->m;
    bool *is_taken = TARE_NEW_ARRAY(&r->scratch, bool, m->catalog.n_tensors);
    if (!is_taken) return tare_fail(err, TARE_ERR_NOMEM, "record of carried tensors");
    tare_status status = tare_name_index_build(&stored, &r->scratch, m->catalog.tensors,
                                               m->catalog.n_tensors, sizeof(tare_tensor), "", err);
    if (status == TARE_OK)
        status = tare_name_index_build(&names, &r->scratch, r->entries, r->n_entries,
                                       sizeof *r->entries, "carried names are not unique", err);
    if (status != TARE_OK) return status;
    for (size_t i = 0; i < r->n_entries; i++) {
        entry *e = &r->entries[i];
        int64_t at =
            tare_name_index_find(&stored, m->catalog.tensors, sizeof(tare_tensor), e->stored);
        int64_t other =
            tare_name_index_find(&stored, m->catalog.tensors, sizeof(tare_tensor), e->name);
        if (at < 0 || is_taken[at]) {
            e->fault =
                at < 0 ? "no tensor is stored under its name" : "an earlier entry has its tensor";
            continue;
        }
        e->tensor = (size_t)at;
        is_taken[at] = true;
        e->fault =
            other >= 0 && other != at ? "another tensor has its name already" : entry_fault(r, e);
    }
    return TARE_OK;
}

/* ---- restoring ------------------------------------------------------------------------------- */

static void report_entry(const restore *r, const entry *e) {
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, "carry.entry-ignored");
    f.item_kind = TARE_ITEM_TENSOR;
    f.item_name = e->stored;
    tare_report_addf(r->report, &f, "an entry of " TARE_STAND_IN_KEY " is ignored: %s", e->fault);
}

static tare_status apply(restore *r, const entry *e, tare_stand_in *stand_in, tare_error *err) {
    tare_model *m = r->m;
    tare_tensor *t = &m->catalog.tensors[e->tensor];
    const tare_encoding *encoding;
    uint64_t sizes[TARE_MAX_PLANES], size;
    *stand_in = (tare_stand_in){.tensor = e->tensor, .stored = *t};
    const tare_plane *at = &stand_in->stored.planes[0];
    TARE_TRY(build(e, m, stand_in->stored.size_bytes, &encoding, sizes, &size));
    TARE_TRY(tare_tensor_set(m, t, encoding, e->dims, e->n_dims, at->file, at->offset, err));
    const uint32_t list = tare_encoding_list_plane(encoding);
    if (list < encoding->n_planes && sizes[list])
        TARE_TRY(tare_tensor_set_list(t, sizes[list], &m->arena, err));
    /* If only name or shape was replaced, the planes may still be apart, as they were. */
    if (encoding == stand_in->stored.encoding && size == stand_in->stored.size_bytes)
        t->planes = at;
    if (encoding->kind == TARE_KIND_UNKNOWN) {
        tare_plane *plane = TARE_NEW(&m->arena, tare_plane);
        if (!plane) return tare_fail(err, TARE_ERR_NOMEM, "tensor");
        uint64_t stored_bytes = t->n_elements ? stand_in->stored.size_bytes : 0;
        *plane = (tare_plane){at->file, at->offset, stored_bytes};
        t->planes = plane;
        t->size_bytes = plane->size;
        t->native_type = (uint32_t)e->number;
    }
    t->name = tare_arena_str(&m->arena, e->name);
    return t->name.ptr ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "tensor name");
}

static int by_tensor(const void *a, const void *b) {
    size_t x = ((const tare_stand_in *)a)->tensor, y = ((const tare_stand_in *)b)->tensor;
    return (x > y) - (x < y);
}

static tare_status apply_all(restore *r, tare_error *err) {
    tare_stand_in *list = TARE_NEW_ARRAY(&r->m->arena, tare_stand_in, r->n_entries);
    if (!list) return tare_fail(err, TARE_ERR_NOMEM, "carried tensors");
    r->m->stand_ins = list;
    for (size_t i = 0; i < r->n_entries; i++) {
        const entry *e = &r->entries[i];
        if (e->fault) {
            report_entry(r, e);
            continue;
        }
        TARE_TRY(apply(r, e, &list[r->m->n_stand_ins], err));
        r->m->n_stand_ins++;
    }
    qsort(list, r->m->n_stand_ins, sizeof *list, by_tensor);
    return TARE_OK;
}

/* A record that cannot be parsed: reported, and left visible in the metadata. */
static tare_status report_unreadable(const restore *r, const tare_metadata *record,
                                     const tare_error *err) {
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, "carry.record-unreadable");
    f.item_kind = TARE_ITEM_KEY;
    f.item_name = record->key;
    f.offset = record->offset;
    tare_report_addf(r->report, &f, "the record of carried tensors is ignored: %s", err->what);
    return TARE_OK;
}

static tare_status restore_from(restore *r, size_t key, tare_error *err) {
    tare_catalog *c = &r->m->catalog;
    tare_error why = TARE_ERROR_NONE;
    tare_status status = read_record(r, c->metadata[key].value.as.s, &why);
    if (status == TARE_OK) status = check_entries(r, &why);
    if (status == TARE_ERR_NOMEM) return tare_fail(err, status, why.what);
    if (status != TARE_OK) return report_unreadable(r, &c->metadata[key], &why);
    tare_metadata *record = TARE_NEW(&r->m->arena, tare_metadata);
    if (!record) return tare_fail(err, TARE_ERR_NOMEM, "carried tensors");
    TARE_TRY(apply_all(r, err));
    *record = c->metadata[key];
    r->m->carried = record;
    r->m->stand_ins_at = key;
    c->n_metadata--;
    memmove(&c->metadata[key], &c->metadata[key + 1], (c->n_metadata - key) * sizeof *c->metadata);
    return TARE_OK;
}

tare_status tare_stand_in_restore(tare_model *m, tare_report *report, tare_error *err) {
    const tare_catalog *c = &m->catalog;
    size_t key = 0;
    while (key < c->n_metadata && !(c->metadata[key].space == TARE_KEYS_MODEL &&
                                    c->metadata[key].value.type == TARE_VALUE_STRING &&
                                    tare_str_is(c->metadata[key].key, TARE_STAND_IN_KEY)))
        key++;
    if (key == c->n_metadata) return TARE_OK;
    restore r = {.m = m, .report = report};
    tare_arena_init(&r.scratch, m->allocator);
    tare_status status = restore_from(&r, key, err);
    tare_arena_free(&r.scratch);
    tare_free(m->allocator, r.entries, r.capacity * sizeof *r.entries);
    return status;
}
