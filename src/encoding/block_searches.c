/* SPDX-License-Identifier: MIT
 *
 * The scalar table of searches: block by block. Also the fallback of the vector tables for blocks
 * they cannot handle identically. */
#include "encoding/block_searches.h"

#include <math.h>

enum { LARGEST = 32 };

static float sum_of_squares(const float *x, int n) {
    float sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    return sum;
}

/* The weights of block j; false: x^2, which the searches take themselves. */
static bool weigh(float *weights, const tare_blocks *b, size_t j) {
    const float *x = b->x + j * (size_t)b->size;
    const float *importance = b->importance ? b->importance + j * (size_t)b->size : NULL;
    float mean = 0, sum = 0;
    switch (b->weighing) {
    case TARE_WEIGH_MEAN:
        mean = sqrtf(sum_of_squares(x, b->size) / (float)b->size);
        for (int i = 0; i < b->size; i++) weights[i] = mean + fabsf(x[i]);
        return true;
    case TARE_WEIGH_MAGNITUDE:
        for (int i = 0; i < b->size; i++) weights[i] = fabsf(x[i]);
        return true;
    case TARE_WEIGH_GIVEN:
        for (int i = 0; i < b->size; i++) weights[i] = importance[i];
        return true;
    case TARE_WEIGH_SPREAD:
        for (int i = 0; i < b->size; i++)
            weights[i] = importance[i] * sqrtf(b->sigma2[j] + x[i] * x[i]);
        for (int i = 0; i < b->size; i++) sum += weights[i];
        b->sums[j] = sum;
        return true;
    default:
        return false;
    }
}

void tare_search_affine_of(const tare_blocks *b, size_t j, const tare_affine_walk *walk) {
    float weights[LARGEST];
    size_t at = j * (size_t)b->size;
    weigh(weights, b, j);
    b->scales[j] =
        tare_search_affine(b->codes + at, b->minus_mins + j, b->x + at, weights, b->size, walk);
}

void tare_search_signed_of(const tare_blocks *b, size_t j, int top) {
    float weights[LARGEST];
    size_t at = j * (size_t)b->size;
    bool is_weighed = weigh(weights, b, j);
    b->scales[j] = tare_search_signed(b->codes ? b->codes + at : NULL, b->x + at,
                                      is_weighed ? weights : NULL, b->size, top);
}

void tare_search_moves_of(const tare_blocks *b, size_t j, int top) {
    size_t at = j * (size_t)b->size;
    b->scales[j] = tare_search_signed_moves(b->codes + at, b->x + at, b->size, top);
}

void tare_search_unsigned_of(const tare_blocks *b, size_t j, int top) {
    size_t at = j * (size_t)b->size;
    b->scales[j] = tare_search_unsigned(b->codes + at, b->x + at, b->importance + at, b->size, top);
}

void tare_search_levels_of(const tare_blocks *b, size_t j) {
    const float *x = b->x + j * (size_t)b->size;
    float weights[LARGEST];
    if (!weigh(weights, b, j))
        for (int i = 0; i < b->size; i++) weights[i] = x[i] * x[i];
    b->scales[j] = tare_search_levels(x, weights);
}

static void search_affine(const tare_blocks *b, const tare_affine_walk *walk) {
    for (size_t j = 0; j < b->n; j++) tare_search_affine_of(b, j, walk);
}
static void search_signed(const tare_blocks *b, int top) {
    for (size_t j = 0; j < b->n; j++) tare_search_signed_of(b, j, top);
}
static void search_moves(const tare_blocks *b, int top) {
    for (size_t j = 0; j < b->n; j++) tare_search_moves_of(b, j, top);
}
static void search_unsigned(const tare_blocks *b, int top) {
    for (size_t j = 0; j < b->n; j++) tare_search_unsigned_of(b, j, top);
}
static void search_levels(const tare_blocks *b) {
    for (size_t j = 0; j < b->n; j++) tare_search_levels_of(b, j);
}
static void squares(float *sums, const float *x, size_t n, size_t size) {
    for (size_t j = 0; j < n; j++) {
        float sum = 0;
        for (size_t i = j * size; i < (j + 1) * size; i++)
            sum += tare_get_f32(x, i) * tare_get_f32(x, i);
        sums[j] = sum;
    }
}

static void peaks(float *peaks, const float *values, size_t n) {
    for (size_t k = 0; k < n; k++) {
        peaks[k] = 0;
        for (size_t i = 16 * k; i < 16 * k + 16; i++)
            if (fabsf(values[i]) > fabsf(peaks[k])) peaks[k] = values[i];
    }
}

static void recode(uint8_t *codes, const float *x, const float *scales, const float *mins, int size,
                   int low, int high) {
    for (int j = 0; j < 256 / size; j++) {
        if (scales[j] == 0) continue;
        for (int i = j * size; i < (j + 1) * size; i++) {
            int32_t code = tare_round_even((x[i] + mins[j]) / scales[j]);
            codes[i] = (uint8_t)(tare_clamp_i32(code, low, high) - low);
        }
    }
}

static void level_codes(uint8_t *nibbles, size_t stride, const float *x, const float *inverses,
                        size_t n) {
    for (size_t j = 0; j < n; j++, nibbles += stride, x += 32)
        for (int i = 0; i < 16; i++)
            nibbles[i] = (uint8_t)(tare_nearest_level(inverses[j] * x[i]) |
                                   tare_nearest_level(inverses[j] * x[i + 16]) << 4);
}

const tare_searches tare_searches_c = {
    search_affine, search_signed, search_moves, search_unsigned, search_levels,
    squares,       peaks,         recode,       level_codes,
};
