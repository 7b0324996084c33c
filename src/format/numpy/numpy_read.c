/* SPDX-License-Identifier: MIT
 *
 * The NumPy driver, reading. An array is a magic, a version, the length of a header, the header, which
 * is a dict in Python's spelling (numpy.lib.format, versions 1 to 3), and the numbers; an .npz file is
 * a zip archive whose members NAME.npy are such. */
#include "base/arith.h"
#include "base/bytes.h"
#include "base/cursor.h"
#include "base/report.h"
#include "base/str.h"
#include "base/zip.h"
#include "encoding/table.h"
#include "format/format.h"
#include "format/numpy_type.h"
#include "format/strided.h"

#define MAGIC         "\x93NUMPY"
#define SUFFIX        ".npy"
#define INFLATED_MOST (UINT64_C(1) << 30)

/* 1,032 bytes come of a deflated one at most: a match of 258 bytes is two bits. */
enum { HEADER_MOST = 1 << 20, RATIO_MOST = 1032, FIRST_BYTES = 12 };

/* Bytes of the file, or such that are made from them. */
typedef struct run {
    uint64_t offset, size;
    const uint8_t *made; /* NULL: they are in the file, at `offset` */
} run;

typedef struct numpy_file {
    tare_model *m;
    tare_report *report;
    const tare_reader *reader;
    tare_strided_tensor *tensors;
    size_t n;
    uint64_t inflated; /* bytes */
} numpy_file;

static tare_status read_run(tare_str *out, numpy_file *f, const run *r, uint64_t at, uint64_t n,
                            tare_error *err) {
    uint8_t *bytes = r->made ? NULL : tare_arena_take(&f->m->arena, (size_t)n);
    *out = (tare_str){r->made ? (const char *)r->made + at : (const char *)bytes, (size_t)n};
    if (r->made) return TARE_OK;
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "header of an array");
    return tare_reader_read(f->reader, r->offset + at, bytes, (size_t)n, err);
}

/* ---- the header ------------------------------------------------------------------------------ */

typedef struct header {
    tare_str descr;
    bool is_record; /* descr is a list of fields */
    bool is_fortran;
    uint32_t n_dims;
    uint64_t dims[TARE_MAX_DIMS];
    unsigned seen; /* bits of the keys */
} header;

static bool wrong(tare_cursor *c, const char *what) {
    return tare_cursor_fail(c, TARE_ERR_CORRUPT, tare_cursor_offset(c), what);
}

static char next_char(tare_cursor *c) {
    while (tare_cursor_left(c) && strchr(" \t\r\n", *c->pos) && *c->pos)
        tare_cursor_u8(c, "header");
    return tare_cursor_left(c) ? (char)*c->pos : '\0';
}

/* Takes a character, after white space, if it is the next one. */
static bool take_char(tare_cursor *c, char want) {
    if (!want || next_char(c) != want) return false;
    tare_cursor_u8(c, "header");
    return true;
}

static bool take_text(tare_cursor *c, tare_str *out) {
    const char quote = next_char(c);
    if (quote != '\'' && quote != '"') return wrong(c, "header of an array: a text expected");
    const char *from = (const char *)c->pos + 1;
    const char *end = memchr(from, quote, (size_t)tare_cursor_left(c) - 1);
    if (!end) return wrong(c, "header of an array: a text without an end");
    *out = (tare_str){from, (size_t)(end - from)};
    tare_cursor_take(c, out->len + 2, "header");
    return !memchr(from, '\\', out->len) || wrong(c, "header of an array: an escaped character");
}

static bool take_bool(tare_cursor *c, bool *out) {
    static const char *const words[] = {"False", "True"};
    next_char(c);
    for (int i = 0; i < 2; i++) {
        const size_t n = strlen(words[i]);
        if (tare_cursor_left(c) < n || memcmp(c->pos, words[i], n) != 0) continue;
        tare_cursor_take(c, n, "header");
        *out = i == 1;
        return true;
    }
    return wrong(c, "header of an array: True or False expected");
}

/* A size; of Python 2, "3L". */
static bool take_size(tare_cursor *c, uint64_t *out) {
    char digit = next_char(c);
    if (digit < '0' || digit > '9') return wrong(c, "header of an array: a size expected");
    *out = 0;
    for (; digit >= '0' && digit <= '9'; digit = tare_cursor_left(c) ? (char)*c->pos : '\0') {
        if (!tare_mul_u64(*out, 10, out) || !tare_add_u64(*out, (uint64_t)(digit - '0'), out))
            return wrong(c, "header of an array: a size of more than 64 bits");
        tare_cursor_u8(c, "header");
    }
    take_char(c, 'L');
    return true;
}

