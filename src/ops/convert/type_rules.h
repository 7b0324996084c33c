/* SPDX-License-Identifier: MIT
 *
 * Types that are asked for: which REGEX=TYPE rule decides for a tensor, what types can be encoded,
 * which of them a tensor can take. */
#ifndef TARE_OPS_CONVERT_TYPE_RULES_H
#define TARE_OPS_CONVERT_TYPE_RULES_H

#include <tare/convert.h>
#include <tare/experimental/containers.h>

#include "model/catalog.h"
#include "model/stand_in.h"

/* out[i]: the first rule whose expression matches the name of tensor i; -1: none. ERR_ARG: what is
 * no regular expression. */
tare_status tare_type_rules_match(int64_t *out, const tare_model *in, const tare_type_rule *rules,
                                  size_t n_rules, tare_error *err);

/* Whether a type can be encoded with such a quality, and as the options of MCF ask for. */
tare_status tare_type_check(const tare_encoding *type, tare_quality quality,
                            const tare_convert_mcf_options *mcf, tare_error *err);
/* Real numbers: plain floats and quantized blocks. */
bool tare_tensor_is_real(const tare_tensor *t);
/* Why a tensor cannot have a type in a container; NULL: it can. */
const char *tare_type_obstacle(const tare_model *in, const tare_format_caps *caps, size_t tensor,
                               const tare_encoding *to);

#endif
