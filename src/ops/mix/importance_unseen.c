/* SPDX-License-Identifier: MIT
 *
 * Columns that an importance matrix never saw anything in: an expert that no token went to, a matrix
 * that was not used. Encoders that weigh a block by zeros alone have nothing to choose its scale by,
 * and make its numbers 0. */
#include "ops/mix/importance_matrix.h"

#define FLOOR 1e-3 /* of the mean of what was seen */
/* Nor does what is no more than this weigh: times the square of a small weight, and squared with it,
 * it is 0 in F32, of which the least number is 1.4e-45. */
#define NOTHING 1e-18F

uint64_t tare_importance_unseen(const float *values, uint64_t n_rows, uint64_t cols,
                                const tare_encoding *type) {
    const uint64_t run = type->block > 32 ? 16 : type->block; /* super-blocks have blocks of 16 */
    uint64_t n = 0;
    for (uint64_t r = 0; r < n_rows; r++, values += cols)
        for (uint64_t c = 0; c < cols; c += run) {
            uint64_t i = c;
            while (i < cols && i < c + run && !(values[i] > NOTHING)) i++;
            if (i == cols || i == c + run) n += i - c;
        }
    return n;
}

void tare_importance_floor(float *out, const float *values, uint64_t cols) {
    double sum = 0;
    uint64_t n = 0;
    for (uint64_t c = 0; c < cols; c++)
        if (values[c] > NOTHING) sum += (double)values[c], n++;
    const float least = sum > 0 ? (float)(sum / (double)n * FLOOR) : 1;
    for (uint64_t c = 0; c < cols; c++)
        out[c] = values[c] > NOTHING ? values[c] : least > 0 ? least : 1;
}
