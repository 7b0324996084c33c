/* SPDX-License-Identifier: MIT
 *
 * Documents of JSON as trees in an arena, for side files of a model, which are small. */
#ifndef TARE_BASE_JSON_NODE_H
#define TARE_BASE_JSON_NODE_H

#include "base/json.h"

typedef struct tare_json_node {
    tare_json_type type;
    tare_str key;  /* of a member */
    tare_str text; /* STRING: unescaped; NUMBER: as written */
    uint64_t offset;
    const struct tare_json_node *child, *next; /* first of a container; next beside this one */
    size_t n;                                  /* children */
} tare_json_node;

/* Parses a whole document into the arena. */
tare_status tare_json_tree(const tare_json_node **out, tare_str text, tare_arena *arena,
                           tare_error *err);
/* A member, the last of that name; NULL: there is none, or it is null. */
const tare_json_node *tare_json_member(const tare_json_node *object, tare_str name);
/* Whether an object has a member, and be it null. */
bool tare_json_names(const tare_json_node *object, tare_str name);
/* "a.b.c": members of members. */
const tare_json_node *tare_json_path(const tare_json_node *object, tare_str path);
/* Whether it is a STRING of this text; false for NULL. */
bool tare_json_node_is(const tare_json_node *node, const char *text);
/* The text of a STRING; empty for anything else. */
tare_str tare_json_node_text(const tare_json_node *node);
/* A whole NUMBER. */
bool tare_json_node_u64(const tare_json_node *node, uint64_t *out);

#endif
