/* SPDX-License-Identifier: MIT
 *
 * config.json and its like as trees: members are found by name or by a path, texts are unescaped.
 * Members of a nested text_config override the rest, as in llama.cpp's own converter. */
#ifndef TARE_LLAMA_CONFIG_H
#define TARE_LLAMA_CONFIG_H

#include "base/json.h"
#include "model/catalog.h"

typedef struct tare_llama_node {
    tare_json_type type;
    tare_str key;  /* of a member */
    tare_str text; /* STRING: unescaped; NUMBER: as written */
    uint64_t offset;
    const struct tare_llama_node *child, *next; /* first of a container; next beside this one */
    size_t n;                                   /* children */
} tare_llama_node;

/* Parses a whole document into the arena. */
tare_status tare_llama_json_read(const tare_llama_node **out, tare_str text, tare_arena *arena,
                                 tare_error *err);
/* A member, the last of that name; NULL: there is none, or it is null. */
const tare_llama_node *tare_llama_member(const tare_llama_node *object, tare_str name);
/* "a.b.c": members of members. */
const tare_llama_node *tare_llama_path(const tare_llama_node *object, tare_str path);
/* Whether it is a STRING of this text; false for NULL. */
bool tare_llama_node_is(const tare_llama_node *node, const char *text);
/* The text of a STRING; empty for anything else. */
tare_str tare_llama_node_text(const tare_llama_node *node);
/* A whole NUMBER. */
bool tare_llama_node_u64(const tare_llama_node *node, uint64_t *out);

/* A resource as a tree; *out NULL: the model has none of that name. */
tare_status tare_llama_json_resource(const tare_llama_node **out, const tare_model *model,
                                     const char *name, tare_arena *arena, tare_error *err);
/* The index of a resource; -1: the model has none of that name. One that lies beside the model but
 * could not be taken is an error: what it says would be missing without a word. */
tare_status tare_llama_find_file(int64_t *out, const tare_model *model, const char *name,
                                 tare_error *err);
/* The bytes of a resource; ptr NULL: the model has none of that name. */
tare_status tare_llama_resource(tare_str *out, const tare_model *model, const char *name,
                                tare_arena *arena, tare_error *err);

/* What an architecture may ask of config.json. */
typedef struct tare_llama_config {
    const char *file; /* whose members these are, for errors; NULL: config.json */
    const tare_llama_node *root;
    const tare_llama_node *text;         /* text_config or what stands in its place; NULL: none */
    const tare_llama_node *processor[4]; /* what formulas call "processor.", the first that has a
                                            member counts; NULL: none */
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
/* A member or path of config.json, text_config first; NULL: absent or null. No defaults. */
const tare_llama_node *tare_llama_config_find(const tare_llama_config *config, tare_str path);

/* Whether text_config or the rest has the member, and be it null. */
bool tare_llama_config_names(const tare_llama_config *config, tare_str name);

#endif
