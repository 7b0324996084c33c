/* SPDX-License-Identifier: MIT
 *
 * Factors of rotary positions back into config.json: longrope's lists as they are; of Llama 3's
 * factors the four settings that they are computed from. */
#include <math.h>

#include "base/arith.h"
#include "base/str.h"
#include "llama/restore/restore.h"

#define MOST_FACTORS 4096
#define PI           3.14159265358979323846

/* The numbers of a tensor; *n 0: there is none, or not of numbers that JSON could have. */
static tare_status read_factors(float *out, size_t *n, const tare_llama_restoring *r,
                                const char *name, tare_error *err) {
    int64_t i = tare_model_find_tensor(r->gguf, tare_str_of(name));
    *n = 0;
    if (i < 0 || r->gguf->catalog.tensors[i].n_elements > MOST_FACTORS) return TARE_OK;
    const size_t count = (size_t)r->gguf->catalog.tensors[i].n_elements;
    TARE_TRY(tare_tensor_values_f32(out, r->gguf, (size_t)i, 0, count, err));
    for (size_t k = 0; k < count; k++)
        if (!isfinite(out[k])) return TARE_OK;
    *n = count;
    return TARE_OK;
}

static void put_list(tare_buffer *b, const float *factors, size_t n) {
    char text[48];
    tare_buffer_put_u8(b, '[');
    for (size_t i = 0; i < n; i++) {
        if (i) tare_buffer_put_text(b, ", ");
        size_t size = tare_llama_f32_text(text, sizeof text, (double)factors[i]);
        tare_buffer_put_str(b, (tare_str){text, size});
    }
    tare_buffer_put_u8(b, ']');
}

/* Longrope: `long` and `short` lists. False: there are none. */
static tare_status put_longrope(tare_buffer *b, bool *is_there, const tare_llama_restoring *r,
                                tare_error *err) {
    float longs[MOST_FACTORS], shorts[MOST_FACTORS];
    size_t n_long, n_short;
    TARE_TRY(read_factors(longs, &n_long, r, "rope_factors_long.weight", err));
    TARE_TRY(read_factors(shorts, &n_short, r, "rope_factors_short.weight", err));
    *is_there = n_long && n_short;
    if (!*is_there) return TARE_OK;
    tare_buffer_put_text(b, "{\"type\": \"longrope\", \"long_factor\": ");
    put_list(b, longs, n_long);
    tare_buffer_put_text(b, ", \"short_factor\": ");
    put_list(b, shorts, n_short);
    tare_buffer_put_u8(b, '}');
    return TARE_OK;
}

/* Llama 3's settings. The blend of the frequencies between the two bounds is a straight line over
 * context / wave: low and high follow from it, up to a factor that is fixed by a context of 8192.
 * Where fewer than two frequencies are blended, 1 and 4, which all models of this kind have. */
static bool find_settings(double *factor, double *low, double *high, const float *factors, size_t n,
                          double theta) {
    double x[2] = {0}, y[2] = {0};
    size_t n_blended = 0;
    *factor = (double)factors[n - 1];
    *low = 1;
    *high = 4;
    for (size_t i = 0; i < n; i++) {
        double f = (double)factors[i];
        if (!(f > 1.0 + 1e-6 && f < *factor * (1 - 1e-6))) continue;
        double wave = 2 * PI * pow(theta, (double)i / (double)n);
        size_t at = n_blended++ ? 1 : 0;
        x[at] = 8192 / wave;
        y[at] = (1 / f - 1 / *factor) / (1 - 1 / *factor);
    }
    if (n_blended > 1) {
        double slope = (y[1] - y[0]) / (x[1] - x[0]);
        *low = x[0] - y[0] / slope;
        *high = *low + 1 / slope;
        *low = floor(*low * 1000 + 0.5) / 1000; /* they were written by hand */
        *high = floor(*high * 1000 + 0.5) / 1000;
    }
    return *factor > 1 && *low > 0 && *high > *low && isfinite(*high);
}

static tare_status put_llama3(tare_buffer *b, bool *is_there, const tare_llama_restoring *r,
                              tare_error *err) {
    float factors[MOST_FACTORS];
    double factor = 0, low = 0, high = 0;
    tare_llama_value theta;
    size_t n;
    TARE_TRY(read_factors(factors, &n, r, "rope_freqs.weight", err));
    TARE_TRY(
        tare_llama_formula(&theta, TARE_STR("rope.freq_base | 10000"), &r->by_keys, NULL, err));
    *is_there = n && r->arch->has_rope_freqs &&
                find_settings(&factor, &low, &high, factors, n, theta.number);
    if (!*is_there)
        return TARE_OK; /* of factors that nothing comes to the check at the end tells */
    tare_buffer_printf(b,
                       "{\"rope_type\": \"llama3\", \"factor\": %.9g, \"low_freq_factor\": %.9g, "
                       "\"high_freq_factor\": %.9g, \"original_max_position_embeddings\": 8192}",
                       factor, low, high);
    return TARE_OK;
}

tare_status tare_llama_restore_rope(tare_str *out, tare_llama_restoring *r, tare_error *err) {
    tare_buffer b;
    bool is_there = false;
    *out = (tare_str){NULL, 0};
    tare_buffer_init(&b, r->out->allocator);
    tare_status status = put_longrope(&b, &is_there, r, err);
    if (status == TARE_OK && !is_there) status = put_llama3(&b, &is_there, r, err);
    if (status == TARE_OK && is_there) status = tare_buffer_text(out, &b, &r->out->arena, err);
    tare_buffer_free(&b);
    return status;
}
