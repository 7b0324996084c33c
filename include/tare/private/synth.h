/* SPDX-License-Identifier: MIT
 *
 * tare/private/synth.h: models that are computed, for trials.
 */
#ifndef TARE_PRIVATE_SYNTH_H
#define TARE_PRIVATE_SYNTH_H

#include <tare/base.h>
#include <tare/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A deterministic model, computed as it is read: "SHAPE[:VALUES[:SEED]]" with SHAPE llama-tiny,
 * llama-chat (has a tokenizer), llama-44m, llama-300m, llama-1b, llama-8b and VALUES normal (default), t5, outliers, bf16. All
 * tensors F32 (bf16: BF16), Hugging Face names, config.json as a resource. The digest is the same
 * on every system. */
TARE_API tare_status tare_synth_open(tare_model **out, const char *spec,
                                     const tare_open_options *options, tare_error *err);
/* Shape or value form i, for help texts; NULL beyond the end. Static. */
TARE_API const char *tare_synth_shape(size_t i);
TARE_API const char *tare_synth_values(size_t i);

#ifdef __cplusplus
}
#endif
#endif
