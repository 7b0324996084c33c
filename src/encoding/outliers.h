/* SPDX-License-Identifier: MIT
 *
 * Elements that are stored separately from a tensor's codes: records of a list plane, each of which
 * replaces one element. The only list defined so far has INFQ's form, row u32, col u16, value f16
 * (specification version 1, "Tensor Entry"). Row functions know nothing of it: code that decodes a
 * tensor applies it (model/outliers.c), code that encodes one takes the outliers out first. */
#ifndef TARE_ENCODING_OUTLIERS_H
#define TARE_ENCODING_OUTLIERS_H

#include <tare/encoding.h>

#include "encoding/float16.h"

#define TARE_OUTLIER_BYTES 8
/* What a record can address. */
#define TARE_OUTLIER_ROWS (UINT64_C(1) << 32)
#define TARE_OUTLIER_COLS (UINT64_C(1) << 16)

typedef struct tare_outlier {
    uint32_t row;
    uint16_t col, value;
} tare_outlier;

static inline tare_outlier tare_outlier_load(const uint8_t *p) {
    return (tare_outlier){tare_load_le32(p), tare_load_le16(p + 4), tare_load_le16(p + 6)};
}
static inline void tare_outlier_store(uint8_t *p, const tare_outlier *o) {
    tare_store_le32(p, o->row);
    tare_store_le16(p + 4, o->col);
    tare_store_le16(p + 6, o->value);
}

/* The list plane of an encoding; TARE_MAX_PLANES: it has none. */
uint32_t tare_encoding_list_plane(const tare_encoding *encoding);

/* Which elements of a tensor are taken out: those of a magnitude above `bits`, and of those that
 * have just that the first n_equal, in the order of rows and columns. Magnitudes are compared as
 * the bits of floats; Inf and NaN are never taken. */
typedef struct tare_outlier_rule {
    uint32_t bits;
    uint64_t n_equal;
} tare_outlier_rule;

/* How many of n values lie above the magnitude `bits`, and how many have it. */
void tare_outliers_count(uint64_t *n_above, uint64_t *n_equal, const float *values, size_t n,
                         uint32_t bits);
/* Elements that were taken out of the values of rows of `cols`, the first of which is element
 * `first` of its tensor. */
typedef struct tare_outliers {
    uint8_t *records;
    float *taken; /* what they were */
    size_t n;
    uint64_t first, cols;
} tare_outliers;

/* Takes the outliers out of n values and sets them to 0. There must be exactly o->n, for which
 * there is room; false if there are more or fewer. `rule->n_equal` counts from the first value on.
 */
bool tare_outliers_take(const tare_outliers *o, float *values, size_t n,
                        const tare_outlier_rule *rule);
/* Restores their original values. */
void tare_outliers_put_back(float *values, const tare_outliers *o);
/* Replaces them by the values in their records. */
void tare_outliers_put_stored(float *values, const tare_outliers *o);
/* How many are infinite in their records; *first: the element of the first such. */
size_t tare_outliers_overflow(uint64_t *first, const tare_outliers *o);

#endif
