/* SPDX-License-Identifier: MIT
 *
 * Taking outliers out of values before they are quantized, and putting them back. */
#include "encoding/outliers.h"

uint32_t tare_encoding_list_plane(const tare_encoding *encoding) {
    for (uint32_t p = 0; p < encoding->n_planes; p++)
        if (encoding->planes[p].scope == TARE_PLANE_LIST) return p;
    return TARE_MAX_PLANES;
}

static uint32_t magnitude(const float *values, size_t i) {
    return tare_get_f32_bits(values, i) & ~TARE_F32_SIGN;
}

void tare_outliers_count(uint64_t *n_above, uint64_t *n_equal, const float *values, size_t n,
                         uint32_t bits) {
    uint64_t above = 0, equal = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t size = magnitude(values, i);
        above += size > bits && size < TARE_F32_INF;
        equal += size == bits;
    }
    *n_above = above;
    *n_equal = equal;
}

bool tare_outliers_take(const tare_outliers *o, float *values, size_t n,
                        const tare_outlier_rule *rule) {
    uint64_t n_equal = rule->n_equal;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t size = magnitude(values, i);
        if (size < rule->bits || size >= TARE_F32_INF) continue;
        if (size == rule->bits) {
            if (n_equal == 0) continue;
            n_equal--;
        }
        if (count == o->n) return false;
        const uint64_t at = o->first + i;
        const tare_outlier record = {(uint32_t)(at / o->cols), (uint16_t)(at % o->cols),
                                     tare_f16_of_f32(tare_get_f32(values, i))};
        tare_outlier_store(o->records + count * TARE_OUTLIER_BYTES, &record);
        o->taken[count++] = tare_get_f32(values, i);
        tare_put_f32(values, i, 0);
    }
    return count == o->n;
}

/* The element, counted from the first one, that record i refers to. */
static size_t place_of(const tare_outliers *o, size_t i, tare_outlier *record) {
    *record = tare_outlier_load(o->records + i * TARE_OUTLIER_BYTES);
    return (size_t)(record->row * o->cols + record->col - o->first);
}

void tare_outliers_put_back(float *values, const tare_outliers *o) {
    tare_outlier record;
    for (size_t i = 0; i < o->n; i++) tare_put_f32(values, place_of(o, i, &record), o->taken[i]);
}

void tare_outliers_put_stored(float *values, const tare_outliers *o) {
    tare_outlier record;
    for (size_t i = 0; i < o->n; i++) {
        const size_t at = place_of(o, i, &record);
        tare_put_f32(values, at, tare_f32_of_f16(record.value));
    }
}

size_t tare_outliers_overflow(uint64_t *first, const tare_outliers *o) {
    tare_outlier record;
    size_t count = 0;
    for (size_t i = 0; i < o->n; i++) {
        const size_t at = place_of(o, i, &record);
        if ((record.value & 0x7c00) != 0x7c00) continue;
        if (count++ == 0) *first = o->first + at;
    }
    return count;
}
