/* SPDX-License-Identifier: MIT
 *
 * Roles from names. A name is brought to a common form: numbers between dots become '#', ".weight"
 * and ".bias" go. GGUF's name of a tensor ends that form at a dot. Of others, an ending that means
 * the same wherever it stands tells, in towers and adapters, too; else what stands behind the number
 * of the block, or the whole name, is looked up in the table of names. */
#include "ops/mix/roles.h"

#include <string.h>

#include "base/str.h"

/* The first one that ends the form at a dot. */
static const struct {
    const char *text;
    tare_role role;
} endings[] = {
    {"rotary_emb.inv_freq", TARE_ROLE_ROPE},
    {"embed_tokens", TARE_ROLE_TOKEN_EMBEDDING},
    {"word_embeddings", TARE_ROLE_TOKEN_EMBEDDING},
    {"wte", TARE_ROLE_TOKEN_EMBEDDING},
    {"shared", TARE_ROLE_TOKEN_EMBEDDING}, /* T5 */
    {"wpe", TARE_ROLE_POSITION_EMBEDDING},
    {"position_embeddings", TARE_ROLE_POSITION_EMBEDDING},
    {"embed_positions", TARE_ROLE_POSITION_EMBEDDING},
    {"lm_head", TARE_ROLE_OUTPUT},
    {"q_proj", TARE_ROLE_ATTN_Q},
    {"k_proj", TARE_ROLE_ATTN_K},
    {"v_proj", TARE_ROLE_ATTN_V},
    {"qkv_proj", TARE_ROLE_ATTN_QKV},
    {"o_proj", TARE_ROLE_ATTN_OUTPUT},
    {"wqkv", TARE_ROLE_ATTN_QKV},
    {"attn.wq", TARE_ROLE_ATTN_Q},
    {"attn.wk", TARE_ROLE_ATTN_K},
    {"attn.wv", TARE_ROLE_ATTN_V},
    {"attn.wo", TARE_ROLE_ATTN_OUTPUT},
    {"experts.#.w1", TARE_ROLE_FFN_GATE},
    {"experts.#.w2", TARE_ROLE_FFN_DOWN},
    {"experts.#.w3", TARE_ROLE_FFN_UP},
    {"fc1", TARE_ROLE_FFN_UP},
    {"fc2", TARE_ROLE_FFN_DOWN},
    {"gate_up_proj", TARE_ROLE_FFN_GATE_UP},
    {"gate_proj", TARE_ROLE_FFN_GATE},
    {"up_proj", TARE_ROLE_FFN_UP},
    {"down_proj", TARE_ROLE_FFN_DOWN},
};

