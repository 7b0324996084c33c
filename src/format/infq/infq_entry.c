/* SPDX-License-Identifier: MIT
 *
 * Entries of an INFQ manifest that describe a tensor: required fields, permitted values, and the
 * resulting tensor. */
#include <string.h>

#include "base/arith.h"
#include "base/hash.h"
#include "encoding/outliers.h"
#include "format/infq/infq_read.h"

enum { DIGEST_BYTES = 32 };

#define BIT(field) (1u << TARE_INFQ_##field)
static const unsigned quantized_needs = BIT(DTYPE) | BIT(ROWS) | BIT(COLS) | BIT(BLOCK_SIZE) |
                                        BIT(SCALE_DTYPE) | BIT(LAYOUT) | BIT(DATA_FILE) |
                                        BIT(OFFSET_DATA) | BIT(OFFSET_SCALES);
static const unsigned other_needs =
    BIT(NAME) | BIT(DTYPE) | BIT(SHAPE) | BIT(DATA_FILE) | BIT(OFFSET_DATA);

/* ---- values ---------------------------------------------------------------------------------- */

#define A_NUMBER "expected a whole number, at most 2^53"
#define A_SHAPE  "expected dimensions that make up rows and columns"

/* A fault at the value of a field. */
static bool wrong(tare_infq_reader *r, const tare_infq_entry *e, tare_infq_field f,
                  tare_status status, const char *what) {
    r->field = tare_infq_field_names[f];
    return tare_json_fail(&r->j, status, e->fields[f].v.offset, what);
}

static bool corrupt(tare_infq_reader *r, const tare_infq_entry *e, tare_infq_field f,
                    const char *what) {
    return wrong(r, e, f, TARE_ERR_CORRUPT, what);
}

static bool has(const tare_infq_entry *e, tare_infq_field f) {
    return e->fields[f].v.type != TARE_JSON_END;
}

static bool number(tare_infq_reader *r, const tare_infq_entry *e, tare_infq_field f,
                   uint64_t *out) {
    return (tare_json_u64(&e->fields[f].v, out) && *out <= TARE_INFQ_MOST) ||
           corrupt(r, e, f, TARE_INFQ_A_NUMBER);
}

static bool text_is(tare_infq_reader *r, const tare_infq_entry *e, tare_infq_field f,
                    const char *text, const char *what) {
    return tare_json_is(&e->fields[f].v, text) || corrupt(r, e, f, what);
}

/* Takes the fields of the object that was just read; those of `needs` must be there. */
static bool take_fields(tare_infq_reader *r, const tare_json_value *object, unsigned needs,
                        tare_infq_entry *e) {
    tare_json_value key;
    if (object->type != TARE_JSON_OBJECT) return tare_infq_fail(r, object, "expected an object");
    while (tare_json_key(&r->j, &key) != TARE_JSON_END) {
        tare_infq_field f = tare_infq_find_field(&key);
        if (f < TARE_INFQ_FIELDS)
            tare_infq_take(r, &e->fields[f], &key);
        else
            tare_infq_pass(r);
    }
    if (r->j.err.status != TARE_OK) return false;
    e->text = (tare_str){object->raw.ptr, (size_t)(r->j.pos - object->raw.ptr)};
    for (int f = 0; f < TARE_INFQ_FIELDS; f++) {
        if (!(needs >> f & 1) || has(e, (tare_infq_field)f)) continue;
        r->field = tare_infq_field_names[f];
        return tare_infq_fail(r, object, "missing");
    }
    return true;
}

/* That names are unique is checked at the end. */
static bool read_name(tare_infq_reader *r, const tare_infq_entry *e, tare_str *out) {
    const tare_json_value *v = &e->fields[TARE_INFQ_NAME].v;
    *out = (tare_str){"", 0};
    if (!has(e, TARE_INFQ_NAME)) return true;
    if (v->type != TARE_JSON_STRING) return corrupt(r, e, TARE_INFQ_NAME, "expected a string");
    *out = tare_json_text(v, &r->m->arena);
    if (!out->ptr) return tare_json_fail(&r->j, TARE_ERR_NOMEM, TARE_NO_OFFSET, "tensor name");
    if (!out->len) return corrupt(r, e, TARE_INFQ_NAME, "empty tensor name");
    return out->len <= r->m->limits.name_bytes ||
           wrong(r, e, TARE_INFQ_NAME, TARE_ERR_LIMIT, "length of a tensor's name");
}

/* ---- shapes and types ------------------------------------------------------------------------ */

