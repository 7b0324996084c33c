/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: the text of sensitivities. What is read gives finite numbers from 0 up, and a choice
 * can be made with them; what is not read names its line or says whose it is. */
#include "fuzz_check.h"

#include <math.h>

#include <tare/convert.h>
#include <tare/encoding.h>
#include <tare/experimental/fitting.h>
#include <tare/model.h>
#include <tare/private/synth.h>

static void check_fit(tare_fit *f) {
    tare_fit_target target = tare_fit_target_default();
    tare_fit_tensor t;
    size_t n_measured = 0;
    target.bits_per_weight = 5;
    FUZZ_CHECK(tare_fit_choose(f, &target, NULL) == TARE_OK);
    for (size_t i = 0; tare_fit_tensor_at(&t, f, i); i++) {
        FUZZ_CHECK(isfinite(t.sensitivity) && t.sensitivity >= 0 && t.damage >= 0);
        n_measured += t.is_measured;
    }
    FUZZ_CHECK(n_measured > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static tare_model *model;
    static const tare_encoding *types[2];
    tare_convert_options convert = tare_convert_options_default();
    tare_context context = tare_context_default();
    convert.context = &context;
    tare_fit_options options = tare_fit_options_default();
    tare_fit *f;
    tare_error err;
    if (!model) FUZZ_CHECK(tare_synth_open(&model, "llama-tiny", NULL, NULL) == TARE_OK);
    types[0] = tare_encoding_get(TARE_ENCODING_Q4_0);
    types[1] = tare_encoding_get(TARE_ENCODING_Q8_0);
    options.types = types;
    options.n_types = 2;
    options.sensitivities = (tare_str){(const char *)data, size};
    if (size == 0) return 0;
    context.threads = 1;
    tare_status status = tare_fit_new(&f, "out.gguf", model, &convert, &options, &err);
    FUZZ_CHECK((status == TARE_OK) == (f != NULL));
    if (status == TARE_OK)
        check_fit(f);
    else
        FUZZ_CHECK(status == TARE_ERR_ARG && err.what && err.what[0]);
    tare_fit_free(f);
    return 0;
}
