/* SPDX-License-Identifier: MIT
 *
 * The table of tensor_names.c. */
#ifndef TARE_LLAMA_TENSOR_NAME_TABLE_H
#define TARE_LLAMA_TENSOR_NAME_TABLE_H

#include <stddef.h>

/* A tensor of llama.cpp and all names it goes by elsewhere, one blank between them. NULL ends. */
typedef struct tare_llama_named {
    const char *name, *others;
} tare_llama_named;

typedef struct tare_llama_prefix {
    const char *text, *side;
} tare_llama_prefix;

extern const tare_llama_prefix tare_llama_prefixes[];
extern const tare_llama_named tare_llama_outside[]; /* of tensors that are in no block */
extern const tare_llama_named tare_llama_blocks[];

#endif
