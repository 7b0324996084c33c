/* SPDX-License-Identifier: MIT
 *
 * tare/experimental/derived.h: whether a quantized model was made from another one.
 */
#ifndef TARE_EXPERIMENTAL_DERIVED_H
#define TARE_EXPERIMENTAL_DERIVED_H

#include <tare/base.h>
#include <tare/importance.h>
#include <tare/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Encodes the tensors of `source`, which must have the names of `model` (tare_llama_map_like), as
 * those of `model` are, without and with `importance` (NULL: none), as llama.cpp does and with
 * TARE_QUALITY_BEST, and compares them block by block. The context's report gets a finding for each
 * tensor:
 * - "derived.exact": its blocks are what an encoder makes of the source, or the same numbers;
 * - "derived.patched": but for at most one in eight, as an encoder that was compiled otherwise makes
 *   them (fused multiplications);
 * - "derived.close", an error: other blocks, though they are about as near to the source's numbers as
 *   those of an encoder: made with an importance matrix that is not given, or by another encoder;
 * - "derived.not", an error: the numbers are others;
 * - "derived.unknown", an error: the source has no such tensor, or the type cannot be encoded.
 * *is_derived, which may be NULL: no errors. Memory is bounded by threads. */
TARE_API tare_status tare_verify_derived(bool *is_derived, const tare_model *model,
                                         const tare_model *source,
                                         const tare_importance *importance,
                                         const tare_context *context, tare_error *err);

#ifdef __cplusplus
}
#endif
#endif
