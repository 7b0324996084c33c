/* SPDX-License-Identifier: MIT
 *
 * The ids of tokens that are added to the vocabulary of a tokenizer.json, as Hugging Face's
 * libraries give them whatever id a file says: a text that is a token already is that token, any
 * other comes behind the tokens there are, in the order of adding. */
#ifndef TARE_LLAMA_ADDED_IDS_H
#define TARE_LLAMA_ADDED_IDS_H

#include "llama/tokenizer/vocab.h"
#include "model/catalog.h"

typedef struct tare_llama_added_ids {
    tare_arena *arena; /* NULL: not begun, the ids of the files count */
    tare_str *texts;   /* of all tokens, as the files have them */
    uint64_t *ids;
    size_t n, most;
    tare_name_index index;
    uint64_t next;
    bool is_as_told; /* the ids of a list are those of its file */
    bool is_noted;   /* that an id is not the file's */
} tare_llama_added_ids;

/* Begins with the tokens of a vocabulary. */
tare_status tare_llama_added_ids_begin(tare_llama_added_ids *a, const tare_llama_vocab *vocab,
                                       tare_arena *arena, tare_error *err);
/* The id of a text; -1: it is no token yet. */
int64_t tare_llama_added_ids_find(const tare_llama_added_ids *a, tare_str text);
/* Before a list is added that has so many new texts: where the libraries would give one of them the id of
 * some other token, because the vocabulary has gaps, all of them stay where the file says. */
void tare_llama_added_ids_expect(tare_llama_added_ids *a, const tare_llama_vocab *vocab,
                                 uint64_t n_new);
/* The id of a token to be added. *id is what a file says, at this offset. */
tare_status tare_llama_added_ids_give(uint64_t *id, tare_llama_added_ids *a, tare_str text,
                                      const tare_llama_vocab *vocab, uint64_t offset,
                                      tare_error *err);

#endif
