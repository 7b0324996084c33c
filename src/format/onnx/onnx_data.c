/* SPDX-License-Identifier: MIT
 *
 * Where the numbers of a tensor of ONNX are: raw bytes or a run of floats in the file, bytes of a file
 * beside it, or numbers of any length one after the other, of which the bytes are made. */
#include "base/arith.h"
#include "base/bytes.h"
#include "base/report.h"
#include "base/str.h"
#include "format/onnx/onnx.h"

#define MADE_MOST (UINT64_C(1) << 30)

/* ---- numbers one after the other ------------------------------------------------------------- */

/* Where bytes are made, of numbers of `unit` bytes. */
typedef struct maker {
    uint8_t *to, *end;
    unsigned unit;
    bool is_signed_field; /* numbers are signed 32- or 64-bit ones */
} maker;

static bool put(maker *k, uint64_t value) {
    const unsigned bits = 8 * k->unit;
    const int64_t number = (int64_t)value;
    const bool fits = bits == 64 || value >> bits == 0 ||
                      (k->is_signed_field && number < 0 && number >= -(INT64_C(1) << (bits - 1)));
    if (!fits || (size_t)(k->end - k->to) < k->unit) return false;
    for (unsigned i = 0; i < k->unit; i++) k->to[i] = (uint8_t)(value >> 8 * i);
    k->to += k->unit;
    return true;
}

static tare_status fail_number(uint64_t offset, tare_error *err) {
    return tare_fail_at(err, TARE_ERR_CORRUPT, offset,
                        "more numbers than the shape says, or one that the type cannot hold");
}

enum { RUN_WINDOW = 65536, NUMBER_MOST = 10 };

/* A run of packed numbers, in pieces. */
static tare_status put_run(maker *k, tare_onnx_model *o, tare_protobuf_range run, bool is_fixed,
                           tare_error *err) {
    if (!o->window) o->window = tare_arena_take(&o->scratch, RUN_WINDOW);
    if (!o->window) return tare_fail(err, TARE_ERR_NOMEM, "numbers of a tensor");
    while (run.at < run.end) {
        const size_t n = (size_t)tare_min_u64(run.end - run.at, RUN_WINDOW);
        const bool is_last = n == run.end - run.at;
        tare_cursor c;
        TARE_TRY(tare_reader_read(o->file.reader, run.at, o->window, n, err));
        tare_cursor_init(&c, o->window, n, run.at);
        while (tare_cursor_left(&c) && (is_last || tare_cursor_left(&c) >= NUMBER_MOST)) {
            const uint64_t at = tare_cursor_offset(&c);
            const uint64_t value = !is_fixed      ? tare_protobuf_varint(&c, "number")
                                   : k->unit == 4 ? tare_cursor_u32(&c, "number")
                                                  : tare_cursor_u64(&c, "number");
            if (!tare_cursor_ok(&c)) return tare_cursor_status(&c, err);
            if (!put(k, value)) return fail_number(at, err);
        }
        run.at = tare_cursor_offset(&c);
    }
    return TARE_OK;
}

