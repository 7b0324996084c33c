/* SPDX-License-Identifier: MIT
 *
 * Whether llama.cpp can run a GGUF file, as far as its directory tells: what its loader requires of
 * every model before it builds the graph of one. */
#include <tare/llama.h>

#include <stdio.h>

#include "base/arith.h"
#include "base/str.h"
#include "llama/arch.h"
#include "llama/tensor_names.h"

/* Architectures of llama.cpp that nothing is mapped to yet. */
static const char further[] = "deepseek4 dflash eagle3 gptj";
static const char tokenizers[] = "llama gpt2 bert t5 rwkv plamo2 gemma4 none no_vocab";

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
        if (!tare_value_u64(&m->value, &values[i]) || values[i] == 0)
            return no(why, TARE_ITEM_KEY, key, "it is not a number above 0");
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
    if (!tare_str_is(kind, "gpt2")) return true;
    if (!find(model, "tokenizer.ggml.merges"))
        return no(why, TARE_ITEM_KEY, "tokenizer.ggml.merges", "it is missing");
    if (pre.len && !tare_str_is(pre, "default") && !tare_llama_pre_is_known(pre))
        return no(why, TARE_ITEM_KEY, "tokenizer.ggml.pre",
                  "llama.cpp has no splitting of that name");
    return true;
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

static bool has_tensors(const tare_model *model, uint64_t blocks, uint64_t tokens,
                        tare_error *why) {
    const tare_catalog *c = &model->catalog;
    int64_t embedding = tare_model_find_tensor(model, TARE_STR("token_embd.weight"));
    char block[32];
    if (embedding < 0) return no(why, TARE_ITEM_TENSOR, "token_embd.weight", "it is missing");
    if (tokens && c->tensors[embedding].n_rows != tokens)
        return no(why, TARE_ITEM_TENSOR, "token_embd.weight",
                  "its rows differ from the number of tokens");
    if (blocks > c->n_tensors)
        return no(why, TARE_ITEM_TENSOR, "blk.", "the model has fewer blocks than the keys say");
    bool *is_there = tare_alloc(model->allocator, (size_t)blocks);
    if (!is_there) {
        tare_fail(why, TARE_ERR_NOMEM, "blocks");
        return false;
    }
    memset(is_there, 0, (size_t)blocks);
    for (size_t i = 0; i < c->n_tensors; i++) mark_block(is_there, blocks, c->tensors[i].name);
    uint64_t first = 0;
    while (first < blocks && is_there[first]) first++;
    tare_free(model->allocator, is_there, (size_t)blocks);
    if (first == blocks) return true;
    snprintf(block, sizeof block, "blk.%llu.", (unsigned long long)first);
    return no(why, TARE_ITEM_TENSOR, block, "the block has no tensors");
}

bool tare_llama_can_run(const tare_model *model, tare_error *why) {
    uint64_t blocks, tokens;
    if (!model || strcmp(model->format, "gguf") != 0) {
        tare_fail(why, TARE_ERR_UNSUPPORTED, "it is not a GGUF file");
        return false;
    }
    tare_str architecture = tare_catalog_get_str(&model->catalog, "general.architecture");
    tare_str type = tare_catalog_get_str(&model->catalog, "general.type");
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
    if (tare_str_is(type, "adapter") || tare_str_is(type, "mmproj") || tare_str_is(type, "imatrix"))
        return no(why, TARE_ITEM_KEY, "general.type",
                  "it is not a model by itself, but belongs to one");
    if (!is_known(architecture))
        return no(why, TARE_ITEM_KEY, "general.architecture", "llama.cpp does not know it");
    return has_keys(&blocks, model, architecture, why) && has_tokenizer(&tokens, model, why) &&
           has_tensors(model, blocks, tokens, why);
}
