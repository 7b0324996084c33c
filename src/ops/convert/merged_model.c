/* SPDX-License-Identifier: MIT
 *
 * A model with adapters merged into it, without a file: tensors that change lie in one that is
 * computed when it is read. So whatever renames or rearranges tensors may come after the merge. */
#include <string.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/str.h"
#include "base/thread_scratch.h"
#include "encoding/kernels.h"
#include "model/adapter_set.h"
#include "ops/convert/merge.h"
#include "ops/convert/type_rules.h"

enum { AT_ONCE = 1 << 14 /* elements */ };

/* A tensor of the computed file. */
typedef struct part {
    uint64_t start; /* first, for looking it up */
    size_t tensor;  /* of the input */
    const tare_encoding *type;
    uint64_t n_elements;
} part;

typedef struct merged {
    const tare_model *in;
    const tare_allocator *allocator;
    tare_merge *merge;
    part *parts;
    size_t n;
} merged;

/* ---- reading --------------------------------------------------------------------------------- */

/* Elements [first, first + n), at most AT_ONCE, as they would be stored. */
static tare_status compute(uint8_t *to, float *values, const merged *m, const part *p,
                           uint64_t first, uint64_t n, tare_scratch *scratch, tare_error *err) {
    TARE_TRY(tare_tensor_values_f32(values, m->in, p->tensor, first, n, err));
    TARE_TRY(tare_merge_add(m->merge, p->tensor, values, first, n, scratch, err));
    tare_round_floats(to, p->type->id, values, (size_t)n);
    if (tare_model_is_big_endian(m->in) == (bool)TARE_HOST_IS_BIG_ENDIAN) return TARE_OK;
    const tare_rows_mut rows = {.planes = {to}, .n_rows = 1, .cols = n};
    tare_swap_rows(&rows, p->type);
    return TARE_OK;
}

/* Bytes [from, from + n) of a tensor, wherever elements begin. */
static tare_status fetch_part(uint8_t *to, const merged *m, const part *p, uint64_t from, size_t n,
                              float *values, tare_scratch *scratch, tare_error *err) {
    uint8_t *aside = (uint8_t *)(values + AT_ONCE);
    const uint32_t width = p->type->planes[0].unit_bytes;
    while (n > 0) {
        const uint64_t first = from / width, skip = from % width;
        const uint64_t n_elements = tare_min_u64((skip + n + width - 1) / width, AT_ONCE);
        const size_t take = (size_t)tare_min_u64(n, n_elements * width - skip);
        const bool is_whole = take == n_elements * width;
        TARE_TRY(compute(is_whole ? to : aside, values, m, p, first, n_elements, scratch, err));
        if (!is_whole) memcpy(to, aside + skip, take);
        to += take;
        from += take;
        n -= take;
    }
    return TARE_OK;
}

static tare_status fetch_parts(uint8_t *to, const merged *m, uint64_t offset, size_t n,
                               float *values, tare_scratch *scratch, tare_error *err) {
    for (size_t i = tare_part_of(&m->parts->start, m->n, sizeof *m->parts, offset); n > 0; i++) {
        const part *p = &m->parts[i];
        const uint64_t from = offset - p->start;
        const size_t take =
            (size_t)tare_min_u64(n, p->n_elements * p->type->planes[0].unit_bytes - from);
        TARE_TRY(fetch_part(to, m, p, from, take, values, scratch, err));
        to += take;
        offset += take;
        n -= take;
    }
    return TARE_OK;
}

static tare_status fetch(void *ctx, uint64_t offset, void *buf, size_t n, tare_error *err) {
    const merged *m = ctx;
    tare_scratch *scratch = tare_scratch_new(1, m->allocator);
    float *values = tare_alloc(m->allocator, 2 * AT_ONCE * sizeof *values);
    tare_status status = scratch && values ? fetch_parts(buf, m, offset, n, values, scratch, err)
                                           : tare_fail(err, TARE_ERR_NOMEM, "merged numbers");
    tare_free(m->allocator, values, 2 * AT_ONCE * sizeof *values);
    if (scratch) tare_scratch_delete(scratch, 1, m->allocator);
    return status;
}

static void free_merged(void *data) {
    tare_merge_free(((merged *)data)->merge);
}

/* ---- the model ------------------------------------------------------------------------------- */

