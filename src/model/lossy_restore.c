/* SPDX-License-Identifier: MIT
 *
 * Tensors that were packed with loss, when a file is opened: the record is untrusted, and refused
 * as a whole if a part of it does not fit the stored tensors, as these mean something else without
 * it. What is stored becomes a model behind the one that is opened. */
#include <string.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/str.h"
#include "encoding/kernels.h"
#include "model/lossy_record.h"
#include "model/model_internal.h"
#include "model/own_record.h"

enum { AT_ONCE = 1 << 14 /* elements */ };

#define NO_STEP      UINT64_MAX
#define LARGEST_STEP 65536.0f

/* A tensor of the virtual file. */
typedef struct part {
    size_t tensor;
    const tare_encoding *type;
    const float *columns; /* the factor of each; NULL: 1 */
    float step;           /* what stored numbers are multiplied by */
    uint64_t cols, n_elements;
} part;

/* The file that the tensors lie in once they are decoded. */
typedef struct decoded {
    tare_model *stored;
    part *parts;
    size_t n;
    uint64_t *starts; /* of each in the file */
} decoded;

typedef struct restore {
    tare_model *m;
    tare_lossy *lossy;
    decoded *file;
    size_t key;
    uint64_t version;
} restore;

/* ---- the record ------------------------------------------------------------------------------ */

static bool fail(tare_json *j, const tare_json_value *v, const char *what) {
    return tare_json_fail(j, TARE_ERR_CORRUPT, v->offset, what);
}

static bool read_text(tare_json *j, tare_str *out, tare_arena *arena) {
    tare_json_value v;
    if (tare_json_next(j, &v) != TARE_JSON_STRING)
        return fail(j, &v, "tare.lossy: expected a string");
    *out = tare_json_text(&v, arena);
    return out->ptr || tare_json_fail(j, TARE_ERR_NOMEM, v.offset, "tare.lossy");
}

static bool read_number(tare_json *j, double *out) {
    tare_json_value v;
    return (tare_json_next(j, &v) == TARE_JSON_NUMBER && tare_json_f64(&v, out)) ||
           fail(j, &v, "tare.lossy: expected a number");
}

static bool read_count(tare_json *j, uint64_t *out) {
    tare_json_value v;
    return (tare_json_next(j, &v) == TARE_JSON_NUMBER && tare_json_u64(&v, out)) ||
           fail(j, &v, "tare.lossy: expected a whole number");
}

/* The bits of a step; 0, which is none, for a number that has too many. */
static bool read_step(tare_json *j, uint64_t *out) {
    if (!read_count(j, out)) return false;
    if (*out > UINT32_MAX) *out = 0;
    return true;
}

/* Whether the stored tensor is one that the entry can be about. */
static const char *fault_of(const restore *r, const part *p, uint64_t tensor, tare_str columns,
                            bool is_wide) {
    const tare_catalog *c = &r->m->catalog;
    if (tensor >= c->n_tensors || (r->file->n && tensor <= r->file->parts[r->file->n - 1].tensor))
        return "tare.lossy: number of a tensor";
    const tare_tensor *t = &c->tensors[tensor];
    if (t->encoding->id != (is_wide ? TARE_ENCODING_I16 : TARE_ENCODING_INT8_ROWWISE))
        return is_wide ? "tare.lossy: the tensor has a step, but is not i16"
                       : "tare.lossy: the tensor is not int8_rowwise";
    if (!(p->step > 0 && p->step <= LARGEST_STEP))
        return "tare.lossy: step: expected the bits of a float above 0, at most 2^16";
    if (!p->type || (p->type->id != TARE_ENCODING_F32 && p->type->id != TARE_ENCODING_F16 &&
                     p->type->id != TARE_ENCODING_BF16))
        return "tare.lossy: type: expected f32, f16 or bf16";
    if (columns.ptr && columns.len != t->cols) return "tare.lossy: not a factor for each column";
    for (size_t i = 0; i < columns.len; i++)
        if (columns.ptr[i] < '0' || columns.ptr[i] > 'o')
            return "tare.lossy: factor of a column: expected '0' to 'o'";
    return NULL;
}

