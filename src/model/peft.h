/* SPDX-License-Identifier: MIT
 *
 * What PEFT's files of a LoRA adapter say: names of tensors, and settings that forbid to take the
 * factors for what they are. */
#ifndef TARE_MODEL_PEFT_H
#define TARE_MODEL_PEFT_H

#include "model/catalog.h"

#define TARE_PEFT_CONFIG  "adapter_config.json"
#define TARE_PEFT_WEIGHTS "adapter_model.safetensors"
#define TARE_PEFT_PICKLE  "adapter_model.bin"
/* Of a directory with a configuration. */
#define TARE_PEFT_NO_WEIGHTS "a PEFT adapter without " TARE_PEFT_WEIGHTS " or " TARE_PEFT_PICKLE

/* What a tensor's name encodes. */
typedef struct tare_peft_name {
    tare_str module;
    bool is_left; /* lora_B */
    bool is_embedding;
} tare_peft_name;

/* False: it is no factor. */
bool tare_peft_name_parse(tare_peft_name *out, tare_str name);
/* Whether a model's tensors have PEFT's names. */
bool tare_model_is_peft(const tare_model *m);
/* Why factors are not all of an adapter whose adapter_config.json has this member; NULL: they are.
 * is_set: neither null, false nor empty; `text`: of a text, else empty. */
const char *tare_peft_obstacle(tare_str member, bool is_set, tare_str text);

#endif
