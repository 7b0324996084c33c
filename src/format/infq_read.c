/* SPDX-License-Identifier: MIT
 *
 * Reading INFQ packages. The manifest is walked twice: for its outline, then entry by entry; every
 * fault has the position of the value it is about. Payload files are named by entries and lie in
 * the package's directory itself. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/arith.h"
#include "base/str.h"
#include "format/infq.h"
#include "format/safetensors.h"
#include "model/names.h"

/* A file that entries name; `name` first: an index over names reads it. */
typedef struct payload {
    tare_str name;
    uint32_t file; /* of the model */
} payload;

/* A value and all of its text. */
typedef struct span {
    tare_json_value v; /* type END: absent */
    tare_str text;
} span;

typedef struct reader {
    tare_model *m;
    const tare_open_options *options;
    const char *directory;
    tare_infq_layout *layout;
    tare_json j;
    span parts[TARE_INFQ_PARTS];
    span tensors, metadata, safetensors, files; /* of our own entry */
    tare_str *entries;
    uint64_t *places; /* for each that is not quantized: where it stood among all */
    payload *payloads;
    size_t n_payloads;
    tare_name_index payload_index;
} reader;

/* ---- names ----------------------------------------------------------------------------------- */

typedef struct field_text {
    const char *name, *missing, *wrong;
} field_text;

#define FIELD(name, expected)                                                                      \
    { name, "tensors[]." name ": missing", "tensors[]." name ": expected " expected }
#define NUMBER "a whole number, at most 2^53"

static const field_text fields[TARE_INFQ_FIELDS] = {
    [TARE_INFQ_NAME] = FIELD("name", "a string"),
    [TARE_INFQ_DTYPE] = FIELD("dtype", "the name of a type"),
    [TARE_INFQ_ROWS] = FIELD("rows", NUMBER),
    [TARE_INFQ_COLS] = FIELD("cols", NUMBER),
    [TARE_INFQ_BLOCK_SIZE] = FIELD("block", "64"),
    [TARE_INFQ_SCALE_DTYPE] = FIELD("scale_dtype", "\"fp16\""),
    [TARE_INFQ_LAYOUT] = FIELD("layout", "\"rowmajor_blocked\""),
    [TARE_INFQ_DATA_FILE] = FIELD("data_file", "the name of a file in the package's directory"),
    [TARE_INFQ_OFFSET_DATA] = FIELD("offset_data", NUMBER),
    [TARE_INFQ_OFFSET_SCALES] = FIELD("offset_scales", NUMBER),
    [TARE_INFQ_SCALES_FILE] = FIELD("scales_file", "the name of a file in the package's directory"),
    [TARE_INFQ_SHAPE] = FIELD("shape", "dimensions that make up rows and columns"),
    [TARE_INFQ_OUTLIERS] = FIELD("outliers", "an object"),
    [TARE_INFQ_SHA256] = FIELD("sha256", "a string"),
    [TARE_INFQ_INDEX] = FIELD("index", NUMBER),
};

tare_infq_field tare_infq_find_field(const tare_json_value *key) {
    int f = 0;
    while (f < TARE_INFQ_FIELDS && !tare_json_is(key, fields[f].name)) f++;
    return (tare_infq_field)f;
}

tare_infq_part tare_infq_find_part(const tare_json_value *key) {
    static const char *const names[TARE_INFQ_PARTS] = {"version", "endianness", "tensors",
                                                       "adapters", "tare"};
    int p = 0;
    while (p < TARE_INFQ_PARTS && !tare_json_is(key, names[p])) p++;
    return (tare_infq_part)p;
}

/* ---- the outline ----------------------------------------------------------------------------- */

static bool fail_value(reader *r, const tare_json_value *v, const char *what) {
    return tare_json_fail(&r->j, TARE_ERR_CORRUPT, v->offset, what);
}

