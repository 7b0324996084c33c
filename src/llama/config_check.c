/* SPDX-License-Identifier: MIT
 *
 * config.json against the shapes of the tensors. llama.cpp takes sizes from the keys, which come from
 * config.json, and refuses a file whose tensors have other ones; that is found here instead, and said
 * of the field. Only sizes that every architecture with such a tensor has are compared. So is a field
 * that is missing, where llama.cpp would refuse a file without its key. */
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/str.h"
#include "llama/mapping.h"
#include "llama/tower.h"

enum { COLS = 0, ROWS = 1, STACK = 2 }; /* dimensions, fastest first */

/* One size: of the first tensor (of each block, with '#') that there is. */
typedef struct size_rule {
    const char *members; /* of config.json; the first that is there is named */
    const char *key;     /* the count that is checked; NULL: of the vocabulary */
    const char *factor;  /* a key, by which it is multiplied; NULL: 1 */
    const char *tensor;
    uint32_t dim;
    const char *only; /* architectures; NULL: all */
} size_rule;

#define HIDDEN "hidden_size | n_embd | d_model | dim | model_dim"
#define INNER                                                                                      \
    "prefix_dense_intermediate_size | dense_intermediate_size | intermediate_size | n_inner | "    \
    "ffn_hidden_size | d_ff | hidden_dim"
#define EXPERTS                                                                                    \
    "num_experts | num_local_experts | n_routed_experts | moe_num_experts | num_routed_experts | " \
    "ffn_config.moe_num_experts"
#define EXPERT_INNER "moe_intermediate_size | expert_intermediate_size | intermediate_size"
#define SHARED_INNER "shared_expert_intermediate_size | shared_intermediate_size"
#define HEADS        "num_attention_heads | n_head | n_heads | num_heads"
#define KV_HEADS     "num_key_value_heads | n_kv_heads | n_head_kv | num_kv_heads"
/* Of towers. */
#define WIDTH_SEEN  "vision_config.embed_dim | vision_config.hidden_size"
#define WIDTH_HEARD "audio_config.hidden_size | audio_config.d_model"

/* Where every block has the same heads, and the rows of queries, keys and values are nothing else. */
#define PLAIN_HEADS                                                                                \
    "llama qwen2 qwen2moe qwen3 qwen3moe gemma gemma2 gemma3 phi2 bert starcoder2 stablelm "       \
    "command-r cohere2 olmo olmo2 olmoe seed_oss exaone exaone4 internlm2 ernie4_5 smollm3 arcee " \
    "orion granite granitemoe nemotron minicpm"
/* Where experts are as wide as a feed-forward network without them. */
#define PLAIN_EXPERTS "llama phimoe granitemoe"

static const size_rule rules[] = {
    {HIDDEN, "embedding_length", NULL, "token_embd.weight", COLS, NULL},
    {"vocab_size", NULL, NULL, "token_embd.weight", ROWS, NULL},
    {HIDDEN, "embedding_length", NULL, "blk.#.attn_norm.weight", COLS, NULL},
    {INNER, "feed_forward_length", NULL, "blk.#.ffn_down.weight", COLS, NULL},
    {INNER, "feed_forward_length", NULL, "blk.#.ffn_down_exps.weight", COLS, PLAIN_EXPERTS},
    {EXPERTS, "expert_count", NULL, "blk.#.ffn_down_exps.weight", STACK, NULL},
    {EXPERT_INNER, "expert_feed_forward_length", NULL, "blk.#.ffn_down_exps.weight", COLS, NULL},
    {SHARED_INNER, "expert_shared_feed_forward_length", NULL, "blk.#.ffn_down_shexp.weight", COLS,
     NULL},
    {HEADS, "attention.head_count", "attention.key_length", "blk.#.attn_q.weight", ROWS,
     PLAIN_HEADS},
    {KV_HEADS, "attention.head_count_kv", "attention.key_length", "blk.#.attn_k.weight", ROWS,
     PLAIN_HEADS},
    {KV_HEADS, "attention.head_count_kv", "attention.value_length", "blk.#.attn_v.weight", ROWS,
     PLAIN_HEADS},
    {WIDTH_SEEN, "vision.embedding_length", NULL, "v.blk.#.ln1.weight", COLS, NULL},
    {WIDTH_HEARD, "audio.embedding_length", NULL, "a.blk.#.ln1.weight", COLS, NULL},
    {HIDDEN, "vision.projection_dim", NULL, "mm.input_projection.weight", COLS, NULL},
    {HIDDEN, "vision.projection_dim", NULL, "mm.2.weight", ROWS, NULL},
    {HIDDEN, "vision.projection_dim", NULL, "mm.model.fc.weight", ROWS, NULL},
    {HIDDEN, "vision.projection_dim", NULL, "mm.model.mlp.3.weight", ROWS, NULL},
    {HIDDEN, "audio.projection_dim", NULL, "mm.a.fc.weight", ROWS, NULL},
    {HIDDEN, "audio.projection_dim", NULL, "mm.a.mlp.2.weight", ROWS, NULL},
    {HIDDEN, "audio.projection_dim", NULL, "mm.a.mlp.3.weight", ROWS, NULL},
};

