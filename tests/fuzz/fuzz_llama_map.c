/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: a Hugging Face model on its way to llama.cpp. The input is u16 (little-endian) size of
 * config.json, its text; the rest is model.safetensors. It is refused with a text, or mapped: then
 * every tensor can be read, weights that are packed codes too. */
#include "model/catalog.h"
#include "open_input.h"
#include "scratch.h"
#include "support/visit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const tare_limits limits = fuzz_limits();
    tare_open_options open = TARE_OPEN_OPTIONS_INIT;
    tare_llama_options options = TARE_LLAMA_OPTIONS_INIT;
    tare_model *hf, *m;
    tare_error err = TARE_ERROR_NONE;
    if (size < 2) return 0;
    size_t n = (size_t)(data[0] | data[1] << 8);
    if (n > size - 2) n = size - 2;
    scratch_clear();
    scratch_write("config.json", data + 2, n);
    scratch_write("model.safetensors", data + 2 + n, size - 2 - n);
    open.limits = &limits;
    if (tare_open_path(&hf, scratch_folder(), &open, &err) != TARE_OK) return 0;
    options.no_tokenizer = true;
    options.report = tare_report_new();
    const bool is_truncated = tare_model_summarize(hf)->is_truncated;
    tare_status status = tare_llama_map(&m, hf, &options, &err);
    FUZZ_CHECK((status == TARE_OK) == (m != NULL));
    if (status == TARE_OK) {
        /* the groups of GPTQ's columns are only checked when they are read */
        status = visit_model(m);
        FUZZ_CHECK(status == TARE_OK || status == TARE_ERR_CORRUPT || status == TARE_ERR_LIMIT ||
                   (status == TARE_ERR_TRUNCATED && is_truncated));
    } else {
        fuzz_check_error(status, &err);
    }
    tare_model_free(m);
    tare_report_free(options.report);
    tare_model_free(hf);
    return 0;
}
