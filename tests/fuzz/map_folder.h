/* SPDX-License-Identifier: MIT
 *
 * A Hugging Face directory of any bytes, or a model of another form, as what gives it other names sees it. */
#ifndef TARE_TESTS_FUZZ_MAP_FOLDER_H
#define TARE_TESTS_FUZZ_MAP_FOLDER_H

#include "model/catalog.h"
#include "open_input.h"
#include "scratch.h"
#include "support/visit.h"

/* Gives a model other names; *out may be NULL with status OK: it has none to give. */
typedef tare_status (*fuzz_mapper)(tare_model **out, const tare_model *in, const void *how,
                                   const tare_context *context, tare_error *err);

/* Maps what is at `path`, if it is a model, and reads the result: fine, an error that says where, or
 * one that can only be found in the numbers (`late`). */
static inline void fuzz_map_at(const char *path, fuzz_mapper mapper, const void *how,
                               tare_status late) {
    const tare_limits limits = fuzz_limits();
    tare_open_options open = tare_open_options_default();
    tare_context context = tare_context_default();
    open.context = &context;
    tare_model *in, *m = NULL;
    tare_error err = TARE_ERROR_NONE;
    context.limits = &limits;
    if (tare_open_path(&in, path, &open, &err) != TARE_OK) return;
    tare_context mapping = tare_context_default();
    mapping.report = tare_report_new();
    const bool is_truncated = tare_model_summarize(in)->is_truncated;
    tare_status status = mapper(&m, in, how, &mapping, &err);
    FUZZ_CHECK(status == TARE_OK || m == NULL);
    if (status == TARE_OK && m) {
        status = visit_model(m);
        FUZZ_CHECK(status == TARE_OK || status == late ||
                   (late != TARE_OK && status == TARE_ERR_LIMIT) ||
                   (status == TARE_ERR_TRUNCATED && is_truncated));
    } else if (status != TARE_OK) {
        fuzz_check_error(status, &err);
    }
    tare_model_free(m);
    tare_report_free(mapping.report);
    tare_model_free(in);
}

static inline tare_status fuzz_map_llama(tare_model **out, const tare_model *in, const void *how,
                                         const tare_context *context, tare_error *err) {
    tare_llama_options options = *(const tare_llama_options *)how;
    options.context = context;
    const tare_status status = tare_llama_map(out, in, &options, err);
    FUZZ_CHECK((status == TARE_OK) == (*out != NULL));
    return status;
}

/* The scratch folder, to llama.cpp's names. */
static inline void fuzz_map_folder(tare_llama_options options, tare_status late) {
    fuzz_map_at(scratch_folder(), fuzz_map_llama, &options, late);
}

#endif
