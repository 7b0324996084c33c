/* SPDX-License-Identifier: MIT
 *
 * Positions of the patches of a picture, drawn from those of a picture of another size. */
#include <math.h>

#include "base/arith.h"
#include "llama/mapping.h"

#define MOST_SIDE  4096
#define MOST_DRAWN ((uint64_t)1 << 22) /* numbers, where the model has fewer */

/* The first of two neighbours among `had`, and how much of the second step `at` of `wanted` is: both
 * begin and end at the same places. */
static size_t neighbour(float *part, size_t at, size_t had, size_t wanted) {
    const float step = wanted > 1 ? (float)(had - 1) / (float)(wanted - 1) : 0;
    const float place = step * (float)at;
    const size_t first = (size_t)place < had ? (size_t)place : had - 1;
    *part = place - (float)first;
    return first;
}

/* In the steps of f32 that torch takes (bilinear, corners aligned). */
static void draw(float *out, size_t wanted, const float *in, size_t had, size_t width) {
    for (size_t y = 0; y < wanted; y++)
        for (size_t x = 0; x < wanted; x++, out += width) {
            float down, right;
            const size_t top = neighbour(&down, y, had, wanted),
                         left = neighbour(&right, x, had, wanted);
            const size_t below = top + (top + 1 < had), beside = left + (left + 1 < had);
            const float *a = &in[(top * had + left) * width],
                        *b = &in[(top * had + beside) * width],
                        *c = &in[(below * had + left) * width],
                        *d = &in[(below * had + beside) * width];
            const float up = 1 - down, ahead = 1 - right;
            for (size_t i = 0; i < width; i++)
                out[i] = up * ahead * a[i] + up * right * b[i] + down * ahead * c[i] +
                         down * right * d[i];
        }
}

tare_status tare_llama_draw(tare_llama_mapping *m, const char *name, size_t tensor, uint64_t wanted,
                            tare_error *err) {
    const tare_tensor *t = &m->hf->catalog.tensors[tensor];
    const double had = t->n_dims == 3 && t->dims[0] == 1 ? sqrt((double)t->dims[1]) : 0;
    if (!(had >= 1 && had <= MOST_SIDE && had == floor(had) && wanted >= 1 && wanted <= MOST_SIDE &&
          wanted * wanted * t->cols <= tare_max_u64(t->n_elements, MOST_DRAWN))) {
        tare_fail_tensor(err, TARE_ERR_CORRUPT, t, tensor,
                         "its positions are no square, or config.json says no size of pictures, or "
                         "one of too many patches");
        tare_error_detail(err, "%llu patches to a side", (unsigned long long)wanted);
        return TARE_ERR_CORRUPT;
    }
    const uint64_t dims[] = {1, wanted * wanted, t->cols};
    const size_t n_in = (size_t)t->n_elements, n_out = (size_t)(dims[1] * t->cols);
    const size_t bytes = (n_in + n_out) * sizeof(float);
    float *in = tare_alloc(m->out->allocator, bytes);
    if (!in) return tare_fail(err, TARE_ERR_NOMEM, "positions");
    memset(in, 0, bytes);
    tare_status status =
        m->is_rehearsal ? TARE_OK : tare_tensor_values_f32(in, m->hf, tensor, 0, n_in, err);
    if (status == TARE_OK) {
        draw(in + n_in, (size_t)wanted, in, (size_t)had, (size_t)t->cols);
        m->is_read[tensor] = true;
        status = tare_llama_generate_shaped(m, name, in + n_in, dims, 3, err);
    }
    tare_free(m->out->allocator, in, bytes);
    return status;
}
