/* SPDX-License-Identifier: MIT
 *
 * Whether llama.cpp can run a GGUF file, as far as its directory tells: what its loader requires of
 * every model before it builds the graph of one. */
#include <tare/experimental/llama.h>

#include <stdio.h>

#include "base/arith.h"
#include "base/str.h"
#include "llama/loader.h"
#include "llama/needed.h"
#include "llama/size_rules.h"
#include "llama/tensor_names.h"

/* Architectures of llama.cpp that nothing is mapped to yet. */
static const char further[] = "pockettts qwen3tts";
static const char tokenizers[] =
    "llama gpt2 hybriddna whitespace bert t5 rwkv plamo2 gemma4 none no_vocab";

/* Drafts that may have the embeddings and the head of the model that they are for, or a head for a part
 * of its tokens. */
static const char borrowing[] = "dflash eagle3";

/* Whose output is no head, but makes vectors of another width. */
static const char projecting[] = "gemma-embedding2";

static bool no(tare_error *why, tare_item_kind kind, const char *item, const char *what) {
    tare_fail(why, TARE_ERR_UNSUPPORTED, what);
    tare_error_item(why, kind, -1, tare_str_of(item));
    return false;
}

static bool is_known(tare_str architecture) {
    const tare_llama_arch *a;
    for (size_t i = 0; (a = tare_llama_arch_at(i)); i++)
        if (tare_str_is(architecture, a->name)) return true;
    return tare_llama_is_one_of(architecture, further);
}

static const tare_metadata *find(const tare_model *model, const char *key) {
    int64_t i = tare_model_find_key(model, tare_str_of(key));
    return i < 0 ? NULL : &model->catalog.metadata[i];
}

static bool has_keys(uint64_t *blocks, const tare_model *model, tare_str architecture,
                     tare_error *why) {
    static const char *const required[] = {"block_count", "context_length", "embedding_length"};
    uint64_t values[3];
    char key[96];
    for (size_t i = 0; i < 3; i++) {
        snprintf(key, sizeof key, "%.*s.%s", (int)tare_min_u64(architecture.len, 64),
                 architecture.ptr, required[i]);
        const tare_metadata *m = find(model, key);
        if (!m) return no(why, TARE_ITEM_KEY, key, "it is missing");
        if (!tare_value_u64(&values[i], &m->value))
            return no(why, TARE_ITEM_KEY, key, "it is not a number above 0");
        if (values[i] == 0)
            return no(why, TARE_ITEM_KEY, key,
                      i == 1 ? "llama.cpp runs a model with 0 only where it is told another number"
                             : "it is not a number above 0");
    }
    *blocks = values[0];
    return true;
}

/* *n: tokens; 0: the model has none. */
static bool has_tokenizer(uint64_t *n, const tare_model *model, tare_error *why) {
    tare_str kind = tare_catalog_get_str(&model->catalog, "tokenizer.ggml.model");
    tare_str pre = tare_catalog_get_str(&model->catalog, "tokenizer.ggml.pre");
    const tare_metadata *tokens = find(model, "tokenizer.ggml.tokens");
    *n = 0;
    if (kind.len == 0)
        return no(why, TARE_ITEM_KEY, "tokenizer.ggml.model",
                  "it is missing: the model has no tokenizer");
    if (!tare_llama_is_one_of(kind, tokenizers))
        return no(why, TARE_ITEM_KEY, "tokenizer.ggml.model",
                  "llama.cpp does not know this tokenizer");
    if (tare_str_is(kind, "none") || tare_str_is(kind, "no_vocab")) return true;
    if (!tokens || tokens->value.type != TARE_VALUE_ARRAY || tokens->value.as.a.count == 0)
        return no(why, TARE_ITEM_KEY, "tokenizer.ggml.tokens", "there are no tokens");
    *n = tokens->value.as.a.count;
    if (!tare_llama_tokens_load(model, kind, why)) return false;
    if (!tare_llama_is_one_of(kind, "gpt2 gemma4 hybriddna whitespace")) return true;
    if (!find(model, "tokenizer.ggml.merges") && !tare_str_is(pre, "kimi-k2"))
        return no(why, TARE_ITEM_KEY, "tokenizer.ggml.merges", "it is missing");
    if (!tare_str_is(kind, "gemma4") && pre.len && !tare_str_is(pre, "default") &&
        !tare_llama_pre_is_known(pre))
        return no(why, TARE_ITEM_KEY, "tokenizer.ggml.pre",
                  "llama.cpp has no splitting of that name");
    return true;
}