/* Qwen 1's intermediate_size counts the rows of gate and up together. */
static const char twice_inner[] = "qwen";
/* WavTokenizer has no blocks of a decoder, and embeddings of another width. */
static const char other_sizes[] = "wavtokenizer-dec";

/* ---- what config.json says ------------------------------------------------------------------- */

/* The number of a key, or of a block where it has one for each; false: it has none. */
static bool key_number(uint64_t *out, const tare_llama_mapping *m, const char *name,
                       uint64_t block) {
    char whole[160];
    snprintf(whole, sizeof whole, "%s.%s", m->arch->name, name);
    for (size_t i = 0; i < m->n_keys; i++) {
        const tare_value *v = &m->keys[i].value;
        if (!tare_str_is(m->keys[i].key, whole)) continue;
        if (v->type == TARE_VALUE_U32) *out = v->as.u;
        if (v->type == TARE_VALUE_U32) return true;
        if (v->type != TARE_VALUE_ARRAY || v->as.a.type != TARE_VALUE_I32) return false;
        if (block >= v->as.a.count) return false;
        *out = tare_load_le32(v->as.a.bytes + block * sizeof(uint32_t));
        return *out > 0; /* 0: what the block is instead is another question */
    }
    return false;
}

/* The count and, for heads, their size; what llama.cpp assumes where there is no key. False: config.json
 * does not say it. */
static bool wanted_size(uint64_t *count, uint64_t *factor, const tare_llama_mapping *m,
                        const size_rule *r, uint64_t block) {
    uint64_t width, heads;
    *factor = 1;
    if (!r->key) {
        double size;
        if (m->arch->ignores_vocab_size ||
            tare_llama_number(&size, m, r->members, 0, NULL) != TARE_OK || !(size > 0) ||
            !(size < 0x1p53))
            return false;
        *count = (uint64_t)size;
        return true;
    }
    if (!key_number(count, m, r->key, block)) return false;
    if (!r->factor || key_number(factor, m, r->factor, block)) return true;
    if (!key_number(&width, m, "embedding_length", block) ||
        !key_number(&heads, m, "attention.head_count", block) || heads == 0)
        return false;
    *factor = width / heads;
    return true;
}

tare_str tare_llama_config_name(const tare_llama_mapping *m, const char *members, uint64_t count,
                                const char *otherwise) {
    tare_str rest = tare_str_of(members);
    while (rest.len) {
        const char *end = memchr(rest.ptr, ' ', rest.len);
        const tare_str name = {rest.ptr, end ? (size_t)(end - rest.ptr) : rest.len};
        tare_llama_value v;
        if (tare_llama_formula(&v, name, &m->config, NULL, NULL) == TARE_OK &&
            v.kind == TARE_LLAMA_NUMBER && v.number == (double)count)
            return name;
        rest = tare_str_cut(rest, end ? name.len + 3 : name.len); /* " | " */
    }
    return tare_str_of(otherwise);
}

