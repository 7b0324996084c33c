/* SPDX-License-Identifier: MIT
 *
 * Two models that are compared, one with Hugging Face's tensor names and the other with
 * llama.cpp's: the former is given the latter's. */
#include <tare/experimental/llama.h>

#include "base/arith.h"
#include "base/status.h"

tare_status tare_llama_map_like(tare_model **out, const tare_model *in, const tare_model *to,
                                const tare_llama_options *options, tare_error *err) {
    tare_llama_options o = tare_llama_options_default();
    tare_context context;
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(in && to, err);
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    if (tare_model_shares_names(in, to) || !tare_llama_can_map(NULL, in)) return TARE_OK;
    tare_status status = tare_llama_map(out, in, &o, err);
    if (status == TARE_ERR_UNSUPPORTED && !o.no_tokenizer) { /* perhaps only its tokenizer is */
        o.no_tokenizer = true;
        status = tare_llama_map(out, in, &o, err);
    }
    if (status == TARE_OK && !tare_model_shares_names(*out, to)) {
        tare_model_free(*out);
        *out = NULL;
    }
    return status;
}