static const float *factors_of(tare_str columns, tare_arena *arena) {
    float *factors = TARE_NEW_ARRAY(arena, float, columns.len);
    for (size_t i = 0; factors && i < columns.len; i++)
        factors[i] = tare_lossy_factor(columns.ptr[i] - '0' - 32);
    return factors;
}

static float step_of(uint64_t bits) {
    return bits == NO_STEP ? 1 : tare_f32_of_bits((uint32_t)bits);
}

static bool read_entry(void *ctx, tare_json *j, const tare_json_value *at) {
    restore *r = ctx;
    tare_arena *arena = &r->m->arena;
    tare_str type = {0}, columns = {0};
    uint64_t tensor = UINT64_MAX, step = NO_STEP;
    tare_json_value key;
    while (tare_json_key(j, &key) == TARE_JSON_STRING) {
        bool ok = tare_json_is(&key, "tensor")    ? read_count(j, &tensor)
                  : tare_json_is(&key, "type")    ? read_text(j, &type, arena)
                  : tare_json_is(&key, "columns") ? read_text(j, &columns, arena)
                  : tare_json_is(&key, "step")    ? read_step(j, &step)
                                                  : tare_own_record_pass(j);
        if (!ok) return false;
    }
    part p = {.type = tare_encoding_find(type), .step = step_of(step)};
    const char *fault = fault_of(r, &p, tensor, columns, step != NO_STEP);
    if (fault) return fail(j, at, fault);
    if (columns.ptr) p.columns = factors_of(columns, arena);
    if (columns.ptr && !p.columns)
        return tare_json_fail(j, TARE_ERR_NOMEM, at->offset, "tare.lossy");
    p.tensor = (size_t)tensor;
    p.cols = r->m->catalog.tensors[tensor].cols;
    p.n_elements = r->m->catalog.tensors[tensor].n_elements;
    r->file->parts[r->file->n++] = p;
    return true;
}

static bool read_source(tare_json *j, uint8_t digest[32], tare_arena *arena) {
    tare_str hex = {0};
    if (!read_text(j, &hex, arena)) return false;
    return (hex.len == 64 && tare_unhex(digest, hex.ptr, 32)) ||
           tare_json_fail(j, TARE_ERR_CORRUPT, 0, "tare.lossy: source: expected a SHA-256");
}

static bool read_flag(tare_json *j, bool *out) {
    tare_json_value v;
    tare_json_type type = tare_json_next(j, &v);
    *out = type == TARE_JSON_TRUE;
    return *out || type == TARE_JSON_FALSE || fail(j, &v, "tare.lossy: expected true or false");
}

static bool read_member(void *ctx, tare_json *j, const tare_json_value *key) {
    restore *r = ctx;
    tare_lossy *l = r->lossy;
    tare_arena *arena = &r->m->arena;
    if (tare_json_is(key, "version")) return read_count(j, &r->version);
    if (tare_json_is(key, "container")) return read_text(j, &l->container, arena);
    if (tare_json_is(key, "method")) return read_text(j, &l->method, arena);
    if (tare_json_is(key, "target_bpw")) return read_number(j, &l->target_bpw);
    if (tare_json_is(key, "target_bytes")) return read_number(j, &l->target_bytes);
    if (tare_json_is(key, "target_damage")) return read_number(j, &l->target_damage);
    if (tare_json_is(key, "lambda")) return read_number(j, &l->lambda);
    if (tare_json_is(key, "damage")) return read_number(j, &l->damage);
    if (tare_json_is(key, "is_weighted")) return read_flag(j, &l->is_weighted);
    if (tare_json_is(key, "source")) return read_source(j, l->source, arena);
    if (tare_json_is(key, "tensors"))
        return tare_own_record_list(j, read_entry, r, "tare.lossy: tensors: expected objects");
    return tare_own_record_pass(j);
}