/* What a merged tensor is stored as: its own type if that is of plain floats. */
static const tare_encoding *type_of(const tare_model *in, size_t tensor) {
    const tare_encoding *e = in->catalog.tensors[tensor].encoding;
    const bool is_plain = e->id == TARE_ENCODING_F16 || e->id == TARE_ENCODING_BF16;
    return is_plain ? e : tare_encoding_get(TARE_ENCODING_F32);
}

static tare_status add_part(tare_model *out, merged *m, size_t i, uint32_t file, uint64_t *end,
                            tare_error *err) {
    const tare_tensor *from = &m->in->catalog.tensors[i];
    if (tare_tensor_is_part(m->in, i) || !tare_tensor_is_real(from))
        return tare_fail_tensor(err, TARE_ERR_UNSUPPORTED, from, i,
                                "an adapter applies to it, and it holds codes, not numbers: merge "
                                "the adapter into the model that was quantized");
    tare_tensor *t = &out->catalog.tensors[out->catalog.n_tensors];
    const part p = {*end, i, type_of(m->in, i), from->n_elements};
    *t = (tare_tensor){.name = from->name, .offset = from->offset};
    TARE_TRY(tare_tensor_set(out, t, p.type, from->dims, from->n_dims, file, *end, err));
    m->parts[m->n++] = p;
    return tare_add_u64(*end, t->size_bytes, end)
               ? TARE_OK
               : tare_fail(err, TARE_ERR_LIMIT, "size of all tensors");
}

static tare_status add_tensors(tare_model *out, merged *m, uint32_t file, tare_error *err) {
    const tare_catalog *c = &m->in->catalog;
    uint64_t end = 0;
    for (size_t i = 0; i < c->n_tensors; i++) {
        if (tare_merge_changes(m->merge, i))
            TARE_TRY(add_part(out, m, i, file, &end, err));
        else
            out->catalog.tensors[out->catalog.n_tensors] = c->tensors[i];
        out->catalog.n_tensors++;
    }
    out->files[file].reader.size = end;
    return TARE_OK;
}

static tare_status fill(tare_model *out, merged *m, tare_error *err) {
    const tare_model *in = m->in;
    tare_reader reader;
    uint32_t file;
    out->format = in->format;
    out->held_format = in->held_format;
    out->left_out = in->left_out;
    out->n_left_out = in->n_left_out;
    out->loss = in->loss;
    out->catalog = in->catalog;
    out->catalog.digests = NULL; /* of other bytes */
    out->catalog.n_tensors = 0;
    out->catalog.tensors = TARE_NEW_ARRAY(&out->arena, tare_tensor, in->catalog.n_tensors);
    m->parts = TARE_NEW_ARRAY(&out->arena, part, in->catalog.n_tensors);
    if (!out->catalog.tensors || !m->parts) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    TARE_TRY(tare_model_share_files(out, in, err));
    tare_reader_callback(&reader, NULL, m, 0, in->format);
    reader.fetch = fetch;
    TARE_TRY(tare_model_add_file(out, &reader, "merged", &file, err));
    out->files[file].is_decoded = out->files[file].is_merged = true;
    TARE_TRY(add_tensors(out, m, file, err));
    return tare_model_finish(out, NULL, err);
}

tare_status tare_adapters_merge(tare_model **out, const tare_model *in,
                                const tare_adapter_use *uses, size_t n_uses,
                                const tare_open_options *options, tare_error *err) {
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(in && uses && n_uses, err);
    tare_open_options o = tare_open_options_default();
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    tare_context context;
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    tare_model *model;
    if (!context.limits) context.limits = &in->limits;
    TARE_TRY(tare_model_new(&model, &context, err));
    merged *m = TARE_NEW(&model->arena, merged);
    tare_status status = m ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "model");
    if (m) {
        *m = (merged){.in = in, .allocator = context.allocator};
        model->private_data = m;
        model->free_private = free_merged;
        status =
            tare_merge_new(&m->merge, in, uses, n_uses, context.report, context.allocator, err);
    }
    if (status == TARE_OK) status = fill(model, m, err);
    for (size_t i = 0; status == TARE_OK && !model->loss.code && i < n_uses; i++)
        model->loss = tare_peft_loss(&uses[i].set->left);
    if (status == TARE_OK)
        *out = model;
    else
        tare_model_free(model);
    return status;
}
