/* SPDX-License-Identifier: MIT
 *
 * What a GGUF file must have so that llama.cpp can run it, by the rows of its architecture. */
#ifndef TARE_LLAMA_NEEDED_H
#define TARE_LLAMA_NEEDED_H

#include "llama/arch.h"
#include "model/catalog.h"

/* A tensor that llama.cpp cannot do without, of those that a row lists: `name` is that of the first
 * that is missing. `from` to `n_blocks`: those that have to be whole; `n_nextn`: those behind them that
 * predict more tokens; `n_decoder`: those of a decoder behind an encoder. */
bool tare_llama_lacks_tensor(char *name, size_t size, const tare_model *gguf,
                             const tare_llama_arch *arch, uint64_t from, uint64_t n_blocks,
                             uint64_t n_nextn, uint64_t n_decoder);
/* Whether the loader asks for a bias beside such a weight, by its word in a row (biases.c). */
bool tare_llama_needs_bias(const char *architecture, tare_str word);
/* Whether its head is never the embeddings. */
bool tare_llama_needs_head(tare_str architecture);
/* Whether it needs embeddings beside its head. */
bool tare_llama_needs_embeddings(tare_str architecture);
/* Whether a tensor, by its word in a row, is of the whole model rather than of a block. */
bool tare_llama_is_outside(tare_str word);

#endif
