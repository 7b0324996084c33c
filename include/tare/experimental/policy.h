/* SPDX-License-Identifier: MIT
 *
 * tare/experimental/policy.h: what a publisher demands of a model, beyond the rules of its format: a document
 * that is held against it, on a server that takes models or before one is uploaded.
 */
#ifndef TARE_EXPERIMENTAL_POLICY_H
#define TARE_EXPERIMENTAL_POLICY_H

#include <tare/base.h>
#include <tare/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Adds to context->report an error for each breach of `policy`, the text of a JSON object whose
 * members docs/tasks/policy.md describes. The code of a finding is "policy." and the member, with
 * hyphens. Values
 * are read where "no_nan" asks for it. TARE_OK even when there are findings. ERR_ARG: the policy has a
 * member that is unknown, given twice, or of a wrong value: the error names it and its byte. */
TARE_API tare_status tare_policy_check(const tare_model *model, tare_str policy,
                                       const tare_context *context, tare_error *err);

#ifdef __cplusplus
}
#endif
#endif
