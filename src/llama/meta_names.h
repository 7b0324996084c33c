/* SPDX-License-Identifier: MIT
 *
 * Llama in Meta's form under the names of Hugging Face. */
#ifndef TARE_LLAMA_META_NAMES_H
#define TARE_LLAMA_META_NAMES_H

#include "model/catalog.h"

/* Whether a model has Meta's names and its params.json, in whatever container. */
bool tare_llama_is_meta(const tare_model *model);
/* The model as transformers has it: names, rows of wq and wk in its order, and a config.json beside
 * the side files. It reads from the given one, which must outlive it. UNSUPPORTED: a tensor that no
 * plain Llama has; CORRUPT: one too few, or numbers that contradict the shapes. */
tare_status tare_llama_name_meta(tare_model **out, const tare_model *in,
                                 const tare_context *context, tare_error *err);

#endif
