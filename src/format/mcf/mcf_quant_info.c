/* SPDX-License-Identifier: MIT
 *
 * MCF's QuantInfo: a record for each quantized tensor, which repeats what the tensor's type says
 * and adds the bounds its values were clamped to (MCF specification, "QuantInfo Section Payload").
 * Only int8 and int4 need it; faults in it are findings. The specification has a record for each
 * tensor, the public implementation for each quantized one: both are read. */
#include "base/arith.h"
#include "base/bytes.h"
#include "base/str.h"
#include "format/mcf/mcf.h"

#define HEADER_BYTES 8
#define RECORD_BYTES 24
#define RESERVED     6

/* ---- reading --------------------------------------------------------------------------------- */

static void take_record(tare_cursor *c, tare_mcf_quant *q) {
    q->at = tare_cursor_offset(c);
    q->tensor = tare_cursor_u32(c, "TensorIndex");
    q->method = tare_cursor_u8(c, "Method");
    q->domain = tare_cursor_u8(c, "Domain");
    q->block = tare_cursor_u16(c, "BlockSize");
    q->super = tare_cursor_u16(c, "SuperSize");
    for (int i = 0; i < RESERVED; i++) q->has_reserved |= tare_cursor_u8(c, "Reserved") != 0;
    q->min = tare_f32_of_bits(tare_cursor_u32(c, "MinClip"));
    q->max = tare_f32_of_bits(tare_cursor_u32(c, "MaxClip"));
}

tare_status tare_mcf_read_quant_info(tare_mcf_reader *r, tare_error *err) {
    const tare_mcf_section *s = tare_mcf_find(r, TARE_MCF_QUANT_INFO);
    tare_cursor c;
    if (!s) return TARE_OK;
    TARE_TRY(tare_mcf_load(r, s, 0, s->size, &c, err));
    uint32_t version = tare_cursor_u32(&c, "QuantInfo: Version");
    if (tare_cursor_ok(&c) && version != 1) {
        tare_mcf_report(r, TARE_LEVEL_ERROR, "mcf.quant-version", -1, s->offset,
                        "QuantInfo has a version that is not known: ignored");
        return TARE_OK;
    }
    uint32_t n = tare_cursor_u32(&c, "QuantInfo: RecordCount");
    tare_cursor_fits(&c, n, RECORD_BYTES, s->offset + 4, "QuantInfo: RecordCount");
    TARE_TRY(tare_cursor_status(&c, err));
    r->quants = TARE_NEW_ARRAY(&r->m->arena, tare_mcf_quant, n);
    if (!r->quants) return tare_fail(err, TARE_ERR_NOMEM, "QuantInfo");
    for (r->n_quants = 0; r->n_quants < n; r->n_quants++) take_record(&c, &r->quants[r->n_quants]);
    if (tare_cursor_left(&c))
        tare_mcf_report(r, TARE_LEVEL_ERROR, "mcf.quant-size", -1, tare_cursor_offset(&c),
                        "QuantInfo continues after its last record");
    return tare_cursor_status(&c, err);
}

static void check_record(const tare_mcf_reader *r, const tare_mcf_quant *q, uint32_t dtype) {
    const int64_t i = q->tensor;
    const tare_encoding *encoding = r->m->catalog.tensors[i].encoding;
    uint16_t block, super;
    bool is_plain = !tare_mcf_is_int(dtype) && !tare_mcf_is_block(dtype);
    if (is_plain && q->method == 0) return; /* one of a record for each tensor */
    if (q->method != dtype)
        tare_mcf_report(r, TARE_LEVEL_ERROR, "mcf.quant-method", i, q->at + 4,
                        "Method is not the tensor's type");
    if (q->domain > 1 || (q->domain && tare_mcf_is_block(dtype)))
        tare_mcf_report(r, TARE_LEVEL_ERROR, "mcf.quant-domain", i, q->at + 5,
                        "Domain: expected 0, or 1 for int8 and int4");
    if (tare_mcf_is_int(dtype) && encoding->id != TARE_ENCODING_UNKNOWN &&
        encoding != tare_mcf_encoding_of(dtype, q->domain == 1))
        tare_mcf_report(r, TARE_LEVEL_ERROR, "mcf.quant-domain", i, q->at + 5,
                        "Domain does not go with the size of the tensor's data");
    tare_mcf_block_sizes(dtype, &block, &super);
    if (q->block != block || q->super != super)
        tare_mcf_report(r, TARE_LEVEL_ERROR, "mcf.quant-block", i, q->at + 6,
                        "BlockSize and SuperSize are not those of the type");
    if (q->has_reserved)
        tare_mcf_report(r, TARE_LEVEL_ERROR, "mcf.quant-reserved", i, q->at + 10,
                        "Reserved bytes are not 0");
    if (!(q->min <= q->max))
        tare_mcf_report(r, TARE_LEVEL_ERROR, "mcf.quant-clip", i, q->at + 16,
                        "MinClip is not at most MaxClip");
}

