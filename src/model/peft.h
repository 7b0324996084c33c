/* SPDX-License-Identifier: MIT
 *
 * What PEFT's files of a LoRA adapter say: tensor names, and settings that forbid to take the
 * factors for what they are. */
#ifndef TARE_MODEL_PEFT_H
#define TARE_MODEL_PEFT_H

#include <tare/experimental/pattern.h>

#include "model/catalog.h"

#define TARE_PEFT_CONFIG  "adapter_config.json"
#define TARE_PEFT_WEIGHTS "adapter_model.safetensors"
#define TARE_PEFT_PICKLE  "adapter_model.bin"
#define TARE_MLX_WEIGHTS  "adapters.safetensors" /* with a configuration of the same name */
/* Of a directory with a configuration. */
#define TARE_PEFT_NO_WEIGHTS "a PEFT adapter without " TARE_PEFT_WEIGHTS " or " TARE_PEFT_PICKLE

/* What a tensor of an adapter is. */
typedef enum tare_peft_part {
    TARE_PEFT_RIGHT,     /* lora_A */
    TARE_PEFT_LEFT,      /* lora_B */
    TARE_PEFT_MAGNITUDE, /* DoRA's lengths of rows */
    TARE_PEFT_BIAS,      /* of lora_B */
    TARE_PEFT_BASE,      /* the base's own weight, saved beside the factors */
    TARE_PEFT_WHOLE,     /* a tensor that takes the place of the base's */
} tare_peft_part;

/* What a tensor's name encodes. */
typedef struct tare_peft_name {
    tare_str module; /* BASE, WHOLE: the tensor's name in the base */
    tare_peft_part part;
    bool is_embedding;
} tare_peft_name;

void tare_peft_name_parse(tare_peft_name *out, tare_str name);
static inline bool tare_peft_is_factor(const tare_peft_name *name) {
    return name->part == TARE_PEFT_RIGHT || name->part == TARE_PEFT_LEFT;
}
/* Whether a model's tensors have PEFT's names. */
bool tare_model_is_peft(const tare_model *m);

/* Numbers of the modules that expressions match. */
typedef struct tare_peft_pattern {
    tare_pattern *expression;
    double value;
} tare_peft_pattern;

typedef struct tare_peft_patterns {
    tare_peft_pattern *list;
    size_t n, capacity;
} tare_peft_patterns;

/* A parameter that has factors of its own, beside its module's: "mlp.experts.gate_up_proj". */
typedef struct tare_peft_parameter {
    tare_str name;
    const struct tare_peft_parameter *next;
} tare_peft_parameter;

/* adapter_config.json. */
typedef struct tare_peft_config {
    const tare_allocator *allocator;
    double rank, alpha;
    bool is_rslora, is_transposed; /* fan_in_fan_out */
    bool is_dora, has_biases;      /* lora_bias */
    bool has_whole;                /* modules_to_save names some */
    tare_peft_patterns ranks, alphas;
    const tare_peft_parameter *parameters; /* target_parameters; NULL: none */
} tare_peft_config;

/* Reads adapter_config.json; its texts are taken from the arena. UNSUPPORTED: a setting that changes
 * the meaning of the tensors in a way that is not known here. *out is to be freed even then. */
tare_status tare_peft_config_read(tare_peft_config *out, tare_str text, tare_arena *arena,
                                  const tare_allocator *allocator, tare_error *err);
void tare_peft_config_free(tare_peft_config *config);
/* What the configuration says of a module: PEFT takes the first expression that matches. */
tare_status tare_peft_numbers(double *rank, double *alpha, const tare_peft_config *config,
                              tare_str module, tare_error *err);
/* What a product of factors of this rank and alpha is multiplied by. */
double tare_peft_scale(const tare_peft_config *config, double rank, double alpha);

#endif
