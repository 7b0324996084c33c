/* SPDX-License-Identifier: MIT
 *
 * Chooses the type of every tensor by a mix. The rules depend on a tensor's number among those of
 * its kind, so tensors are visited in llama.cpp's order and counted as it counts them: those for
 * which a user's rule decides are not counted. */
#include "ops/mix/mix.h"

typedef struct chooser {
    const tare_model *in;
    const tare_mix_request *request;
    tare_mix_model model;
    unsigned model_facts;
    uint64_t seen[TARE_PART_COUNT]; /* of each part, so far */
} chooser;

/* ---- facts ----------------------------------------------------------------------------------- */

static unsigned fact(bool holds, tare_mix_fact bit) {
    return holds ? (unsigned)bit : 0;
}

static unsigned facts_of_model(const chooser *c) {
    const tare_mix_model *m = &c->model;
    bool has_importance = c->request->has_importance;
    return fact(m->n_gqa >= 4, TARE_FACT_GQA4) | fact(m->n_experts >= 4, TARE_FACT_EXPERTS4) |
           fact(m->n_experts == 8, TARE_FACT_EXPERTS8) |
           fact(m->n_experts != 8, TARE_FACT_NOT_EXPERTS8) | fact(m->is_falcon, TARE_FACT_FALCON) |
           fact(!m->is_falcon, TARE_FACT_NOT_FALCON) | fact(m->is_70b, TARE_FACT_70B) |
           fact(has_importance, TARE_FACT_IMPORTANCE) |
           fact(!has_importance, TARE_FACT_NO_IMPORTANCE);
}

/* Facts about place i of n. */
static unsigned facts_of_place(uint64_t i, uint64_t n) {
    bool in_middle = i >= n / 8 && i < 7 * n / 8;
    return fact(i < n / 8, TARE_FACT_FIRST_8TH) | fact(i < n / 16, TARE_FACT_FIRST_16TH) |
           fact(i < 2, TARE_FACT_FIRST_2) | fact(i < 4, TARE_FACT_FIRST_4) |
           fact(in_middle, TARE_FACT_MIDDLE) |
           fact(!in_middle || (i - n / 8) % 3 == 2, TARE_FACT_MORE_BITS);
}

/* Attention values are counted; feed-forward matrices, too, but where there are experts these are
 * sprinkled over the layers, and the name decides. */
static unsigned facts_of_tensor(const chooser *c, size_t i, tare_mix_part part) {
    const tare_mix_model *m = &c->model;
    const tare_mix_tensor *t = &m->tensors[i];
    const tare_encoding *type = c->request->options->mix->type;
    uint64_t place = c->seen[part], n = part == TARE_PART_ATTN_V ? m->n_attn_v : m->n_layers;
    unsigned facts = fact(t->is_stack, TARE_FACT_STACK) |
                     fact(place < n / 8, TARE_FACT_COUNTED_8TH) |
                     fact(c->in->catalog.tensors[i].cols % type->block != 0, TARE_FACT_UNEVEN);
    if (part != TARE_PART_ATTN_V && m->n_experts > 1 && t->layer >= 0) place = (uint64_t)t->layer;
    return facts | facts_of_place(place, n);
}

/* ---- one tensor ------------------------------------------------------------------------------ */

static const tare_encoding *by_rules(chooser *c, size_t i) {
    const tare_mix_options *o = c->request->options;
    tare_mix_part part = c->model.tensors[i].part;
    if (part == TARE_PART_EMBEDDING && !c->model.has_output) {
        if (o->output) return o->output;
        part = TARE_PART_OUTPUT;
    }
    unsigned facts = c->model_facts | facts_of_tensor(c, i, part);
    c->seen[part]++;
    return tare_encoding_get(tare_mix_rule(tare_mix_id_of(o->mix), part, facts));
}

/* The type to use if rows are not a whole number of blocks: the next larger type with blocks of 32,
 * else F16. llama.cpp refuses types that have no entry here. */
