/* SPDX-License-Identifier: MIT
 *
 * What tensors beside codes are, by their names. */
#ifndef TARE_QUANTIZED_SCALE_NAMES_H
#define TARE_QUANTIZED_SCALE_NAMES_H

#include "quantized/scheme.h"

/* Scales of activations or of a cache: they say nothing of weights. */
bool tare_is_activation_scale(tare_str name);
/* Whether a name's last part has "scale" in it. */
bool tare_is_named_scale(tare_str name);
/* Codes: 8-bit floats, or a matrix of whole numbers; a part of a weight that was found, too. False
 * for -1. */
bool tare_is_codes(const tare_weight_search *s, int64_t tensor);
/* The codes of a module, or of that name; -1: there are none. */
int64_t tare_codes_of(const tare_weight_search *s, tare_str stem);
/* The codes of the module, or with the name, that a name begins with, where a word comes behind it;
 * -1: there are none. */
int64_t tare_codes_before_word(const tare_weight_search *s, tare_str name, tare_str word);
/* The codes of the module that a tensor is of, where its name says that it is added to a weight or
 * changes the order of it; -1: there are none. */
int64_t tare_codes_changed_by(const tare_weight_search *s, tare_str name);
/* The same where its name says that a weight is multiplied by it, without the word scale. */
int64_t tare_codes_times(const tare_weight_search *s, tare_str name);
/* The codes of the module, or with the name, that a tensor is directly below, unless it is a bias; -1:
 * there are none. */
int64_t tare_codes_around(const tare_weight_search *s, tare_str name);
/* Whether a name ends as that of a scale or of another part beside codes, and of nothing else. */
bool tare_is_part_name(tare_str name);
/* The codes that a tensor is named like a scale of, wherever the word stands, or of which a tensor of
 * floats has the name and a word more; -1: there are none. */
tare_status tare_scaled_codes(int64_t *out, tare_weight_search *s, tare_str name, tare_error *err);

#endif
