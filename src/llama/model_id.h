/* SPDX-License-Identifier: MIT
 *
 * What can be derived from the name of a model: "meta-llama/Llama-3.1-8B-Instruct" is an
 * organization, a base name, a size, a fine-tune. The rules are those of llama.cpp's converter. */
#ifndef TARE_LLAMA_MODEL_ID_H
#define TARE_LLAMA_MODEL_ID_H

#include "base/alloc.h"

/* Empty: the name does not tell. */
typedef struct tare_llama_model_id {
    tare_str name, organization, base_name, fine_tune, version, size_label;
} tare_llama_model_id;

/* `n_weights` of the model tell a size from a context length; 0: not known. */
tare_status tare_llama_model_id_parse(tare_llama_model_id *out, tare_str id, uint64_t n_weights,
                                      tare_arena *arena, tare_error *err);
/* "ORG/NAME" of a path in a cache of the hub: .../models--ORG--NAME, /snapshots/COMMIT in it, or a blob
 * of it. False: it is another path. id->ptr NULL: memory is out. */
bool tare_llama_cached_id(tare_str *id, tare_str path, tare_arena *arena);
/* "llama-2-chat" as a title: "Llama 2 Chat". ptr NULL: memory is out. */
tare_str tare_llama_title(tare_str id, tare_arena *arena);

#endif