static const tare_encoding *fallback(const tare_encoding *type, uint64_t cols) {
    static const tare_encoding_id smaller[TARE_ENCODING_COUNT] = {
        [TARE_ENCODING_IQ1_S] = TARE_ENCODING_IQ4_NL,
        [TARE_ENCODING_IQ1_M] = TARE_ENCODING_IQ4_NL,
        [TARE_ENCODING_IQ2_XXS] = TARE_ENCODING_IQ4_NL,
        [TARE_ENCODING_IQ2_XS] = TARE_ENCODING_IQ4_NL,
        [TARE_ENCODING_IQ2_S] = TARE_ENCODING_IQ4_NL,
        [TARE_ENCODING_IQ3_XXS] = TARE_ENCODING_IQ4_NL,
        [TARE_ENCODING_IQ3_S] = TARE_ENCODING_IQ4_NL,
        [TARE_ENCODING_IQ4_XS] = TARE_ENCODING_IQ4_NL,
        [TARE_ENCODING_Q2_0] = TARE_ENCODING_Q4_0,
        [TARE_ENCODING_Q2_K] = TARE_ENCODING_Q4_0,
        [TARE_ENCODING_Q3_K] = TARE_ENCODING_Q4_0,
        [TARE_ENCODING_TQ1_0] = TARE_ENCODING_Q4_0,
        [TARE_ENCODING_TQ2_0] = TARE_ENCODING_Q4_0,
        [TARE_ENCODING_Q4_K] = TARE_ENCODING_Q5_0,
        [TARE_ENCODING_Q5_K] = TARE_ENCODING_Q5_1,
        [TARE_ENCODING_Q6_K] = TARE_ENCODING_Q8_0,
    };
    const tare_encoding *next = tare_encoding_get(smaller[type->id]);
    bool fits = next->id != TARE_ENCODING_UNKNOWN && cols % next->block == 0;
    return fits ? next : tare_encoding_get(TARE_ENCODING_F16);
}

bool tare_mix_needs_importance(tare_mix_id mix, tare_mix_part part, const tare_encoding *type) {
    if (tare_encoding_needs_importance(type)) return true;
    if (part == TARE_PART_EMBEDDING || part == TARE_PART_OUTPUT) return false;
    switch (type->id) {
    case TARE_ENCODING_IQ3_XXS:
    case TARE_ENCODING_IQ2_S:
    case TARE_ENCODING_IQ1_M:
        return true;
    case TARE_ENCODING_Q2_K:
        return mix == TARE_MIX_Q2_K_S;
    default:
        return false;
    }
}

static const tare_encoding *choose_type(chooser *c, size_t i) {
    const tare_mix_options *o = c->request->options;
    const tare_mix_tensor *t = &c->model.tensors[i];
    if (o->embedding && t->part == TARE_PART_EMBEDDING) return o->embedding;
    if (o->output && t->part == TARE_PART_OUTPUT) return o->output;
    if (c->request->manual && c->request->manual[i]) return c->request->manual[i];
    if (t->is_tower || (c->request->stays && c->request->stays[i])) return NULL;
    if (o->is_pure || !c->model.has_roles || o->mix->type->kind != TARE_KIND_BLOCK)
        return o->mix->type;
    return by_rules(c, i);
}

static void choose(chooser *c, size_t i, tare_mix_choice *out) {
    const tare_mix_options *o = c->request->options;
    const tare_mix_tensor *t = &c->model.tensors[i];
    uint64_t cols = c->in->catalog.tensors[i].cols;
    *out = (tare_mix_choice){.is_open = t->is_open && o->mix->type};
    if (o->leave_output && t->part == TARE_PART_OUTPUT) out->is_open = false;
    if (!out->is_open) return;
    out->type = choose_type(c, i);
    if (!out->type) return;
    if (!out->type->is_edge_padded && !out->type->is_bit_packed && cols % out->type->block != 0) {
        out->wanted = out->type;
        out->type = fallback(out->wanted, cols);
    }
    out->needs_importance = tare_mix_needs_importance(tare_mix_id_of(o->mix), t->part, out->type);
}

tare_status tare_mix_choose(tare_mix_choice *out, bool *has_roles, const tare_model *in,
                            const tare_mix_request *request, tare_arena *arena, tare_error *err) {
    chooser c = {.in = in, .request = request};
    TARE_TRY(tare_mix_look(&c.model, in, request->by_file, arena, err));
    c.model_facts = facts_of_model(&c);
    for (size_t i = 0; i < in->catalog.n_tensors; i++)
        choose(&c, c.model.order[i], &out[c.model.order[i]]);
    *has_roles = c.model.has_roles;
    return TARE_OK;
}
