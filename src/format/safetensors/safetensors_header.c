/* SPDX-License-Identifier: MIT
 *
 * The header of one safetensors file: eight bytes of size, then a JSON object with one member a
 * tensor (README of huggingface/safetensors, "Format"). It is walked twice: once to prove that it
 * is JSON of the right outline and to count, so that no untrusted count leads to an allocation,
 * then to read the members. */
#include "base/arith.h"
#include "base/bytes.h"
#include "base/json.h"
#include "base/report.h"
#include "format/safetensors/safetensors.h"
#include "model/foreign.h"

#define SIZE_BYTES TARE_SAFETENSORS_SIZE_BYTES

/* ---- text ------------------------------------------------------------------------------------ */

static tare_status read_size(const tare_model *m, const tare_reader *r, size_t *size,
                             tare_error *err) {
    uint8_t bytes[SIZE_BYTES];
    if (r->size < SIZE_BYTES) {
        return tare_fail_at(err, TARE_ERR_TRUNCATED, r->size,
                            "header size: the file ends inside its 8 bytes");
    }
    TARE_TRY(tare_reader_read(r, 0, bytes, sizeof bytes, err));
    uint64_t n = tare_load_le64(bytes);
    if (n > m->limits.safetensors_header || n > m->limits.metadata_bytes) {
        return tare_fail_at(err, TARE_ERR_LIMIT, 0, "header size");
    }
    if (n > r->size - SIZE_BYTES) {
        return tare_fail_at(err, TARE_ERR_TRUNCATED, 0, "header size: beyond the end of the file");
    }
    if (n < 2) return tare_fail_at(err, TARE_ERR_CORRUPT, 0, "header size: too small for {}");
    return tare_size_of_u64(n, size) ? TARE_OK
                                     : tare_fail_at(err, TARE_ERR_LIMIT, 0, "header size");
}

tare_status tare_safetensors_read_text(tare_model *m, const tare_reader *reader, uint64_t offset,
                                       size_t size, tare_str *text, tare_error *err) {
    *text = (tare_str){NULL, size};
    if (reader->map) {
        text->ptr = (const char *)reader->map + offset;
        return TARE_OK;
    }
    char *copy = tare_alloc(m->allocator, size);
    if (!copy) return tare_fail(err, TARE_ERR_NOMEM, "header");
    tare_status status = tare_reader_read(reader, offset, copy, size, err);
    if (status == TARE_OK) status = tare_model_keep(m, copy, size, err);
    if (status != TARE_OK) tare_free(m->allocator, copy, size);
    text->ptr = copy;
    return status;
}

/* A member of a set is not probed before it is opened: if its header makes no sense it may be a
 * known kind of other file, most likely a Git LFS pointer. */
static tare_status name_foreign(const tare_reader *r, tare_status status, tare_error *err) {
    char head[TARE_PROBE_BYTES];
    const size_t n = (size_t)tare_min_u64(sizeof head, r->size);
    if (tare_reader_read(r, 0, head, n, NULL) != TARE_OK) return status;
    if (n > SIZE_BYTES && head[SIZE_BYTES] == '{') return status;
    return tare_name_foreign(status, (tare_str){head, n}, r->size, false, err);
}

static tare_status read_text(tare_model *m, tare_safetensors_shard *shard, tare_error *err) {
    const tare_reader *r = &m->files[shard->file].reader;
    size_t size = 0;
    tare_status status = read_size(m, r, &size, err);
    if (status != TARE_OK) return name_foreign(r, status, err);
    TARE_TRY(tare_safetensors_read_text(m, r, SIZE_BYTES, size, &shard->header, err));
    if (shard->header.ptr[0] != '{') {
        return tare_fail_at(err, TARE_ERR_CORRUPT, SIZE_BYTES, "header: must begin with {");
    }
    shard->data_offset = SIZE_BYTES + size;
    m->directory_bytes += SIZE_BYTES + size;
    return TARE_OK;
}

/* ---- first pass ------------------------------------------------------------------------------ */

static bool count_pairs(tare_json *j, const tare_limits *limits, size_t *n) {
    tare_json_value key, value;
    for (*n = 0; tare_json_key(j, &key) != TARE_JSON_END; ++*n) {
        if (*n == limits->keys) {
            return tare_json_fail(j, TARE_ERR_LIMIT, key.offset, "number of keys");
        }
        tare_json_type type = tare_json_next(j, &value);
        if (type != TARE_JSON_STRING && type != TARE_JSON_END) {
            return tare_json_fail(j, TARE_ERR_CORRUPT, value.offset,
                                  TARE_SAFETENSORS_METADATA ": values must be strings");
        }
    }
    return j->err.status == TARE_OK;
}

