/* SPDX-License-Identifier: MIT
 *
 * How files of LoRA adapters name their factors, PEFT's own form apart (peft.h): a row a dialect. */
#ifndef TARE_MODEL_LORA_DIALECT_H
#define TARE_MODEL_LORA_DIALECT_H

#include "model/catalog.h"

/* The product that is added to a weight is LEFT * RIGHT, times alpha / rank. */
typedef struct tare_lora_dialect {
    const char *name;
    const char *right, *left; /* what their names end in, behind the module's */
    const char *alpha;        /* the same of the tensor that has alpha; NULL: there is none */
    bool is_turned;           /* both are stored as their transposes */
} tare_lora_dialect;

/* What a tensor of an adapter is. */
typedef enum tare_lora_part {
    TARE_LORA_RIGHT = 0,
    TARE_LORA_LEFT = 1,
    TARE_LORA_ALPHA = 2,
} tare_lora_part;

typedef struct tare_lora_name {
    tare_str module; /* as it is in the name */
    tare_lora_part part;
} tare_lora_name;

/* The dialect that a model's tensors have; NULL: none of these. */
const tare_lora_dialect *tare_lora_dialect_of(const tare_model *m);
/* Whether it is an adapter that llama.cpp loads: its factors have names as MLX's, and no transposes. */
bool tare_lora_is_llama_cpp(const tare_model *m);
/* False: the name is that of no part of the dialect. */
bool tare_lora_name_parse(tare_lora_name *out, const tare_lora_dialect *dialect, tare_str name);
/* What a tensor is that stands for more than factors, which only its own method merges; NULL:
 * nothing that is known. */
const char *tare_lora_obstacle(tare_str name);
/* The name of the method that a model's tensors are of, if it has one that is not merged; or empty. */
tare_str tare_lora_method(const tare_model *m);
/* The part of a flat module's name that says which component it is of ("lora_unet"), with '_' for
 * every dot in what follows; empty: its names have dots. */
tare_str tare_lora_component(tare_str module);

#endif
