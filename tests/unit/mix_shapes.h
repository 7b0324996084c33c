/* SPDX-License-Identifier: MIT
 *
 * Models that are shapes only, as llama.cpp's file formats and as checkpoints name their tensors:
 * for what depends on names and dimensions alone. For cmocka tests, which include cmocka.h before
 * this.
 */
#ifndef TESTS_MIX_SHAPES_H
#define TESTS_MIX_SHAPES_H

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "ops/mix/mix.h"

#define MOST_TENSORS 2000

typedef enum attention { SEPARATE, FUSED, MLA, MLA_SPLIT } attention;

typedef struct shape {
    const char *name, *architecture;
    uint64_t layers, heads, kv_heads, experts, width, ff, vocabulary;
    attention attention;
    bool is_tied, has_shared_expert;
    uint64_t digest, digest_with_importance; /* of all choices by all mixes */
} shape;

typedef struct built {
    tare_model *model;
    tare_metadata keys[8];
} built;

static inline void add(built *b, const char *name, uint64_t cols, uint64_t rows, uint64_t stack) {
    tare_catalog *c = &b->model->catalog;
    const uint64_t dims[] = {stack, rows, cols};
    uint32_t n = stack > 1 ? 3 : rows > 1 ? 2 : 1;
    tare_tensor *t = &c->tensors[c->n_tensors++];
    assert_true(c->n_tensors <= MOST_TENSORS);
    t->name = tare_arena_str(&b->model->arena, tare_str_of(name));
    assert_int_equal(tare_tensor_set(b->model, t, tare_encoding_get(TARE_ENCODING_F16),
                                     dims + 3 - n, n, 0, 0, NULL),
                     TARE_OK);
}

static inline void add_key(built *b, const char *arch, const char *key, uint64_t number) {
    char text[80];
    snprintf(text, sizeof text, "%s.%s", arch, key);
    b->keys[b->model->catalog.n_metadata++] =
        (tare_metadata){.key = tare_arena_str(&b->model->arena, tare_str_of(text)),
                        .value = {.type = TARE_VALUE_U32, .as.u = number},
                        .offset = TARE_NO_OFFSET};
}

/* Names of the two worlds; NULL: the tensor has no such name there. */
typedef struct names {
    const char *embedding, *output, *layer, *norm, *q, *k, *v, *o, *qkv, *q_a, *q_b, *kv_a, *kv_b,
        *k_b, *v_b, *gate, *up, *down, *router, *gates, *ups, *downs, *gate_s, *up_s, *down_s;
} names;

static const names gguf = {"token_embd.weight",    "output.weight",         "blk.%u.%s",
                           "attn_norm.weight",     "attn_q.weight",         "attn_k.weight",
                           "attn_v.weight",        "attn_output.weight",    "attn_qkv.weight",
                           "attn_q_a.weight",      "attn_q_b.weight",       "attn_kv_a_mqa.weight",
                           "attn_kv_b.weight",     "attn_k_b.weight",       "attn_v_b.weight",
                           "ffn_gate.weight",      "ffn_up.weight",         "ffn_down.weight",
                           "ffn_gate_inp.weight",  "ffn_gate_exps.weight",  "ffn_up_exps.weight",
                           "ffn_down_exps.weight", "ffn_gate_shexp.weight", "ffn_up_shexp.weight",
                           "ffn_down_shexp.weight"};
static const names hf = {"model.embed_tokens.weight",
                         "lm_head.weight",
                         "model.layers.%u.%s",
                         "input_layernorm.weight",
                         "self_attn.q_proj.weight",
                         "self_attn.k_proj.weight",
                         "self_attn.v_proj.weight",
                         "self_attn.o_proj.weight",
                         "self_attention.query_key_value.weight",
                         "self_attn.q_a_proj.weight",
                         "self_attn.q_b_proj.weight",
                         "self_attn.kv_a_proj_with_mqa.weight",
                         "self_attn.kv_b_proj.weight",
                         NULL,
                         NULL,
                         "mlp.gate_proj.weight",
                         "mlp.up_proj.weight",
                         "mlp.down_proj.weight",
                         "mlp.gate.weight",
                         "mlp.experts.gate_proj",
                         "mlp.experts.up_proj",
                         "mlp.experts.down_proj",
                         "mlp.shared_experts.gate_proj.weight",
                         "mlp.shared_experts.up_proj.weight",
                         "mlp.shared_experts.down_proj.weight"};

static inline void in_layer(built *b, const names *n, uint64_t layer, const char *name,
                            uint64_t cols, uint64_t rows, uint64_t stack) {
    char text[96];
    const char *percent = strchr(n->layer, '%');
    assert_non_null(name);
    snprintf(text, sizeof text, "%.*s%u.%s", (int)(percent - n->layer), n->layer, (unsigned)layer,
             name);
    add(b, text, cols, rows, stack);
}

static inline void add_attention(built *b, const shape *s, const names *n, uint64_t i) {
    uint64_t w = s->width, kv = w * s->kv_heads / s->heads;
    switch (s->attention) {
    case FUSED:
        in_layer(b, n, i, n->qkv, w, w + 2 * kv, 1);
        break;
    case MLA:
    case MLA_SPLIT:
        in_layer(b, n, i, n->q_a, w, 1536, 1);
        in_layer(b, n, i, n->q_b, 1536, 24576, 1);
        in_layer(b, n, i, n->kv_a, w, 576, 1);
        if (s->attention == MLA) in_layer(b, n, i, n->kv_b, 512, 32768, 1);
        if (s->attention == MLA_SPLIT) in_layer(b, n, i, n->k_b, 128, 512, 128);
        if (s->attention == MLA_SPLIT) in_layer(b, n, i, n->v_b, 512, 128, 128);
        break;
    case SEPARATE:
    default:
        in_layer(b, n, i, n->q, w, w, 1);
        in_layer(b, n, i, n->k, w, kv, 1);
        in_layer(b, n, i, n->v, w, kv, 1);
        break;
    }
    in_layer(b, n, i, n->o, w, w, 1);
    in_layer(b, n, i, n->norm, w, 1, 1);
}

