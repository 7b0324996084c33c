/* SPDX-License-Identifier: MIT
 *
 * An index over the rows of the table that an architecture has; a lookup takes the block's prefix
 * and number off and puts llama.cpp's in their place. */
#include "llama/tensor_names.h"

#include "base/str.h"
#include "model/tensor_name_table.h"

#define MOST_NAMES 2048 /* slots: twice the names of the table */

typedef struct tare_llama_name_slot {
    tare_str other;   /* ptr NULL: free */
    const char *name; /* of llama.cpp */
    const char *side;
    bool is_in_block;
} slot;

tare_str tare_llama_next_of(const char **text, const char *separators) {
    *text += strspn(*text, separators);
    const tare_str word = {*text, strcspn(*text, separators)};
    *text += word.len;
    return word;
}

tare_str tare_llama_next_word(const char **text) {
    return tare_llama_next_of(text, " ");
}

bool tare_llama_is_one_of(tare_str word, const char *words) {
    for (tare_str w; words && (w = tare_llama_next_word(&words)).len;)
        if (tare_str_equal(w, word)) return true;
    return false;
}

static slot *find_slot(const tare_llama_names *names, tare_str other, const char *side,
                       bool is_in_block) {
    /* What is in the table is ours: a known key does. */
    static const tare_hash_key keys[2] = {{{1, 0}}, {{1, 1}}};
    uint32_t at = (uint32_t)tare_str_hash(other, &keys[is_in_block]) & names->mask;
    for (;; at = (at + 1) & names->mask) {
        slot *s = &names->slots[at];
        if (!s->other.ptr || (s->is_in_block == is_in_block && tare_str_equal(s->other, other) &&
                              strcmp(s->side, side) == 0))
            return s;
    }
}

const char *tare_llama_side_of(tare_str name) {
    for (const tare_tensor_prefix *p = tare_tensor_prefixes; p->text; p++)
        if (p->side[0] && tare_str_starts(name, tare_str_of(p->side))) return p->side;
    return "";
}

static void add_rows(tare_llama_names *names, const tare_tensor_named *rows, bool is_in_block,
                     const char *tensors) {
    for (; rows->name; rows++) {
        const char *others = rows->others,
                   *side = is_in_block ? tare_llama_side_of(tare_str_of(rows->name)) : "";
        if (!tare_llama_is_one_of(tare_str_of(rows->name), tensors)) continue;
        for (tare_str other; (other = tare_llama_next_word(&others)).len;)
            *find_slot(names, other, side, is_in_block) =
                (slot){other, rows->name, side, is_in_block};
    }
}

tare_status tare_llama_names_init(tare_llama_names *names, const char *arch, const char *tensors,
                                  tare_arena *arena, tare_error *err) {
    names->arch = arch;
    names->slots = TARE_NEW_ARRAY(arena, slot, MOST_NAMES);
    names->mask = MOST_NAMES - 1;
    if (!names->slots) return tare_fail(err, TARE_ERR_NOMEM, "tensor names");
    add_rows(names, tare_tensors_outside, false, tensors);
    add_rows(names, tare_tensors_in_blocks, true, tensors);
    return TARE_OK;
}

bool tare_llama_is_bare(tare_str architecture, tare_str word) {
    static const struct {
        const char *words, *archs; /* NULL: all */
    } bare[] = {{"ssm_a ssm_d", NULL},
                {"post_attention_norm post_ffw_norm", "plamo2 plamo3"},
                {"ssm_b_norm ssm_c_norm ssm_dt_norm", "plamo2"},
                {"exp_probs_b", "hy_v3"},
                {"ffn_norm ffn_pre_norm", "falcon-h1"},
                {"masked_embd_ordering", "gemma4-assistant"},
                {"d2t attn_conv_base ffn_conv_base hrm.z_l_init", NULL},
                {"attn_k.lora_a attn_k.lora_b attn_output.lora_a attn_output.lora_b attn_q.lora_a "
                 "attn_q.lora_b attn_v.lora_a attn_v.lora_b ffn_down.lora_a ffn_down.lora_b "
                 "ffn_gate.lora_a ffn_gate.lora_b ffn_up.lora_a ffn_up.lora_b",
                 "graniteswitch"},
                {"convnext.gamma", "wavtokenizer-dec"}};
    for (size_t i = 0; i < sizeof bare / sizeof *bare; i++)
        if (tare_llama_is_one_of(word, bare[i].words))
            return !bare[i].archs || tare_llama_is_one_of(architecture, bare[i].archs);
    return false;
}

/* Cuts "PREFIX.N." off; false: the name is of no block. */
static bool cut_block(tare_str *name, tare_str *number, const char **side) {
    for (const tare_tensor_prefix *p = tare_tensor_prefixes; p->text; p++) {
        tare_str prefix = tare_str_of(p->text);
        if (!tare_str_starts(*name, prefix)) continue;
        size_t at = prefix.len;
        while (at < name->len && name->ptr[at] >= '0' && name->ptr[at] <= '9') at++;
        if (at == prefix.len || at - prefix.len > 9 || at == name->len || name->ptr[at] != '.')
            continue;
        *number = (tare_str){name->ptr + prefix.len, at - prefix.len};
        *side = p->side;
        *name = tare_str_cut(*name, at + 1);
        return true;
    }
    return false;
}

/* "dec." + "blk.3." + "attn_q" + ".weight" of the tensor "dec.attn_q". */
static tare_str write_name(const slot *s, tare_str number, tare_str suffix, tare_arena *arena) {
    static const char *const aliases[][2] = {{"ffn_pre_norm", "ffn_norm"}};
    const char *name = s->name, *block = "blk.";
    tare_str parts[6];
    size_t n = 0, at = 0;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(name, aliases[i][0]) == 0) name = aliases[i][1];
    if (s->side[0] == 'p' || s->side[0] == 'c') block = ""; /* posnet.N., convnext.N. */
    if (s->is_in_block) {
        parts[n++] = tare_str_of(s->side);
        parts[n++] = tare_str_of(block);
        parts[n++] = number;
        parts[n++] = TARE_STR(".");
        name += strlen(s->side);
    }
    parts[n++] = tare_str_of(name);
    parts[n++] = suffix;
    char buf[128];
    for (size_t i = 0; i < n; i++) {
        memcpy(buf + at, parts[i].ptr, parts[i].len); /* names of the table are short */
        at += parts[i].len;
    }
    return tare_arena_str(arena, (tare_str){buf, at});
}

tare_status tare_llama_names_find(tare_str *out, const tare_llama_names *names, tare_str name,
                                  tare_arena *arena, tare_error *err) {
    static const char *const suffixes[] = {"", ".weight", ".bias"};
    *out = (tare_str){NULL, 0};
    for (int in_block = 0; in_block < 2; in_block++) {
        tare_str rest = name, number = {"", 0};
        const char *side = "";
        if (in_block && !cut_block(&rest, &number, &side)) continue;
        for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
            tare_str suffix = tare_str_of(suffixes[i]), stem = rest;
            if (!tare_str_ends(stem, suffix)) continue;
            stem.len -= suffix.len;
            const slot *s = find_slot(names, stem, side, in_block);
            if (!s->other.ptr) continue;
            if (i == 0 && !tare_llama_is_bare(tare_str_of(names->arch), tare_str_of(s->name)))
                suffix = strcmp(s->name, "exp_probs_b") ? TARE_STR(".weight") : TARE_STR(".bias");
            *out = write_name(s, number, suffix, arena);
            return out->ptr ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "tensor name");
        }
    }
    return TARE_OK;
}
