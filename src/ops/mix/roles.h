/* SPDX-License-Identifier: MIT
 *
 * What a tensor is for, told from its name: one table for the names of GGUF and of the Hugging Face
 * architectures. Conversion leaves norms alone by it; quantization mixes choose types by it. */
#ifndef TARE_OPS_MIX_ROLES_H
#define TARE_OPS_MIX_ROLES_H

#include <tare/base.h>

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

typedef struct tare_role_info {
    tare_role role;
    int32_t layer;  /* -1: none */
    int32_t expert; /* -1: none, or all experts in one tensor */
    bool is_expert; /* a feed-forward matrix of one expert or of all */
    bool is_shared; /* of the expert that every token goes through */
    bool is_bias;
    bool is_gguf;  /* recognised by a name of GGUF, not of Hugging Face */
    bool is_even;  /* llama.cpp's mixes treat it as any matrix, whatever its role */
    bool is_kept;  /* too small or too delicate to be quantized */
    bool is_tower; /* of the part that sees or hears, beside the language model */
} tare_role_info;

/* O(length of the name x rows of the table). */
tare_role_info tare_role_of_name(tare_str name);

#endif
