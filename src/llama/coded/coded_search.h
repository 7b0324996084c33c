/* SPDX-License-Identifier: MIT
 *
 * Packed weights while they are looked for. */
#ifndef TARE_LLAMA_CODED_SEARCH_H
#define TARE_LLAMA_CODED_SEARCH_H

#include "llama/coded/coded_weight.h"

typedef struct tare_llama_coded_search {
    const tare_model *in;
    const tare_json_node *settings; /* quantization_config of config.json; NULL: none */
    tare_arena *arena;
    tare_llama_coded *weights; /* freed by whoever has it found */
    size_t n_weights, capacity;
    bool *is_dropped;      /* tensors of the input that are parts, or of no use without them */
    size_t n_contradicted; /* weights whose zero points are not stored as config.json says */
    const char *scheme;    /* of the last weight; NULL: there is none */
} tare_llama_coded_search;

/* Finds all; `in`, `settings`, `arena` and `is_dropped` are set. */
tare_status tare_llama_find_coded(tare_llama_coded_search *u, tare_error *err);

#endif