static bool count_member(tare_json *j, const tare_model *m, tare_safetensors_shard *shard,
                         const tare_json_value *key) {
    tare_json_value value;
    tare_json_type type = tare_json_next(j, &value);
    if (type == TARE_JSON_END) return false;
    if (tare_json_is(key, TARE_SAFETENSORS_METADATA)) {
        if (shard->has_metadata) {
            return tare_json_fail(j, TARE_ERR_CORRUPT, key->offset,
                                  TARE_SAFETENSORS_METADATA ": given twice");
        }
        shard->has_metadata = true;
        if (type == TARE_JSON_NULL) return true; /* as if it was not there */
        shard->has_pairs = true;
        if (type == TARE_JSON_OBJECT) return count_pairs(j, &m->limits, &shard->n_pairs);
        return tare_json_fail(j, TARE_ERR_CORRUPT, value.offset,
                              TARE_SAFETENSORS_METADATA ": object expected");
    }
    if (shard->n_tensors++ == m->limits.tensors) {
        return tare_json_fail(j, TARE_ERR_LIMIT, key->offset, "number of tensors");
    }
    return tare_json_skip(j, &value, NULL);
}

tare_status tare_safetensors_read_header(tare_model *m, tare_safetensors_shard *shard,
                                         tare_error *err) {
    TARE_TRY(read_text(m, shard, err));
    tare_json j;
    tare_json_value value, key;
    tare_json_init(&j, shard->header, SIZE_BYTES, m->limits.nesting);
    tare_json_begin(&j, &value);
    while (tare_json_key(&j, &key) != TARE_JSON_END) {
        if (!count_member(&j, m, shard, &key)) break;
    }
    tare_json_finish(&j);
    return tare_json_status(&j, err);
}

/* ---- second pass ----------------------------------------------------------------------------- */

/* The contents of an entry before validation. */
typedef struct entry {
    tare_json_value dtype, shape, offsets;
    uint64_t dims[TARE_MAX_DIMS];
    uint32_t n_dims;
    uint64_t begin, end;
} entry;

typedef struct header_walk {
    tare_model *m;
    const tare_safetensors_shard *shard;
    tare_report *report;
    tare_json j;
    size_t n; /* tensors read so far */
} header_walk;

static bool fail_value(header_walk *w, const tare_json_value *v, const char *what) {
    return tare_json_fail(&w->j, TARE_ERR_CORRUPT, v->offset, what);
}

static bool take_shape(header_walk *w, entry *e) {
    tare_json_value v;
    uint64_t max_dims = tare_min_u64(w->m->limits.dims, TARE_MAX_DIMS);
    if (e->shape.type != TARE_JSON_ARRAY) return fail_value(w, &e->shape, "shape: array expected");
    while (tare_json_next(&w->j, &v) != TARE_JSON_END) {
        if (e->n_dims == max_dims) {
            return tare_json_fail(&w->j, TARE_ERR_LIMIT, v.offset, "shape: too many dimensions");
        }
        if (!tare_json_u64(&v, &e->dims[e->n_dims++])) {
            return fail_value(w, &v, "shape: whole number from 0 to 2^64-1 expected");
        }
    }
    return w->j.err.status == TARE_OK;
}

static bool take_offsets(header_walk *w, entry *e) {
    tare_json_value v;
    uint64_t numbers[2];
    size_t n = 0;
    if (e->offsets.type != TARE_JSON_ARRAY) {
        return fail_value(w, &e->offsets, "data_offsets: array of two numbers expected");
    }
    for (; tare_json_next(&w->j, &v) != TARE_JSON_END; n++) {
        if (n == 2) return fail_value(w, &v, "data_offsets: more than two numbers");
        if (!tare_json_u64(&v, &numbers[n])) {
            return fail_value(w, &v, "data_offsets: whole number from 0 to 2^64-1 expected");
        }
    }
    if (w->j.err.status != TARE_OK) return false;
    if (n < 2) return fail_value(w, &e->offsets, "data_offsets: two numbers expected");
    e->begin = numbers[0];
    e->end = numbers[1];
    return true;
}

static bool take_unknown(header_walk *w, const tare_json_value *key, const tare_json_value *value,
                         tare_str name) {
    tare_finding finding = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, "safetensors.unknown-field");
    finding.item_kind = TARE_ITEM_TENSOR;
    finding.item = (int64_t)(w->shard->first_tensor + w->n);
    finding.item_name = name;
    finding.offset = key->offset;
    tare_report_addf(w->report, &finding, "field %.*s of a tensor is not in the format",
                     (int)tare_min_u64(key->raw.len, 80), key->raw.ptr);
    return tare_json_skip(&w->j, value, NULL);
}

