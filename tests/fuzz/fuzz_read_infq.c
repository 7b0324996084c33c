/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: an INFQ package. The input is u16 (little-endian) size of the manifest, the
 * manifest, u16 size of the file w.bin, its bytes; the rest is o.bin. The package is refused with a
 * place, or verified, decoded to its end and written anew, which gives the same model. */
#include <stdlib.h>
#include <string.h>

#include "open_input.h"
#include "scratch.h"

#define MOST_ELEMENTS 65536 /* larger tensors are not decoded: memory stays small */

static const uint8_t *put_file(const char *name, const uint8_t *at, const uint8_t *end) {
    size_t n = end - at >= 2 ? (size_t)(at[0] | at[1] << 8) : 0;
    if (end - at >= 2) at += 2;
    if (n > (size_t)(end - at)) n = (size_t)(end - at);
    scratch_write(name, at, n);
    return at + n;
}

static tare_model *open_package(const char *name) {
    const tare_limits limits = fuzz_limits();
    char path[1024];
    tare_open_options options = tare_open_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    context.limits = &limits;
    options.format = "infq";
    tare_model *m;
    tare_error err;
    scratch_path(path, sizeof path, name);
    tare_status status = tare_open_path(&m, path, &options, &err);
    if (status != TARE_OK) fuzz_check_error(status, &err);
    return m;
}

/* Whether all tensors decode: records of outliers may be about no element. */
static bool decodes(const tare_model *m) {
    const tare_tensor *t;
    bool all = true;
    for (size_t i = 0; (t = tare_model_tensor(m, i)); i++) {
        tare_error err;
        if (t->n_elements == 0 || t->n_elements > MOST_ELEMENTS || !tare_tensor_can_decode(m, i))
            continue;
        float *values = malloc((size_t)t->n_elements * sizeof *values);
        FUZZ_CHECK(values != NULL);
        tare_status status = tare_tensor_rows_f32(values, m, i, 0, t->n_rows, &err);
        if (status != TARE_OK) fuzz_check_error(status, &err);
        FUZZ_CHECK(status == TARE_OK || status == TARE_ERR_CORRUPT);
        all = all && status == TARE_OK;
        free(values);
    }
    return all;
}

static void verify(const tare_model *m) {
    tare_context run = tare_context_default();
    run.report = tare_report_new();
    run.threads = 1;
    FUZZ_CHECK(tare_verify_data(m, &run, NULL) == TARE_OK);
    for (size_t i = 0; tare_model_tensor(m, i); i++) {
        tare_status status = tare_tensor_check(m, i, NULL, NULL);
        FUZZ_CHECK(status == TARE_OK || status == TARE_ERR_CHECKSUM);
    }
    tare_report_free(run.report);
}

static void rewrite(const tare_model *m) {
    char path[1024];
    tare_convert_options options = tare_convert_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    tare_output_options output = tare_output_options_default();
    options.output = &output;
    tare_context run = tare_context_default();
    tare_digest before, after;
    tare_error err;
    options.to = "infq";
    context.threads = run.threads = 1;
    output.no_sync = true;
    tare_status status = tare_convert(scratch_path(path, sizeof path, "out"), m, &options, &err);
    if (status != TARE_OK) {
        fuzz_check_error(status, &err);
        FUZZ_CHECK(status != TARE_ERR_CORRUPT);
        return;
    }
    tare_model *again = open_package("out");
    FUZZ_CHECK(again != NULL);
    FUZZ_CHECK(tare_model_digest(NULL, &before, m, &run, NULL) == TARE_OK);
    FUZZ_CHECK(tare_model_digest(NULL, &after, again, &run, NULL) == TARE_OK);
    FUZZ_CHECK(memcmp(&before, &after, sizeof before) == 0);
    for (size_t i = 0; tare_model_tensor(again, i); i++)
        FUZZ_CHECK(tare_tensor_check(again, i, NULL, NULL) == TARE_OK);
    tare_model_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *at = data, *end = data + size;
    scratch_clear();
    at = put_file("manifest.json", at, end);
    at = put_file("w.bin", at, end);
    scratch_write("o.bin", at, (size_t)(end - at));
    tare_model *m = open_package(".");
    if (!m) return 0;
    verify(m);
    if (decodes(m)) rewrite(m);
    tare_model_free(m);
    return 0;
}