/* Parts of tensor names that are never quantized: llama.cpp's list, and the same parts by their
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

/* Whether the first len bytes of the form end in a text that begins where a part does. */
static bool ends_at_dot(const form *f, size_t len, const char *ending) {
    const size_t n = strlen(ending);
    if (n > len || memcmp(f->text + len - n, ending, n) != 0) return false;
    return n == len || f->text[len - n - 1] == '.';
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

/* The row of a tensor of GGUF: "attn_q" of "v.blk.#.attn_q". Many names end in that of the output
 * matrix, which stands alone. */
static const tare_tensor_named *find_gguf(const form *f) {
    static const tare_tensor_named *const lists[] = {tare_tensors_in_blocks, tare_tensors_outside};
    static const char *const of_expert[] = {"ffn_up.#", "ffn_gate.#", "ffn_down.#"};
    size_t n = f->len;
    for (size_t i = 0; i < sizeof of_expert / sizeof *of_expert; i++)
        if (ends_at_dot(f, f->len, of_expert[i])) n -= strlen(".#");
    for (size_t i = 0; i < 2; i++)
        for (const tare_tensor_named *row = lists[i]; row->name; row++)
            if (row->role != TARE_ROLE_UNKNOWN && ends_at_dot(f, n, row->name) &&
                (row->role != TARE_ROLE_OUTPUT || n == strlen(row->name)))
                return row;
    return NULL;
}

/* "self_attn.q_proj" of "model.layers.3.self_attn.q_proj.weight", "mlp.experts.up_proj" of one expert;
 * ptr NULL: it is in no block. */
static tare_str behind_block(char *buf, size_t size, tare_str stem) {
    size_t n = 0;
    int32_t number;
    bool is_in_block = false;
    for (size_t from = 0, to; from < stem.len; from = to + 1) {
        for (to = from; to < stem.len && stem.ptr[to] != '.';) to++;
        const tare_str part = {stem.ptr + from, to - from};
        const bool is_expert = n >= 7 && memcmp(buf + n - 7, "experts", 7) == 0;
        if (is_number(part, &number) && (!is_in_block || is_expert)) {
            is_in_block = true;
            continue;
        }
        if (!is_in_block) continue;
        if (n + part.len + 1 > size) return (tare_str){NULL, 0};
        if (n) buf[n++] = '.';
        memcpy(buf + n, part.ptr, part.len);
        n += part.len;
    }
    return (tare_str){n ? buf : NULL, n};
}

/* The row of a name, or of its last parts: at least two, or one that is no mere word ("head", "gate"),
 * which may be anything. */
static const tare_tensor_named *find_in(const tare_tensor_named *rows, tare_str name) {
    if (name.len > TARE_TENSOR_NAME_MAX)
        name = tare_str_cut(name, name.len - TARE_TENSOR_NAME_MAX); /* longer ones are in no row */
    while (memchr(name.ptr, '.', name.len) || memchr(name.ptr, '_', name.len)) {
        const tare_tensor_named *row = tare_tensor_find_other(rows, name);
        const char *dot = memchr(name.ptr, '.', name.len);
        if (row || !dot) return row;
        name = tare_str_cut(name, (size_t)(dot - name.ptr) + 1);
    }
    return NULL;
}

static const tare_tensor_named *find_other(tare_str name) {
    char buf[TARE_TENSOR_NAME_MAX];
    if (tare_str_ends(name, TARE_STR(".weight")) || tare_str_ends(name, TARE_STR(".bias")))
        while (name.ptr[--name.len] != '.') continue;
    const tare_str rest = behind_block(buf, sizeof buf, name);
    return rest.ptr ? find_in(tare_tensors_in_blocks, rest) : find_in(tare_tensors_outside, name);
}

static tare_role role_of_ending(const form *f) {
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ends_at_dot(f, f->len, endings[i].text)) return endings[i].role;
    return TARE_ROLE_UNKNOWN;
}

static void find_role(const form *f, tare_str name, tare_role_info *info) {
    const tare_tensor_named *row = find_gguf(f);
    info->is_gguf = row != NULL;
    if (!row && !contains(f, "blk.#.")) row = find_other(name);
    if (row) {
        info->role = row->role;
        info->is_even = row->is_even;
        info->tensor = row->name;
        for (const tare_tensor_prefix *p = tare_tensor_prefixes; p->text; p++)
            if (p->side[0] && strncmp(row->name, p->side, strlen(p->side)) == 0)
                info->tensor = row->name + strlen(p->side);
    }
    const tare_role by_ending = info->is_gguf ? TARE_ROLE_UNKNOWN : role_of_ending(f);
    if (by_ending != TARE_ROLE_UNKNOWN && by_ending != info->role) {
        info->role = by_ending;
        info->tensor = NULL;
    } else if (info->role == TARE_ROLE_UNKNOWN && is_norm(f)) {
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
                      ends_at_dot(&f, f.len, "ffn_up.#") || ends_at_dot(&f, f.len, "ffn_gate.#") ||
                      ends_at_dot(&f, f.len, "ffn_down.#");
    if (info->is_shared) info->is_expert = false;
    if (!info->is_expert) info->expert = -1;
    find_role(&f, name, info);
    info->is_kept = is_kept(name, info->role);
    info->is_tower = contains(&f, "visual.") || contains(&f, "vision_") || contains(&f, "audio_");
    return *info;
}
