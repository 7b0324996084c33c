/* SPDX-License-Identifier: MIT
 *
 * The one table of tensors: what llama.cpp calls each, what else it is called, and what it is for.
 * Mapping, mixes and reports ask it. */
#ifndef TARE_MODEL_TENSOR_NAME_TABLE_H
#define TARE_MODEL_TENSOR_NAME_TABLE_H

#include <tare/base.h>

#define TARE_TENSOR_NAME_MAX 95 /* bytes; more than any name of the table has */

typedef enum tare_role {
    TARE_ROLE_UNKNOWN = 0,
    TARE_ROLE_NORM = 1,
    TARE_ROLE_TOKEN_EMBEDDING = 2,
    TARE_ROLE_POSITION_EMBEDDING = 3,
    TARE_ROLE_TYPE_EMBEDDING = 4, /* BERT's token types */
    TARE_ROLE_OUTPUT = 5,         /* hidden state to vocabulary */
    TARE_ROLE_ATTN_Q = 6,
    TARE_ROLE_ATTN_K = 7,
    TARE_ROLE_ATTN_V = 8,
    TARE_ROLE_ATTN_QKV = 9, /* any of them in one matrix */
    TARE_ROLE_ATTN_OUTPUT = 10,
    TARE_ROLE_FFN_UP = 11,
    TARE_ROLE_FFN_GATE = 12,
    TARE_ROLE_FFN_DOWN = 13,
    TARE_ROLE_FFN_GATE_UP = 14, /* both in one matrix */
    TARE_ROLE_ROUTER = 15,      /* which expert gets a token */
    TARE_ROLE_SSM = 16,         /* state space and other recurrent parts */
    TARE_ROLE_ROPE = 17,        /* frequencies and factors of rotary embeddings */
} tare_role;

/* A tensor of llama.cpp and all names it goes by elsewhere, one blank between them; norms, and what no
 * mix asks for, have no role here. name NULL ends a list. */
typedef struct tare_tensor_named {
    const char *name, *others;
    tare_role role;
    bool is_even; /* llama.cpp's mixes treat it as any matrix, whatever its role */
} tare_tensor_named;

/* What stands before the number of a block, and which side of a model with two it is. text NULL ends. */
typedef struct tare_tensor_prefix {
    const char *text, *side;
} tare_tensor_prefix;

extern const tare_tensor_prefix tare_tensor_prefixes[];
extern const tare_tensor_named tare_tensors_outside[]; /* of tensors that are in no block */
extern const tare_tensor_named tare_tensors_in_blocks[];

/* The last row of a list with a role that has this other name; NULL: none. O(bytes of the list) */
const tare_tensor_named *tare_tensor_find_other(const tare_tensor_named *rows, tare_str other);

#endif
