/* SPDX-License-Identifier: MIT
 *
 * hf://ORG/NAME:TYPE: the GGUF files of a type among those of a model, and the one that is opened. */
#ifndef TARE_REMOTE_HUB_TYPE_H
#define TARE_REMOTE_HUB_TYPE_H

#include "remote/hub.h"

/* Whether a GGUF file's name has the type as a word, in letters of any size: "x-Q4_K_M.gguf",
 * "Q4_K_M/x-00001-of-00002.gguf". */
bool tare_hub_is_of_type(tare_str path, tare_str type);
/* The model of a type, of several shards the first: its place in the list. Projectors, importance
 * matrices and drafts of a model's own are none. ARG: no model is of this type, or several are. */
tare_status tare_hub_pick(size_t *out, const tare_listing *list, tare_str type, tare_error *err);

#endif