/* Reads the value that is next into an empty span. */
static bool take(reader *r, span *s, const tare_json_value *key) {
    if (s->v.type != TARE_JSON_END) return fail_value(r, key, "manifest: a field is given twice");
    tare_json_next(&r->j, &s->v);
    return tare_json_skip(&r->j, &s->v, &s->text);
}

static void begin(reader *r, const span *s) {
    tare_json_value v;
    tare_json_init(&r->j, s->text, s->v.offset, r->m->limits.nesting);
    tare_json_begin(&r->j, &v);
}

static bool scan_ours(reader *r) {
    tare_json_value key, value;
    const span *ours = &r->parts[TARE_INFQ_OURS];
    if (ours->v.type == TARE_JSON_END) return true;
    if (ours->v.type != TARE_JSON_OBJECT)
        return fail_value(r, &ours->v, "tare: expected an object");
    begin(r, ours);
    while (tare_json_key(&r->j, &key) != TARE_JSON_END) {
        span *s = tare_json_is(&key, "tensors")       ? &r->tensors
                  : tare_json_is(&key, "metadata")    ? &r->metadata
                  : tare_json_is(&key, "safetensors") ? &r->safetensors
                  : tare_json_is(&key, "files")       ? &r->files
                                                      : NULL;
        if (s) {
            take(r, s, &key);
        } else {
            tare_json_next(&r->j, &value);
            tare_json_skip(&r->j, &value, NULL);
        }
    }
    return r->j.err.status == TARE_OK;
}

static bool is_empty_array(reader *r, const span *s) {
    tare_json_value v;
    begin(r, s);
    return tare_json_next(&r->j, &v) == TARE_JSON_END && r->j.err.status == TARE_OK;
}

static bool check_parts(reader *r, const tare_json_value *whole) {
    uint64_t version;
    const span *p = r->parts;
    if (p[TARE_INFQ_VERSION].v.type == TARE_JSON_END)
        return fail_value(r, whole, "version: missing");
    if (!tare_json_u64(&p[TARE_INFQ_VERSION].v, &version) || version != 1)
        return tare_json_fail(&r->j, TARE_ERR_UNSUPPORTED, p[TARE_INFQ_VERSION].v.offset,
                              "version: expected 1");
    if (p[TARE_INFQ_ENDIANNESS].v.type == TARE_JSON_END)
        return fail_value(r, whole, "endianness: missing");
    if (!tare_json_is(&p[TARE_INFQ_ENDIANNESS].v, "LE"))
        return tare_json_fail(&r->j, TARE_ERR_UNSUPPORTED, p[TARE_INFQ_ENDIANNESS].v.offset,
                              "endianness: expected \"LE\"");
    if (p[TARE_INFQ_TENSORS].v.type == TARE_JSON_END)
        return fail_value(r, whole, "tensors: missing");
    const span *adapters = &p[TARE_INFQ_ADAPTERS];
    if (adapters->v.type == TARE_JSON_END) return true;
    if (adapters->v.type != TARE_JSON_ARRAY)
        return fail_value(r, &adapters->v, "adapters: expected an array");
    if (is_empty_array(r, adapters)) return true;
    return tare_json_fail(&r->j, TARE_ERR_UNSUPPORTED, adapters->v.offset,
                          "adapters: packages with adapters are not read yet");
}

static bool scan(reader *r) {
    tare_json_value whole, key, value;
    tare_json_init(&r->j, r->layout->manifest, 0, r->m->limits.nesting);
    if (tare_json_begin(&r->j, &whole) != TARE_JSON_OBJECT)
        return fail_value(r, &whole, "manifest: expected an object");
    while (tare_json_key(&r->j, &key) != TARE_JSON_END) {
        tare_infq_part part = tare_infq_find_part(&key);
        if (part < TARE_INFQ_PARTS) {
            take(r, &r->parts[part], &key);
        } else {
            tare_json_next(&r->j, &value);
            tare_json_skip(&r->j, &value, NULL);
        }
    }
    return tare_json_finish(&r->j) && check_parts(r, &whole) && scan_ours(r);
}

