/* SPDX-License-Identifier: MIT
 *
 * The driver of Flax's files (flax/serialization.py): a map of maps, as a rule, in which arrays are
 * values of the type 1, whose bytes are MessagePack again: shape, name of the type, and the numbers in
 * the order of rows. */
#include "base/buffer.h"
#include "base/report.h"
#include "base/str.h"
#include "encoding/table.h"
#include "format/flax/flax.h"
#include "format/format.h"
#include "format/gathered.h"
#include "format/numpy_type.h"
#include "model/value.h"

enum { ARRAY = 1, SCALAR = 3, DEPTH_MOST = 64, TYPE_NAME_MOST = 32 };
enum {
    COPIED_MOST = 16,
    COPIED_FREE = 1 << 20
}; /* bytes of names for each of the file, or so many */
#define VALUES_MOST (UINT64_C(1) << 23)
#define CHUNKED     "__msgpack_chunked_array__"

typedef struct scan {
    tare_model *m;
    tare_report *report;
    const tare_reader *reader;
    tare_buffer path;
    uint64_t at, n_values, copied;
    tare_gathered lists;
} scan;

/* A long key above many short ones is copied for each of them. */
static tare_status name_here(tare_str *out, scan *s, tare_error *err) {
    s->copied += s->path.size;
    if (s->path.size > s->m->limits.name_bytes)
        return tare_fail_at(err, TARE_ERR_LIMIT, s->at, "length of a name");
    if (s->copied / COPIED_MOST > s->reader->size + COPIED_FREE)
        return tare_fail_at(err, TARE_ERR_LIMIT, s->at, "bytes of all names");
    return tare_buffer_text(out, &s->path, &s->m->arena, err);
}

/* ---- what is left out ------------------------------------------------------------------------ */