/* ---- against the tensors --------------------------------------------------------------------- */

/* The number of a name's block, its digits replaced by '#' in `stem`; false: it has none. */
static bool split_block(char *stem, size_t size, uint64_t *block, tare_str name) {
    const tare_str blk = TARE_STR("blk.");
    size_t at = 0;
    while (at + blk.len < name.len && memcmp(name.ptr + at, blk.ptr, blk.len) != 0) at++;
    if (at + blk.len >= name.len) return false;
    size_t from = at + blk.len, to = from;
    for (*block = 0; to < name.len && to - from < 9 && name.ptr[to] >= '0' && name.ptr[to] <= '9';)
        *block = 10 * *block + (uint64_t)(name.ptr[to++] - '0');
    snprintf(stem, size, "%.*s#%.*s", (int)from, name.ptr, (int)(name.len - to), name.ptr + to);
    return to > from;
}

static bool has_target(const tare_llama_mapping *m, const char *name) {
    for (size_t i = 0; i < m->n_targets; i++)
        if (tare_str_is(m->targets[i]->name, name)) return true;
    return false;
}

static tare_status fail_target(const tare_llama_mapping *m, const tare_llama_target *t,
                               tare_error *err) {
    tare_fail(err, TARE_ERR_CORRUPT, "config.json contradicts the tensors");
    for (size_t i = 0; i < t->n_pieces; i++) {
        if (t->pieces[i].source == TARE_LLAMA_ZEROS) continue;
        tare_error_item(err, TARE_ITEM_TENSOR, t->pieces[i].source,
                        m->hf->catalog.tensors[t->pieces[i].source].name);
        break;
    }
    return TARE_ERR_CORRUPT;
}

/* A kernel of a convolution, or a layer of a projector that is not its last. */
static bool is_other_projector(const tare_llama_mapping *m, const tare_llama_target *t,
                               const size_rule *r) {
    static const char last_but_one[] = "mm.a.mlp.2.weight";
    if (!m->arch->tower || r->dim != ROWS) return false;
    return t->n_dims > 2 ||
           (strcmp(r->tensor, last_but_one) == 0 && has_target(m, "mm.a.mlp.3.weight"));
}

static tare_status check_target(const tare_llama_mapping *m, const tare_llama_target *t,
                                const size_rule *r, uint64_t block, tare_error *err) {
    uint64_t count, factor;
    if (t->n_dims <= r->dim || is_other_projector(m, t, r) ||
        !wanted_size(&count, &factor, m, r, block))
        return TARE_OK;
    uint64_t is = t->dims[t->n_dims - 1 - r->dim];
    if (strcmp(r->members, INNER) == 0 &&
        tare_llama_is_one_of(tare_str_of(m->arch->name), twice_inner))
        is *= 2;
    if (factor && count == is / factor && is % factor == 0) return TARE_OK;
    /* Some architectures pad the vocabulary to a multiple. */
    if (!r->key && m->facts[1].number == (double)is) return TARE_OK;
    tare_status status = fail_target(m, t, err);
    const tare_str name =
        tare_llama_config_name(m, r->members, count, r->key ? r->key : r->members);
    char product[48] = "";
    if (r->factor)
        snprintf(product, sizeof product, " with %llu rows each", (unsigned long long)factor);
    tare_error_detail(err, "%.*s is %llu%s, the shape has %llu", (int)name.len, name.ptr,
                      (unsigned long long)count, product, (unsigned long long)is);
    return status;
}

static const char *layers_of(const tare_llama_mapping *m) {
    return m->arch->tower ? m->arch->tower->layers : TARE_LLAMA_LAYERS;
}