/* How many elements an array has; an absent one has none. */
static bool count(reader *r, const span *array, size_t *n, const char *what) {
    tare_json_value v;
    if (array->v.type == TARE_JSON_END) return true;
    if (array->v.type != TARE_JSON_ARRAY) return fail_value(r, &array->v, what);
    begin(r, array);
    while (tare_json_next(&r->j, &v) != TARE_JSON_END) {
        if ((*n)++ == r->m->limits.tensors)
            return tare_json_fail(&r->j, TARE_ERR_LIMIT, v.offset, "number of tensors");
        tare_json_skip(&r->j, &v, NULL);
    }
    return r->j.err.status == TARE_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Whether a link leads out of the directory. */
static bool leaves(const char *directory, const char *path) {
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISLNK(st.st_mode)) return false;
    char *home = realpath(directory, NULL), *target = realpath(path, NULL);
    size_t n = home ? strlen(home) : 0;
    bool is_inside = target && n && strncmp(target, home, n) == 0 && target[n] == '/';
    bool is_outside = target && !is_inside;
    free(home);
    free(target);
    return is_outside;
}

/* Opens a file of the directory, or finds it open. `what`: for a name that no file there can have.
 */
static tare_status open_payload(reader *r, const tare_json_value *v, const char *what,
                                uint32_t *file, tare_error *err) {
    tare_str name = v->type == TARE_JSON_STRING ? tare_json_text(v, &r->m->arena) : (tare_str){0};
    if (v->type == TARE_JSON_STRING && !name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "file");
    if (!name.ptr || !tare_is_plain_name(name))
        return tare_fail_at(err, TARE_ERR_CORRUPT, v->offset, what);
    payload *p = &r->payloads[r->n_payloads];
    p->name = name;
    int64_t at =
        tare_name_index_add(&r->payload_index, r->payloads, sizeof *p, r->n_payloads, NULL);
    if (at >= 0) {
        *file = r->payloads[at].file;
        return TARE_OK;
    }
    if (r->n_payloads++ == r->m->limits.shards)
        return tare_fail_at(err, TARE_ERR_LIMIT, v->offset, "number of files");
    const char *path = tare_join_path(&r->m->arena, r->directory, name);
    if (!path) return tare_fail(err, TARE_ERR_NOMEM, "file");
    if (leaves(r->directory, path)) return tare_fail_at(err, TARE_ERR_CORRUPT, v->offset, what);
    tare_reader opened;
    tare_status status = tare_reader_open(&opened, path, r->options->map, err);
    if (status == TARE_OK) {
        status = tare_model_add_file(r->m, &opened, path, &p->file, err);
        if (status != TARE_OK) tare_reader_close(&opened);
    } else {
        tare_error_file(err, path);
    }
    *file = p->file;
    return status;
}

/* ---- entries --------------------------------------------------------------------------------- */

typedef struct entry {
    span fields[TARE_INFQ_FIELDS];
    uint64_t at;
    uint64_t dims[TARE_MAX_DIMS];
    uint32_t n_dims;
    const tare_encoding *encoding;
} entry;

#define BIT(field) (1u << TARE_INFQ_##field)
static const unsigned quantized_needs = BIT(NAME) | BIT(DTYPE) | BIT(ROWS) | BIT(COLS) |
                                        BIT(BLOCK_SIZE) | BIT(SCALE_DTYPE) | BIT(LAYOUT) |
                                        BIT(DATA_FILE) | BIT(OFFSET_DATA) | BIT(OFFSET_SCALES);
static const unsigned other_needs =
    BIT(NAME) | BIT(DTYPE) | BIT(SHAPE) | BIT(DATA_FILE) | BIT(OFFSET_DATA);

static bool wrong(reader *r, const entry *e, tare_infq_field f) {
    return fail_value(r, &e->fields[f].v, fields[f].wrong);
}

static bool number(reader *r, const entry *e, tare_infq_field f, uint64_t *out) {
    if (tare_json_u64(&e->fields[f].v, out) && *out <= TARE_INFQ_MOST) return true;
    return wrong(r, e, f);
}

