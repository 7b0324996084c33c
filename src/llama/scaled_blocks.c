/* SPDX-License-Identifier: MIT
 *
 * NVFP4 weights that stay what they are: their blocks, and the factor of each matrix in a tensor
 * beside it, which llama.cpp multiplies by. Not all of its graphs do. */
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/str.h"
#include "llama/loader.h"
#include "llama/mapping.h"
#include "llama/size_rules.h"
#include "quantized/quantized.h"

#define STEM 128 /* bytes of a name of llama.cpp */

/* Architectures whose graphs multiply by the factors of all their matrices. */
static const char multiplied[] =
    "cohere2 hy_v3 llama mellum mistral3 nemotron_h nemotron_h_moe qwen3 qwen35 qwen35moe qwen3moe";

static bool has_place(const tare_llama_mapping *m, tare_str target) {
    char stem[STEM];
    uint64_t block;
    bool is_in_block;
    const tare_str weight = TARE_STR(".weight");
    if (!tare_str_ends(target, weight)) return false;
    target.len -= weight.len;
    tare_llama_stem(stem, sizeof stem, &block, &is_in_block, target);
    return tare_llama_is_one_of(tare_str_of(m->arch->name), multiplied) &&
           tare_llama_takes_scale(tare_str_of(is_in_block ? stem + strlen("blk.#.") : stem));
}

const tare_encoding *tare_llama_scaled_blocks(const tare_llama_mapping *m,
                                              const tare_llama_draft *draft, tare_str target) {
    const tare_encoding *wanted = m->options->type;
    const tare_encoding *blocks = tare_quantized_blocks(m->hf, draft->source);
    if (!blocks || (wanted && wanted != blocks) || !has_place(m, target)) return NULL;
    return draft->n_slots && draft->joint != TARE_LLAMA_SLICES ? NULL : blocks;
}

/* The factors of the matrices of a target, and what scales what they are multiplied with. */
static tare_status read_factors(float *factors, float *inputs, size_t n,
                                const tare_llama_mapping *m, const tare_llama_target *t,
                                tare_error *err) {
    for (size_t i = 0; i < n; i++) {
        const bool is_slice = t->joint == TARE_LLAMA_SLICES && t->n_pieces == n;
        TARE_TRY(tare_quantized_factor(&factors[i], &inputs[i], m->hf,
                                       t->pieces[is_slice ? i : 0].source, is_slice ? 0 : i, err));
    }
    return TARE_OK;
}

/* Nothing where all of them are 1. */
static tare_status add(tare_llama_mapping *m, tare_str weight, const char *suffix,
                       const float *values, size_t n, tare_error *err) {
    char name[160];
    bool is_needed = false;
    for (size_t i = 0; i < n; i++) is_needed = is_needed || values[i] != 1;
    snprintf(name, sizeof name, "%.*s%s", (int)tare_min_u64(weight.len - 6, 128), weight.ptr,
             suffix);
    const tare_str kept = tare_arena_str(&m->out->arena, tare_str_of(name));
    if (!kept.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tensor name");
    return is_needed ? tare_llama_generate(m, kept.ptr, values, n, err) : TARE_OK;
}

tare_status tare_llama_add_scales(tare_llama_mapping *m, tare_error *err) {
    const size_t n_weights = m->n_targets;
    for (size_t k = 0; k < n_weights && !m->is_rehearsal; k++) {
        const tare_llama_target *t = m->targets[k];
        if (t->encoding->id != TARE_ENCODING_NVFP4) continue;
        const size_t n = t->n_dims > 2 ? (size_t)t->dims[0] : 1;
        float *values = tare_alloc(m->out->allocator, 2 * n * sizeof *values);
        if (!values) return tare_fail(err, TARE_ERR_NOMEM, "factors");
        tare_status status = read_factors(values, values + n, n, m, t, err);
        if (status == TARE_OK) status = add(m, t->name, "scale", values, n, err);
        if (status == TARE_OK) status = add(m, t->name, "input_scale", values + n, n, err);
        tare_free(m->out->allocator, values, 2 * n * sizeof *values);
        TARE_TRY(status);
    }
    return TARE_OK;
}
