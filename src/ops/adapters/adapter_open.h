/* SPDX-License-Identifier: MIT
 *
 * Opening adapters: what the ways they come in share. */
#ifndef TARE_OPS_ADAPTERS_ADAPTER_OPEN_H
#define TARE_OPS_ADAPTERS_ADAPTER_OPEN_H

#include "model/adapter_set.h"

#define TARE_PEFT_CONFIG  "adapter_config.json"
#define TARE_PEFT_WEIGHTS "adapter_model.safetensors"
/* Of the header of a file with one pair: its scale, as text. */
#define TARE_ADAPTER_SCALE "scale"

/* Fills a set over `m`, which has tensors of PEFT's names, by the text of its adapter_config.json.
 * Errors are of the weights, but those with an offset: these are of the config. */
tare_status tare_adapters_of_peft(tare_adapter_set *set, tare_model *m, tare_str config,
                                  tare_error *err);
/* Whether the names of a model's tensors are those of PEFT. */
bool tare_model_is_peft(const tare_model *m);

#endif