static bool take_entry(reader *r, const tare_json_value *object, entry *e, unsigned needs) {
    tare_json_value key, value;
    *e = (entry){.at = object->offset};
    if (object->type != TARE_JSON_OBJECT)
        return fail_value(r, object, "tensors[]: expected an object");
    while (tare_json_key(&r->j, &key) != TARE_JSON_END) {
        tare_infq_field f = tare_infq_find_field(&key);
        if (f < TARE_INFQ_FIELDS) {
            take(r, &e->fields[f], &key);
        } else {
            tare_json_next(&r->j, &value);
            tare_json_skip(&r->j, &value, NULL);
        }
    }
    for (int f = 0; f < TARE_INFQ_FIELDS; f++)
        if ((needs >> f & 1) && e->fields[f].v.type == TARE_JSON_END)
            return fail_value(r, object, fields[f].missing);
    return r->j.err.status == TARE_OK;
}

static bool read_shape(reader *r, entry *e, const span *shape) {
    tare_json_value v;
    uint64_t n;
    tare_json j;
    if (shape->v.type != TARE_JSON_ARRAY) return wrong(r, e, TARE_INFQ_SHAPE);
    tare_json_init(&j, shape->text, shape->v.offset, r->m->limits.nesting);
    tare_json_begin(&j, &v);
    while (tare_json_next(&j, &v) != TARE_JSON_END) {
        if (e->n_dims == TARE_MAX_DIMS || !tare_json_u64(&v, &n) || n > TARE_INFQ_MOST)
            return wrong(r, e, TARE_INFQ_SHAPE);
        e->dims[e->n_dims++] = n;
    }
    return true;
}

/* Whether the outer dimensions make up `rows` and the last one is `cols`. */
static bool makes_up(const entry *e, uint64_t rows, uint64_t cols) {
    uint64_t n = 1;
    for (uint32_t d = 0; d + 1 < e->n_dims; d++)
        if (!tare_mul_u64(n, e->dims[d], &n)) return false;
    return n == rows && (e->n_dims ? e->dims[e->n_dims - 1] : 1) == cols;
}

/* The shape of a quantized tensor and the type, of which there are two. */
static bool check_quantized(reader *r, entry *e) {
    uint64_t rows, cols, block;
    const span *f = e->fields;
    e->encoding = tare_json_is(&f[TARE_INFQ_DTYPE].v, "int8_rowwise")
                      ? tare_encoding_get(TARE_ENCODING_INT8_ROWWISE)
                  : tare_json_is(&f[TARE_INFQ_DTYPE].v, "int4_rowwise")
                      ? tare_encoding_get(TARE_ENCODING_INT4_ROWWISE)
                      : NULL;
    if (!e->encoding)
        return tare_json_fail(&r->j, TARE_ERR_UNSUPPORTED, f[TARE_INFQ_DTYPE].v.offset,
                              "tensors[].dtype: expected \"int8_rowwise\" or \"int4_rowwise\"");
    if (!tare_json_u64(&f[TARE_INFQ_BLOCK_SIZE].v, &block) || block != TARE_INFQ_BLOCK)
        return wrong(r, e, TARE_INFQ_BLOCK_SIZE);
    if (!tare_json_is(&f[TARE_INFQ_SCALE_DTYPE].v, "fp16"))
        return wrong(r, e, TARE_INFQ_SCALE_DTYPE);
    if (!tare_json_is(&f[TARE_INFQ_LAYOUT].v, "rowmajor_blocked"))
        return wrong(r, e, TARE_INFQ_LAYOUT);
    if (!number(r, e, TARE_INFQ_ROWS, &rows) || !number(r, e, TARE_INFQ_COLS, &cols)) return false;
    const span *outliers = &f[TARE_INFQ_OUTLIERS];
    if (outliers->v.type != TARE_JSON_END && outliers->v.type != TARE_JSON_NULL)
        return tare_json_fail(&r->j, TARE_ERR_UNSUPPORTED, outliers->v.offset,
                              "tensors[].outliers: tensors with outliers are not read yet");
    if (f[TARE_INFQ_SHAPE].v.type == TARE_JSON_END) {
        e->n_dims = 2;
        e->dims[0] = rows;
        e->dims[1] = cols;
        return true;
    }
    return read_shape(r, e, &f[TARE_INFQ_SHAPE]) &&
           (makes_up(e, rows, cols) || wrong(r, e, TARE_INFQ_SHAPE));
}

