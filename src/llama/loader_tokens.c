/* SPDX-License-Identifier: MIT
 *
 * What llama.cpp's loader wants of a list of tokens; the types of its keys are loader_keys.c's. */
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/hash.h"
#include "base/str.h"
#include "llama/loader.h"
#include "llama/tensor_names.h"

static bool no(tare_error *why, const char *key, const char *what) {
    tare_fail(why, TARE_ERR_UNSUPPORTED, what);
    tare_error_item(why, TARE_ITEM_KEY, -1, tare_str_of(key));
    return false;
}

/* The value of a key where it is an array. */
static const tare_array *array_of(const tare_model *gguf, const char *key) {
    const int64_t i = tare_model_find_key(gguf, tare_str_of(key));
    if (i < 0 || gguf->catalog.metadata[i].value.type != TARE_VALUE_ARRAY) return NULL;
    return &gguf->catalog.metadata[i].value.as.a;
}

/* Whether no token is there twice; empty ones get a name of their own. */
static tare_status find_twice(const tare_array *array, tare_arena *arena, tare_error *err) {
    tare_name_index index;
    tare_array_walk walk;
    tare_value v;
    size_t n = 0;
    tare_str *tokens = TARE_NEW_ARRAY(arena, tare_str, array->count);
    if (!tokens) return tare_fail(err, TARE_ERR_NOMEM, "tokens");
    tare_array_begin(&walk, array);
    while (tare_array_next(&v, &walk))
        if (v.as.s.len) tokens[n++] = v.as.s;
    const tare_status status = tare_name_index_build(&index, arena, tokens, n, sizeof *tokens,
                                                     "a token is there twice", err);
    if (status != TARE_ERR_CORRUPT || !err) return status;
    const tare_str token = tokens[err->item];
    err->item = -1;
    tare_error_detail(err, "'%.*s'", (int)tare_min_u64(token.len, 48), token.ptr);
    return status;
}

static bool are_different(const tare_model *gguf, const tare_array *tokens, tare_error *why) {
    tare_arena arena;
    tare_arena_init(&arena, gguf->allocator);
    const tare_status status = find_twice(tokens, &arena, why);
    tare_arena_free(&arena);
    if (status == TARE_OK) return true;
    if (why) why->status = TARE_ERR_UNSUPPORTED;
    tare_error_item(why, TARE_ITEM_KEY, -1, TARE_STR("tokenizer.ggml.tokens"));
    return false;
}

/* Tokenizers that merge, and those that normalise by a map of characters. */
static bool parts_load(const tare_model *gguf, tare_str kind, tare_error *why) {
    const char *const merges = "tokenizer.ggml.merges";
    const char *const charsmap = "tokenizer.ggml.precompiled_charsmap";
    const tare_array *a = array_of(gguf, merges);
    if (tare_llama_is_one_of(kind, "gpt2 gemma4") &&
        tare_model_find_key(gguf, tare_str_of(merges)) >= 0 && (!a || a->type != TARE_VALUE_STRING))
        return no(why, merges, "llama.cpp takes it as an array of strings");
    if (!tare_str_is(kind, "t5") || tare_model_find_key(gguf, tare_str_of(charsmap)) < 0)
        return true;
    a = array_of(gguf, charsmap);
    if (!a || (a->type != TARE_VALUE_I8 && a->type != TARE_VALUE_U8))
        return no(why, charsmap, "llama.cpp takes it as an array of i8 or u8");
    return a->count > sizeof(uint32_t) || no(why, charsmap, "it is too short");
}

/* PLaMo 2's, which spells what it does not know as bytes: there is a token for each. */
static bool bytes_load(const tare_array *tokens, tare_str kind, tare_error *why) {
    tare_array_walk walk;
    tare_value v;
    bool is_there[256] = {false};
    if (!tare_str_is(kind, "plamo2")) return true;
    tare_array_begin(&walk, tokens);
    while (tare_array_next(&v, &walk)) {
        uint8_t byte;
        const bool is_byte = v.as.s.len == 6 && memcmp(v.as.s.ptr, "<0x", 3) == 0 &&
                             v.as.s.ptr[5] == '>' && tare_unhex(&byte, v.as.s.ptr + 3, 1);
        if (is_byte) is_there[byte] = true;
    }
    for (size_t i = 0; i < 256; i++) {
        if (is_there[i]) continue;
        no(why, "tokenizer.ggml.tokens", "llama.cpp asks for a token of each byte");
        tare_error_detail(why, "<0x%02X>", (unsigned)i);
        return false;
    }
    return true;
}

/* Encoders that add an embedding by a token's type count the types, also where there is one. */
static bool has_type_count(const tare_model *gguf, tare_error *why) {
    static const char key[] = "tokenizer.ggml.token_type_count";
    static const char archs[] = "bert jina-bert-v2 jina-bert-v3 nomic-bert nomic-bert-moe";
    const tare_str architecture = tare_catalog_get_str(&gguf->catalog, "general.architecture");
    return !tare_llama_is_one_of(architecture, archs) ||
           tare_model_find_key(gguf, tare_str_of(key)) >= 0 || no(why, key, "it is missing");
}

bool tare_llama_tokens_load(const tare_model *gguf, tare_str kind, tare_error *why) {
    static const char *const beside[] = {"tokenizer.ggml.scores", "tokenizer.ggml.token_type"};
    const tare_array *tokens = array_of(gguf, "tokenizer.ggml.tokens");
    if (!tokens) return no(why, "tokenizer.ggml.tokens", "there are no tokens");
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        const tare_array *a = array_of(gguf, beside[i]);
        if (a && a->count < tokens->count)
            return no(why, beside[i], "it has fewer elements than there are tokens");
    }
    if (!has_type_count(gguf, why)) return false;
    return parts_load(gguf, kind, why) && bytes_load(tokens, kind, why) &&
           are_different(gguf, tokens, why);
}