static bool take_shape(tare_cursor *c, header *h) {
    uint64_t size = 0;
    if (!take_char(c, '(')) return wrong(c, "header of an array: a shape expected");
    while (!take_char(c, ')')) {
        if (!take_size(c, &size)) return false;
        if (h->n_dims == TARE_MAX_DIMS)
            return tare_cursor_fail(c, TARE_ERR_LIMIT, tare_cursor_offset(c),
                                    "number of dimensions");
        h->dims[h->n_dims++] = size;
        if (!take_char(c, ',') && next_char(c) != ')')
            return wrong(c, "header of an array: the end of a shape expected");
    }
    return true;
}

/* False: it failed, or what follows need not be read. */
static bool take_pair(tare_cursor *c, header *h) {
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    tare_str key;
    unsigned k = 0;
    if (!take_text(c, &key)) return false;
    while (k < 3 && !tare_str_is(key, keys[k])) k++;
    if (k == 3 || h->seen & 1u << k)
        return wrong(c, "header of an array: a key that it has already, or does not have");
    h->seen |= 1u << k;
    if (!take_char(c, ':')) return wrong(c, "header of an array: a value expected");
    h->is_record = k == 0 && (next_char(c) == '[' || next_char(c) == '(');
    if (h->is_record) return false;
    return k == 0   ? take_text(c, &h->descr)
           : k == 1 ? take_bool(c, &h->is_fortran)
                    : take_shape(c, h);
}

static tare_status read_dict(header *h, tare_str text, uint64_t offset, tare_error *err) {
    tare_cursor c;
    *h = (header){.seen = 0};
    tare_cursor_init(&c, text.ptr, text.len, offset);
    if (!take_char(&c, '{')) wrong(&c, "header of an array: a dict expected");
    while (tare_cursor_ok(&c) && !take_char(&c, '}')) {
        if (!take_pair(&c, h)) break;
        if (!take_char(&c, ',') && next_char(&c) != '}')
            wrong(&c, "header of an array: the end of the dict expected");
    }
    if (tare_cursor_ok(&c) && !h->is_record && (h->seen != 7 || next_char(&c) != '\0'))
        wrong(&c, "header of an array: not descr, fortran_order and shape, and no more");
    return tare_cursor_status(&c, err);
}

/* *data: bytes of the run before the numbers. */
static tare_status read_header(header *h, uint64_t *data, numpy_file *f, const run *r,
                               tare_error *err) {
    tare_str first, text;
    if (r->size < FIRST_BYTES)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, r->offset,
                            "header of an array: the file ends inside it");
    TARE_TRY(read_run(&first, f, r, 0, FIRST_BYTES, err));
    if (!tare_str_starts(first, TARE_STR(MAGIC)))
        return tare_fail_at(err, TARE_ERR_CORRUPT, r->offset, "array: not one of NumPy's");
    const uint8_t version = (uint8_t)first.ptr[6];
    if (version < 1 || version > 3)
        return tare_fail_at(err, TARE_ERR_UNSUPPORTED, r->offset + 6,
                            "array: of another version than 1, 2 and 3");
    const uint64_t from = version == 1 ? 10 : 12;
    const uint64_t n = version == 1 ? tare_load_le16(first.ptr + 8) : tare_load_le32(first.ptr + 8);
    if (n > HEADER_MOST)
        return tare_fail_at(err, TARE_ERR_LIMIT, r->offset + 8, "bytes of an array's header");
    *data = from + n;
    if (*data > r->size)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, r->offset + 8,
                            "header of an array: beyond the end");
    f->m->directory_bytes += *data;
    TARE_TRY(read_run(&text, f, r, from, n, err));
    return read_dict(h, text, r->offset + from, err);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static void set_strides(tare_strided_tensor *t, const header *h) {
    uint64_t step = 1; /* that it overflows tare_strided_measure finds */
    t->n_dims = h->n_dims;
    memcpy(t->dims, h->dims, sizeof t->dims);
    for (uint32_t i = 0; i < t->n_dims; i++) {
        const uint32_t d = h->is_fortran ? i : t->n_dims - 1 - i;
        t->strides[d] = step;
        if (!tare_mul_u64(step, tare_max_u64(t->dims[d], 1), &step)) step = UINT64_MAX;
    }
}