static bool check_other(reader *r, entry *e) {
    tare_str dtype = tare_json_text(&e->fields[TARE_INFQ_DTYPE].v, &r->m->arena);
    if (!dtype.ptr) return tare_json_fail(&r->j, TARE_ERR_NOMEM, TARE_NO_OFFSET, "tensor");
    e->encoding = tare_encoding_find(dtype);
    if (!e->encoding || !tare_infq_holding.has_encoding(e->encoding) || e->encoding->n_planes > 1)
        return wrong(r, e, TARE_INFQ_DTYPE);
    uint64_t *place = &r->places[r->m->catalog.n_tensors];
    return read_shape(r, e, &e->fields[TARE_INFQ_SHAPE]) &&
           (e->fields[TARE_INFQ_INDEX].v.type == TARE_JSON_END ||
            number(r, e, TARE_INFQ_INDEX, place));
}

/* Puts plane p where a field says; it must be inside the file. */
static tare_status place_plane(reader *r, entry *e, tare_plane *plane, tare_infq_field file,
                               tare_infq_field offset, tare_error *err) {
    uint64_t end;
    if (!number(r, e, offset, &plane->offset)) return tare_json_status(&r->j, err);
    TARE_TRY(open_payload(r, &e->fields[file].v, fields[file].wrong, &plane->file, err));
    if (tare_add_u64(plane->offset, plane->size, &end) &&
        end <= r->m->files[plane->file].reader.size)
        return TARE_OK;
    return tare_fail_at(err, TARE_ERR_TRUNCATED, e->fields[offset].v.offset,
                        offset == TARE_INFQ_OFFSET_DATA
                            ? "tensors[].offset_data: beyond the end of the file"
                            : "tensors[].offset_scales: beyond the end of the file");
}

static tare_status set_tensor(reader *r, entry *e, tare_tensor *t, tare_error *err) {
    tare_status status = tare_tensor_set(r->m, t, e->encoding, e->dims, e->n_dims, 0, 0, err);
    if (status != TARE_OK) {
        if (err && err->offset == TARE_NO_OFFSET) err->offset = e->at;
        return status;
    }
    tare_plane *planes = TARE_NEW_ARRAY(&r->m->arena, tare_plane, e->encoding->n_planes);
    if (!planes) return tare_fail(err, TARE_ERR_NOMEM, "tensor");
    memcpy(planes, t->planes, e->encoding->n_planes * sizeof *planes);
    t->planes = planes;
    t->offset = e->at;
    TARE_TRY(place_plane(r, e, &planes[0], TARE_INFQ_DATA_FILE, TARE_INFQ_OFFSET_DATA, err));
    if (e->encoding->n_planes == 1) return TARE_OK;
    bool is_apart = e->fields[TARE_INFQ_SCALES_FILE].v.type != TARE_JSON_END;
    return place_plane(r, e, &planes[1], is_apart ? TARE_INFQ_SCALES_FILE : TARE_INFQ_DATA_FILE,
                       TARE_INFQ_OFFSET_SCALES, err);
}

/* Names of tensors: strings, within the limit; that they differ is checked in the end. */
static bool read_name(reader *r, entry *e, tare_str *out) {
    const tare_json_value *v = &e->fields[TARE_INFQ_NAME].v;
    if (v->type != TARE_JSON_STRING) return wrong(r, e, TARE_INFQ_NAME);
    *out = tare_json_text(v, &r->m->arena);
    if (!out->ptr) return tare_json_fail(&r->j, TARE_ERR_NOMEM, TARE_NO_OFFSET, "tensor name");
    return out->len <= r->m->limits.name_bytes ||
           tare_json_fail(&r->j, TARE_ERR_LIMIT, v->offset, "length of a tensor's name");
}

