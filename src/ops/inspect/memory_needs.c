/* SPDX-License-Identifier: MIT
 *
 * The memory needed to run a language model: its weights, and what is kept between tokens. The
 * rules are those of llama.cpp's caches: 16 bits for keys and values, 32 for the states of
 * recurrent layers. Where a key holds one number a layer, a layer of 0 heads has no attention. */
#include <stdio.h>

#include <tare/inspect.h>

#include "base/arith.h"
#include "base/str.h"
#include "model/catalog.h"

enum { CACHE_BYTES = 2, STATE_BYTES = 4 };

/* A number under "ARCH.name"; 0: there is none. */
static uint64_t number(const tare_model *m, const char *name) {
    char key[256];
    uint64_t n = 0;
    const tare_str arch = tare_model_architecture(m);
    if (arch.len == 0 || arch.len > 128) return 0;
    int len = snprintf(key, sizeof key, "%.*s.%s", (int)arch.len, arch.ptr, name);
    int64_t i = tare_model_find_key(m, (tare_str){key, (size_t)len});
    if (i >= 0) tare_value_u64(&n, &tare_model_metadata(m, (size_t)i)->value);
    return n;
}

static uint64_t param(const tare_model *m, tare_param which) {
    uint64_t n;
    return tare_model_param(&n, m, which) ? n : 0;
}

/* Key and value heads of all layers together, and how many layers have none. */
static bool count_heads(const tare_model *m, uint64_t *heads, uint64_t *without) {
    char key[256];
    const uint64_t layers = param(m, TARE_PARAM_LAYER_COUNT);
    const tare_str arch = tare_model_architecture(m);
    *heads = *without = 0;
    int len = snprintf(key, sizeof key, "%.*s.attention.head_count_kv",
                       (int)(arch.len < 128 ? arch.len : 128), arch.ptr);
    int64_t i = tare_model_find_key(m, (tare_str){key, (size_t)len});
    const tare_value *v = i >= 0 ? &tare_model_metadata(m, (size_t)i)->value : NULL;
    if (!v || v->type != TARE_VALUE_ARRAY)
        return tare_mul_u64(param(m, TARE_PARAM_HEAD_COUNT_KV), layers, heads);
    tare_array_walk walk;
    tare_value element;
    uint64_t n;
    tare_array_begin(&walk, &v->as.a);
    while (tare_array_next(&element, &walk)) {
        if (!tare_value_u64(&n, &element) || !tare_add_u64(*heads, n, heads)) return false;
        *without += n == 0;
    }
    return true;
}

/* Encoders see all tokens at once, and keep nothing between them: what a GGUF file says of its
 * attention, or else, of BERT's family, its name. */
static bool is_encoder(const tare_model *m) {
    char key[256];
    const tare_str arch = tare_model_architecture(m);
    if (arch.len == 0 || arch.len > 128) return false;
    int len = snprintf(key, sizeof key, "%.*s.attention.causal", (int)arch.len, arch.ptr);
    int64_t i = tare_model_find_key(m, (tare_str){key, (size_t)len});
    const tare_value *v = i >= 0 ? &tare_model_metadata(m, (size_t)i)->value : NULL;
    if (v && v->type == TARE_VALUE_BOOL) return v->as.u == 0;
    return tare_str_ends(arch, TARE_STR("bert")) || tare_str_ends(arch, TARE_STR("roberta"));
}

/* Numbers that attention stores per token. */
static bool numbers_a_token(const tare_model *m, uint64_t heads, bool *is_latent, uint64_t *out) {
    const uint64_t rank = param(m, TARE_PARAM_KV_LORA_RANK);
    *is_latent = rank > 0;
    if (rank)
        return tare_mul_u64(rank + param(m, TARE_PARAM_ROPE_LENGTH),
                            param(m, TARE_PARAM_LAYER_COUNT), out);
    const uint64_t all = param(m, TARE_PARAM_HEAD_COUNT);
    const uint64_t usual = all ? param(m, TARE_PARAM_EMBEDDING_LENGTH) / all : 0;
    uint64_t key_length = param(m, TARE_PARAM_KEY_LENGTH);
    uint64_t value_length = param(m, TARE_PARAM_VALUE_LENGTH);
    if (!key_length) key_length = usual;
    if (!value_length) value_length = key_length;
    uint64_t length;
    return tare_add_u64(key_length, value_length, &length) && tare_mul_u64(heads, length, out);
}

/* Numbers of the states of one recurrent layer: the last inputs of the convolution and the state
 * itself (Mamba), or what token shift and time mixing keep (RWKV). */
static bool numbers_of_state(const tare_model *m, uint64_t *out) {
    const uint64_t inner = number(m, "ssm.inner_size"), state = number(m, "ssm.state_size");
    const uint64_t kernel = number(m, "ssm.conv_kernel"), groups = number(m, "ssm.group_count");
    const uint64_t head = number(m, "wkv.head_size"), width = param(m, TARE_PARAM_EMBEDDING_LENGTH);
    uint64_t shift, mixed, inputs;
    if (head)
        return tare_mul_u64(width, 2, &shift) && tare_mul_u64(width, head, &mixed) &&
               tare_add_u64(shift, mixed, out);
    if (!state || !kernel) return false;
    return tare_mul_u64(2 * groups, state, &inputs) && tare_add_u64(inputs, inner, &inputs) &&
           tare_mul_u64(inputs, kernel - 1, &inputs) && tare_mul_u64(inner, state, &mixed) &&
           tare_add_u64(inputs, mixed, out);
}

static bool find_needs(tare_memory_needs *out, const tare_model *model, uint64_t context) {
    uint64_t heads, without, token = 0, state = 0;
    *out = (tare_memory_needs){.size = sizeof *out,
                               .weights = tare_model_summarize(model)->tensor_bytes};
    out->context = context ? context : param(model, TARE_PARAM_CONTEXT_LENGTH);
    const uint64_t layers = param(model, TARE_PARAM_LAYER_COUNT);
    if (!layers || !out->context || !count_heads(model, &heads, &without)) return false;
    if (is_encoder(model)) return true;
    if (!numbers_a_token(model, heads, &out->is_latent_cache, &token) ||
        !tare_mul_u64(token, out->context, &out->cache) ||
        !tare_mul_u64(out->cache, CACHE_BYTES, &out->cache))
        return false;
    const bool is_recurrent = numbers_of_state(model, &state);
    const uint64_t n = heads == 0 ? layers : without;
    if (!tare_mul_u64(is_recurrent ? state * STATE_BYTES : 0, n, &out->state)) return false;
    return out->cache > 0 || out->state > 0;
}

bool tare_model_memory(tare_memory_needs *out, const tare_model *model, uint64_t context) {
    tare_memory_needs needs;
    const bool is_known = find_needs(&needs, model, context);
    tare_result_write(out, &needs, sizeof needs);
    return is_known;
}
