/* SPDX-License-Identifier: MIT
 *
 * Fields of a model of ONNX: their types, and their texts. */
#include "base/arith.h"
#include "format/onnx/onnx.h"

tare_status tare_onnx_expect(const tare_protobuf_field *f, tare_protobuf_wire wire,
                             const char *what, tare_error *err) {
    if (f->wire == wire) return TARE_OK;
    return tare_fail_at(err, TARE_ERR_CORRUPT, f->offset, what);
}

bool tare_onnx_is_too_much(const tare_onnx_model *o) {
    const uint64_t most = (UINT64_C(1) << 26) + 2 * o->main.size;
    return o->copied > tare_min_u64(o->m->limits.metadata_bytes, most);
}

tare_status tare_onnx_copy(tare_str *out, tare_onnx_model *o, tare_protobuf_range range,
                           uint64_t most, tare_arena *arena, const char *what, tare_error *err) {
    const uint64_t n = range.end - range.at;
    o->copied += n;
    if (n > most || tare_onnx_is_too_much(o))
        return tare_fail_at(err, TARE_ERR_LIMIT, range.at, what);
    char *text = tare_arena_take(arena, (size_t)n + 1);
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, what);
    *out = (tare_str){text, (size_t)n};
    return tare_reader_read(o->file.reader, range.at, text, (size_t)n, err);
}

tare_status tare_onnx_text(tare_str *out, tare_onnx_model *o, tare_protobuf_range range,
                           const char *what, tare_error *err) {
    return tare_onnx_copy(out, o, range, o->m->limits.name_bytes, &o->m->arena, what, err);
}