static tare_status read_entry(reader *r, const tare_json_value *object, bool is_quantized,
                              tare_error *err) {
    entry e;
    size_t i = r->m->catalog.n_tensors;
    tare_tensor *t = &r->m->catalog.tensors[i];
    tare_status status = TARE_OK;
    if (!take_entry(r, object, &e, is_quantized ? quantized_needs : other_needs) ||
        !read_name(r, &e, &t->name) ||
        !(is_quantized ? check_quantized(r, &e) : check_other(r, &e)))
        status = tare_json_status(&r->j, err);
    else
        status = set_tensor(r, &e, t, err);
    if (status != TARE_OK) {
        tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)i, t->name);
        return status;
    }
    r->entries[i] = (tare_str){object->raw.ptr, (size_t)(r->j.pos - object->raw.ptr)};
    r->m->catalog.n_tensors++;
    return TARE_OK;
}

static tare_status read_entries(reader *r, const span *array, bool is_quantized, tare_error *err) {
    tare_json_value v;
    if (array->v.type == TARE_JSON_END) return TARE_OK;
    begin(r, array);
    while (tare_json_next(&r->j, &v) != TARE_JSON_END)
        TARE_TRY(read_entry(r, &v, is_quantized, err));
    return tare_json_status(&r->j, err);
}

/* Puts tensors that are not quantized, the last ones, where they stood among all. */
static tare_status restore_order(reader *r, size_t n_quantized, tare_error *err) {
    size_t n = r->m->catalog.n_tensors, quantized = 0, other = n_quantized;
    tare_tensor *tensors = TARE_NEW_ARRAY(&r->m->arena, tare_tensor, n);
    tare_str *entries = TARE_NEW_ARRAY(&r->m->arena, tare_str, n);
    if (!tensors || !entries) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    for (size_t i = 0; i < n; i++) {
        bool is_other = other < n && (quantized == n_quantized || r->places[other] <= i);
        size_t from = is_other ? other++ : quantized++;
        tensors[i] = r->m->catalog.tensors[from];
        entries[i] = r->entries[from];
    }
    r->m->catalog.tensors = tensors;
    r->layout->entries = entries;
    return TARE_OK;
}

/* No two regions overlap. */
static tare_status check_layout(reader *r, tare_error *err) {
    for (uint32_t f = 0; f < r->m->n_files; f++) {
        const tare_layout_rules rules = {
            .file = f, .end = r->m->files[f].reader.size, .alignment = 1, .allows_gaps = true};
        tare_filler *fillers;
        size_t n;
        TARE_TRY(tare_layout_check(r->m, &rules, &fillers, &n, r->options->report, err));
    }
    return TARE_OK;
}

/* ---- metadata and side files ----------------------------------------------------------------- */

