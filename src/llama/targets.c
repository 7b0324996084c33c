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

static tare_llama_target *generated(tare_llama_mapping *m, const char *name, const float *values,
                                    size_t n) {
    tare_llama_target *t = tare_llama_target_new(m, tare_str_of(name), 0);
    uint8_t *bytes = tare_arena_array(&m->out->arena, n, sizeof(float));
    if (!t || !bytes) return NULL;
    for (size_t i = 0; i < n; i++) tare_store_le32(bytes + 4 * i, tare_f32_bits(values[i]));
    t->encoding = tare_encoding_get(TARE_ENCODING_F32);
    t->bytes = bytes;
    t->size = n * sizeof(float);
    t->operation = "generated";
    return t;
}

tare_status tare_llama_generate(tare_llama_mapping *m, const char *name, const float *values,
                                size_t n, tare_error *err) {
    tare_llama_target *t = generated(m, name, values, n);
    if (!t) return tare_fail(err, TARE_ERR_NOMEM, "tensor");
    t->n_dims = 1;
    t->dims[0] = n;
    return tare_llama_target_add(m, t, err);
}

tare_status tare_llama_generate_matrix(tare_llama_mapping *m, const char *name, const float *values,
                                       size_t rows, size_t cols, tare_error *err) {
    tare_llama_target *t = generated(m, name, values, rows * cols);
    if (!t) return tare_fail(err, TARE_ERR_NOMEM, "tensor");
    t->n_dims = 2;
    t->dims[0] = rows;
    t->dims[1] = cols;
    return tare_llama_target_add(m, t, err);
}