static void report(const numpy_file *f, tare_level level, tare_status status, const char *code,
                   tare_str name, uint64_t offset, const char *text) {
    tare_finding finding = TARE_FINDING(WARNING, TARE_OK, code);
    finding.level = level;
    finding.status = status;
    finding.offset = offset;
    finding.item_kind = TARE_ITEM_TENSOR;
    finding.item_name = name;
    finding.text = tare_str_of(text);
    tare_report_add(f->report, &finding);
}

static tare_status place(tare_strided_tensor *t, const numpy_file *f, const run *r, uint64_t data,
                         tare_error *err) {
    t->made = r->made ? r->made + data : NULL;
    t->offset = r->made ? 0 : r->offset + data;
    if (!tare_strided_measure(t))
        return tare_fail_at(err, TARE_ERR_LIMIT, r->offset, "array: its shape overflows");
    if (t->span > r->size - data)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, r->offset + (r->made ? 0 : r->size),
                            "array: fewer bytes than its shape says");
    if (t->span < r->size - data)
        report(f, TARE_LEVEL_WARNING, TARE_ERR_CORRUPT, "numpy.more-bytes", t->name,
               r->made ? r->offset : t->offset + t->span,
               "more bytes than its shape says, which NumPy ignores");
    return TARE_OK;
}

/* *why is not NULL: it is none that can be read, and this says what. */
static tare_status read_array(tare_strided_tensor *t, const char **why, numpy_file *f, const run *r,
                              tare_error *err) {
    header h;
    uint64_t data = 0;
    tare_numpy_type type;
    TARE_TRY(read_header(&h, &data, f, r, err));
    *why = tare_numpy_type_read(&type, h.is_record ? TARE_STR("V") : h.descr);
    if (*why) return TARE_OK;
    if (type.is_guessed)
        report(f, TARE_LEVEL_INFO, TARE_ERR_UNSUPPORTED, "numpy.guessed-type", t->name, r->offset,
               "two bytes of no type, read as bfloat16, which ml_dtypes and MLX write so");
    t->record = r->offset;
    t->encoding = tare_encoding_get(type.encoding);
    t->bytes = type.bytes;
    t->swapped = type.is_big_endian ? type.number : 0;
    set_strides(t, &h);
    return place(t, f, r, data, err);
}

/* ---- archives -------------------------------------------------------------------------------- */

static tare_status open_member(run *out, numpy_file *f, const tare_zip_member *m, tare_error *err) {
    *out = (run){.offset = m->offset, .size = m->size};
    if (m->method != TARE_ZIP_DEFLATED) return tare_zip_check_stored(m, err);
    if (m->size / RATIO_MOST > m->stored)
        return tare_fail_at(err, TARE_ERR_CORRUPT, m->record + 24,
                            "zip: more bytes than can have been deflated");
    f->inflated += m->size;
    if (m->size > INFLATED_MOST || f->inflated > INFLATED_MOST)
        return tare_fail_at(err, TARE_ERR_LIMIT, m->record + 24,
                            "deflated arrays of more than 1 GiB: save them with numpy.savez, "
                            "which does not compress them");
    uint8_t *made = tare_arena_take(&f->m->arena, (size_t)m->size);
    if (!made) return tare_fail(err, TARE_ERR_NOMEM, "deflated array");
    out->made = made;
    return tare_zip_inflate(made, f->reader, m, err);
}

static void leave_out(numpy_file *f, const tare_zip_member *m, tare_str name, const char *code,
                      const char *why) {
    f->m->left_out[f->m->n_left_out++] = (tare_left_out){name, code, why};
    report(f, TARE_LEVEL_WARNING, TARE_ERR_UNSUPPORTED, code, name, m->record, why);
}

static tare_status add_member(numpy_file *f, const tare_zip_member *m, tare_error *err) {
    tare_strided_tensor *t = &f->tensors[f->n];
    const char *why;
    run r;
    const tare_str name = tare_arena_str(&f->m->arena, m->name);
    if (!name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "names of arrays");
    if (tare_str_ends(name, TARE_STR("/")) && m->size == 0) return TARE_OK; /* a folder */
    if (!tare_str_ends(name, TARE_STR(SUFFIX))) {
        leave_out(f, m, name, "numpy.left-out", "a member of the archive that is not an array");
        return TARE_OK;
    }
    *t = (tare_strided_tensor){.name = {name.ptr, name.len - strlen(SUFFIX)}};
    TARE_TRY(open_member(&r, f, m, err));
    TARE_TRY(read_array(t, &why, f, &r, err));
    if (why)
        leave_out(f, m, t->name, "numpy.unread-array", why);
    else
        f->n++;
    return TARE_OK;
}