static tare_status leave_out(scan *s, const char *why, uint64_t offset, tare_error *err) {
    tare_str name;
    TARE_TRY(name_here(&name, s, err));
    return tare_gather_left_out(&s->lists, name, why, offset, err);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* NumPy's letters of a type, by its name; ml_dtypes has but names. */
static tare_str letters_of(tare_str name) {
    static const char *const known[][2] = {
        {"float64", "f8"},   {"float32", "f4"},    {"float16", "f2"}, {"int64", "i8"},
        {"int32", "i4"},     {"int16", "i2"},      {"int8", "i1"},    {"uint64", "u8"},
        {"uint32", "u4"},    {"uint16", "u2"},     {"uint8", "u1"},   {"bool", "b1"},
        {"complex64", "c8"}, {"complex128", "c16"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (tare_str_is(name, known[i][0])) return tare_str_of(known[i][1]);
    return name;
}

static tare_status wrong(const tare_msgpack *v, const char *what, tare_error *err) {
    return tare_fail_at(err, TARE_ERR_CORRUPT, v->offset, what);
}

static tare_status read_shape(tare_strided_tensor *t, const scan *s, uint64_t *at, uint64_t end,
                              tare_error *err) {
    tare_msgpack list, v;
    TARE_TRY(tare_msgpack_next(&list, s->reader, at, end, err));
    if (list.kind != TARE_MSGPACK_LIST) return wrong(&list, "array: a shape expected", err);
    if (list.n > TARE_MAX_DIMS)
        return tare_fail_at(err, TARE_ERR_LIMIT, list.offset, "number of dimensions");
    t->n_dims = (uint32_t)list.n;
    for (uint32_t d = 0; d < t->n_dims; d++) {
        TARE_TRY(tare_msgpack_next(&v, s->reader, at, end, err));
        if (v.kind != TARE_MSGPACK_INT || v.as.i < 0)
            return wrong(&v, "array: a shape of whole numbers expected", err);
        t->dims[d] = v.as.u;
    }
    tare_strided_by_rows(t);
    return TARE_OK;
}

/* *why is not NULL: the numbers are of a type that is not read. */
static tare_status read_type(tare_strided_tensor *t, const char **why, const scan *s, uint64_t *at,
                             uint64_t end, tare_error *err) {
    tare_msgpack v;
    tare_numpy_type type;
    char name[TYPE_NAME_MOST];
    TARE_TRY(tare_msgpack_next(&v, s->reader, at, end, err));
    if (v.kind != TARE_MSGPACK_TEXT && v.kind != TARE_MSGPACK_BYTES)
        return wrong(&v, "array: the name of a type expected", err);
    if (v.n > sizeof name) return wrong(&v, "array: a type that is not known", err);
    TARE_TRY(tare_reader_read(s->reader, v.payload, name, (size_t)v.n, err));
    *why = tare_numpy_type_read(&type, letters_of((tare_str){name, (size_t)v.n}));
    if (*why) return TARE_OK;
    t->encoding = tare_encoding_get(type.encoding);
    t->bytes = type.bytes;
    return TARE_OK;
}

static tare_status read_array(tare_strided_tensor *t, const char **why, const scan *s,
                              const tare_msgpack *ext, tare_error *err) {
    const uint64_t end = ext->payload + ext->n;
    uint64_t at = ext->payload;
    tare_msgpack v;
    *t = (tare_strided_tensor){.record = ext->offset};
    TARE_TRY(tare_msgpack_next(&v, s->reader, &at, end, err));
    if (v.kind != TARE_MSGPACK_LIST || v.n != 3)
        return wrong(&v, "array: shape, type and numbers expected", err);
    TARE_TRY(read_shape(t, s, &at, end, err));
    TARE_TRY(read_type(t, why, s, &at, end, err));
    TARE_TRY(tare_msgpack_next(&v, s->reader, &at, end, err));
    if (v.kind != TARE_MSGPACK_BYTES || at != end) return wrong(&v, "array: numbers expected", err);
    if (*why) return TARE_OK;
    t->offset = v.payload;
    if (!tare_strided_measure(t))
        return tare_fail_at(err, TARE_ERR_LIMIT, ext->offset, "array: its shape overflows");
    return t->span == v.n ? TARE_OK : wrong(&v, "array: not as many bytes as its shape says", err);
}

static tare_status take_ext(scan *s, const tare_msgpack *v, tare_error *err) {
    tare_gathered *lists = &s->lists;
    const char *why = NULL;
    if (v->as.i != ARRAY && v->as.i != SCALAR)
        return leave_out(
            s, "a value of an extension type that is not an array, such as a complex number",
            v->offset, err);
    TARE_TRY(tare_gather_tensor(lists, v->offset, err));
    tare_strided_tensor *t = &lists->tensors[lists->n_tensors];
    TARE_TRY(read_array(t, &why, s, v, err));
    if (why) return leave_out(s, why, v->offset, err);
    TARE_TRY(name_here(&t->name, s, err));
    lists->n_tensors++;
    return TARE_OK;
}

/* ---- other values ---------------------------------------------------------------------------- */

static tare_status read_text(tare_str *out, const scan *s, const tare_msgpack *v, tare_error *err) {
    if (v->n > s->m->limits.resource_bytes)
        return tare_fail_at(err, TARE_ERR_LIMIT, v->offset, "length of a text");
    char *text = tare_arena_take(&s->m->arena, (size_t)v->n + 1);
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, "text");
    *out = (tare_str){text, (size_t)v->n};
    return tare_reader_read(s->reader, v->payload, text, out->len, err);
}

static tare_status take_plain(scan *s, const tare_msgpack *v, tare_error *err) {
    tare_value value = {.type = TARE_VALUE_I64, .as.i = v->as.i};
    if (v->kind == TARE_MSGPACK_UNSIGNED) value = (tare_value){TARE_VALUE_U64, {.u = v->as.u}};
    if (v->kind == TARE_MSGPACK_BOOL) value = (tare_value){TARE_VALUE_BOOL, {.u = v->as.u}};
    if (v->kind == TARE_MSGPACK_FLOAT) value = (tare_value){TARE_VALUE_F64, {.f = v->as.f}};
    if (v->kind == TARE_MSGPACK_NIL)
        value = (tare_value){TARE_VALUE_STRING, {.s = TARE_STR("None")}};
    if (v->kind == TARE_MSGPACK_TEXT) {
        value.type = TARE_VALUE_STRING;
        TARE_TRY(read_text(&value.as.s, s, v, err));
    }
    tare_metadata entry = {.value = value, .space = TARE_KEYS_MODEL, .offset = v->offset};
    TARE_TRY(name_here(&entry.key, s, err));
    return tare_gather_key(&s->lists, &entry, err);
}

/* ---- maps ------------------------------------------------------------------------------------ */

static tare_status visit(scan *s, unsigned depth, tare_error *err);

static tare_status push_key(scan *s, const tare_msgpack *key, tare_error *err) {
    if (key->kind != TARE_MSGPACK_TEXT) return wrong(key, "a key that is not a text", err);
    if (key->n > s->m->limits.name_bytes)
        return tare_fail_at(err, TARE_ERR_LIMIT, key->offset, "length of a name");
    if (s->path.size) tare_buffer_put_u8(&s->path, '.');
    uint8_t *to = tare_buffer_extend(&s->path, (size_t)key->n);
    if (!to) return tare_fail(err, TARE_ERR_NOMEM, "names");
    return tare_reader_read(s->reader, key->payload, to, (size_t)key->n, err);
}

static tare_status push_number(scan *s, uint64_t i, tare_error *err) {
    tare_buffer_printf(&s->path, "%s%llu", s->path.size ? "." : "", (unsigned long long)i);
    return tare_buffer_status(&s->path, err);
}

/* An array of more than 1 GiB is a map of its shape and pieces of it, all in one row. */
static tare_status note_chunked(scan *s, size_t before, const tare_msgpack *key, tare_error *err) {
    const tare_str name = {(const char *)s->path.data, s->path.size};
    if (!tare_str_ends(name, TARE_STR(CHUNKED))) return TARE_OK;
    const size_t whole = s->path.size;
    s->path.size = before;
    const tare_status status = leave_out(
        s, "an array that Flax has stored in pieces: only these are read", key->offset, err);
    s->path.size = whole;
    return status;
}

static tare_status visit_items(scan *s, const tare_msgpack *v, unsigned depth, tare_error *err) {
    const size_t before = s->path.size;
    for (uint64_t i = 0; i < v->n; i++) {
        tare_msgpack key;
        if (v->kind == TARE_MSGPACK_MAP) {
            TARE_TRY(tare_msgpack_next(&key, s->reader, &s->at, s->reader->size, err));
            TARE_TRY(push_key(s, &key, err));
            TARE_TRY(note_chunked(s, before, &key, err));
        } else {
            TARE_TRY(push_number(s, i, err));
        }
        TARE_TRY(visit(s, depth + 1, err));
        s->path.size = before;
    }
    return TARE_OK;
}

static tare_status visit(scan *s, unsigned depth, tare_error *err) {
    tare_msgpack v;
    TARE_TRY(tare_msgpack_next(&v, s->reader, &s->at, s->reader->size, err));
    if (++s->n_values > VALUES_MOST)
        return tare_fail_at(err, TARE_ERR_LIMIT, v.offset, "number of values");
    if (depth == DEPTH_MOST)
        return tare_fail_at(err, TARE_ERR_LIMIT, v.offset, "depth of values in values");
    switch (v.kind) {
    case TARE_MSGPACK_MAP:
    case TARE_MSGPACK_LIST:
        return visit_items(s, &v, depth, err);
    case TARE_MSGPACK_EXT:
        return take_ext(s, &v, err);
    case TARE_MSGPACK_BYTES:
        return leave_out(s, "bytes that are not an array", v.offset, err);
    default:
        return take_plain(s, &v, err);
    }
}

/* ---- the driver ------------------------------------------------------------------------------ */

static tare_status read_values(scan *s, tare_error *err) {
    uint64_t data = 0;
    TARE_TRY(visit(s, 0, err));
    if (s->at != s->reader->size)
        return tare_fail_at(err, TARE_ERR_CORRUPT, s->at, "bytes behind the last value");
    if (!s->lists.n_tensors)
        return tare_fail_at(
            err, TARE_ERR_UNSUPPORTED, 0,
            "MessagePack without an array of Flax, which is all that is read of it");
    for (size_t i = 0; i < s->lists.n_tensors; i++) data += s->lists.tensors[i].span;
    s->m->directory_bytes += s->reader->size - data; /* no two have the same bytes */
    return TARE_OK;
}

static tare_status read_file(scan *s, tare_strided_set *set, tare_reader *reader, const char *name,
                             tare_error *err) {
    uint32_t file;
    TARE_TRY(read_values(s, err));
    TARE_TRY(tare_gathered_end(&s->lists, err));
    TARE_TRY(tare_model_add_file(s->m, reader, name, &file, err));
    return tare_strided_add(set, s->lists.tensors, s->lists.n_tensors, file, err);
}

tare_status tare_flax_add_file(tare_strided_set *set, tare_report *report, tare_reader *reader,
                               const char *name, tare_error *err) {
    scan s = {.m = set->m,
              .report = report,
              .reader = reader,
              .lists = {.m = set->m, .report = report, .code = "flax.unread-value"}};
    tare_buffer_init(&s.path, set->m->allocator);
    const tare_status status = read_file(&s, set, reader, name, err);
    tare_buffer_free(&s.path);
    tare_gathered_free(&s.lists);
    return status;
}

static tare_status open_flax(tare_model *m, const tare_open_context *ctx, tare_error *err) {
    tare_report *report = ctx->options->context->report;
    tare_strided_set set = {.m = m};
    if (ctx->source->kind == TARE_SOURCE_SHARDS)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "Flax's files are opened one by one, or as the folder with their index");
    TARE_TRY(tare_flax_add_file(&set, report, ctx->first, ctx->first->name, err));
    TARE_TRY(tare_strided_end(&set, err));
    return tare_model_finish(m, report, err);
}

/* A map whose first key is a word. */
static bool probe(const tare_probe *p) {
    tare_reader head;
    tare_msgpack map, key;
    uint64_t at = 0;
    if (p->is_directory || p->head_size < 8 || p->head[0] < 0x80) return false;
    tare_reader_memory(&head, p->head, p->head_size, "");
    if (tare_msgpack_next(&map, &head, &at, p->file_size, NULL) != TARE_OK ||
        map.kind != TARE_MSGPACK_MAP || !map.n ||
        tare_msgpack_next(&key, &head, &at, p->head_size, NULL) != TARE_OK ||
        key.kind != TARE_MSGPACK_TEXT || !key.n)
        return false;
    for (uint64_t i = key.payload; i < at; i++)
        if (p->head[i] <= ' ' || p->head[i] > '~') return false;
    return true;
}

static bool has_encoding(const tare_encoding *e) {
    return tare_numpy_has_encoding(e->id);
}

static const tare_format_caps caps = {
    .has_encoding = has_encoding,
    .max_dims = TARE_MAX_DIMS,
    .max_name = 65535,
    .takes_empty_name = true,
    .bytes_type = &tare_encoding_table[TARE_ENCODING_U8],
};

const tare_format tare_format_flax = {
    .name = "flax",
    .description = "Flax's MessagePack: maps of arrays",
    .suffix = ".msgpack",
    .caps = &caps,
    .read = {.probe = probe, .open = open_flax},
};
