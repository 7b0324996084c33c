/* SPDX-License-Identifier: MIT
 *
 * Opening adapters: what the supported forms have in common. */
#ifndef TARE_OPS_ADAPTERS_ADAPTER_OPEN_H
#define TARE_OPS_ADAPTERS_ADAPTER_OPEN_H

#include "model/adapter_set.h"
#include "model/lora_dialect.h"
#include "model/peft.h"

/* What a tensor of a PEFT adapter is where some are factors of stacks of experts. */
typedef struct tare_stack_note {
    bool is_stack; /* and has been taken apart */
    tare_str key;  /* of one expert: what PEFT calls the parameter; else empty */
} tare_stack_note;

/* `m`, and behind its tensors the factors of each expert of the parameters that `config` names, under the
 * names of modules of their own: "mlp.experts.3.gate_up_proj". *notes: of each tensor. *out owns
 * `m` then. */
tare_status tare_peft_take_apart(tare_model **out, const tare_stack_note **notes, tare_model *m,
                                 const tare_peft_config *config, tare_error *err);

/* Key in the header of a file with one pair: its scale, as text. */
#define TARE_ADAPTER_SCALE "scale"

/* Fills a set over `m`, whose tensors have PEFT's names, from the text of its adapter_config.json.
 * Errors refer to the weights; those with an offset refer to the config. */
tare_status tare_adapters_of_peft(tare_adapter_set *set, tare_model *m, tare_str config,
                                  tare_error *err);
/* The same for a dialect; `config` is MLX's configuration, and not read for others. */
tare_status tare_adapters_of_dialect(tare_adapter_set *set, tare_model *m,
                                     const tare_lora_dialect *dialect, tare_str config,
                                     tare_error *err);

#endif
