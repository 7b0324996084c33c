/* SPDX-License-Identifier: MIT
 *
 * A vocabulary while it is put together: tokens by their ids, merges by their ranks. */
#ifndef TARE_LLAMA_VOCAB_H
#define TARE_LLAMA_VOCAB_H

#include "base/alloc.h"
#include "model/catalog.h"

/* More tokens than this are taken for a damaged file; the largest vocabulary in use has 0.4
 * million. A model's limit of array elements may be lower. */
#define TARE_LLAMA_MAX_TOKENS (UINT64_C(1) << 22)

/* Numbers are those of tokenizer.ggml.token_type. */
typedef enum tare_llama_token_type {
    TARE_TOKEN_NORMAL = 1,
    TARE_TOKEN_UNKNOWN = 2,
    TARE_TOKEN_CONTROL = 3,
    TARE_TOKEN_USER_DEFINED = 4,
    TARE_TOKEN_UNUSED = 5,
    TARE_TOKEN_BYTE = 6,
} tare_llama_token_type;

typedef struct tare_llama_token {
    tare_str text; /* first: an index over names reads it. ptr NULL: no token has this id */
    float score;
    tare_llama_token_type type;
} tare_llama_token;

/* Texts are borrowed: from the files, or from the arena of whoever fills it. */
typedef struct tare_llama_vocab {
    const tare_allocator *allocator;
    uint64_t most_tokens;
    tare_llama_token *tokens;
    size_t n_tokens, token_capacity;
    tare_str *merges; /* "left right" */
    size_t n_merges, merge_capacity;
} tare_llama_vocab;

void tare_llama_vocab_free(tare_llama_vocab *vocab);
/* Puts a token at an id, in the place of what is there. LIMIT: it is beyond most_tokens. */
tare_status tare_llama_vocab_set(tare_llama_vocab *vocab, uint64_t id,
                                 const tare_llama_token *token, tare_error *err);
/* The token of an id; NULL: there is none. */
tare_llama_token *tare_llama_vocab_at(const tare_llama_vocab *vocab, uint64_t id);
tare_status tare_llama_vocab_add_merge(tare_llama_vocab *vocab, tare_str merge, tare_error *err);
/* Fills ids below n that have no token with "[PADn]", UNUSED, of this score. *n_padded: how many.
 */
tare_status tare_llama_vocab_pad(tare_llama_vocab *vocab, uint64_t n, float score,
                                 tare_arena *arena, size_t *n_padded, tare_error *err);
/* An index from texts to ids; of a text that stands twice the first id is found. */
tare_status tare_llama_vocab_index(tare_name_index *index, const tare_llama_vocab *vocab,
                                   tare_arena *arena, tare_error *err);
int64_t tare_llama_vocab_find(const tare_name_index *index, const tare_llama_vocab *vocab,
                              tare_str text);

/* The arrays of the keys, in packed form. */
tare_status tare_llama_pack_strings(tare_value *out, const void *texts, size_t n, size_t stride,
                                    tare_arena *arena, tare_error *err);
tare_status tare_llama_pack_scores(tare_value *out, const tare_llama_vocab *vocab,
                                   tare_arena *arena, tare_error *err);
tare_status tare_llama_pack_types(tare_value *out, const tare_llama_vocab *vocab, tare_arena *arena,
                                  tare_error *err);
tare_status tare_llama_pack_bytes(tare_value *out, tare_str bytes, tare_arena *arena,
                                  tare_error *err);

#endif
