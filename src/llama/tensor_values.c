/* SPDX-License-Identifier: MIT
 *
 * What a mapping has to know about the numbers in a tensor before it can list its tensors. */
#include <math.h>

#include "base/arith.h"
#include "llama/mapping.h"

enum { STEP = 4096 }; /* elements read at once */

tare_status tare_llama_mean(double *out, const tare_model *hf, size_t tensor, bool of_magnitudes,
                            tare_error *err) {
    float values[STEP];
    const uint64_t n = hf->catalog.tensors[tensor].n_elements;
    double sum = 0;
    for (uint64_t at = 0; at < n;) {
        uint64_t take = tare_min_u64(n - at, STEP);
        TARE_TRY(tare_tensor_values_f32(values, hf, tensor, at, take, err));
        for (uint64_t i = 0; i < take; i++)
            sum += of_magnitudes ? fabs((double)values[i]) : (double)values[i];
        at += take;
    }
    *out = sum / (double)n;
    return TARE_OK;
}

tare_status tare_llama_is_zero(bool *out, const tare_model *hf, size_t tensor, tare_error *err) {
    float values[STEP];
    const uint64_t n = hf->catalog.tensors[tensor].n_elements;
    *out = true;
    for (uint64_t at = 0; at < n && *out;) {
        uint64_t take = tare_min_u64(n - at, STEP);
        TARE_TRY(tare_tensor_values_f32(values, hf, tensor, at, take, err));
        for (uint64_t i = 0; i < take; i++) *out = *out && values[i] == 0;
        at += take;
    }
    return TARE_OK;
}

tare_status tare_llama_is_equal(bool *out, const tare_model *hf, size_t a, size_t b,
                                tare_error *err) {
    uint8_t x[STEP], y[STEP];
    const tare_tensor *t = &hf->catalog.tensors[a], *u = &hf->catalog.tensors[b];
    *out =
        t->encoding == u->encoding && t->encoding->n_planes == 1 && t->size_bytes == u->size_bytes;
    for (uint64_t at = 0; at < t->size_bytes && *out;) {
        size_t take = (size_t)tare_min_u64(t->size_bytes - at, STEP);
        TARE_TRY(tare_tensor_read(hf, a, 0, at, x, take, err));
        TARE_TRY(tare_tensor_read(hf, b, 0, at, y, take, err));
        *out = memcmp(x, y, take) == 0;
        at += take;
    }
    return TARE_OK;
}