static bool read_shape(tare_infq_reader *r, tare_infq_entry *e) {
    tare_json_value v;
    tare_json j;
    uint64_t n;
    const tare_infq_value *shape = &e->fields[TARE_INFQ_SHAPE];
    if (shape->v.type != TARE_JSON_ARRAY) return corrupt(r, e, TARE_INFQ_SHAPE, A_SHAPE);
    tare_json_init(&j, shape->text, shape->v.offset, r->m->limits.nesting);
    tare_json_begin(&j, &v);
    while (tare_json_next(&j, &v) != TARE_JSON_END) {
        if (e->n_dims == TARE_MAX_DIMS || !tare_json_u64(&v, &n) || n > TARE_INFQ_MOST)
            return corrupt(r, e, TARE_INFQ_SHAPE, A_SHAPE);
        e->dims[e->n_dims++] = n;
    }
    return true;
}

/* Whether the outer dimensions make up `rows` and the last one is `cols`. */
static bool makes_up(const tare_infq_entry *e, uint64_t rows, uint64_t cols) {
    uint64_t n = 1;
    for (uint32_t d = 0; d + 1 < e->n_dims; d++)
        if (!tare_mul_u64(n, e->dims[d], &n)) return false;
    return n == rows && (e->n_dims ? e->dims[e->n_dims - 1] : 1) == cols;
}

static bool read_matrix(tare_infq_reader *r, tare_infq_entry *e) {
    uint64_t rows, cols;
    if (!number(r, e, TARE_INFQ_ROWS, &rows) || !number(r, e, TARE_INFQ_COLS, &cols)) return false;
    if (has(e, TARE_INFQ_SHAPE))
        return read_shape(r, e) &&
               (makes_up(e, rows, cols) || corrupt(r, e, TARE_INFQ_SHAPE, A_SHAPE));
    e->n_dims = 2;
    e->dims[0] = rows;
    e->dims[1] = cols;
    return true;
}

static bool read_digest(tare_infq_reader *r, tare_infq_entry *e) {
    static const char what[] = "expected a string of 64 hexadecimal digits";
    if (!has(e, TARE_INFQ_SHA256)) return true;
    const tare_json_value *v = &e->fields[TARE_INFQ_SHA256].v;
    if (v->type != TARE_JSON_STRING) return corrupt(r, e, TARE_INFQ_SHA256, what);
    tare_str hex = tare_json_text(v, &r->m->arena);
    tare_stated_digest *digest = TARE_NEW(&r->m->arena, tare_stated_digest);
    if (!hex.ptr || !digest) return tare_json_fail(&r->j, TARE_ERR_NOMEM, TARE_NO_OFFSET, "digest");
    if (hex.len != 2 * DIGEST_BYTES || !tare_unhex(digest->bytes, hex.ptr, DIGEST_BYTES))
        return corrupt(r, e, TARE_INFQ_SHA256, what);
    bool is_plain = v->raw.len == 2 * DIGEST_BYTES + 2; /* in quotes, without escapes */
    digest->place = is_plain ? v->offset + 1 : TARE_NO_OFFSET;
    digest->file = r->manifest_file;
    e->sha256 = digest;
    return true;
}

/* ---- outliers -------------------------------------------------------------------------------- */

static bool has_outlier(const tare_infq_entry *e, tare_infq_outlier_field f) {
    return e->outliers[f].v.type != TARE_JSON_END;
}

static bool corrupt_outlier(tare_infq_reader *r, const tare_infq_entry *e,
                            tare_infq_outlier_field f, const char *what) {
    r->field = tare_infq_outlier_field_names[f];
    return tare_infq_fail(r, &e->outliers[f].v, what);
}

/* A field that has the required value, or is absent. */
static bool outlier_is(tare_infq_reader *r, const tare_infq_entry *e, tare_infq_outlier_field f,
                       const char *text, const char *what) {
    return !has_outlier(e, f) || tare_json_is(&e->outliers[f].v, text) ||
           corrupt_outlier(r, e, f, what);
}

static bool outlier_counts(tare_infq_reader *r, const tare_infq_entry *e, tare_infq_outlier_field f,
                           uint64_t number, const char *what) {
    uint64_t n;
    return !has_outlier(e, f) || (tare_json_u64(&e->outliers[f].v, &n) && n == number) ||
           corrupt_outlier(r, e, f, what);
}