static tare_status make(uint8_t **out, tare_onnx_model *o, const tare_onnx_record *r, uint64_t size,
                        tare_error *err) {
    tare_protobuf_range rest = r->all;
    tare_protobuf_field f;
    bool more;
    o->made += size;
    if (size > MADE_MOST || o->made > MADE_MOST)
        return tare_fail_at(err, TARE_ERR_LIMIT, r->all.at,
                            "numbers outside raw_data that take more than 1 GiB: save the model "
                            "with onnx.save_model(..., save_as_external_data=True)");
    if (size > (r->all.end - r->all.at) * 8) /* a number is a byte or more */
        return tare_fail_at(err, TARE_ERR_TRUNCATED, r->all.at,
                            "fewer numbers than the shape says");
    *out = tare_arena_take(&o->m->arena, (size_t)size);
    if (!*out) return tare_fail(err, TARE_ERR_NOMEM, "numbers of a tensor");
    maker k = {.to = *out,
               .end = *out + size,
               .unit = r->type->unit,
               .is_signed_field = r->type->typed == TARE_ONNX_TYPED_INT32 ||
                                  r->type->typed == TARE_ONNX_TYPED_INT64};
    const bool is_fixed =
        r->type->typed == TARE_ONNX_TYPED_FLOAT || r->type->typed == TARE_ONNX_TYPED_DOUBLE;
    const tare_protobuf_wire wire = !is_fixed     ? TARE_PROTOBUF_VARINT
                                    : k.unit == 4 ? TARE_PROTOBUF_FIXED32
                                                  : TARE_PROTOBUF_FIXED64;
    for (;;) {
        TARE_TRY(tare_protobuf_step(&f, &more, &o->file, &rest, err));
        if (!more) break;
        if (f.number != (uint32_t)r->type->typed) continue;
        if (f.wire == TARE_PROTOBUF_BYTES) {
            TARE_TRY(put_run(&k, o, f.range, is_fixed, err));
            continue;
        }
        TARE_TRY(tare_onnx_expect(&f, wire, "numbers of another form than their field has", err));
        if (!put(&k, f.value)) return fail_number(f.offset, err);
    }
    if (k.to == k.end) return TARE_OK;
    return tare_fail_at(err, TARE_ERR_TRUNCATED, r->all.at, "fewer numbers than the shape says");
}

/* ---- files beside the model ------------------------------------------------------------------ */

/* Opens a file of the model's folder, which the model then has. */
static tare_status open_beside(tare_onnx_model *o, tare_str location, tare_error *err) {
    const char *path = tare_join_path(&o->m->arena, o->folder, location);
    tare_reader reader;
    uint32_t file;
    if (!path) return tare_fail(err, TARE_ERR_NOMEM, "files beside the model");
    tare_status status =
        tare_files_open(o->ctx->probe->files, &reader, path, o->ctx->options->map, err);
    if (status == TARE_OK) {
        status = tare_model_add_file(o->m, &reader, path, &file, err);
        tare_reader_close(&reader);
        return status;
    }
    if (err && tare_error_is_absent(err))
        err->what = "the file beside the model that its tensors are in is missing";
    tare_error_file(err, path);
    return status;
}

/* The number of the file of this name. */
static tare_status find_beside(uint32_t *out, tare_onnx_model *o, tare_str location,
                               tare_error *err) {
    size_t i = o->n_beside;
    void *items = o->beside;
    if (tare_str_starts(location, TARE_STR("./"))) location = tare_str_cut(location, 2);
    while (i > 0 && !tare_str_equal(o->beside[i - 1], location)) i--;
    *out = (uint32_t)(i ? i : o->n_beside + 1);
    if (i) return TARE_OK;
    if (!o->folder)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "its data is in a file beside the model: open the model by its path");
    if (!tare_is_inner_path(location))
        return tare_fail(err, TARE_ERR_CORRUPT,
                         "external_data: location: not the name of a file in the model's folder");
    if (o->n_beside >= o->m->limits.shards)
        return tare_fail(err, TARE_ERR_LIMIT, "number of files beside the model");
    if (!tare_grow(o->m->allocator, &items, &o->beside_capacity, o->n_beside + 1,
                   sizeof *o->beside))
        return tare_fail(err, TARE_ERR_NOMEM, "files beside the model");
    o->beside = items;
    TARE_TRY(open_beside(o, location, err));
    o->beside[o->n_beside++] = location;
    return TARE_OK;
}

/* ONNX calls it the SHA-1 of the file, and says of no program that it writes or compares one. */
static void tell_checksum(tare_onnx_model *o, const tare_onnx_record *r) {
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "onnx.checksum");
    if (!r->has_checksum || o->has_told_checksum) return;
    o->has_told_checksum = true;
    f.offset = r->all.at;
    f.item_kind = TARE_ITEM_TENSOR;
    f.item_name = r->name;
    f.text = TARE_STR("external_data: checksum: tare does not compare it with the file");
    tare_report_add(o->report, &f);
}

