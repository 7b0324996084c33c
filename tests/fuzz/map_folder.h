/* SPDX-License-Identifier: MIT
 *
 * A Hugging Face directory of any bytes, as the mapping to llama.cpp sees it. */
#ifndef TARE_TESTS_FUZZ_MAP_FOLDER_H
#define TARE_TESTS_FUZZ_MAP_FOLDER_H

#include "model/catalog.h"
#include "open_input.h"
#include "scratch.h"
#include "support/visit.h"

/* Maps the scratch folder, if it is a model, and reads the result: fine, an error that says where, or
 * one that can only be found in the numbers (`late`). */
static inline void fuzz_map_folder(tare_llama_options options, tare_status late) {
    const tare_limits limits = fuzz_limits();
    tare_open_options open = tare_open_options_default();
    tare_context context = tare_context_default();
    open.context = &context;
    tare_model *hf, *m;
    tare_error err = TARE_ERROR_NONE;
    context.limits = &limits;
    if (tare_open_path(&hf, scratch_folder(), &open, &err) != TARE_OK) return;
    tare_context mapping = tare_context_default();
    mapping.report = tare_report_new();
    options.context = &mapping;
    const bool is_truncated = tare_model_summarize(hf)->is_truncated;
    tare_status status = tare_llama_map(&m, hf, &options, &err);
    FUZZ_CHECK((status == TARE_OK) == (m != NULL));
    if (status == TARE_OK) {
        status = visit_model(m);
        FUZZ_CHECK(status == TARE_OK || status == late ||
                   (late != TARE_OK && status == TARE_ERR_LIMIT) ||
                   (status == TARE_ERR_TRUNCATED && is_truncated));
    } else {
        fuzz_check_error(status, &err);
    }
    tare_model_free(m);
    tare_report_free(mapping.report);
    tare_model_free(hf);
}

#endif
