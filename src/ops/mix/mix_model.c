/* SPDX-License-Identifier: MIT
 *
 * The facts about a model that the rules of a mix depend on. For GGUF names they are those of
 * llama.cpp, from the keys it reads; for names of Hugging Face architectures they come from roles,
 * shapes and config.json, so that a model gets the same types under either kind of names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "ops/mix/mix.h"

typedef struct looker {
    const tare_model *in;
    tare_mix_model *out;
    tare_role_info *roles;
    bool is_gguf; /* the names are GGUF's */
} looker;

static const tare_tensor *tensor(const looker *l, size_t i) {
    return &l->in->catalog.tensors[i];
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_structural(tare_role role) {
    return role != TARE_ROLE_UNKNOWN && role != TARE_ROLE_NORM && role != TARE_ROLE_ROPE;
}

static void find_roles(looker *l) {
    size_t n_gguf = 0, n_other = 0;
    for (size_t i = 0; i < l->in->catalog.n_tensors; i++) {
        l->roles[i] = tare_role_of_name(tensor(l, i)->name);
        if (!is_structural(l->roles[i].role)) continue;
        *(l->roles[i].is_gguf ? &n_gguf : &n_other) += 1;
    }
    l->is_gguf = n_gguf > 0 && n_gguf >= n_other;
    l->out->has_roles = n_gguf + n_other > 0;
}

/* llama.cpp quantizes what is called a weight; experts that are one tensor have no such ending in
 * the checkpoints they come from. */
static bool is_weight(const looker *l, size_t i) {
    if (tare_str_ends(tensor(l, i)->name, TARE_STR("weight"))) return true;
    return !l->is_gguf && l->roles[i].is_expert && is_structural(l->roles[i].role);
}

static tare_mix_part part_of(const looker *l, size_t i) {
    static const tare_mix_part parts[] = {
        [TARE_ROLE_TOKEN_EMBEDDING] = TARE_PART_EMBEDDING,
        [TARE_ROLE_OUTPUT] = TARE_PART_OUTPUT,
        [TARE_ROLE_ATTN_Q] = TARE_PART_ATTN_Q,
        [TARE_ROLE_ATTN_K] = TARE_PART_ATTN_K,
        [TARE_ROLE_ATTN_V] = TARE_PART_ATTN_V,
        [TARE_ROLE_ATTN_QKV] = TARE_PART_ATTN_V,
        [TARE_ROLE_ATTN_OUTPUT] = TARE_PART_ATTN_OUTPUT,
        [TARE_ROLE_FFN_UP] = TARE_PART_FFN_UP,
        [TARE_ROLE_FFN_GATE] = TARE_PART_FFN_GATE,
        [TARE_ROLE_FFN_GATE_UP] = TARE_PART_FFN_GATE,
        [TARE_ROLE_FFN_DOWN] = TARE_PART_FFN_DOWN,
    };
    const tare_role_info *info = &l->roles[i];
    if (info->is_even || info->is_bias || !is_weight(l, i)) return TARE_PART_OTHER;
    if (l->is_gguf ? !info->is_gguf : info->is_tower) return TARE_PART_OTHER;
    return info->role < sizeof parts / sizeof *parts ? parts[info->role] : TARE_PART_OTHER;
}

/* The layer by which llama.cpp sorts: only of names that begin so. */
static int32_t layer_of(const looker *l, size_t i) {
    if (l->is_gguf && !tare_str_starts(tensor(l, i)->name, TARE_STR("blk."))) return -1;
    return l->roles[i].layer;
}

/* More than one matrix in a tensor, the third fastest dimension; experts for one architecture only,
 * whose other stacks are projections. */
static bool is_stack(const looker *l, size_t i, tare_mix_part part) {
    const tare_tensor *t = tensor(l, i);
    bool is_ffn =
        part == TARE_PART_FFN_UP || part == TARE_PART_FFN_GATE || part == TARE_PART_FFN_DOWN;
    if (!l->is_gguf) return l->roles[i].is_expert && is_ffn;
    if (t->n_dims < 3 || t->dims[t->n_dims - 3] < 2) return false;
    return is_ffn || !tare_str_is(tare_model_architecture(l->in), "bailingmoe3");
}

/* ---- hyperparameters ------------------------------------------------------------------------- */

/* "ARCH.key" of the metadata: a number, or the first of an array (the first layer's). */
static bool first_number(const looker *l, const char *key, uint64_t *out) {
    char whole[192];
    tare_str arch = tare_model_architecture(l->in);
    if (arch.len == 0 || arch.len > 128) return false;
    int n = snprintf(whole, sizeof whole, "%.*s.%s", (int)arch.len, arch.ptr, key);
    int64_t at = tare_model_find_key(l->in, (tare_str){whole, (size_t)n});
    if (at < 0) return false;
    const tare_value *v = &l->in->catalog.metadata[at].value;
    if (v->type != TARE_VALUE_ARRAY) return tare_value_u64(out, v);
    tare_array_walk walk;
    tare_value element;
    tare_array_begin(&walk, &v->as.a);
    return tare_array_next(&element, &walk) && tare_value_u64(out, &element);
}

static uint64_t quotient(uint64_t heads, uint64_t kv_heads) {
    return kv_heads ? heads / kv_heads : 0;
}

static void read_keys(looker *l) {
    uint64_t heads = 0, kv_heads;
    first_number(l, "expert_count", &l->out->n_experts);
    first_number(l, "block_count", &l->out->n_layers);
    first_number(l, "attention.head_count", &heads);
    kv_heads = heads;
    first_number(l, "attention.head_count_kv", &kv_heads);
    l->out->n_gqa = quotient(heads, kv_heads);
}

/* What the tensors themselves say, for checkpoints. */
static void read_shapes(looker *l) {
    tare_mix_model *m = l->out;
    uint64_t heads, kv_heads, q_rows = 0, k_rows = 0;
    for (size_t i = 0; i < l->in->catalog.n_tensors; i++) {
        const tare_role_info *info = &l->roles[i];
        const tare_tensor *t = tensor(l, i);
        if (m->tensors[i].part == TARE_PART_OTHER) continue;
        uint64_t n_experts = 0;
        if (info->is_expert && t->n_dims == 3) n_experts = t->dims[0];
        if (info->expert >= 0) n_experts = (uint64_t)info->expert + 1;
        if (n_experts > m->n_experts) m->n_experts = n_experts;
        if (info->layer >= 0 && (uint64_t)info->layer + 1 > m->n_layers)
            m->n_layers = (uint64_t)info->layer + 1;
        if (m->tensors[i].part == TARE_PART_ATTN_Q && q_rows == 0) q_rows = t->n_rows;
        if (m->tensors[i].part == TARE_PART_ATTN_K && k_rows == 0) k_rows = t->n_rows;
    }
    if (tare_model_param(&heads, l->in, TARE_PARAM_HEAD_COUNT) &&
        tare_model_param(&kv_heads, l->in, TARE_PARAM_HEAD_COUNT_KV))
        m->n_gqa = quotient(heads, kv_heads);
    else
        m->n_gqa = q_rows && k_rows ? quotient(q_rows, k_rows) : 1;
}

/* Which models llama.cpp considers to have 70 billion parameters, or to be Falcon. For a checkpoint
 * without config.json only its shape is known. */
static void classify(looker *l) {
    static const struct {
        const char *architecture;
        uint64_t n_layers;
        bool shares_heads;
    } large[] = {{"llama", 80, true},  {"llama-embed", 80, true}, {"", 80, true},
                 {"qwen2", 80, false}, {"deci", 80, false},       {"olmo", 80, false},
                 {"jais2", 68, false}};
    static const char *const falcon[] = {"falcon", "RefinedWeb", "RefinedWebModel"};
    tare_mix_model *m = l->out;
    tare_str arch = tare_model_architecture(l->in);
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        m->is_70b |= tare_str_is(arch, large[i].architecture) && m->n_layers == large[i].n_layers &&
                     (!large[i].shares_heads || (m->n_gqa != 1 && m->n_experts != 8));
    for (size_t i = 0; i < sizeof falcon / sizeof *falcon; i++)
        m->is_falcon |= tare_str_is(arch, falcon[i]);
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Numbers that can be had as floats and stand for themselves. */
static bool is_plain_numbers(const looker *l, size_t i) {
    tare_encoding_kind kind = tensor(l, i)->encoding->kind;
    if (kind != TARE_KIND_FLOAT && kind != TARE_KIND_BLOCK) return false;
    return !tare_tensor_is_part(l->in, i);
}

static void look_at_tensors(looker *l) {
    tare_mix_model *m = l->out;
    for (size_t i = 0; i < l->in->catalog.n_tensors; i++) {
        tare_mix_tensor *t = &m->tensors[i];
        t->part = part_of(l, i);
        t->layer = layer_of(l, i);
        t->is_stack = is_stack(l, i, t->part);
        bool is_eligible = m->has_roles ? is_weight(l, i) && !l->roles[i].is_kept
                                        : l->roles[i].role != TARE_ROLE_NORM;
        t->is_open = is_eligible && tensor(l, i)->n_rows > 1 && is_plain_numbers(l, i);
        t->is_tower = !l->is_gguf && l->roles[i].is_tower;
        m->n_attn_v += t->part == TARE_PART_ATTN_V;
        m->has_output |= t->part == TARE_PART_OUTPUT;
    }
}

/* ---- order ----------------------------------------------------------------------------------- */

typedef struct sort_key {
    const tare_tensor *tensor;
    int32_t layer;
    size_t index;
} sort_key;

static int by_layer(const void *a, const void *b) {
    const sort_key *x = a, *y = b;
    if (x->layer != y->layer) return x->layer < y->layer ? -1 : 1;
    return tare_str_compare(x->tensor->name, y->tensor->name);
}

static int by_place(const void *a, const void *b) {
    const tare_plane *x = ((const sort_key *)a)->tensor->planes;
    const tare_plane *y = ((const sort_key *)b)->tensor->planes;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return by_layer(a, b);
}

static tare_status sort(looker *l, bool by_file, tare_error *err) {
    size_t n = l->in->catalog.n_tensors;
    sort_key *keys = tare_alloc(l->in->allocator, n ? n * sizeof *keys : 1);
    if (!keys) return tare_fail(err, TARE_ERR_NOMEM, "order of tensors");
    for (size_t i = 0; i < n; i++) keys[i] = (sort_key){tensor(l, i), l->out->tensors[i].layer, i};
    qsort(keys, n, sizeof *keys, by_file ? by_place : by_layer);
    for (size_t i = 0; i < n; i++) l->out->order[i] = keys[i].index;
    tare_free(l->in->allocator, keys, n ? n * sizeof *keys : 1);
    return TARE_OK;
}

tare_status tare_mix_look(tare_mix_model *out, const tare_model *in, bool by_file,
                          tare_arena *arena, tare_error *err) {
    size_t n = in->catalog.n_tensors;
    *out = (tare_mix_model){.tensors = TARE_NEW_ARRAY(arena, tare_mix_tensor, n),
                            .order = TARE_NEW_ARRAY(arena, size_t, n)};
    looker l = {.in = in, .out = out, .roles = TARE_NEW_ARRAY(arena, tare_role_info, n)};
    if (!out->tensors || !out->order || !l.roles)
        return tare_fail(err, TARE_ERR_NOMEM, "roles of tensors");
    find_roles(&l);
    look_at_tensors(&l);
    if (l.is_gguf)
        read_keys(&l);
    else
        read_shapes(&l);
    classify(&l);
    return sort(&l, by_file, err);
}

bool tare_mix_is_tied(const tare_mix_model *model, const tare_model *in, size_t tensor) {
    const tare_catalog *c = &in->catalog;
    const tare_str arch = tare_model_architecture(in);
    char key[192];
    if (model->has_output || model->tensors[tensor].part != TARE_PART_EMBEDDING ||
        tare_str_starts(c->tensors[tensor].name, TARE_STR("per_layer")))
        return false;
    for (size_t k = 0; k < c->n_tensors; k++)
        if (tare_role_of_name(c->tensors[k].name).role == TARE_ROLE_TYPE_EMBEDDING) return false;
    if (arch.len > 128) return true;
    const int n = snprintf(key, sizeof key, "%.*s.attention.causal", (int)arch.len, arch.ptr);
    const int64_t at = tare_model_find_key(in, (tare_str){key, (size_t)n});
    return at < 0 || c->metadata[at].value.as.u != 0;
}