static tare_status read_record(restore *r, tare_str text, tare_error *err) {
    TARE_TRY(tare_own_record_read(text, read_member, r, err));
    if (r->version != 1)
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "tare.lossy: of a version that is not known");
    r->lossy->n_tensors = r->file->n;
    return TARE_OK;
}

/* ---- decoding -------------------------------------------------------------------------------- */

static void multiply(float *values, float step, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) values[i] *= step;
}

static void scale_columns(float *values, const part *p, uint64_t first, uint64_t n) {
    uint64_t col = first % p->cols;
    for (uint64_t i = 0; i < n; i++) {
        values[i] *= p->columns[col];
        if (++col == p->cols) col = 0;
    }
}

/* Elements [first, first + n), at most AT_ONCE, in the tensor's type and little-endian. */
static tare_status decode(uint8_t *to, float *values, const decoded *d, const part *p,
                          uint64_t first, uint64_t n, tare_error *err) {
    TARE_TRY(tare_tensor_values_f32(values, d->stored, p->tensor, first, n, err));
    if (p->step != 1) multiply(values, p->step, n);
    if (p->columns) scale_columns(values, p, first, n);
    tare_round_floats(to, p->type->id, values, (size_t)n);
    if (!TARE_HOST_IS_BIG_ENDIAN) return TARE_OK;
    const tare_rows_mut rows = {.planes = {to}, .n_rows = 1, .cols = n};
    tare_swap_rows(&rows, p->type);
    return TARE_OK;
}

/* Bytes [from, from + n) of a tensor, wherever elements begin. */
static tare_status fetch_part(uint8_t *to, const decoded *d, const part *p, uint64_t from, size_t n,
                              float *values, uint8_t *aside, tare_error *err) {
    const uint32_t width = p->type->planes[0].unit_bytes;
    while (n > 0) {
        const uint64_t first = from / width, skip = from % width;
        const uint64_t want = (skip + n + width - 1) / width;
        const uint64_t n_elements = tare_min_u64(want, AT_ONCE);
        const size_t take = (size_t)tare_min_u64(n, n_elements * width - skip);
        const bool is_whole = take == n_elements * width;
        TARE_TRY(decode(is_whole ? to : aside, values, d, p, first, n_elements, err));
        if (!is_whole) memcpy(to, aside + skip, take);
        to += take;
        from += take;
        n -= take;
    }
    return TARE_OK;
}

static tare_status fetch(void *ctx, uint64_t offset, void *buf, size_t n, tare_error *err) {
    const decoded *d = ctx;
    uint8_t *to = buf;
    float *values = tare_alloc(d->stored->allocator, 2 * AT_ONCE * sizeof *values);
    if (!values) return tare_fail(err, TARE_ERR_NOMEM, "decoded numbers");
    tare_status status = TARE_OK;
    size_t i = tare_part_of(d->starts, d->n, sizeof *d->starts, offset);
    for (; n > 0 && status == TARE_OK; i++) {
        const part *p = &d->parts[i];
        const uint64_t from = offset - d->starts[i];
        const size_t take =
            (size_t)tare_min_u64(n, p->n_elements * p->type->planes[0].unit_bytes - from);
        status = fetch_part(to, d, p, from, take, values, (uint8_t *)(values + AT_ONCE), err);
        to += take;
        offset += take;
        n -= take;
    }
    tare_free(d->stored->allocator, values, 2 * AT_ONCE * sizeof *values);
    return status;
}

static void close_decoded(void *ctx) {
    decoded *d = ctx;
    tare_model_free(d->stored);
}

/* ---- the model behind ------------------------------------------------------------------------ */