static uint64_t count_or(const tare_model *model, const char *architecture, const char *name,
                         uint64_t otherwise) {
    char key[128];
    uint64_t n;
    snprintf(key, sizeof key, "%s.%s", architecture, name);
    const tare_metadata *m = find(model, key);
    return m && tare_value_u64(&n, &m->value) ? n : otherwise;
}

/* The first block that has to be there. */
static uint64_t first_block(const tare_model *model, tare_str architecture, uint64_t blocks) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)tare_min_u64(architecture.len, 63), architecture.ptr);
    const uint64_t n = count_or(model, name, "nextn_predict_layers", 0);
    return n > 0 && n < blocks && tare_llama_is_one_of(architecture, TARE_LLAMA_DRAFTS) &&
                   tare_model_find_tensor(model, TARE_STR("blk.0.attn_norm.weight")) < 0
               ? blocks - n
               : 0;
}

/* The blocks that have to be there: without the first projection of the layers that predict more tokens
 * they are in a file of their own. */
static uint64_t needed_blocks(const tare_model *model, tare_str architecture, uint64_t blocks) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)tare_min_u64(architecture.len, 63), architecture.ptr);
    const uint64_t n = count_or(model, name, "nextn_predict_layers", 0);
    if (n == 0 || n >= blocks || !tare_llama_is_one_of(architecture, TARE_LLAMA_DRAFTS))
        return blocks;
    snprintf(name, sizeof name, "blk.%llu.nextn.eh_proj.weight", (unsigned long long)(blocks - n));
    return tare_model_find_tensor(model, tare_str_of(name)) < 0 ? blocks - n : blocks;
}

/* The blocks that tensors are of: two stacks of layers, whose runs the keys count. */
static uint64_t own_blocks(const tare_model *model, tare_str architecture, uint64_t blocks) {
    return tare_str_is(architecture, "hrm_text")
               ? 2 * count_or(model, "hrm_text", "hrm.layers_per_stack", 0)
               : blocks;
}

/* Packed or not. */
static bool is_gguf(const tare_model *model) {
    const char *format = model ? tare_model_content_format(model) : NULL;
    return format && strcmp(format, "gguf") == 0;
}

bool tare_llama_is_draft(const tare_model *model) {
    const tare_str architecture = tare_model_architecture(model);
    char name[64];
    if (!is_gguf(model)) return false;
    if (tare_llama_is_one_of(architecture, borrowing) ||
        tare_str_is(architecture, "gemma4-assistant"))
        return true;
    snprintf(name, sizeof name, "%.*s", (int)tare_min_u64(architecture.len, 63), architecture.ptr);
    return first_block(model, architecture, count_or(model, name, "block_count", 0)) > 0;
}

/* Marks the block of a tensor: "blk.3.x", "enc.blk.3.x". */
static void mark_block(bool *is_there, uint64_t n, tare_str name) {
    const tare_str word = TARE_STR("blk.");
    size_t at = tare_str_starts(name, word)                              ? 4
                : name.len > 8 && memcmp(name.ptr + 4, word.ptr, 4) == 0 ? 8
                                                                         : 0;
    uint64_t i = 0;
    if (at == 0 || at >= name.len || name.ptr[at] < '0' || name.ptr[at] > '9') return;
    for (; at < name.len && name.ptr[at] >= '0' && name.ptr[at] <= '9' && i < n; at++)
        i = 10 * i + (uint64_t)(name.ptr[at] - '0');
    if (i < n) is_there[i] = true;
}