static bool take_field(header_walk *w, const tare_json_value *key, entry *e, tare_str name) {
    static const char *const names[] = {"dtype", "shape", "data_offsets"};
    tare_json_value *slots[] = {&e->dtype, &e->shape, &e->offsets}, value;
    if (tare_json_next(&w->j, &value) == TARE_JSON_END) return false;
    size_t i = 0;
    while (i < 3 && !tare_json_is(key, names[i])) i++;
    if (i == 3) return take_unknown(w, key, &value, name);
    if (slots[i]->type != TARE_JSON_END) {
        return fail_value(w, key, "tensor entry: a field is given twice");
    }
    *slots[i] = value;
    if (slots[i] == &e->shape) return take_shape(w, e);
    if (slots[i] == &e->offsets) return take_offsets(w, e);
    return value.type == TARE_JSON_STRING || fail_value(w, &value, "dtype: string expected");
}

static bool take_entry(header_walk *w, entry *e, tare_str name) {
    tare_json_value object, key;
    if (tare_json_next(&w->j, &object) == TARE_JSON_END) return false;
    if (object.type != TARE_JSON_OBJECT) {
        return fail_value(w, &object, "tensor entry: object expected");
    }
    while (tare_json_key(&w->j, &key) != TARE_JSON_END) {
        if (!take_field(w, &key, e, name)) return false;
    }
    if (w->j.err.status != TARE_OK) return false;
    if (!e->dtype.type) return fail_value(w, &object, "tensor entry: dtype is missing");
    if (!e->shape.type) return fail_value(w, &object, "tensor entry: shape is missing");
    if (!e->offsets.type) return fail_value(w, &object, "tensor entry: data_offsets is missing");
    return true;
}

/* Turns an entry into a tensor: a known type, a size that fits 64 bits and the offsets. */
static bool set_tensor(header_walk *w, const entry *e, tare_tensor *t) {
    tare_error err = TARE_ERROR_NONE;
    uint64_t end, begin = w->shard->data_offset;
    tare_str name = tare_json_text(&e->dtype, &w->m->arena);
    if (!name.ptr) return tare_json_fail(&w->j, TARE_ERR_NOMEM, TARE_NO_OFFSET, "dtype");
    const tare_safetensors_dtype *dtype = tare_safetensors_dtype_find(name);
    if (!dtype) {
        char shown[32];
        tare_str_escape(shown, sizeof shown, name, true);
        tare_json_fail(&w->j, TARE_ERR_UNSUPPORTED, e->dtype.offset, "not known");
        tare_error_detail(&w->j.err, "dtype \"%s\"", shown);
        return false;
    }
    if (e->begin > e->end) return fail_value(w, &e->offsets, "data_offsets: begin is after end");
    if (!tare_add_u64(begin, e->end, &end)) {
        return fail_value(w, &e->offsets, "data_offsets: exceeds 64 bits");
    }
    begin += e->begin;
    if (tare_tensor_set(w->m, t, tare_encoding_get(dtype->encoding), e->dims, e->n_dims,
                        w->shard->file, begin, &err) != TARE_OK) {
        return tare_json_fail(&w->j, err.status, e->shape.offset, err.what);
    }
    if (t->size_bytes != end - begin) {
        return fail_value(w, &e->offsets, "data_offsets: not the size of dtype and shape");
    }
    return true;
}

static bool read_tensor(header_walk *w, const tare_json_value *key, tare_tensor *t) {
    entry e = {0};
    t->name = tare_json_text(key, &w->m->arena);
    t->offset = key->offset;
    if (!t->name.ptr) return tare_json_fail(&w->j, TARE_ERR_NOMEM, TARE_NO_OFFSET, "tensor name");
    if (t->name.len > w->m->limits.name_bytes) {
        return tare_json_fail(&w->j, TARE_ERR_LIMIT, key->offset, "tensor name: too long");
    }
    return take_entry(w, &e, t->name) && set_tensor(w, &e, t);
}

tare_status tare_safetensors_read_tensors(tare_model *m, const tare_safetensors_shard *shard,
                                          tare_report *report, tare_error *err) {
    header_walk w = {.m = m, .shard = shard, .report = report};
    tare_json_value value, key;
    tare_json_init(&w.j, shard->header, SIZE_BYTES, m->limits.nesting);
    tare_json_begin(&w.j, &value);
    while (tare_json_key(&w.j, &key) != TARE_JSON_END) {
        if (tare_json_is(&key, TARE_SAFETENSORS_METADATA)) {
            tare_json_next(&w.j, &value);
            tare_json_skip(&w.j, &value, NULL);
            continue;
        }
        size_t i = shard->first_tensor + w.n;
        if (!read_tensor(&w, &key, &m->catalog.tensors[i])) {
            tare_error_item(&w.j.err, TARE_ITEM_TENSOR, (int64_t)i, m->catalog.tensors[i].name);
            break;
        }
        w.n++;
    }
    return tare_json_status(&w.j, err);
}
