/* SPDX-License-Identifier: MIT
 *
 * The tokenizer of a GGUF file, while its files are written. */
#ifndef TARE_LLAMA_RESTORE_VOCAB_H
#define TARE_LLAMA_RESTORE_VOCAB_H

#include "llama/restore/restore.h"
#include "llama/tokenizer/pre.h"

typedef struct tare_llama_gguf_tokenizer {
    tare_llama_restoring *r;
    tare_arena scratch;
    tare_str model;            /* tokenizer.ggml.model */
    const tare_llama_pre *pre; /* NULL: no name that tare knows */
    tare_llama_vocab vocab;
    int64_t ids[TARE_LLAMA_SPECIAL_COUNT]; /* -1: none */
    bool adds_bos, adds_eos, adds_sep;
    bool has_space_prefix;
} tare_llama_gguf_tokenizer;

/* Fills all behind `model`: r, model and an empty vocabulary are set (restore_vocab.c). */
tare_status tare_llama_gguf_tokenizer_read(tare_llama_gguf_tokenizer *t, tare_error *err);
/* A key "tokenizer.ggml.NAME". */
const tare_value *tare_llama_gguf_tokenizer_key(const tare_llama_gguf_tokenizer *t,
                                                const char *name);
bool tare_llama_gguf_tokenizer_flag(const tare_llama_gguf_tokenizer *t, const char *name,
                                    bool otherwise);
/* The text of a token with a role; len 0: none. */
tare_str tare_llama_gguf_tokenizer_text(const tare_llama_gguf_tokenizer *t,
                                        tare_llama_special special);
/* Whether an id had no token and was filled up: "[PAD7]". */
bool tare_llama_is_filler(const tare_llama_gguf_tokenizer *t, size_t id);
/* Ids from here on had no token, and get the same fillers again. */
size_t tare_llama_gguf_n_tokens(const tare_llama_gguf_tokenizer *t);
/* Whether a token is one that was added to the vocabulary proper. */
bool tare_llama_is_added(const tare_llama_token *token);

/* The members of an added token and the closing brace, the same in both files
 * (restore_tokenizer_json.c). */
void tare_llama_put_added(tare_buffer *b, const tare_llama_token *token);
/* tokenizer.json, of every kind (restore_tokenizer_json.c). */
tare_status tare_llama_put_tokenizer_json(tare_llama_gguf_tokenizer *t, tare_error *err);
/* tokenizer.model: SentencePiece's protocol buffer (restore_pieces.c). */
tare_status tare_llama_put_pieces(tare_llama_gguf_tokenizer *t, tare_error *err);
/* Merges that join what the scores of tokens join (restore_pieces.c). */
tare_status tare_llama_merges_of_scores(tare_llama_gguf_tokenizer *t, tare_error *err);

#endif
