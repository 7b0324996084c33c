/* SPDX-License-Identifier: MIT
 *
 * What llama.cpp's loader checks of a GGUF file before it builds a graph: values of keys, tokens, and
 * which tensors it takes. */
#ifndef TARE_LLAMA_LOADER_H
#define TARE_LLAMA_LOADER_H

#include "llama/arch.h"

/* Numbers of keys, as the loader has them. */
typedef struct tare_llama_numbers {
    const tare_model *gguf;
    tare_str architecture;
    char *
        missing; /* NULL, or TARE_LLAMA_MOST_KEY bytes: the first key that is missing and taken for 0,
                      without the architecture; empty: none */
} tare_llama_numbers;

#define TARE_LLAMA_MOST_KEY 64
#define TARE_LLAMA_OF_MODEL UINT64_MAX /* for `block`: the number of no single one */
/* A tare_llama_key_number (size_rules.h); `numbers`: tare_llama_numbers. */
bool tare_llama_loader_number(uint64_t *out, const void *numbers, const char *name, uint64_t block);

/* Each says in *why what it does not take. */
bool tare_llama_has_keys(const tare_model *gguf, tare_str architecture, tare_error *why);
bool tare_llama_keys_load(const tare_model *gguf, tare_str architecture, uint64_t blocks,
                          tare_error *why);
/* The value of a key of the architecture, by its name without it; a name behind '=' is whole. NULL: there is
 * none. */
const tare_value *tare_llama_value_of_key(const tare_model *gguf, tare_str architecture,
                                          const char *name);
/* The whole number of such a key; `otherwise` where there is none. */
uint64_t tare_llama_number_of_key(const tare_model *gguf, tare_str architecture, const char *name,
                                  uint64_t otherwise);
/* Whether the loader reads a key of an architecture, by its name without it. */
bool tare_llama_reads_key(tare_str architecture, const char *name);
#define TARE_LLAMA_MOST_BLOCKS 512 /* of llama.cpp */
/* Values that the keys must not have; their types are right. */
bool tare_llama_values_load(const tare_model *gguf, tare_str architecture, uint64_t blocks,
                            tare_error *why);
/* Whether a block looks at no more than a window of the tokens before; whether any may; how many of the first
 * `blocks` do. */
bool tare_llama_has_window(const tare_model *gguf, tare_str architecture, uint64_t block);
bool tare_llama_has_windows(const tare_model *gguf, tare_str architecture);
uint64_t tare_llama_windows(const tare_model *gguf, tare_str architecture, uint64_t blocks);
/* The next element of a list of numbers or of truths; false behind its end. */
bool tare_llama_next_is_set(tare_array_walk *walk);
/* Gemma 3n has so many layers with keys and values of their own, whatever its size. */
#define TARE_LLAMA_OWN_KV_LAYERS 20
/* Where a head is not turned, and so nothing is said of how much of it. */
#define TARE_LLAMA_UNTURNED                                                                        \
    "arwkv7 bert bloom deepseek2-ocr glm5-next gpt2 jais jamba jina-bert-v2 mamba mamba2 mpt "     \
    "nemotron_h nemotron_h_moe refact rwkv6 rwkv6qwen2 rwkv7 starcoder t5 t5encoder "              \
    "wavtokenizer-dec"
/* Where heads of blocks with a window may have another width than those of others, and turn otherwise. */
#define TARE_LLAMA_HEADS_BY_BLOCK "dots3note gemma4 gemma4-assistant gemma-embedding2"
#define TARE_LLAMA_TURNS_BY_BLOCK "gemma4 gemma4-assistant laguna maple spark2_5 step35"
/* What its reader of GGUF takes less of than the format allows. */
bool tare_llama_file_loads(const tare_model *gguf, tare_error *why);
/* The tokens of a tokenizer `kind`: of the right types, as many scores and types, none twice. */
bool tare_llama_tokens_load(const tare_model *gguf, tare_str kind, tare_error *why);
/* Each block from `from` on, where those before may be missing, has what the keys take it for. */
bool tare_llama_layers_load(const tare_model *gguf, tare_str architecture, uint64_t from,
                            uint64_t blocks, tare_error *why);
/* Tensors have the shapes that the keys and each other say. */
bool tare_llama_shapes_load(const tare_model *gguf, tare_str architecture, tare_error *why);
/* Whether a tensor may have a scale beside it. */
bool tare_llama_takes_scale(tare_str word);
/* Where the loader takes layers that predict more tokens without the others, and the others without
 * them. */
#define TARE_LLAMA_DRAFTS                                                                          \
    "bailingmoe3 cohere2moe deepseek2 deepseek32 deepseek4 glm-dsa glm4moe glm5-next hy_v3 mimo2 " \
    "nemotron_h_moe qwen35 qwen35moe qwen3next step35"
/* All tensors are ones that the architecture has, in as many blocks as there are. */
bool tare_llama_tensors_load(const tare_model *gguf, tare_str architecture, uint64_t blocks,
                             tare_error *why);

#endif
