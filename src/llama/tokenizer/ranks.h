/* SPDX-License-Identifier: MIT
 *
 * Merges of a vocabulary that is a list of byte strings by rank. */
#ifndef TARE_LLAMA_RANKS_H
#define TARE_LLAMA_RANKS_H

#include "llama/tokenizer/vocab.h"

/* Adds the merges of n tokens, which lie in `scratch`, to a vocabulary. CORRUPT: a token stands there
 * twice; LIMIT: one is empty or too long. */
tare_status tare_llama_merges_of_ranks(tare_llama_vocab *vocab, const tare_str *tokens, size_t n,
                                       tare_arena *scratch, tare_error *err);

#endif