static tare_status place_beside(tare_strided_tensor *t, tare_onnx_model *o,
                                const tare_onnx_record *r, tare_error *err) {
    uint64_t end;
    if (r->has_raw || r->n_runs)
        return tare_fail_at(err, TARE_ERR_CORRUPT, r->all.at,
                            "a tensor with data both in this file and in another");
    TARE_TRY(find_beside(&t->file, o, r->location, err));
    tell_checksum(o, r);
    const tare_reader *reader = &o->m->files[t->file].reader;
    if (r->has_length && r->length != t->span)
        return tare_fail_at(err, TARE_ERR_CORRUPT, r->all.at,
                            "external_data: length: not the bytes of the tensor's shape");
    t->offset = r->offset;
    if (tare_add_u64(r->offset, t->span, &end) && end <= reader->size) return TARE_OK;
    tare_fail(err, TARE_ERR_TRUNCATED, "data of a tensor beyond the end of the file");
    tare_error_file(err, reader->name);
    return TARE_ERR_TRUNCATED;
}

/* ---- places ---------------------------------------------------------------------------------- */

static bool begin(tare_strided_tensor *t, const tare_onnx_record *r) {
    *t = (tare_strided_tensor){.name = r->name,
                               .encoding = tare_encoding_get(r->type->encoding),
                               .bytes = r->type->bits >= 8 ? r->type->bits / 8u : 1,
                               .record = r->all.at,
                               .n_dims = r->n_dims};
    const bool is_code = r->type->bits < 8 && r->type->encoding != TARE_ENCODING_F4;
    t->code_bits = is_code ? r->type->bits : 0;
    t->is_signed = r->type->is_signed;
    memcpy(t->dims, r->dims, sizeof t->dims);
    tare_strided_by_rows(t);
    if (!tare_strided_measure(t)) return false;
    if (r->type->encoding == TARE_ENCODING_F4) t->span = tare_ceil_div_u64(t->span, 2);
    return true;
}

static tare_status place_here(tare_strided_tensor *t, tare_onnx_model *o, const tare_onnx_record *r,
                              tare_error *err) {
    const bool is_floats =
        r->type->typed == TARE_ONNX_TYPED_FLOAT || r->type->typed == TARE_ONNX_TYPED_DOUBLE;
    const tare_protobuf_range *run = r->has_raw ? &r->raw : &r->run;
    uint8_t *made;
    if (r->has_raw && r->n_runs)
        return tare_fail_at(err, TARE_ERR_CORRUPT, r->all.at,
                            "a tensor with both raw_data and numbers in a field of their own");
    if (t->span && !r->has_raw && !(is_floats && r->n_runs == 1)) {
        TARE_TRY(make(&made, o, r, t->span, err));
        t->made = made;
        t->is_view = true;
        return TARE_OK;
    }
    t->offset = run->at;
    if (run->end - run->at == t->span) return TARE_OK;
    return tare_fail_at(err, run->end - run->at < t->span ? TARE_ERR_TRUNCATED : TARE_ERR_CORRUPT,
                        r->all.at, "data of a tensor: not the bytes of its shape");
}

tare_status tare_onnx_place(tare_strided_tensor *t, const char **why, tare_onnx_model *o,
                            const tare_onnx_record *r, tare_error *err) {
    *why = r->type->why;
    if (r->is_segment) *why = "a tensor in segments";
    if (*why) return TARE_OK;
    if (!begin(t, r)) return tare_fail_at(err, TARE_ERR_LIMIT, r->all.at, "shape: it overflows");
    if (r->type->encoding == TARE_ENCODING_F4 && t->n_dims && t->dims[t->n_dims - 1] % 2)
        *why = "a tensor of floats of 4 bits whose rows end inside a byte";
    if (r->type->encoding == TARE_ENCODING_F4 && !t->n_dims)
        *why = "a tensor of floats of 4 bits that is a single one";
    if (*why) return TARE_OK;
    return r->is_external ? place_beside(t, o, r, err) : place_here(t, o, r, err);
}

/* ---- the end --------------------------------------------------------------------------------- */

tare_status tare_onnx_end(tare_onnx_model *o, tare_error *err) {
    tare_model *m = o->m;
    tare_strided_set set = {.m = m};
    TARE_TRY(tare_strided_add(&set, o->lists.tensors, o->lists.n_tensors, 0, err));
    TARE_TRY(tare_strided_end(&set, err));
    return tare_gathered_end(&o->lists, err);
}
