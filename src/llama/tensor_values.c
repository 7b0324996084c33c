/* SPDX-License-Identifier: MIT
 *
 * What a mapping has to know about the numbers in a tensor before it can list its tensors. */
#include <math.h>
#include <stdio.h>

#include "base/arith.h"
#include "base/str.h"
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
        TARE_TRY(tare_tensor_read(x, hf, a, 0, at, take, err));
        TARE_TRY(tare_tensor_read(y, hf, b, 0, at, take, err));
        *out = memcmp(x, y, take) == 0;
        at += take;
    }
    return TARE_OK;
}

/* The vector whose name ends in `which` where that of another has `end`. */
static tare_status find_beside(size_t *out, tare_llama_mapping *m, size_t tensor, const char *end,
                               const char *which, tare_error *err) {
    const tare_model *hf = m->hf;
    const tare_tensor *t = &hf->catalog.tensors[tensor];
    char name[512];
    int n =
        snprintf(name, sizeof name, "%.*s%s", (int)(t->name.len - strlen(end)), t->name.ptr, which);
    const int64_t i = t->name.len < sizeof name / 2
                          ? tare_model_find_tensor(hf, (tare_str){name, (size_t)n})
                          : -1;
    if (i < 0 || hf->catalog.tensors[i].n_elements != t->n_elements) {
        tare_fail_tensor(err, TARE_ERR_CORRUPT, t, tensor,
                         "the vector that belongs to it is missing, or of another length");
        tare_error_detail(err, "%s", which);
        return TARE_ERR_CORRUPT;
    }
    m->is_read[i] = true;
    *out = (size_t)i;
    return TARE_OK;
}

static tare_status fold_norm(float *out, tare_llama_mapping *m, size_t weight, tare_llama_fold fold,
                             tare_error *err) {
    const tare_model *hf = m->hf;
    float bias[STEP / 4], mean[STEP / 4], variance[STEP / 4];
    const uint64_t n = hf->catalog.tensors[weight].n_elements;
    size_t of_bias, of_mean, of_variance;
    TARE_TRY(find_beside(&of_bias, m, weight, "weight", "bias", err));
    TARE_TRY(find_beside(&of_mean, m, weight, "weight", "running_mean", err));
    TARE_TRY(find_beside(&of_variance, m, weight, "weight", "running_var", err));
    for (uint64_t at = 0; at < n; at += STEP / 4) {
        const uint64_t take = tare_min_u64(n - at, STEP / 4);
        TARE_TRY(tare_tensor_values_f32(out + at, hf, weight, at, take, err));
        TARE_TRY(tare_tensor_values_f32(bias, hf, of_bias, at, take, err));
        TARE_TRY(tare_tensor_values_f32(mean, hf, of_mean, at, take, err));
        TARE_TRY(tare_tensor_values_f32(variance, hf, of_variance, at, take, err));
        for (uint64_t i = 0; i < take; i++) {
            const float factor = out[at + i] / sqrtf(variance[i] + 1e-5F);
            out[at + i] = fold == TARE_LLAMA_FACTOR ? factor : bias[i] - mean[i] * factor;
        }
    }
    return TARE_OK;
}

static tare_status fold_product(float *out, tare_llama_mapping *m, size_t norm, tare_error *err) {
    const tare_model *hf = m->hf;
    float factors[STEP];
    const uint64_t n = hf->catalog.tensors[norm].n_elements;
    size_t proj;
    TARE_TRY(find_beside(&proj, m, norm, "norm.weight", "proj.weight", err));
    TARE_TRY(tare_tensor_values_f32(out, hf, norm, 0, n, err));
    for (uint64_t at = 0; at < n; at += STEP) {
        const uint64_t take = tare_min_u64(n - at, STEP);
        TARE_TRY(tare_tensor_values_f32(factors, hf, proj, at, take, err));
        for (uint64_t i = 0; i < take; i++) out[at + i] *= factors[i];
    }
    return TARE_OK;
}

tare_status tare_llama_fold_vectors(float *out, tare_llama_mapping *m, size_t tensor,
                                    tare_llama_fold fold, tare_error *err) {
    m->is_read[tensor] = true;
    return fold == TARE_LLAMA_PRODUCT ? fold_product(out, m, tensor, err)
                                      : fold_norm(out, m, tensor, fold, err);
}
