/* SPDX-License-Identifier: MIT
 *
 * Roles from names. A name is brought to a common form: numbers between dots become '#', ".weight"
 * and ".bias" go. A row of the table fits where its text ends that form at a dot, so that prefixes
 * ("model.", "language_model.model.", "transformer.") need no rows. The first row that fits wins:
 * longer texts come before their own suffixes. */
#include "ops/mix/roles.h"

#include <string.h>

#include "base/str.h"

typedef struct row {
    const char *ending;
    tare_role role;
    bool is_gguf, is_even;
} row;

#define GGUF(ending, role)                                                                         \
    { ending, TARE_ROLE_##role, true, false }
#define GGUF_EVEN(ending, role)                                                                    \
    { ending, TARE_ROLE_##role, true, true }
#define HF(ending, role)                                                                           \
    { ending, TARE_ROLE_##role, false, false }
#define HF_EVEN(ending, role)                                                                      \
    { ending, TARE_ROLE_##role, false, true }

static const row table[] = {
    /* whole model */
    GGUF("token_embd_norm", NORM),
    GGUF("token_embd", TOKEN_EMBEDDING),
    GGUF("per_layer_token_embd", TOKEN_EMBEDDING),
    GGUF("position_embd", POSITION_EMBEDDING),
    GGUF("token_types", TYPE_EMBEDDING),
    GGUF("rope_freqs", ROPE),
    GGUF("rope_factors_long", ROPE),
    GGUF("rope_factors_short", ROPE),
    HF("rotary_emb.inv_freq", ROPE),
    HF("embed_tokens", TOKEN_EMBEDDING),
    HF("tok_embeddings", TOKEN_EMBEDDING),
    HF("word_embeddings", TOKEN_EMBEDDING),
    HF("word_embeddings_layernorm", NORM),
    HF("embed_in", TOKEN_EMBEDDING),
    HF("wte", TOKEN_EMBEDDING),
    HF("shared", TOKEN_EMBEDDING), /* T5 */
    HF("wpe", POSITION_EMBEDDING),
    HF("position_embeddings", POSITION_EMBEDDING),
    HF("embed_positions", POSITION_EMBEDDING),
    HF("token_type_embeddings", TYPE_EMBEDDING),
    HF("lm_head", OUTPUT),
    HF("embed_out", OUTPUT),
    HF("output_layer", OUTPUT),

    /* attention, GGUF */
    GGUF("attn_q", ATTN_Q),
    GGUF_EVEN("attn_q_a", ATTN_Q),
    GGUF_EVEN("attn_q_b", ATTN_Q),
    GGUF("attn_k", ATTN_K),
    GGUF_EVEN("attn_k_b", ATTN_K),
    GGUF("attn_v", ATTN_V),
    GGUF_EVEN("attn_v_b", ATTN_V),
    GGUF("attn_qkv", ATTN_QKV),
    GGUF_EVEN("attn_kv_a_mqa", ATTN_QKV),
    GGUF("attn_kv_b", ATTN_QKV),
    GGUF("cross_attn_q", ATTN_Q),
    GGUF("cross_attn_k", ATTN_K),
    GGUF("cross_attn_v", ATTN_V),
    GGUF_EVEN("cross_attn_o", ATTN_OUTPUT),
    GGUF("attn_output", ATTN_OUTPUT),
    GGUF_EVEN("attn_out", ATTN_OUTPUT),
    GGUF_EVEN("attn_o", ATTN_OUTPUT),

    /* attention, Hugging Face */
    HF("q_proj", ATTN_Q),
    HF_EVEN("q_a_proj", ATTN_Q),
    HF_EVEN("q_b_proj", ATTN_Q),
    HF("k_proj", ATTN_K),
    HF("v_proj", ATTN_V),
    HF("qkv_proj", ATTN_QKV),
    HF_EVEN("kv_a_proj_with_mqa", ATTN_QKV),
    HF("kv_b_proj", ATTN_QKV),
    HF("query_key_value", ATTN_QKV),
    HF("c_attn", ATTN_QKV),
    HF("Wqkv", ATTN_QKV),
    HF("wqkv", ATTN_QKV),
    HF("in_proj_qkv", ATTN_QKV),
    HF("attention.self.query", ATTN_Q),
    HF("attention.self.key", ATTN_K),
    HF("attention.self.value", ATTN_V),
    HF("attention.output.dense", ATTN_OUTPUT),
    HF("attention.wq", ATTN_Q),
    HF("attention.wk", ATTN_K),
    HF("attention.wv", ATTN_V),
    HF("attention.wo", ATTN_OUTPUT),
    HF("attn.wq", ATTN_Q),
    HF("attn.wk", ATTN_K),
    HF("attn.wv", ATTN_V),
    HF("attn.wo", ATTN_OUTPUT),
    HF("SelfAttention.q", ATTN_Q),
    HF("SelfAttention.k", ATTN_K),
    HF("SelfAttention.v", ATTN_V),
    HF_EVEN("SelfAttention.o", ATTN_OUTPUT),
    HF("EncDecAttention.q", ATTN_Q),
    HF("EncDecAttention.k", ATTN_K),
    HF("EncDecAttention.v", ATTN_V),
    HF_EVEN("EncDecAttention.o", ATTN_OUTPUT),
    HF("self_attn.out_proj", ATTN_OUTPUT),
    HF("self_attn.dense", ATTN_OUTPUT),
    HF("self_attention.dense", ATTN_OUTPUT),
    HF("attention.dense", ATTN_OUTPUT),
    HF("attn.c_proj", ATTN_OUTPUT),
    HF("attn.out_proj", ATTN_OUTPUT),
    HF("o_proj", ATTN_OUTPUT),

    /* feed-forward, GGUF */
    GGUF("ffn_gate_inp", ROUTER),
    GGUF("ffn_gate_inp_shexp", ROUTER),
    GGUF("ffn_up", FFN_UP),
    GGUF("ffn_gate", FFN_GATE),
    GGUF("ffn_down", FFN_DOWN),
    GGUF("ffn_up.#", FFN_UP),
    GGUF("ffn_gate.#", FFN_GATE),
    GGUF("ffn_down.#", FFN_DOWN),
    GGUF("ffn_up_exps", FFN_UP),
    GGUF("ffn_gate_exps", FFN_GATE),
    GGUF("ffn_down_exps", FFN_DOWN),
    GGUF("ffn_gate_up_exps", FFN_GATE_UP),
    GGUF("ffn_up_chexps", FFN_UP),
    GGUF("ffn_gate_chexps", FFN_GATE),
    GGUF("ffn_down_chexps", FFN_DOWN),
    GGUF("ffn_up_shexp", FFN_UP),
    GGUF("ffn_gate_shexp", FFN_GATE),
    GGUF("ffn_down_shexp", FFN_DOWN),

    /* feed-forward, Hugging Face */
    HF("block_sparse_moe.gate", ROUTER),
    HF("mlp.gate", ROUTER),
    HF("mlp.router", ROUTER),
    HF("router.layer", ROUTER),
    HF("feed_forward.router", ROUTER),
    HF("shared_expert_gate", ROUTER),
    HF("experts.#.w1", FFN_GATE),
    HF("experts.#.w2", FFN_DOWN),
    HF("experts.#.w3", FFN_UP),
    HF("feed_forward.w1", FFN_GATE),
    HF("feed_forward.w2", FFN_DOWN),
    HF("feed_forward.w3", FFN_UP),
    HF("mlp.w1", FFN_GATE),
    HF("mlp.w2", FFN_UP),
    HF("mlp.c_fc", FFN_UP),
    HF("mlp.c_proj", FFN_DOWN),
    HF("mlp.fc1", FFN_UP),
    HF("mlp.fc2", FFN_DOWN),
    HF("fc_in", FFN_UP),
    HF("fc_out", FFN_DOWN),
    HF("fc1", FFN_UP),
    HF("fc2", FFN_DOWN),
    HF("dense_h_to_4h", FFN_UP),
    HF("dense_4h_to_h", FFN_DOWN),
    HF("intermediate.dense", FFN_UP),
    HF("output.dense", FFN_DOWN), /* BERT; its attention's stands above */
    HF("ffn.up_proj", FFN_UP),
    HF("ffn.down_proj", FFN_DOWN),
    HF("DenseReluDense.wi", FFN_UP),
    HF("DenseReluDense.wi_0", FFN_GATE),
    HF("DenseReluDense.wi_1", FFN_UP),
    HF("DenseReluDense.wo", FFN_DOWN),
    HF("gate_up_proj", FFN_GATE_UP),
    HF("gate_proj", FFN_GATE),
    HF("up_proj", FFN_UP),
    HF("down_proj", FFN_DOWN),

    /* recurrent parts */
    GGUF("ssm_in", SSM),
    GGUF("ssm_conv1d", SSM),
    GGUF("ssm_x", SSM),
    GGUF("ssm_dt", SSM),
    GGUF("ssm_a", SSM),
    GGUF("ssm_d", SSM),
    GGUF("ssm_out", SSM),
    GGUF("shortconv.conv", SSM),
    HF("mixer.in_proj", SSM),
    HF("mixer.conv1d", SSM),
    HF("mixer.x_proj", SSM),
    HF("mixer.dt_proj", SSM),
    HF("mixer.A_log", SSM),
    HF("mixer.D", SSM),
    HF("mixer.out_proj", SSM),
};

/* Parts of names of tensors that are never quantized: llama.cpp's list, and the same parts by their
 * names at Hugging Face. The rest follows from roles: norms, routers, positions. */
static const char *const kept[] = {
    /* GGUF */
    "ffn_gate_tid2eid.weight",
    "altup",
    "laurel",
    "per_layer_model_proj",
    "ssm_conv1d",
    "shortconv.conv.weight",
    "indexer.k_proj.weight",
    "indexer.q_proj.weight",
    "time_mix_first.weight",
    "time_mix_w0.weight",
    "time_mix_w1.weight",
    "time_mix_w2.weight",
    "time_mix_v0.weight",
    "time_mix_v1.weight",
    "time_mix_v2.weight",
    "time_mix_a0.weight",
    "time_mix_a1.weight",
    "time_mix_a2.weight",
    "time_mix_g1.weight",
    "time_mix_g2.weight",
    "time_mix_decay_w1.weight",
    "time_mix_decay_w2.weight",
    "time_mix_lerp_fused.weight",
    "attn_rel_b.weight",
    ".position_embd",
    "sam.pos_embd",
    "sam.neck.",
    "sam.net_",
    ".rel_pos",
    ".patch_embd",
    ".patch_merger",
    "a.rvq.codebook",
    "mm.a.code_embd",
    /* Hugging Face */
    "conv1d.weight",
    ".conv.conv.weight",
    "relative_attention_bias",
    "pos_embed",
    "position_embedding",
    "patch_embed",
};

static bool has_part(tare_str name, const char *part) {
    size_t n = strlen(part);
    for (size_t i = 0; i + n <= name.len; i++)
        if (name.ptr[i] == part[0] && memcmp(name.ptr + i, part, n) == 0) return true;
    return false;
}

static bool is_kept(tare_str name, tare_role role) {
    if (role == TARE_ROLE_NORM || role == TARE_ROLE_ROUTER ||
        role == TARE_ROLE_POSITION_EMBEDDING || role == TARE_ROLE_TYPE_EMBEDDING ||
        role == TARE_ROLE_ROPE)
        return true;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (has_part(name, kept[i])) return true;
    return false;
}

/* The common form of a name, or of its last part where it is longer than any table row needs. */
typedef struct form {
    char text[256];
    size_t len;
    tare_role_info info;
} form;

static bool is_number(tare_str part, int32_t *value) {
    if (part.len == 0 || part.len > 9) return false;
    int32_t v = 0;
    for (size_t i = 0; i < part.len; i++) {
        if (part.ptr[i] < '0' || part.ptr[i] > '9') return false;
        v = v * 10 + (part.ptr[i] - '0');
    }
    *value = v;
    return true;
}

/* The first number is the layer's; a later one the expert's. */
static void note_number(form *f, int32_t value) {
    if (f->info.layer < 0)
        f->info.layer = value;
    else if (f->info.expert < 0)
        f->info.expert = value;
}

static void put_part(form *f, tare_str part) {
    if (f->len + part.len + 1 > sizeof f->text) { /* a name of no architecture in the table */
        f->len = 0;
        return;
    }
    if (f->len) f->text[f->len++] = '.';
    memcpy(f->text + f->len, part.ptr, part.len);
    f->len += part.len;
}

static void bring_to_form(form *f, tare_str name) {
    *f = (form){.info = {.layer = -1, .expert = -1}};
    if (tare_str_ends(name, TARE_STR(".bias"))) {
        f->info.is_bias = true;
        name.len -= strlen(".bias");
    } else if (tare_str_ends(name, TARE_STR(".weight"))) {
        name.len -= strlen(".weight");
    }
    for (size_t from = 0; from <= name.len;) {
        size_t to = from;
        while (to < name.len && name.ptr[to] != '.') to++;
        tare_str part = {name.ptr + from, to - from};
        int32_t number;
        if (is_number(part, &number)) {
            note_number(f, number);
            part = TARE_STR("#");
        }
        put_part(f, part);
        from = to + 1;
    }
}

static bool ends_at_dot(const form *f, const char *ending) {
    size_t n = strlen(ending);
    if (n > f->len || memcmp(f->text + f->len - n, ending, n) != 0) return false;
    return n == f->len || f->text[f->len - n - 1] == '.';
}

static bool contains(const form *f, const char *what) {
    return has_part((tare_str){f->text, f->len}, what);
}

/* Norms have too many names for rows, and all of them say so: attn_norm, input_layernorm, ln_1,
 * LayerNorm, norm1, q_norm; only the last part counts. */
static bool is_norm(const form *f) {
    size_t from = f->len;
    while (from > 0 && f->text[from - 1] != '.') from--;
    form last = {.len = f->len - from};
    for (size_t i = 0; i < last.len; i++) {
        char c = f->text[from + i];
        last.text[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    return contains(&last, "norm") || contains(&last, "ln_") ||
           (last.len >= 2 && memcmp(last.text, "ln", 2) == 0 &&
            (last.len == 2 || (last.text[2] >= '0' && last.text[2] <= '9')));
}

static void find_role(const form *f, tare_str name, tare_role_info *info) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (!ends_at_dot(f, table[i].ending)) continue;
        info->role = table[i].role;
        info->is_gguf = table[i].is_gguf;
        info->is_even = table[i].is_even;
        return;
    }
    /* GGUF's output matrix has a name that other parts of other models end in. */
    if (tare_str_is(name, "output.weight")) {
        info->role = TARE_ROLE_OUTPUT;
        info->is_gguf = true;
    } else if (is_norm(f)) {
        info->role = TARE_ROLE_NORM;
        info->is_gguf = contains(f, "blk.#.") || tare_str_starts(name, TARE_STR("output_norm"));
    }
}

tare_role_info tare_role_of_name(tare_str name) {
    form f;
    bring_to_form(&f, name);
    tare_role_info *info = &f.info;
    info->is_shared = contains(&f, "shared_expert") || contains(&f, "_shexp");
    info->is_expert = contains(&f, "experts") || contains(&f, "_exps") || contains(&f, "_chexps") ||
                      ends_at_dot(&f, "ffn_up.#") || ends_at_dot(&f, "ffn_gate.#") ||
                      ends_at_dot(&f, "ffn_down.#");
    if (info->is_shared) info->is_expert = false;
    if (!info->is_expert) info->expert = -1;
    find_role(&f, name, info);
    info->is_kept = is_kept(name, info->role);
    info->is_tower = contains(&f, "visual.") || contains(&f, "vision_") || contains(&f, "audio_");
    return *info;
}