static tare_status check_all(tare_mcf_reader *r, const uint32_t *dtypes, tare_error *err) {
    tare_catalog *c = &r->m->catalog;
    tare_value_bounds *bounds = TARE_NEW_ARRAY(&r->m->arena, tare_value_bounds, c->n_tensors);
    if (!bounds) return tare_fail(err, TARE_ERR_NOMEM, "QuantInfo");
    for (size_t i = 0; i < r->n_quants; i++) {
        const tare_mcf_quant *q = &r->quants[i];
        if (q->tensor >= c->n_tensors) {
            tare_mcf_report(r, TARE_LEVEL_ERROR, "mcf.quant-index", -1, q->at,
                            "TensorIndex: number of a tensor out of range");
        } else if (bounds[q->tensor].is_known) {
            tare_mcf_report(r, TARE_LEVEL_ERROR, "mcf.quant-twice", q->tensor, q->at,
                            "a second record for one tensor: ignored");
        } else {
            check_record(r, q, dtypes[q->tensor]);
            bounds[q->tensor] = (tare_value_bounds){q->min, q->max, true};
        }
    }
    for (size_t i = 0; i < c->n_tensors; i++)
        if (!bounds[i].is_known && c->tensors[i].encoding->kind == TARE_KIND_BLOCK)
            tare_mcf_report(r, TARE_LEVEL_WARNING, "mcf.quant-missing", (int64_t)i,
                            c->tensors[i].offset, "a quantized tensor without QuantInfo");
    c->bounds = bounds;
    return TARE_OK;
}

tare_status tare_mcf_check_quants(tare_mcf_reader *r, const uint32_t *dtypes, tare_error *err) {
    if (r->m->catalog.n_tensors) return check_all(r, dtypes, err);
    for (size_t i = 0; i < r->n_quants; i++)
        tare_mcf_report(r, TARE_LEVEL_ERROR, "mcf.quant-index", -1, r->quants[i].at,
                        "TensorIndex: number of a tensor out of range");
    return TARE_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Stored codes that only this format has, whatever can be made of them. */
static bool is_quantized(const tare_tensor *t, uint32_t *dtype) {
    if (t->encoding->kind == TARE_KIND_UNKNOWN) {
        *dtype = t->native_type;
        return tare_mcf_is_int(t->native_type);
    }
    return t->encoding->kind == TARE_KIND_BLOCK && tare_mcf_dtype_of(t->encoding, dtype);
}

static void put_u16(tare_buffer *out, uint16_t v) {
    tare_buffer_put_u8(out, (uint8_t)v);
    tare_buffer_put_u8(out, (uint8_t)(v >> 8));
}

void tare_mcf_put_quant_info(tare_buffer *out, const tare_mcf_writer *w) {
    uint32_t n = 0, dtype;
    for (size_t k = 0; k < w->c->n_tensors; k++) n += is_quantized(&w->c->tensors[k], &dtype);
    if (n == 0) return;
    tare_buffer_put_u32(out, 1, false);
    tare_buffer_put_u32(out, n, false);
    for (size_t k = 0; k < w->c->n_tensors; k++) {
        const tare_tensor *t = &w->c->tensors[w->order[k]];
        uint16_t block, super;
        if (!is_quantized(t, &dtype)) continue;
        tare_value_bounds b = {0};
        if (w->c->bounds) b = w->c->bounds[w->order[k]];
        tare_mcf_block_sizes(dtype, &block, &super);
        tare_buffer_put_u32(out, (uint32_t)k, false);
        tare_buffer_put_u8(out, (uint8_t)dtype);
        tare_buffer_put_u8(out, t->encoding->id == TARE_ENCODING_MCF_INT8_ZERO ||
                                    t->encoding->id == TARE_ENCODING_MCF_INT4_ZERO);
        put_u16(out, block);
        put_u16(out, super);
        tare_buffer_put_zeros(out, RESERVED);
        tare_buffer_put_u32(out, tare_f32_bits(b.min), false);
        tare_buffer_put_u32(out, tare_f32_bits(b.max), false);
    }
}