static bool take_outliers(tare_infq_reader *r, tare_infq_entry *e) {
    const tare_infq_value *s = &e->fields[TARE_INFQ_OUTLIERS];
    tare_json_value key;
    if (s->v.type != TARE_JSON_OBJECT)
        return corrupt(r, e, TARE_INFQ_OUTLIERS, "expected an object");
    /* the entries go on where they are */
    tare_json all = r->j;
    tare_infq_begin(r, s);
    while (tare_json_key(&r->j, &key) != TARE_JSON_END) {
        tare_infq_outlier_field f = tare_infq_find_outlier_field(&key);
        if (f < TARE_INFQ_OUTLIER_FIELDS)
            tare_infq_take(r, &e->outliers[f], &key);
        else
            tare_infq_pass(r);
    }
    if (r->j.err.status != TARE_OK) return false;
    r->j = all;
    for (int f = TARE_INFQ_OUTLIER_FILE; f <= TARE_INFQ_OUTLIER_OFFSET; f++) {
        if (has_outlier(e, (tare_infq_outlier_field)f)) continue;
        r->field = tare_infq_outlier_field_names[f];
        return tare_infq_fail(r, &s->v, "missing");
    }
    return true;
}

static bool read_outliers(tare_infq_reader *r, tare_infq_entry *e) {
    if (!has(e, TARE_INFQ_OUTLIERS) || e->fields[TARE_INFQ_OUTLIERS].v.type == TARE_JSON_NULL)
        return true;
    if (!take_outliers(r, e) ||
        !outlier_is(r, e, TARE_INFQ_OUTLIER_DTYPE, "fp16", "expected \"fp16\"") ||
        !outlier_counts(r, e, TARE_INFQ_OUTLIER_BYTES, TARE_OUTLIER_BYTES, "expected 8") ||
        !outlier_is(r, e, TARE_INFQ_OUTLIER_LAYOUT, TARE_INFQ_RECORD,
                    "expected \"" TARE_INFQ_RECORD "\"") ||
        !outlier_counts(r, e, TARE_INFQ_OUTLIER_ALIGN, TARE_INFQ_ALIGN, "expected 64"))
        return false;
    e->has_outliers = true;
    e->n_outliers = UINT64_MAX;
    if (!has_outlier(e, TARE_INFQ_OUTLIER_COUNT)) return true;
    return (tare_json_u64(&e->outliers[TARE_INFQ_OUTLIER_COUNT].v, &e->n_outliers) &&
            e->n_outliers <= TARE_INFQ_MOST) ||
           corrupt_outlier(r, e, TARE_INFQ_OUTLIER_COUNT, TARE_INFQ_A_NUMBER);
}

/* ---- types ----------------------------------------------------------------------------------- */

/* The shape of a quantized tensor and the type, of which there are two. */
static bool check_quantized(tare_infq_reader *r, tare_infq_entry *e) {
    uint64_t block;
    const tare_json_value *dtype = &e->fields[TARE_INFQ_DTYPE].v;
    e->encoding =
        tare_json_is(dtype, "int8_rowwise")   ? tare_encoding_get(TARE_ENCODING_INT8_ROWWISE)
        : tare_json_is(dtype, "int4_rowwise") ? tare_encoding_get(TARE_ENCODING_INT4_ROWWISE)
                                              : NULL;
    if (!e->encoding)
        return wrong(r, e, TARE_INFQ_DTYPE, TARE_ERR_UNSUPPORTED,
                     "expected \"int8_rowwise\" or \"int4_rowwise\"");
    if (!tare_json_u64(&e->fields[TARE_INFQ_BLOCK_SIZE].v, &block) || block != TARE_INFQ_BLOCK)
        return corrupt(r, e, TARE_INFQ_BLOCK_SIZE, "expected 64");
    if (!text_is(r, e, TARE_INFQ_SCALE_DTYPE, "fp16", "expected \"fp16\"") ||
        !text_is(r, e, TARE_INFQ_LAYOUT, "rowmajor_blocked", "expected \"rowmajor_blocked\"") ||
        !read_matrix(r, e))
        return false;
    return read_digest(r, e) && read_outliers(r, e);
}

