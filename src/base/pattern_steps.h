/* SPDX-License-Identifier: MIT
 *
 * Expressions as programs of small steps (include/tare/pattern.h). All ways through a program are
 * followed at once, so that no name takes longer than others of its length. */
#ifndef TARE_BASE_PATTERN_STEPS_H
#define TARE_BASE_PATTERN_STEPS_H

#include <tare/pattern.h>

#include "base/alloc.h"

typedef enum tare_pattern_op {
    TARE_PATTERN_BYTE,  /* `byte` comes next */
    TARE_PATTERN_SET,   /* a byte of set `target` does */
    TARE_PATTERN_ANY,   /* any byte */
    TARE_PATTERN_SPLIT, /* goes on behind, and `target` steps further */
    TARE_PATTERN_JUMP,  /* only there; may be backwards */
    TARE_PATTERN_BEGIN, /* the name begins here */
    TARE_PATTERN_END,
    TARE_PATTERN_EDGE,    /* of a word: one side is of it, the other is not */
    TARE_PATTERN_NO_EDGE, /* none */
    TARE_PATTERN_MATCH,
} tare_pattern_op;

typedef struct tare_pattern_step {
    uint8_t op, byte;
    int32_t target;
} tare_pattern_step;

/* A bit for each byte. */
typedef struct tare_pattern_set {
    uint64_t bits[4];
} tare_pattern_set;

/* Steps that the name so far leads to, each once. */
typedef struct tare_pattern_states {
    uint32_t *list, *place; /* place[i]: where i would be in the list */
    uint32_t n;
} tare_pattern_states;

struct tare_pattern {
    const tare_allocator *allocator;
    tare_pattern_step *steps;
    size_t n_steps, steps_capacity;
    tare_pattern_set *sets;
    size_t n_sets, sets_capacity;
    uint32_t *room; /* of what follows */
    size_t room_size;
    tare_pattern_states now, next;
    uint32_t *stack;
    uint64_t n_done; /* steps so far, of all names: what matching costs */
};

static inline bool tare_pattern_has(const tare_pattern_set *s, uint8_t byte) {
    return s->bits[byte / 64] >> byte % 64 & 1;
}

#endif
