/* SPDX-License-Identifier: MIT
 *
 * What a tensor is for, told from its name, of GGUF or of the Hugging Face architectures. Conversion leaves norms alone by it; quantization mixes choose types by it. */
#ifndef TARE_OPS_MIX_ROLES_H
#define TARE_OPS_MIX_ROLES_H

#include "model/tensor_name_table.h"

typedef struct tare_role_info {
    tare_role role;
    const char *tensor; /* what llama.cpp calls it, without its side: "attn_q_a"; NULL: not known */
    int32_t layer;      /* -1: none */
    int32_t expert;     /* -1: none, or all experts in one tensor */
    bool is_expert;     /* a feed-forward matrix of one expert or of all */
    bool is_shared;     /* of the expert that every token goes through */
    bool is_bias;
    bool is_gguf;  /* recognised by a name of GGUF, not of Hugging Face */
    bool is_even;  /* llama.cpp's mixes treat it as any matrix, whatever its role */
    bool is_kept;  /* too small or too delicate to be quantized */
    bool is_tower; /* of the part that sees or hears, beside the language model */
} tare_role_info;

/* O(length of the name + bytes of the table). */
tare_role_info tare_role_of_name(tare_str name);

#endif
