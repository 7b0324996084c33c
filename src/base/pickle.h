/* SPDX-License-Identifier: MIT
 *
 * Python pickles of protocols 0 to 5 as data (the opcodes are those of CPython's pickletools).
 * Nothing is looked up or called: what a pickle would import is a pair of names, what it would call
 * an object that says so. Memory is a multiple of the pickle's bytes, whatever they say. */
#ifndef TARE_BASE_PICKLE_H
#define TARE_BASE_PICKLE_H

#include "base/alloc.h"

typedef enum tare_pickle_kind {
    TARE_PICKLE_NONE = 0,
    TARE_PICKLE_BOOL = 1,
    TARE_PICKLE_INT = 2,
    TARE_PICKLE_LONG = 3, /* beyond 64 bits: text has its bytes, least first, in two's complement;
                             of protocol 0 its digits */
    TARE_PICKLE_FLOAT = 4,
    TARE_PICKLE_BYTES = 5, /* of Python 2, str */
    TARE_PICKLE_TEXT = 6,  /* UTF-8 */
    /* The following are objects. */
    TARE_PICKLE_LIST = 7,
    TARE_PICKLE_TUPLE = 8,
    TARE_PICKLE_SET = 9,
    TARE_PICKLE_DICT = 10,
    TARE_PICKLE_GLOBAL = 11,     /* items: module and name */
    TARE_PICKLE_CALL = 12,       /* what a call would return. items: what is called, arguments (a
                                    tuple, as a rule), named ones (a dict) where there are any */
    TARE_PICKLE_PERSISTENT = 13, /* items: its id */
} tare_pickle_kind;

typedef struct tare_pickle_object tare_pickle_object;

typedef struct tare_pickle_value {
    tare_pickle_kind kind;
    uint64_t offset; /* in the file, of the opcode that made it */
    union {
        int64_t i; /* BOOL, INT */
        double f;
        tare_str s; /* LONG, BYTES, TEXT */
        tare_pickle_object *object;
    } as;
} tare_pickle_value;

typedef struct tare_pickle_list {
    tare_pickle_value *items;
    size_t n, capacity;
} tare_pickle_list;

/* What a CALL got after it was made; of a GLOBAL, too, which no honest pickle does. */
typedef struct tare_pickle_more {
    tare_pickle_list added; /* as of a list */
    tare_pickle_list pairs; /* as of a dict */
    tare_pickle_value state;
    bool has_state;
} tare_pickle_more;

struct tare_pickle_object {
    tare_pickle_list items; /* of a DICT: key, value, key, value */
    tare_pickle_more *more; /* NULL: nothing */
    bool is_called;         /* a GLOBAL: something was to be called by it, or set in it */
    bool is_getattr; /* a GLOBAL: attributes were to be got by it, which are GLOBALs themselves */
    bool is_open;    /* for callers who walk: a value may contain itself */
    size_t label;    /* for callers: 0 */
};

typedef struct tare_pickle {
    tare_str text;  /* that it was read from, */
    uint64_t start; /* which is there in the file */
    tare_pickle_value root;
    uint64_t end;               /* offset behind the pickle */
    uint64_t n_values;          /* that were made: each is a byte of the pickle or more */
    tare_pickle_value *globals; /* all that it would import, in order of appearance */
    size_t n_globals;
    tare_pickle_value *persistents; /* the same of these */
    size_t n_persistents;
    tare_pickle_value *calls; /* and of CALLs by a GLOBAL */
    size_t n_calls;
} tare_pickle;

/* Reads the pickle that begins `text`, at `offset` of its file. Values point into the text and into
 * the arena. Running out of text is TRUNCATED. */
tare_status tare_pickle_read(tare_pickle *out, tare_str text, uint64_t offset, tare_arena *arena,
                             tare_error *err);

/* The module and the name of a global. */
static inline tare_str tare_pickle_module(const tare_pickle_object *global) {
    return global->items.items[0].as.s;
}
static inline tare_str tare_pickle_name(const tare_pickle_object *global) {
    return global->items.items[1].as.s;
}
/* Whether a value is a GLOBAL, MODULE NAME. */
bool tare_pickle_is_global(const tare_pickle_value *v, const char *module, const char *name);
/* What a CALL calls, if that is a global, else NULL. */
const tare_pickle_object *tare_pickle_callee(const tare_pickle_value *v);
/* The i-th argument of a CALL, or item of a TUPLE or LIST; NULL: it has none. */
const tare_pickle_value *tare_pickle_argument(const tare_pickle_value *v, size_t i);
const tare_pickle_value *tare_pickle_item(const tare_pickle_value *v, size_t i);
/* The value of a key, a text, among pairs; NULL: none. */
const tare_pickle_value *tare_pickle_find(const tare_pickle_value *v, const char *key);

#endif
