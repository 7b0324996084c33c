/* SPDX-License-Identifier: MIT
 *
 * config.json against the shapes of the tensors. llama.cpp takes sizes from the keys, which come from
 * config.json, and refuses a file whose tensors have other ones; that is found here instead, and said
 * of the field. Only sizes that every architecture with such a tensor has are compared. So is a field
 * that is missing, where llama.cpp would refuse a file without its key. */
#include <stdio.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/str.h"
#include "llama/class_defaults.h"
#include "llama/mapping.h"
#include "llama/size_rules.h"
#include "llama/tower.h"

/* WavTokenizer has no blocks of a decoder, and embeddings of another width; a MobileNet (Gemma 3n) has
 * blocks of many shapes, which config.json does not count. */
static const char other_sizes[] = TARE_LLAMA_OTHER_BLOCKS " gemma3nv";

/* ---- what config.json says ------------------------------------------------------------------- */

/* The number of a key, or of a block where it has one for each; false: it has none. */
static bool key_number(uint64_t *out, const void *model, const char *name, uint64_t block) {
    const tare_llama_mapping *m = model;
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

/* What a rule says of the input, and, for the vocabulary, config.json. */
static bool wanted_size(uint64_t *count, uint64_t *factor, const tare_llama_mapping *m,
                        const tare_llama_size_rule *r, uint64_t block) {
    double size;
    if (r->key) return tare_llama_size_expected(count, factor, r, block, key_number, m);
    if (m->arch->ignores_vocab_size ||
        tare_llama_number(&size, m, r->members, 0, NULL) != TARE_OK || !(size > 0) ||
        !(size < 0x1p53))
        return false;
    *count = (uint64_t)size;
    *factor = 1;
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

/* ---- lists with a word for each layer -------------------------------------------------------- */

/* What layers are called in any architecture; a row that tells them apart knows fewer. */
#define LAYER_WORDS                                                                                \
    "full_attention attention sliding_attention chunked_attention linear_attention mamba conv "    \
    "hybrid recurrent dense sparse mlp moe "                                                       \
    "indexed_attention/deepseek_sparse_attention/qwen_sparse_attention/sparse_attention "          \
    "minimax_m3_sparse compressed_sparse_attention heavily_compressed_attention hash_moe"
#define COUNT_OF(list) "leading(" list ", 0, '" LAYER_WORDS "') * 0 + len(" list ")"

static tare_status check_list(const tare_llama_mapping *m, const char *member, const char *count,
                              tare_error *err) {
    double n;
    const uint64_t n_layers = m->n_layers - m->n_extra_layers;
    TARE_TRY(tare_llama_number(&n, m, count, (double)n_layers, err));
    if (n >= (double)n_layers) return TARE_OK;
    tare_fail(err, TARE_ERR_CORRUPT, "it has fewer elements than there are layers");
    tare_error_item(err, TARE_ITEM_RESOURCE, -1, TARE_STR("config.json"));
    tare_error_detail(err, "%s: %.0f for %llu", member, n, (unsigned long long)n_layers);
    return TARE_ERR_CORRUPT;
}

tare_status tare_llama_check_lists(const tare_llama_mapping *m, tare_error *err) {
    static const struct {
        const char *member, *count;
    } lists[] = {{"layer_types", COUNT_OF("layer_types")},
                 {"layers_block_type", COUNT_OF("layers_block_type")},
                 {"mlp_layer_types", COUNT_OF("mlp_layer_types")},
                 {"hybrid_override_pattern", "len(hybrid_override_pattern)"}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        TARE_TRY(check_list(m, lists[i].member, lists[i].count, err));
    return TARE_OK;
}

/* ---- against the tensors --------------------------------------------------------------------- */

/* What is wrong with a size, by the member that has it. */
static const char *contradiction(const tare_llama_mapping *m, tare_str member) {
    tare_str formula;
    if (m->config.class_members && !tare_llama_config_names(&m->config, member) &&
        tare_llama_class_default(&formula, m->config.class_members, member, false))
        return "config.json lacks it, and transformers' default contradicts the tensors";
    return "config.json contradicts the tensors";
}

static tare_status fail_target(const tare_llama_mapping *m, const tare_llama_target *t,
                               tare_str member, tare_error *err) {
    tare_fail(err, TARE_ERR_CORRUPT, contradiction(m, member));
    for (size_t i = 0; i < t->n_pieces; i++) {
        if (t->pieces[i].source == TARE_PIECE_ZEROS) continue;
        tare_error_item(err, TARE_ITEM_TENSOR, t->pieces[i].source,
                        m->hf->catalog.tensors[t->pieces[i].source].name);
        break;
    }
    return TARE_ERR_CORRUPT;
}

/* A kernel of a convolution, or a layer of a projector that is not its last. */
static bool is_other_projector(const tare_llama_mapping *m, const tare_llama_target *t,
                               const tare_llama_size_rule *r) {
    static const char last_but_one[] = "mm.a.mlp.2.weight";
    if (!m->arch->tower || r->dim == 0) return false;
    return t->n_dims > 2 || (tare_str_is(t->name, last_but_one) &&
                             tare_llama_has_target(m, TARE_STR("mm.a.mlp.3.weight")));
}

static tare_status check_target(const tare_llama_mapping *m, const tare_llama_target *t,
                                const tare_llama_size_rule *r, uint64_t block, tare_error *err) {
    uint64_t count, factor;
    if (t->n_dims <= r->dim || is_other_projector(m, t, r) ||
        !wanted_size(&count, &factor, m, r, block))
        return TARE_OK;
    uint64_t is = t->dims[t->n_dims - 1 - r->dim];
    if (tare_llama_size_is(r, count, factor, is, tare_str_of(m->arch->name))) return TARE_OK;
    /* Some architectures pad the vocabulary to a multiple. */
    if (!r->key && m->facts[1].number == (double)is) return TARE_OK;
    const tare_str name =
        tare_llama_config_name(m, r->members, count, r->key ? r->key : r->members);
    tare_status status = fail_target(m, t, name, err);
    tare_llama_size_differs(err, r, name, count, factor, is);
    return status;
}

static const char *layers_of(const tare_llama_mapping *m) {
    return m->arch->tower ? m->arch->tower->layers : tare_llama_layers(m->arch);
}

static tare_status check_blocks(const tare_llama_mapping *m, uint64_t n_blocks, uint64_t wanted,
                                const char *members, tare_error *err) {
    if (n_blocks == wanted || (n_blocks > wanted && !m->arch->tower)) return TARE_OK;
    const tare_str name = tare_llama_config_name(m, members, wanted, "num_hidden_layers");
    tare_fail(err, TARE_ERR_CORRUPT, contradiction(m, name));
    tare_error_item(err, TARE_ITEM_RESOURCE, -1, TARE_STR("config.json"));
    tare_error_detail(err, "%.*s is %llu, tensors have %llu", (int)name.len, name.ptr,
                      (unsigned long long)wanted, (unsigned long long)n_blocks);
    return TARE_ERR_CORRUPT;
}

/* Blocks that config.json counts and no tensor belongs to; there may be none for extra ones. An audio
 * encoder beside one for pictures has a number of its own. */
static tare_status check_layers(const tare_llama_mapping *m, uint64_t n_blocks, uint64_t n_heard,
                                tare_error *err) {
    static const char heard[] =
        "audio_config.num_hidden_layers | audio_config.encoder_layers | audio_config.num_layers";
    uint64_t wanted;
    const bool has_both = m->arch->tower && key_number(&wanted, m, "vision.block_count", 0) &&
                          key_number(&wanted, m, "audio.block_count", 0);
    if (has_both) TARE_TRY(check_blocks(m, n_heard, wanted, heard, err));
    if (!has_both) n_blocks = tare_max_u64(n_blocks, n_heard);
    return check_blocks(m, n_blocks, m->n_layers - m->n_extra_layers, layers_of(m), err);
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

static bool has_tensor(const tare_llama_mapping *m, const char *name) {
    for (size_t i = 0; i < m->n_targets; i++) {
        char stem[128];
        uint64_t block;
        bool is_in_block;
        tare_llama_stem(stem, sizeof stem, &block, &is_in_block, m->targets[i]->name);
        if (is_in_block && strcmp(stem, name) == 0) return true;
    }
    return false;
}

static tare_status check_needs(const tare_llama_mapping *m, tare_error *err) {
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        const need_rule *n = &needs[i];
        if (tare_llama_has_key(m, n->key) || (n->otherwise && tare_llama_has_key(m, n->otherwise)))
            continue;
        if (n->tensor && !has_tensor(m, n->tensor)) continue;
        tare_fail(err, TARE_ERR_CORRUPT, "it is missing, and llama.cpp needs it");
        tare_error_item(err, TARE_ITEM_RESOURCE, -1, TARE_STR("config.json"));
        tare_error_detail(err, "%s", n->member);
        return TARE_ERR_CORRUPT;
    }
    return TARE_OK;
}

tare_status tare_llama_check_config(const tare_llama_mapping *m, tare_error *err) {
    uint64_t n_blocks = 0, n_heard = 0;
    const tare_llama_tower *tower = m->arch->tower;
    const tare_str arch = tare_str_of(tower ? tower->projector : m->arch->name);
    if (tare_llama_is_one_of(arch, other_sizes)) return TARE_OK;
    for (size_t i = 0; i < m->n_targets; i++) {
        const tare_llama_target *t = m->targets[i];
        char stem[128];
        uint64_t block;
        bool is_in_block;
        tare_llama_stem(stem, sizeof stem, &block, &is_in_block, t->name);
        uint64_t *n = stem[0] == 'a' ? &n_heard : &n_blocks;
        if (is_in_block && block >= *n) *n = block + 1;
        for (const tare_llama_size_rule *r = tare_llama_size_rules; r->tensors; r++)
            if (r->members[0] && tare_llama_size_applies(r, stem, arch))
                TARE_TRY(check_target(m, t, r, block, err));
    }
    TARE_TRY(check_layers(m, n_blocks, n_heard, err));
    return tower ? TARE_OK : check_needs(m, err);
}