/* Blocks that config.json counts and no tensor belongs to; there may be none for extra ones. */
static tare_status check_layers(const tare_llama_mapping *m, uint64_t n_blocks, tare_error *err) {
    const uint64_t wanted = m->n_layers - m->n_extra_layers;
    if (n_blocks == wanted || (n_blocks > wanted && !m->arch->tower)) return TARE_OK;
    tare_fail(err, TARE_ERR_CORRUPT, "config.json contradicts the tensors");
    tare_error_item(err, TARE_ITEM_RESOURCE, -1, TARE_STR("config.json"));
    const tare_str name = tare_llama_config_name(m, layers_of(m), wanted, "num_hidden_layers");
    tare_error_detail(err, "%.*s is %llu, tensors have %llu", (int)name.len, name.ptr,
                      (unsigned long long)wanted, (unsigned long long)n_blocks);
    return TARE_ERR_CORRUPT;
}

/* ---- what llama.cpp cannot do without -------------------------------------------------------- */

/* A key that has to be there if a tensor (of some block, with '#') is; NULL: always. */
typedef struct need_rule {
    const char *key, *otherwise; /* either of the two */
    const char *member;          /* of config.json, as it is usually called */
    const char *tensor;
} need_rule;

static const need_rule needs[] = {
    {"context_length", NULL, "max_position_embeddings", NULL},
    {"feed_forward_length", NULL, "intermediate_size", "blk.#.ffn_down.weight"},
    {"attention.head_count", NULL, "num_attention_heads", "blk.#.attn_q.weight"},
    {"attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon",
     "rms_norm_eps or layer_norm_eps", "blk.#.attn_norm.weight"},
};

static bool has_key(const tare_llama_mapping *m, const char *name) {
    char whole[160];
    if (!name) return false;
    snprintf(whole, sizeof whole, "%s.%s", m->arch->name, name);
    for (size_t i = 0; i < m->n_keys; i++)
        if (tare_str_is(m->keys[i].key, whole)) return true;
    return false;
}

static bool has_tensor(const tare_llama_mapping *m, const char *name) {
    for (size_t i = 0; i < m->n_targets; i++) {
        char stem[128];
        uint64_t block;
        if (split_block(stem, sizeof stem, &block, m->targets[i]->name) && strcmp(stem, name) == 0)
            return true;
    }
    return false;
}

static tare_status check_needs(const tare_llama_mapping *m, tare_error *err) {
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        const need_rule *n = &needs[i];
        if (has_key(m, n->key) || has_key(m, n->otherwise)) continue;
        if (n->tensor && !has_tensor(m, n->tensor)) continue;
        tare_fail(err, TARE_ERR_CORRUPT, "it is missing, and llama.cpp needs it");
        tare_error_item(err, TARE_ITEM_RESOURCE, -1, TARE_STR("config.json"));
        tare_error_detail(err, "%s", n->member);
        return TARE_ERR_CORRUPT;
    }
    return TARE_OK;
}

tare_status tare_llama_check_config(const tare_llama_mapping *m, tare_error *err) {
    uint64_t n_blocks = 0;
    const tare_str arch = tare_str_of(m->arch->name);
    if (tare_llama_is_one_of(arch, other_sizes)) return TARE_OK;
    for (size_t i = 0; i < m->n_targets; i++) {
        const tare_llama_target *t = m->targets[i];
        char stem[128];
        uint64_t block = 0;
        if (split_block(stem, sizeof stem, &block, t->name))
            n_blocks = block + 1 > n_blocks ? block + 1 : n_blocks;
        else
            snprintf(stem, sizeof stem, "%.*s", (int)t->name.len, t->name.ptr);
        for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
            if (strcmp(stem, rules[k].tensor) == 0 &&
                (!rules[k].only || tare_llama_is_one_of(arch, rules[k].only)))
                TARE_TRY(check_target(m, t, &rules[k], block, err));
    }
    TARE_TRY(check_layers(m, n_blocks, err));
    return m->arch->tower ? TARE_OK : check_needs(m, err);
}
