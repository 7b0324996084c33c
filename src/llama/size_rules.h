/* SPDX-License-Identifier: MIT
 *
 * Sizes that keys and tensors both have: llama.cpp takes them from the keys, and refuses a file whose
 * tensors have other ones. */
#ifndef TARE_LLAMA_SIZE_RULES_H
#define TARE_LLAMA_SIZE_RULES_H

#include "base/status.h"
#include "base/str.h"

/* Architectures with blocks of two kinds, counted by themselves, and embeddings of another width. */
#define TARE_LLAMA_OTHER_BLOCKS "wavtokenizer-dec"
/* Those whose queries have a gate beside them. */
#define TARE_LLAMA_GATED_QUERIES "qwen35 qwen35moe qwen3next qwen4exp"
/* Those with blocks of Mamba 2; those with linear attention (KDA) among the others, the first of which have gates
 * that are two factors. */
#define TARE_LLAMA_MAMBA_2 "falcon-h1 granitehybrid mamba2 nemotron_h nemotron_h_moe"
#define TARE_LLAMA_KDA_TWO "glm5-next kimi-linear"
#define TARE_LLAMA_KDA     TARE_LLAMA_KDA_TWO " bailingmoe3 kimi-k3"

/* One size, which all of these tensors have. */
typedef struct tare_llama_size_rule {
    const char *members; /* of config.json; the first that is there is named; "": none says it */
    const char *key;     /* the count that is checked, a sum (below); NULL: of the vocabulary */
    const char *factor;  /* a key, by which it is multiplied; NULL: 1 */
    const char *tensors; /* names, of each block with '#'; NULL ends */
    uint32_t dim;        /* fastest first */
    const char
        *only; /* architectures, of towers projectors; NULL: all; behind '!': all but these */
} tare_llama_size_rule;

extern const tare_llama_size_rule tare_llama_size_rules[];

/* A size that the loader alone checks: of small matrices, of recurrent blocks, of what predicts more
 * tokens. */
typedef struct tare_llama_loader_size {
    const char *sum;     /* of keys (below), or one of two: "a | b"; NULL ends */
    const char *tensors; /* names, of each block with '#' */
    uint32_t dim;        /* fastest first */
    const char *only;    /* architectures; behind '!': all but these */
    const char *beside;  /* NULL, or a word that must be in the same block */
} tare_llama_loader_size;

extern const tare_llama_loader_size tare_llama_loader_sizes[];

/* The number of a key of the architecture, or of a block where it has one for each; false: it has
 * none. */
typedef bool (*tare_llama_key_number)(uint64_t *out, const void *model, const char *key,
                                      uint64_t block);

/* Products of keys and digits, separated by blanks and added, those behind '-' taken off:
 * "2*ssm.inner_size ssm.time_step_rank". *keys moves behind them, and behind a '|' that ends them.
 * False: a key is missing. */
bool tare_llama_size_sum(uint64_t *sum, const char **keys, uint64_t block,
                         tare_llama_key_number number, const void *model);
/* "blk.3.attn_q.weight" -> "blk.#.attn_q.weight" and 3; a name of no block as it is. */
void tare_llama_stem(char *stem, size_t size, uint64_t *block, bool *is_in_block, tare_str name);
/* Whether an architecture is one of these; NULL: all are; behind '!': all but these are. */
bool tare_llama_is_among(tare_str arch, const char *only);
/* Whether a rule is about such tensors of an architecture. */
bool tare_llama_size_applies(const tare_llama_size_rule *rule, const char *stem, tare_str arch);
/* What the keys say: a count, and how many rows each has, with what llama.cpp assumes where there is
 * no key. False: they do not. */
bool tare_llama_size_expected(uint64_t *count, uint64_t *factor, const tare_llama_size_rule *rule,
                              uint64_t block, tare_llama_key_number number, const void *model);
/* Whether that is the dimension `is` of the tensor. */
bool tare_llama_size_is(const tare_llama_size_rule *rule, uint64_t count, uint64_t factor,
                        uint64_t is, tare_str arch);
/* The detail of an error: the count, which is called `name`, and that it is not. */
void tare_llama_size_differs(tare_error *err, const tare_llama_size_rule *rule, tare_str name,
                             uint64_t count, uint64_t factor, uint64_t is);

#endif
