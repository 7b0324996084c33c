/* SPDX-License-Identifier: MIT
 *
 * Formulas over config.json: how an architecture states the values of its keys and the sizes in its
 * tensor operations. They are part of the program, not input: a malformed one is a bug.
 *
 *   a | b            the first that is there; true behind a member that is null is false, as it is to Python
 *   + - * / %        numbers; - of one, too
 *   == < >           of numbers; == also of texts
 *   if(c, a, b)      floor(x) round(x) sqrt(x) ln(x) pow(x, y) max(x, y) min(x, y) has(x) len(x)
 *   is_null('name.part') whether config.json has that member, and it is null
 *   probit(p)        where the normal distribution reaches p; normal(x) what it reaches there
 *   leading(list, x) how many elements at the beginning equal x; len also of texts
 *   largest(list)    the largest number
 *   number(text)     what it begins with; a text that begins with none is a fault
 *   finite(x, y)     y where x is a number that is not finite, else x
 *   at(list, i) at(list, i, 'member') at(text, i) in(x, list)
 *   word(x, 'a/b c')              a text of a closed list, as the first of its spellings; another one
 *                                 is a fault. Anything else but a text stays what it is
 *   one_of(x, 'a b c')            whether a text is one of the words
 *   leading(list, x, 'a/b c') in(x, list, 'a/b c')   of a list of such words
 *   at(object, 'a-b.c')               a member whose name has other characters
 *   at(object, i) at(object, i, 'member')   the member whose name is that number
 *   name, name.part  of config.json, text_config first, then the defaults of the architecture
 *   'text' 1.5 true false
 */
#ifndef TARE_LLAMA_FORMULA_H
#define TARE_LLAMA_FORMULA_H

#include "llama/config.h"

typedef enum tare_llama_kind {
    TARE_LLAMA_ABSENT = 0,
    TARE_LLAMA_NUMBER = 1,
    TARE_LLAMA_BOOL = 2,
    TARE_LLAMA_TEXT = 3,
    TARE_LLAMA_TREE = 4, /* an array or object of config.json */
} tare_llama_kind;

typedef struct tare_llama_value {
    tare_llama_kind kind;
    bool is_whole; /* a NUMBER that Python would call an int */
    double number; /* BOOL: 0 or 1; of a node of config.json that is not finite: NAN */
    tare_str text;
    const tare_json_node *tree;
    tare_str member; /* of config.json, that it is or is in; empty: it is computed */
} tare_llama_value;

/* Numbers that a formula names beside those of config.json; `name` NULL ends the list. */
typedef struct tare_llama_binding {
    const char *name;
    double number;
} tare_llama_binding;

/* ABSENT where a part of it is. Errors: CORRUPT, a member of config.json is of the wrong kind (a text
 * where a number or a truth is meant, say) or not a finite number; UNSUPPORTED, it is none of the words of a closed list. The name of it is in the
 * message. */
tare_status tare_llama_formula(tare_llama_value *out, tare_str formula,
                               const tare_llama_config *config, const tare_llama_binding *bindings,
                               tare_error *err);
/* A formula that is a whole number 0 .. 2^53; *is_there false: ABSENT. */
tare_status tare_llama_formula_u64(uint64_t *out, bool *is_there, tare_str formula,
                                   const tare_llama_config *config,
                                   const tare_llama_binding *bindings, tare_error *err);
/* CORRUPT, about the member of config.json that a value comes from. */
tare_status tare_llama_wrong_kind(const char *what, const tare_llama_value *v, tare_error *err);
/* The value of a node of config.json. */
tare_llama_value tare_llama_value_of(const tare_json_node *node);

#endif