static inline void add_feed_forward(built *b, const shape *s, const names *n, uint64_t i) {
    bool is_mla = s->attention == MLA || s->attention == MLA_SPLIT;
    uint64_t w = s->width, ff = s->ff, e = s->experts;
    if (!e || (is_mla && i == 0)) { /* the first layer of these has no experts */
        in_layer(b, n, i, n->gate, w, ff, 1);
        in_layer(b, n, i, n->up, w, ff, 1);
        in_layer(b, n, i, n->down, ff, w, 1);
        return;
    }
    in_layer(b, n, i, n->router, w, e, 1);
    in_layer(b, n, i, n->gates, w, ff, e);
    in_layer(b, n, i, n->ups, w, ff, e);
    in_layer(b, n, i, n->downs, ff, w, e);
    if (!is_mla && !s->has_shared_expert) return;
    in_layer(b, n, i, n->gate_s, w, ff, 1);
    in_layer(b, n, i, n->up_s, w, ff, 1);
    in_layer(b, n, i, n->down_s, ff, w, 1);
}

/* The last layer first: what counts is not the order of the file. */
static inline void build(built *b, const shape *s, const names *n, bool has_heads) {
    memset(b, 0, sizeof *b);
    assert_int_equal(tare_model_new(&b->model, NULL, NULL), TARE_OK);
    tare_catalog *c = &b->model->catalog;
    c->tensors = TARE_NEW_ARRAY(&b->model->arena, tare_tensor, MOST_TENSORS);
    c->metadata = b->keys;
    b->keys[c->n_metadata++] =
        (tare_metadata){.key = TARE_STR("general.architecture"),
                        .value = {.type = TARE_VALUE_STRING, .as.s = tare_str_of(s->architecture)},
                        .offset = TARE_NO_OFFSET};
    if (has_heads) add_key(b, s->architecture, "attention.head_count", s->heads);
    if (has_heads) add_key(b, s->architecture, "attention.head_count_kv", s->kv_heads);
    if (n == &gguf) add_key(b, s->architecture, "block_count", s->layers);
    if (n == &gguf && s->experts) add_key(b, s->architecture, "expert_count", s->experts);
    for (uint64_t i = s->layers; i-- > 0;) {
        add_feed_forward(b, s, n, i);
        add_attention(b, s, n, i);
    }
    add(b, n->embedding, s->width, s->vocabulary, 1);
    if (!s->is_tied) add(b, n->output, s->width, s->vocabulary, 1);
    assert_int_equal(tare_model_finish(b->model, NULL, NULL), TARE_OK);
}

static const shape shapes[] = {
    {"llama7b", "llama", 32, 32, 32, 0, 4096, 11008, 32000, SEPARATE, false, false,
     UINT64_C(0xfcbbbd8070200a3a), UINT64_C(0xf634bc4728dbac82)},
    {"llama70b", "llama", 80, 64, 8, 0, 8192, 28672, 128256, SEPARATE, false, false,
     UINT64_C(0xd7b2e119ef335e81), UINT64_C(0x928f57f824d0e085)},
    {"mixtral", "llama", 32, 32, 8, 8, 4096, 14336, 32000, SEPARATE, false, false,
     UINT64_C(0xef742a1073777b2e), UINT64_C(0x29b3d681a3769dde)},
    {"falcon", "falcon", 32, 71, 1, 0, 4544, 18176, 65024, FUSED, true, false,
     UINT64_C(0x3bd7548b59100368), UINT64_C(0x714d8c986d5bfbf0)},
    {"qwen2moe", "qwen2moe", 24, 16, 16, 60, 2048, 1408, 151936, SEPARATE, false, true,
     UINT64_C(0xd6259913eb9a8798), UINT64_C(0xb946f71d7c2c9c82)},
    {"qwen3moe", "qwen3moe", 48, 32, 4, 128, 2048, 768, 151936, SEPARATE, false, false,
     UINT64_C(0x41cdc6db9fde5813), UINT64_C(0xff03a87b7f1e9b43)},
    {"gemma2", "gemma2", 26, 8, 4, 0, 2304, 9216, 256000, SEPARATE, true, false,
     UINT64_C(0x34da4b7b6f2b3dc8), UINT64_C(0x347ba8c08d5ba1d4)},
    {"deepseek2", "deepseek2", 27, 16, 16, 64, 2048, 1408, 102400, MLA, false, false,
     UINT64_C(0x81b499e7588dc8ca), UINT64_C(0x7b50ed8b03391ad0)},
    {"deepseek3", "deepseek2", 61, 128, 1, 256, 7168, 2048, 129280, MLA_SPLIT, false, false,
     UINT64_C(0x3e1bd1e6dba60a7e), UINT64_C(0xa33f32fbe08b9cc3)},
    {"smol", "llama", 30, 9, 3, 0, 576, 1536, 49152, SEPARATE, true, false,
     UINT64_C(0x93bfcdfdff318872), UINT64_C(0x0789fcc4bd11f3aa)},
};

static inline const shape *find_shape(const char *name) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strcmp(shapes[i].name, name) == 0) return &shapes[i];
    fail_msg("no shape %s", name);
    return NULL;
}

#endif
