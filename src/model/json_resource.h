/* SPDX-License-Identifier: MIT
 *
 * Side files of a model as texts and as trees of JSON. */
#ifndef TARE_MODEL_JSON_RESOURCE_H
#define TARE_MODEL_JSON_RESOURCE_H

#include "base/json_node.h"
#include "model/catalog.h"

/* A resource as a tree; *out NULL: the model has none of that name. */
tare_status tare_model_json(const tare_json_node **out, const tare_model *model, const char *name,
                            tare_arena *arena, tare_error *err);
/* The index of a resource; -1: the model has none of that name. One that lies beside the model but
 * could not be taken is an error: what it says would be missing without a word. */
tare_status tare_model_find_file(int64_t *out, const tare_model *model, const char *name,
                                 tare_error *err);
/* The bytes of a resource; ptr NULL: the model has none of that name. */
tare_status tare_model_text(tare_str *out, const tare_model *model, const char *name,
                            tare_arena *arena, tare_error *err);

#endif