static bool has_tensors(const tare_model *model, tare_str architecture, uint64_t from,
                        uint64_t blocks, uint64_t tokens, tare_error *why) {
    const tare_catalog *c = &model->catalog;
    int64_t embedding = tare_model_find_tensor(model, TARE_STR("token_embd.weight"));
    char block[32];
    if (embedding < 0 && !tare_llama_is_one_of(architecture, borrowing) &&
        tare_llama_needs_embeddings(architecture))
        return no(why, TARE_ITEM_TENSOR, "token_embd.weight", "it is missing");
    if (tokens && embedding >= 0 && c->tensors[embedding].n_rows != tokens)
        return no(why, TARE_ITEM_TENSOR, "token_embd.weight",
                  "its rows differ from the number of tokens");
    if (tare_llama_is_one_of(architecture, TARE_LLAMA_OTHER_BLOCKS)) return true;
    if (blocks > c->n_tensors)
        return no(why, TARE_ITEM_TENSOR, "blk.", "the model has fewer blocks than the keys say");
    bool *is_there = tare_alloc(model->allocator, (size_t)blocks);
    if (!is_there) {
        tare_fail(why, TARE_ERR_NOMEM, "blocks");
        return false;
    }
    memset(is_there, 0, (size_t)blocks);
    for (size_t i = 0; i < c->n_tensors; i++) mark_block(is_there, blocks, c->tensors[i].name);
    uint64_t first = from;
    while (first < blocks && is_there[first]) first++;
    tare_free(model->allocator, is_there, (size_t)blocks);
    if (first == blocks) return true;
    snprintf(block, sizeof block, "blk.%llu.", (unsigned long long)first);
    return no(why, TARE_ITEM_TENSOR, block, "the block has no tensors");
}

/* One of the rows of the architecture finds all that it needs; none: nothing is known of it. */
static bool is_whole(const tare_model *model, tare_str architecture, uint64_t from, uint64_t blocks,
                     uint64_t needed, tare_error *why) {
    char name[128], first[128] = "";
    const tare_llama_arch *a;
    for (size_t i = 0; (a = tare_llama_arch_at(i)); i++) {
        if (!tare_str_is(architecture, a->name)) continue;
        /* Layers that predict more tokens may be left out. */
        const uint64_t n = count_or(model, a->name, "nextn_predict_layers", 0);
        const uint64_t n_decoder = count_or(model, a->name, "decoder_block_count", blocks);
        const uint64_t n_nextn = tare_min_u64(n, blocks);
        if (!tare_llama_lacks_tensor(name, sizeof name, model, a, from, blocks - n_nextn,
                                     needed < blocks ? 0 : n_nextn, n_decoder))
            return true;
        if (!first[0]) memcpy(first, name, sizeof first);
    }
    return !first[0] || no(why, TARE_ITEM_TENSOR, first, "it is missing");
}

/* ---- types ------------------------------------------------------------------------------------ */

