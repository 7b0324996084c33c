/* SPDX-License-Identifier: MIT
 *
 * The list of tensors that a mapping makes, and those of it whose numbers are computed at once. */
#include "base/arith.h"
#include "base/bytes.h"
#include "base/str.h"
#include "llama/mapping.h"

tare_status tare_llama_target_add(tare_llama_mapping *m, tare_llama_target *t, tare_error *err) {
    if (!tare_grow(m->out->allocator, (void **)&m->targets, &m->targets_capacity, m->n_targets + 1,
                   sizeof *m->targets))
        return tare_fail(err, TARE_ERR_NOMEM, "list of tensors");
    m->targets[m->n_targets++] = t;
    return TARE_OK;
}

const tare_llama_target *tare_llama_target_named(const tare_llama_mapping *m, tare_str name) {
    for (size_t i = 0; i < m->n_targets; i++)
        if (tare_str_equal(m->targets[i]->name, name)) return m->targets[i];
    return NULL;
}

bool tare_llama_has_target(const tare_llama_mapping *m, tare_str name) {
    return tare_llama_target_named(m, name) != NULL;
}

tare_llama_target *tare_llama_target_new(tare_llama_mapping *m, tare_str name, size_t n_pieces) {
    tare_llama_target *t = TARE_NEW(&m->out->arena, tare_llama_target);
    if (!t) return NULL;
    t->name = name;
    t->n_pieces = n_pieces;
    t->pieces = TARE_NEW_ARRAY(&m->out->arena, tare_piece, n_pieces);
    t->operation = "";
    return t->pieces ? t : NULL;
}

tare_status tare_llama_generate_shaped(tare_llama_mapping *m, const char *name, const float *values,
                                       const uint64_t *dims, uint32_t n_dims, tare_error *err) {
    size_t n = 1;
    for (uint32_t d = 0; d < n_dims; d++) n *= (size_t)dims[d];
    tare_llama_target *t = tare_llama_target_new(m, tare_str_of(name), 0);
    uint8_t *bytes = tare_arena_array(&m->out->arena, n, sizeof(float));
    if (!t || !bytes) return tare_fail(err, TARE_ERR_NOMEM, "tensor");
    for (size_t i = 0; i < n; i++) tare_store_le32(bytes + 4 * i, tare_f32_bits(values[i]));
    t->encoding = tare_encoding_get(TARE_ENCODING_F32);
    t->bytes = bytes;
    t->size = n * sizeof(float);
    t->operation = "generated";
    t->n_dims = n_dims;
    for (uint32_t d = 0; d < n_dims; d++) t->dims[d] = dims[d];
    return tare_llama_target_add(m, t, err);
}

tare_status tare_llama_generate(tare_llama_mapping *m, const char *name, const float *values,
                                size_t n, tare_error *err) {
    const uint64_t dims[] = {n};
    return tare_llama_generate_shaped(m, name, values, dims, 1, err);
}