static bool check_other(tare_infq_reader *r, tare_infq_entry *e) {
    tare_str dtype = tare_json_text(&e->fields[TARE_INFQ_DTYPE].v, &r->m->arena);
    if (!dtype.ptr) return tare_json_fail(&r->j, TARE_ERR_NOMEM, TARE_NO_OFFSET, "tensor");
    e->encoding = tare_encoding_find(dtype);
    if (!e->encoding || !tare_infq_caps.has_encoding(e->encoding) || e->encoding->n_planes > 1)
        return corrupt(r, e, TARE_INFQ_DTYPE, "expected the name of a plain type");
    return read_shape(r, e) &&
           (!has(e, TARE_INFQ_INDEX) || number(r, e, TARE_INFQ_INDEX, &e->index)) &&
           read_digest(r, e);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static tare_status place(tare_infq_reader *r, const tare_infq_entry *e, tare_plane *plane,
                         tare_infq_field file, tare_infq_field offset, tare_error *err) {
    const tare_infq_where where = {.file = &e->fields[file].v,
                                   .offset = &e->fields[offset].v,
                                   .file_field = tare_infq_field_names[file],
                                   .offset_field = tare_infq_field_names[offset]};
    return tare_infq_place_plane(r, e, plane, &where, err);
}

static tare_status place_outliers(tare_infq_reader *r, const tare_infq_entry *e, tare_plane *plane,
                                  tare_error *err) {
    const tare_infq_where where = {
        .file = &e->outliers[TARE_INFQ_OUTLIER_FILE].v,
        .offset = &e->outliers[TARE_INFQ_OUTLIER_OFFSET].v,
        .file_field = tare_infq_outlier_field_names[TARE_INFQ_OUTLIER_FILE],
        .offset_field = tare_infq_outlier_field_names[TARE_INFQ_OUTLIER_OFFSET],
        .alignment = TARE_INFQ_ALIGN,
        .record = e->n_outliers == UINT64_MAX ? TARE_OUTLIER_BYTES : 0};
    if (!where.record) plane->size = e->n_outliers * TARE_OUTLIER_BYTES;
    return tare_infq_place_plane(r, e, plane, &where, err);
}

static tare_status set_tensor(tare_infq_reader *r, tare_infq_entry *e, tare_tensor *t,
                              tare_error *err) {
    tare_status status = tare_tensor_set(r->m, t, e->encoding, e->dims, e->n_dims, 0, 0, err);
    if (status != TARE_OK) {
        if (err && err->offset == TARE_NO_OFFSET) err->offset = e->at;
        return status;
    }
    t->offset = e->at;
    tare_plane *planes = TARE_NEW_ARRAY(&r->m->arena, tare_plane, e->encoding->n_planes);
    if (!planes) return tare_fail(err, TARE_ERR_NOMEM, "tensor");
    memcpy(planes, t->planes, e->encoding->n_planes * sizeof *planes);
    t->planes = planes;
    TARE_TRY(place(r, e, &planes[0], TARE_INFQ_DATA_FILE, TARE_INFQ_OFFSET_DATA, err));
    if (e->encoding->n_planes == 1) return TARE_OK;
    bool is_apart = has(e, TARE_INFQ_SCALES_FILE);
    TARE_TRY(place(r, e, &planes[1], is_apart ? TARE_INFQ_SCALES_FILE : TARE_INFQ_DATA_FILE,
                   TARE_INFQ_OFFSET_SCALES, err));
    planes[2] = (tare_plane){planes[0].file, planes[0].offset, 0};
    if (!e->has_outliers || e->n_outliers == 0) return TARE_OK;
    TARE_TRY(place_outliers(r, e, &planes[2], err));
    t->size_bytes += planes[2].size; /* all of it lies in files */
    return TARE_OK;
}

static tare_status read_entry(tare_infq_reader *r, const tare_json_value *object,
                              const tare_infq_place *place, unsigned needs,
                              bool (*check)(tare_infq_reader *, tare_infq_entry *), tare_tensor *t,
                              tare_infq_entry *e, tare_error *err) {
    *e = (tare_infq_entry){.place = *place, .at = object->offset};
    r->field = NULL;
    tare_status status = TARE_OK;
    if (!take_fields(r, object, needs, e) || !read_name(r, e, &t->name) || !check(r, e))
        status = tare_json_status(&r->j, err);
    else
        status = set_tensor(r, e, t, err);
    if (status != TARE_OK) tare_infq_error_field(err, place, r->field);
    return status;
}

tare_status tare_infq_read_quantized(tare_infq_reader *r, const tare_json_value *object,
                                     const tare_infq_place *place, bool needs_name, tare_tensor *t,
                                     tare_infq_entry *entry, tare_error *err) {
    unsigned needs = quantized_needs | (needs_name ? BIT(NAME) : 0);
    return read_entry(r, object, place, needs, check_quantized, t, entry, err);
}

tare_status tare_infq_read_other(tare_infq_reader *r, const tare_json_value *object,
                                 const tare_infq_place *place, tare_tensor *t,
                                 tare_infq_entry *entry, tare_error *err) {
    return read_entry(r, object, place, other_needs, check_other, t, entry, err);
}