static tare_status make_stored(tare_model **out, const tare_model *m, tare_error *err) {
    tare_context options = tare_context_default();
    options.allocator = m->allocator;
    options.limits = &m->limits;
    TARE_TRY(tare_model_new(out, &options, err));
    tare_model *s = *out;
    const size_t n = m->catalog.n_tensors;
    s->format = m->format;
    s->catalog.layout = m->catalog.layout;
    s->catalog.tensors = TARE_NEW_ARRAY(&s->arena, tare_tensor, n);
    tare_status status = s->catalog.tensors ? tare_model_share_files(s, m, err)
                                            : tare_fail(err, TARE_ERR_NOMEM, "tensors");
    if (status == TARE_OK) {
        memcpy(s->catalog.tensors, m->catalog.tensors, n * sizeof *m->catalog.tensors);
        s->catalog.n_tensors = n;
        status = tare_model_expect_records(s, err);
    }
    if (status != TARE_OK) tare_model_free(s);
    return status;
}

static tare_status place_tensors(restore *r, uint32_t file, uint64_t *size, tare_error *err) {
    for (size_t i = 0; i < r->file->n; i++) {
        const part *p = &r->file->parts[i];
        tare_tensor *t = &r->m->catalog.tensors[p->tensor];
        uint64_t dims[TARE_MAX_DIMS];
        memcpy(dims, t->dims, t->n_dims * sizeof *dims);
        r->file->starts[i] = *size;
        TARE_TRY(tare_tensor_set(r->m, t, p->type, dims, t->n_dims, file, *size, err));
        if (!tare_add_u64(*size, t->size_bytes, size))
            return tare_fail(err, TARE_ERR_LIMIT, "size of all tensors");
    }
    return TARE_OK;
}

static tare_status replace(restore *r, tare_error *err) {
    tare_reader reader;
    uint32_t index;
    uint64_t size = 0;
    TARE_TRY(make_stored(&r->file->stored, r->m, err));
    tare_reader_callback(&reader, NULL, r->file, 0, r->m->format);
    reader.fetch = fetch;
    reader.close = close_decoded;
    const char *name = r->m->n_files ? r->m->files[0].name : r->m->format;
    tare_status status = tare_model_add_file(r->m, &reader, name, &index, err);
    if (status != TARE_OK) {
        tare_model_free(r->file->stored);
        return status;
    }
    TARE_TRY(place_tensors(r, index, &size, err));
    r->m->files[index].reader.size = size;
    r->m->files[index].is_decoded = true;
    r->lossy->stored = r->file->stored;
    return TARE_OK;
}

static void remove_key(tare_catalog *c, size_t key) {
    c->n_metadata--;
    memmove(&c->metadata[key], &c->metadata[key + 1], (c->n_metadata - key) * sizeof *c->metadata);
}

bool tare_lossy_is_record(const tare_metadata *e) {
    return e->space == TARE_KEYS_MODEL && e->value.type == TARE_VALUE_STRING &&
           tare_str_is(e->key, TARE_LOSSY_KEY);
}

tare_status tare_lossy_restore(tare_model *m, tare_error *err) {
    tare_catalog *c = &m->catalog;
    restore r = {.m = m};
    while (r.key < c->n_metadata && !tare_lossy_is_record(&c->metadata[r.key])) r.key++;
    if (r.key == c->n_metadata) return TARE_OK;
    r.lossy = TARE_NEW(&m->arena, tare_lossy);
    r.file = TARE_NEW(&m->arena, decoded);
    if (!r.lossy || !r.file) return tare_fail(err, TARE_ERR_NOMEM, "tare.lossy");
    *r.lossy = (tare_lossy){.n_tensors = 0};
    *r.file = (decoded){.parts = TARE_NEW_ARRAY(&m->arena, part, c->n_tensors),
                        .starts = TARE_NEW_ARRAY(&m->arena, uint64_t, c->n_tensors)};
    if (!r.file->parts || !r.file->starts) return tare_fail(err, TARE_ERR_NOMEM, "tare.lossy");
    TARE_TRY(read_record(&r, c->metadata[r.key].value.as.s, err));
    if (r.file->n) TARE_TRY(replace(&r, err));
    remove_key(c, r.key);
    m->lossy = r.lossy;
    return TARE_OK;
}
