/* SPDX-License-Identifier: MIT
 *
 * What config.json says: members of a nested text_config override the rest, as in llama.cpp's own
 * converter. */
#ifndef TARE_LLAMA_CONFIG_H
#define TARE_LLAMA_CONFIG_H

#include "model/json_resource.h"

/* What an architecture may ask of config.json. */
typedef struct tare_llama_config {
    const char *file; /* whose members these are, for errors; NULL: config.json */
    const tare_json_node *root;
    const tare_json_node *text;         /* text_config or what stands in its place; NULL: none */
    const tare_json_node *processor[4]; /* what formulas call "processor.", the first that has a
                                            member counts; NULL: none */
    const struct tare_llama_config
        *target;                 /* what formulas call "target.": of the model that a draft
                                               is for; NULL: none */
    const char *const *defaults; /* "name = formula", for members that are absent; NULL: none */
    const char *const *common;   /* the same for all architectures, after these */
    const char *class_members;   /* transformers' defaults (class_defaults.h); NULL: none */
    const struct tare_llama_binding *facts; /* numbers that formulas may name; NULL: none */
    tare_arena *arena;
} tare_llama_config;

/* Reads config.json. UNSUPPORTED: there is none. */
tare_status tare_llama_config_read(tare_llama_config *out, const tare_model *model,
                                   tare_arena *arena, tare_error *err);
/* Sets `class_members` from model_type, that of text_config first; none if transformers does not know
 * the whole's, since then it reads none of the parts. */
void tare_llama_config_set_class(tare_llama_config *config);
/* A member or path of config.json, text_config first; NULL: absent or null. No defaults. Where
 * rope_scaling has members, there is no rope_parameters beside it: transformers takes the one instead of
 * the other. */
const tare_json_node *tare_llama_config_find(const tare_llama_config *config, tare_str path);
/* Whether this part of config.json has rope_scaling, which rope_parameters beside it gives way to. */
bool tare_llama_config_is_replaced(const tare_json_node *place);

/* Whether text_config or the rest has the member, and be it null. */
bool tare_llama_config_names(const tare_llama_config *config, tare_str name);

#endif