static tare_status read_archive(numpy_file *f, tare_zip *zip, tare_arena *scratch,
                                tare_error *err) {
    TARE_TRY(tare_zip_read(zip, f->reader, f->m->limits.metadata_bytes, scratch, err));
    if (zip->n > f->m->limits.tensors) return tare_fail(err, TARE_ERR_LIMIT, "number of tensors");
    f->m->directory_bytes = zip->directory_bytes;
    f->tensors = TARE_NEW_ARRAY(scratch, tare_strided_tensor, zip->n);
    f->m->left_out = TARE_NEW_ARRAY(&f->m->arena, tare_left_out, zip->n);
    if (!f->tensors || !f->m->left_out) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    for (size_t i = 0; i < zip->n; i++) {
        const tare_status status = add_member(f, &zip->members[i], err);
        if (status != TARE_OK && status != TARE_ERR_NOMEM)
            tare_error_item(err, TARE_ITEM_RESOURCE, -1, zip->members[i].name);
        TARE_TRY(status);
    }
    return TARE_OK;
}

/* NumPy's own name for an array that has none. */
static tare_status read_one(numpy_file *f, tare_arena *scratch, tare_error *err) {
    const run all = {.size = f->reader->size};
    const char *why;
    f->tensors = TARE_NEW(scratch, tare_strided_tensor);
    if (!f->tensors) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    f->tensors->name = TARE_STR("arr_0");
    TARE_TRY(read_array(f->tensors, &why, f, &all, err));
    if (why) return tare_fail_at(err, TARE_ERR_UNSUPPORTED, 0, why);
    f->n = 1;
    return TARE_OK;
}

/* ---- the driver ------------------------------------------------------------------------------ */

static tare_status read_file(numpy_file *f, const tare_open_context *ctx, tare_arena *scratch,
                             tare_error *err) {
    tare_strided_set set = {.m = f->m};
    uint32_t file;
    const bool is_zip = tare_zip_probe(ctx->probe->head, ctx->probe->head_size);
    tare_zip zip = {0};
    TARE_TRY(is_zip ? read_archive(f, &zip, scratch, err) : read_one(f, scratch, err));
    TARE_TRY(tare_model_add_file(f->m, ctx->first, ctx->first->name, &file, err));
    TARE_TRY(tare_model_state_members(f->m, &zip, 0, file, err));
    TARE_TRY(tare_strided_add(&set, f->tensors, f->n, file, err));
    TARE_TRY(tare_strided_end(&set, err));
    return tare_model_finish(f->m, f->report, err);
}

static tare_status open_numpy(tare_model *m, const tare_open_context *ctx, tare_error *err) {
    numpy_file f = {.m = m, .report = ctx->options->context->report, .reader = ctx->first};
    tare_arena scratch;
    if (ctx->source->kind == TARE_SOURCE_SHARDS)
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "NumPy's files are opened one by one");
    tare_arena_init(&scratch, m->allocator);
    const tare_status status = read_file(&f, ctx, &scratch, err);
    tare_arena_free(&scratch);
    return status;
}

/* An archive by the name of its first member. */
static bool probe(const tare_probe *p) {
    const tare_str head = tare_probe_text(p);
    if (p->is_directory) return false;
    if (tare_str_starts(head, TARE_STR(MAGIC))) return true;
    if (!tare_zip_probe(p->head, p->head_size) || p->head_size < 30) return false;
    const size_t n = tare_load_le16(p->head + 26);
    return n <= p->head_size - 30 && tare_str_ends((tare_str){head.ptr + 30, n}, TARE_STR(SUFFIX));
}

static bool has_encoding(const tare_encoding *e) {
    return tare_numpy_has_encoding(e->id);
}

static const tare_format_caps caps = {
    .has_encoding = has_encoding,
    .max_dims = TARE_MAX_DIMS,
    .max_name = 65535 - sizeof SUFFIX + 1,
    .takes_empty_name = true,
    .bytes_type = &tare_encoding_table[TARE_ENCODING_U8],
};

const tare_format tare_format_numpy = {
    .name = "numpy",
    .description = "NumPy's arrays, one (.npy) or an archive of them (.npz)",
    .suffix = ".npz",
    .caps = &caps,
    .read = {.probe = probe, .open = open_numpy},
};
