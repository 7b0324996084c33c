/* SPDX-License-Identifier: MIT
 *
 * What transformers assumes where config.json leaves a member out. Configs of parts of a model are
 * often written without the members that have their class's defaults. */
#ifndef TARE_LLAMA_CLASS_DEFAULTS_H
#define TARE_LLAMA_CLASS_DEFAULTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* A list of words: "name=formula" where config.json lacks the member, "name?=formula" where it is
 * null, or lacks it and there is no other; the formulas are without blanks. */
typedef struct tare_llama_class_row {
    const char *model_type;
    const char *members;
} tare_llama_class_row;
/* Sorted by model type. */
extern const tare_llama_class_row tare_llama_class_rows[];
extern const size_t tare_llama_n_class_rows;

/* The defaults of a model type's class, of that of its text_config where it is of a whole model;
 * static. NULL: transformers does not know the type, and takes config.json as it is. */
const char *tare_llama_class_members(tare_str model_type);
/* The formula for a member that config.json lacks or that is null there; ptr NULL: it is None.
 * False: the class has no such member. */
bool tare_llama_class_default(tare_str *formula, const char *members, tare_str name, bool is_null);

#endif