/* Ends of the names of what is not multiplied as a matrix, whatever its shape: added, or of a convolution. */
static bool is_always_f32(tare_str name, tare_str architecture) {
    static const char *const ends[] = {"_norm.weight",
                                       ".bias",
                                       ".ssm_a",
                                       ".ssm_d",
                                       ".ssm_conv1d.weight",
                                       ".ssm_conv1d_q.weight",
                                       ".exp_probs_b",
                                       ".ssm_conv1d_k.weight",
                                       ".ssm_conv1d_v.weight",
                                       "token_types.weight",
                                       ".shortconv.conv.weight",
                                       ".time_mix_lerp_fused.weight",
                                       ".attn_sinks.weight"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (tare_str_ends(name, tare_str_of(ends[i]))) return true;
    return tare_str_is(architecture, "glm5-next") &&
           tare_str_ends(name, TARE_STR(".indexer_compressor_ape.weight"));
}

/* llama.cpp adds and multiplies vectors as F32, and multiplies matrices of floats and blocks. */
static bool has_type(const tare_tensor *t, tare_str architecture, tare_error *why) {
    const tare_encoding *e = t->encoding;
    if (e->id == TARE_ENCODING_I64 && tare_str_is(t->name, "d2t")) return true;
    const bool is_table = tare_str_ends(t->name, TARE_STR(".ffn_gate_tid2eid.weight"));
    const bool is_vector = t->n_dims <= 1 || is_always_f32(t->name, architecture);
    const char *what = NULL;
    char name[128];
    if (is_vector && e->id != TARE_ENCODING_F32)
        what = "llama.cpp computes with vectors, norms, biases and convolutions in F32 only";
    if (is_table && e->id != TARE_ENCODING_I32) what = "llama.cpp needs whole numbers, i32";
    if (!is_vector && !is_table && e->kind != TARE_KIND_BLOCK && e->id != TARE_ENCODING_F32 &&
        e->id != TARE_ENCODING_F16 && e->id != TARE_ENCODING_BF16)
        what = "llama.cpp does not compute with matrices of its type";
    if (!what) return true;
    snprintf(name, sizeof name, "%.*s", (int)tare_min_u64(t->name.len, 127), t->name.ptr);
    return no(why, TARE_ITEM_TENSOR, name, what);
}

/* Layers that predict more tokens may have embeddings and a head of their own. */
static bool has_rows(const tare_tensor *t, uint64_t tokens, tare_error *why) {
    char name[128];
    if (tokens == 0 || t->n_rows == tokens ||
        (!tare_str_ends(t->name, TARE_STR(".nextn.embed_tokens.weight")) &&
         !tare_str_ends(t->name, TARE_STR(".nextn.shared_head_head.weight"))))
        return true;
    snprintf(name, sizeof name, "%.*s", (int)tare_min_u64(t->name.len, 127), t->name.ptr);
    return no(why, TARE_ITEM_TENSOR, name, "its rows differ from the number of tokens");
}

/* Of an architecture without rows nothing is known here: it may have tables of integers, or a head
 * for fewer tokens. */
static bool has_usable_tensors(const tare_model *model, tare_str architecture, uint64_t blocks,
                               uint64_t tokens, tare_error *why) {
    const tare_catalog *c = &model->catalog;
    if (tare_llama_is_one_of(architecture, further)) return true;
    if (!tare_llama_tensors_load(model, architecture, blocks, why)) return false;
    const int64_t head = tare_model_find_tensor(model, TARE_STR("output.weight"));
    const int64_t ids = tare_model_find_tensor(model, TARE_STR("d2t"));
    if (ids >= 0 && tare_llama_is_one_of(architecture, borrowing))
        tokens = c->tensors[ids].n_elements;
    if (tokens && head >= 0 && c->tensors[head].n_rows != tokens &&
        !tare_llama_is_one_of(architecture, projecting))
        return no(why, TARE_ITEM_TENSOR, "output.weight",
                  "its rows differ from the number of tokens");
    for (size_t i = 0; i < c->n_tensors; i++)
        if (!has_type(&c->tensors[i], architecture, why) || !has_rows(&c->tensors[i], tokens, why))
            return false;
    return tare_llama_shapes_load(model, architecture, why);
}

static bool is_loaded(const tare_model *model, tare_error *why) {
    uint64_t blocks = 0, tokens = 0;
    if (!is_gguf(model)) {
        tare_fail(why, TARE_ERR_UNSUPPORTED, "it is not a GGUF file");
        return false;
    }
    tare_str architecture = tare_catalog_get_str(&model->catalog, "general.architecture");
    if (tare_model_is_big_endian(model)) {
        tare_fail(why, TARE_ERR_UNSUPPORTED, "it is big-endian");
        return false;
    }
    if (model->summary.is_truncated) {
        tare_fail(why, TARE_ERR_UNSUPPORTED, "its data is cut short");
        return false;
    }
    if (architecture.len == 0)
        return no(why, TARE_ITEM_KEY, "general.architecture", "it is missing");
    if (!is_known(architecture))
        return no(why, TARE_ITEM_KEY, "general.architecture", "llama.cpp does not know it");
    if (!tare_llama_file_loads(model, why) || !has_keys(&blocks, model, architecture, why))
        return false;
    if (!tare_llama_keys_load(model, architecture, blocks, why) ||
        !tare_llama_values_load(model, architecture, blocks, why))
        return false;
    blocks = own_blocks(model, architecture, blocks);
    const uint64_t from = first_block(model, architecture, blocks);
    const uint64_t needed = from ? blocks : needed_blocks(model, architecture, blocks);
    return tare_llama_has_keys(model, architecture, why) && has_tokenizer(&tokens, model, why) &&
           has_tensors(model, architecture, from, needed, tokens, why) &&
           is_whole(model, architecture, from, blocks, needed, why) &&
           tare_llama_layers_load(model, architecture, from, blocks, why) &&
           has_usable_tensors(model, architecture, blocks, tokens, why);
}

bool tare_llama_can_run(const tare_model *model, tare_error *why) {
    model = tare_model_as_stored(model);
    if (is_loaded(model, why)) return true;
    if (!is_gguf(model)) return false;
    /* The loader does not read it, but it is why the rest is as it is. */
    const tare_str type = tare_catalog_get_str(&model->catalog, "general.type");
    if (tare_str_is(type, "adapter") || tare_str_is(type, "mmproj") || tare_str_is(type, "imatrix"))
        return no(why, TARE_ITEM_KEY, "general.type",
                  "it is not a model by itself, but belongs to one");
    return false;
}
