/* SPDX-License-Identifier: MIT
 *
 * Tokens by id, and the packed arrays that they end in. */
#include "llama/tokenizer/vocab.h"

#include <stdio.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/str.h"
#include "model/names.h"

void tare_llama_vocab_free(tare_llama_vocab *vocab) {
    tare_free(vocab->allocator, vocab->tokens, vocab->token_capacity * sizeof *vocab->tokens);
    tare_free(vocab->allocator, vocab->merges, vocab->merge_capacity * sizeof *vocab->merges);
    *vocab = (tare_llama_vocab){.allocator = vocab->allocator, .most_tokens = vocab->most_tokens};
}

/* Makes room for ids below n; new ones have no token. */
static tare_status reach(tare_llama_vocab *vocab, uint64_t n, tare_error *err) {
    void *tokens = vocab->tokens;
    if (n > vocab->most_tokens)
        return tare_fail(err, TARE_ERR_LIMIT, "token id: no vocabulary has so many");
    if (!tare_grow(vocab->allocator, &tokens, &vocab->token_capacity, (size_t)n,
                   sizeof *vocab->tokens))
        return tare_fail(err, TARE_ERR_NOMEM, "tokens");
    vocab->tokens = tokens;
    while (vocab->n_tokens < n)
        vocab->tokens[vocab->n_tokens++] = (tare_llama_token){{NULL, 0}, 0, 0};
    return TARE_OK;
}

tare_status tare_llama_vocab_set(tare_llama_vocab *vocab, uint64_t id,
                                 const tare_llama_token *token, tare_error *err) {
    if (id >= vocab->n_tokens) {
        uint64_t n;
        if (!tare_add_u64(id, 1, &n)) n = id;
        TARE_TRY(reach(vocab, n, err));
    }
    vocab->tokens[id] = *token;
    return TARE_OK;
}

tare_llama_token *tare_llama_vocab_at(const tare_llama_vocab *vocab, uint64_t id) {
    return id < vocab->n_tokens && vocab->tokens[id].text.ptr ? &vocab->tokens[id] : NULL;
}

tare_status tare_llama_vocab_add_merge(tare_llama_vocab *vocab, tare_str merge, tare_error *err) {
    void *merges = vocab->merges;
    if (!merge.ptr || !tare_grow(vocab->allocator, &merges, &vocab->merge_capacity,
                                 vocab->n_merges + 1, sizeof *vocab->merges))
        return tare_fail(err, TARE_ERR_NOMEM, "merges");
    vocab->merges = merges;
    vocab->merges[vocab->n_merges++] = merge;
    return TARE_OK;
}

tare_status tare_llama_vocab_pad(tare_llama_vocab *vocab, uint64_t n, float score,
                                 tare_arena *arena, size_t *n_padded, tare_error *err) {
    char text[32];
    *n_padded = 0;
    if (n > vocab->n_tokens) TARE_TRY(reach(vocab, n, err));
    for (size_t id = 0; id < vocab->n_tokens; id++) {
        if (vocab->tokens[id].text.ptr) continue;
        int length = snprintf(text, sizeof text, "[PAD%zu]", id);
        tare_str copy = tare_arena_str(arena, (tare_str){text, (size_t)length});
        if (!copy.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tokens");
        vocab->tokens[id] = (tare_llama_token){copy, score, TARE_TOKEN_UNUSED};
        ++*n_padded;
    }
    return TARE_OK;
}

tare_status tare_llama_vocab_index(tare_name_index *index, const tare_llama_vocab *vocab,
                                   tare_arena *arena, tare_error *err) {
    TARE_TRY(tare_name_index_init(index, arena, vocab->n_tokens, err));
    for (size_t id = 0; id < vocab->n_tokens; id++)
        if (vocab->tokens[id].text.ptr)
            tare_name_index_add(index, vocab->tokens, sizeof *vocab->tokens, id, NULL);
    return TARE_OK;
}

int64_t tare_llama_vocab_find(const tare_name_index *index, const tare_llama_vocab *vocab,
                              tare_str text) {
    return tare_name_index_find(index, vocab->tokens, sizeof *vocab->tokens, text);
}

/* ---- packed arrays --------------------------------------------------------------------------- */

static tare_value array_value(tare_value_type type, size_t n, const uint8_t *bytes, uint64_t size) {
    return (tare_value){.type = TARE_VALUE_ARRAY,
                        .as.a = {.type = type, .count = n, .bytes = bytes, .size_bytes = size}};
}

tare_status tare_llama_pack_strings(tare_value *out, const void *texts, size_t n, size_t stride,
                                    tare_arena *arena, tare_error *err) {
    uint64_t size = 0;
    size_t whole;
    for (size_t i = 0; i < n; i++) {
        tare_str text;
        memcpy(&text, (const char *)texts + i * stride, sizeof text);
        size += 8 + text.len; /* the texts lie in memory, so their lengths add up */
    }
    uint8_t *bytes = tare_size_of_u64(size, &whole) ? tare_arena_take(arena, whole) : NULL;
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "tokens");
    uint8_t *p = bytes;
    for (size_t i = 0; i < n; i++) {
        tare_str text;
        memcpy(&text, (const char *)texts + i * stride, sizeof text);
        tare_store_le64(p, text.len);
        if (text.len) memcpy(p + 8, text.ptr, text.len);
        p += 8 + text.len;
    }
    *out = array_value(TARE_VALUE_STRING, n, bytes, size);
    return TARE_OK;
}

/* One number of 32 bits for each token. */
static tare_status pack_words(tare_value *out, tare_value_type type, const tare_llama_vocab *vocab,
                              uint32_t (*word)(const tare_llama_token *), tare_arena *arena,
                              tare_error *err) {
    uint8_t *bytes = tare_arena_array(arena, vocab->n_tokens, 4);
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "tokens");
    for (size_t id = 0; id < vocab->n_tokens; id++)
        tare_store_le32(bytes + 4 * id, word(&vocab->tokens[id]));
    *out = array_value(type, vocab->n_tokens, bytes, (uint64_t)vocab->n_tokens * 4);
    return TARE_OK;
}

static uint32_t score_word(const tare_llama_token *token) {
    return tare_f32_bits(token->score);
}

static uint32_t type_word(const tare_llama_token *token) {
    return (uint32_t)token->type;
}

tare_status tare_llama_pack_scores(tare_value *out, const tare_llama_vocab *vocab,
                                   tare_arena *arena, tare_error *err) {
    return pack_words(out, TARE_VALUE_F32, vocab, score_word, arena, err);
}

tare_status tare_llama_pack_types(tare_value *out, const tare_llama_vocab *vocab, tare_arena *arena,
                                  tare_error *err) {
    return pack_words(out, TARE_VALUE_I32, vocab, type_word, arena, err);
}

tare_status tare_llama_pack_bytes(tare_value *out, tare_str bytes, tare_arena *arena,
                                  tare_error *err) {
    tare_str copy = tare_arena_str(arena, bytes);
    if (!copy.ptr) return tare_fail(err, TARE_ERR_NOMEM, "bytes");
    *out = array_value(TARE_VALUE_U8, copy.len, (const uint8_t *)copy.ptr, copy.len);
    return TARE_OK;
}