static tare_status read_metadata(reader *r, const span *s, tare_key_space space, tare_error *err) {
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

static tare_status read_files(reader *r, size_t n, tare_error *err) {
    tare_json_value v;
    tare_catalog *c = &r->m->catalog;
    if (n == 0) return TARE_OK;
    c->resources = TARE_NEW_ARRAY(&r->m->arena, tare_resource_entry, n);
    if (!c->resources) return tare_fail(err, TARE_ERR_NOMEM, "resources");
    begin(r, &r->files);
    while (tare_json_next(&r->j, &v) != TARE_JSON_END) {
        tare_resource_entry e = {.info = {tare_json_text(&v, &r->m->arena), 0}};
        TARE_TRY(open_payload(r, &v, "tare.files[]: expected the name of a file in the directory",
                              &e.file, err));
        e.info.size = r->m->files[e.file].reader.size;
        if (e.info.size > r->m->limits.resource_bytes)
            return tare_fail_at(err, TARE_ERR_LIMIT, v.offset, "size of a side file");
        c->resources[c->n_resources++] = e;
    }
    return tare_json_status(&r->j, err);
}

/* ---- the driver ------------------------------------------------------------------------------ */

static tare_status read_all(reader *r, tare_error *err) {
    size_t n_quantized = 0, n_others = 0, n_files = 0;
    if (!scan(r) ||
        !count(r, &r->parts[TARE_INFQ_TENSORS], &n_quantized, "tensors: expected an array") ||
        !count(r, &r->tensors, &n_others, "tare.tensors: expected an array") ||
        !count(r, &r->files, &n_files, "tare.files: expected an array"))
        return tare_json_status(&r->j, err);
    tare_arena *arena = &r->m->arena;
    size_t n = n_quantized + n_others;
    uint64_t most = 2 * (uint64_t)n + n_files;
    if (most > r->m->limits.shards) most = r->m->limits.shards;
    r->m->catalog.tensors = TARE_NEW_ARRAY(arena, tare_tensor, n);
    r->entries = TARE_NEW_ARRAY(arena, tare_str, n);
    r->places = TARE_NEW_ARRAY(arena, uint64_t, n);
    r->payloads = TARE_NEW_ARRAY(arena, payload, most + 1);
    if (!r->m->catalog.tensors || !r->entries || !r->places || !r->payloads)
        return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    TARE_TRY(tare_name_index_init(&r->payload_index, arena, (size_t)most + 1, err));
    TARE_TRY(read_entries(r, &r->parts[TARE_INFQ_TENSORS], true, err));
    TARE_TRY(read_entries(r, &r->tensors, false, err));
    TARE_TRY(restore_order(r, n_quantized, err));
    TARE_TRY(check_layout(r, err));
    TARE_TRY(read_metadata(r, &r->metadata, TARE_KEYS_MODEL, err));
    TARE_TRY(read_metadata(r, &r->safetensors, TARE_KEYS_SAFETENSORS, err));
    TARE_TRY(read_files(r, n_files, err));
    return tare_model_finish(r->m, r->options->report, err);
}

static tare_status load_manifest(reader *r, const char *path, tare_error *err) {
    tare_reader opened;
    uint32_t file;
    size_t size;
    TARE_TRY(tare_reader_open(&opened, path, false, err));
    tare_status status = tare_model_add_file(r->m, &opened, path, &file, err);
    if (status != TARE_OK) {
        tare_reader_close(&opened);
        return status;
    }
    const tare_reader *manifest = &r->m->files[file].reader;
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
    reader r = {.m = m,
                .options = ctx->options,
                .directory = tare_join_path(&m->arena, ctx->source->name, TARE_STR("/")),
                .layout = TARE_NEW(&m->arena, tare_infq_layout)};
    const char *path =
        r.directory ? tare_join_path(&m->arena, r.directory, TARE_STR(TARE_INFQ_MANIFEST)) : NULL;
    if (!layout || !r.layout || !path) return tare_fail(err, TARE_ERR_NOMEM, "layout");
    *layout = (tare_layout){
        .format = &tare_format_infq, .version = 1, .alignment = 1, .detail = r.layout};
    m->catalog.layout = layout;
    m->directory_file = path;
    tare_status status = load_manifest(&r, path, err);
    if (status == TARE_OK) status = read_all(&r, err);
    /* Positions are those of the manifest. */
    if (status != TARE_OK && status != TARE_ERR_IO) tare_error_file(err, path);
    return status;
}

/* A manifest says in its first bytes what it is of. */
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
    if (path && tare_reader_open(&opened, path, false, NULL) == TARE_OK) {
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
    .version = 1,
    .holding = &tare_infq_holding,
    .floats_become = TARE_ENCODING_INT8_ROWWISE,
    .has_one_form = true,
    .refuses_odd = true,
    .probe = probe,
    .open = open_infq,
    .plan = tare_infq_plan,
};
