/* SPDX-License-Identifier: MIT
 *
 * The front matter of a model card: what README.md has between its first two lines "---". Of YAML
 * only what cards use: keys with a text, or with a list of texts. */
#ifndef TARE_LLAMA_MODEL_CARD_H
#define TARE_LLAMA_MODEL_CARD_H

#include "llama/config.h"

/* *out: an object of STRINGs and ARRAYs of STRINGs; NULL: there is no front matter. What is more
 * than that (nested maps) is left out. ERR_NOMEM only. */
tare_status tare_llama_model_card_read(const tare_json_node **out, tare_str readme,
                                       tare_arena *arena, tare_error *err);

#endif
