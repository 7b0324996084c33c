/* SPDX-License-Identifier: MIT
 *
 * Documents of JSON as trees in an arena: read, built, changed and written. For side files of a model,
 * which are small, and what the command prints (tare/private/json_document.h). */
#ifndef TARE_BASE_JSON_NODE_H
#define TARE_BASE_JSON_NODE_H

#include "base/buffer.h"
#include "base/json.h"

struct tare_json_node {
    tare_json_type type;
    tare_str key;  /* of a member */
    tare_str text; /* STRING: unescaped; NUMBER: as written */
    uint64_t offset;
    tare_json_node *child, *last, *next; /* first and last of a container; next beside this one */
    size_t n;                            /* children */
    const tare_json_node **sorted; /* members by key, those of one key as they stand; NULL: few, or
                                      changed since they were read */
};

/* ---- reading --------------------------------------------------------------------------------- */

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

/* ---- building -------------------------------------------------------------------------------- */

/* A value that is part of no other; `text` as above, borrowed. NULL: memory is out, and so is whoever
 * it is added to. */
tare_json_node *tare_json_new(tare_arena *arena, tare_json_type type, tare_str text);
/* Appends a value to a container, under a key (of an object) that is borrowed. */
void tare_json_add(tare_json_node *to, tare_str key, tare_json_node *value);
/* The same before all others: a later member of that key counts. */
void tare_json_add_first(tare_json_node *to, tare_str key, tare_json_node *value);
/* A copy, part of no other value, which shares what is in it with the first; so only one of the two
 * may be changed. */
tare_json_node *tare_json_copy(tare_arena *arena, const tare_json_node *node);
/* The text of a tree at the end of a buffer. */
void tare_json_put_tree(tare_buffer *b, const tare_json_node *node, const tare_json_style *style);

#endif
