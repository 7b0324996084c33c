/* SPDX-License-Identifier: MIT
 *
 * The values that represent numbers: steps of a trellis, or the nearest codes, where a bit saved is
 * worth some error. */
#include <string.h>

#include "base/arith.h"
#include "encoding/float16.h"
#include "ops/lossy/lossy.h"
#include "wcodec/wc_kernels.h"

/* ---- memory ---------------------------------------------------------------------------------- */

tare_status tare_lossy_room_init(tare_lossy_room *room, uint32_t n, const tare_allocator *allocator,
                                 tare_error *err) {
    const size_t m = tare_wc_align(n),
                 each = 2 * sizeof(float) + sizeof(uint32_t) + sizeof(tare_lossy_outlier) + 4 + 1;
    *room = (tare_lossy_room){.allocator = allocator, .size = m * each + m / TARE_WC_LANES};
    room->memory = tare_alloc(allocator, room->size);
    if (!room->memory) return tare_fail(err, TARE_ERR_NOMEM, "numbers");
    room->numbers = (float *)(void *)room->memory;
    room->weights = room->numbers + m;
    room->choices = (uint32_t *)(void *)(room->weights + m);
    room->wide = (int16_t *)(void *)room->choices; /* a trellis has no values of 16 bits */
    room->outliers = (tare_lossy_outlier *)(void *)(room->choices + m);
    room->symbols = (int8_t *)(room->outliers + m);
    room->values = room->symbols + 4 * m;
    room->classes = (uint8_t *)(room->values + m);
    return TARE_OK;
}

void tare_lossy_room_free(tare_lossy_room *room) {
    tare_free(room->allocator, room->memory, room->size);
    *room = (tare_lossy_room){.memory = NULL};
}

/* ---- numbers --------------------------------------------------------------------------------- */

tare_status tare_lossy_load(tare_lossy_room *room, uint32_t at, const tare_lossy_run *r,
                            const tare_lossy_target *t, uint64_t first, uint32_t n,
                            tare_error *err) {
    float *numbers = room->numbers + at;
    const float steps = 1.0f / t->choice.unit;
    TARE_TRY(tare_tensor_values_f32(numbers, r->in, t->tensor, first, n, err));
    if (t->columns) tare_lossy_scale(numbers, room->weights + at, t, first, n);
    for (uint32_t i = 0; i < n; i++) numbers[i] *= steps;
    return TARE_OK;
}

void tare_lossy_take_outliers(tare_lossy_room *room, uint32_t n) {
    room->n_outliers = 0;
    for (uint32_t i = 0; i < n; i++) {
        const float x = room->numbers[i];
        if (x <= TARE_LOSSY_REACH && x >= -TARE_LOSSY_REACH) continue;
        room->outliers[room->n_outliers++] = (tare_lossy_outlier){i, x};
        room->numbers[i] = 0;
    }
}

double tare_lossy_error(const tare_lossy_room *room, const tare_lossy_target *t, uint32_t n) {
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        const int value = t->choice.is_wide ? room->wide[i] : room->values[i];
        const double e = (double)room->numbers[i] - value;
        sum += e * e * (t->columns ? (double)room->weights[i] : 1.0);
    }
    return sum;
}

/* ---- values ---------------------------------------------------------------------------------- */

unsigned tare_lossy_group(const float *numbers, uint32_t n) {
    float sum = 1;
    for (uint32_t i = 0; i < n; i++) sum += numbers[i] < 0 ? -numbers[i] : numbers[i];
    const unsigned group = tare_wc_log2((uint64_t)sum) >> 14;
    return group < TARE_LOSSY_GROUPS ? group : TARE_LOSSY_GROUPS - 1;
}

static void find_classes(tare_lossy_room *room, const tare_lossy_prices *prices, uint32_t n) {
    for (uint32_t at = 0; at < n; at += TARE_WC_CLASS_RUN) {
        const uint32_t run = n - at < TARE_WC_CLASS_RUN ? n - at : TARE_WC_CLASS_RUN;
        const unsigned group = tare_lossy_group(room->numbers + at, run);
        room->classes[at / TARE_WC_CLASS_RUN] = prices->group_class[group];
    }
}

static void search(tare_lossy_room *room, const tare_lossy_target *t, uint32_t n) {
    const tare_lossy_prices *prices = &t->prices[1];
    const tare_wc_search_job job = {.states = t->choice.states,
                                    .n_positions = tare_wc_align(n),
                                    .numbers = room->numbers,
                                    .weights = t->columns ? room->weights : NULL,
                                    .prices = prices->steps,
                                    .classes = prices->n_classes > 1 ? room->classes : NULL,
                                    .choices = room->choices,
                                    .symbols = room->symbols,
                                    .values = room->values};
    if (job.classes) find_classes(room, prices, n);
    tare_wc_kernels_get()->search(&job);
}

static float nearest(float x) {
    return (x + 12582912.0f) - 12582912.0f;
}

/* Bits are no longer worth an error. */
static void round_wide(tare_lossy_room *room, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        float near = nearest(room->numbers[i]);
        near = near > TARE_LOSSY_WIDE_REACH ? TARE_LOSSY_WIDE_REACH : near;
        near = near < -TARE_LOSSY_WIDE_REACH ? -TARE_LOSSY_WIDE_REACH : near;
        room->wide[i] = (int16_t)near;
    }
}

/* The nearest code, or the one nearer to 0 beside it. */
static void choose_codes(tare_lossy_room *room, const tare_lossy_target *t, uint32_t n) {
    const float *prices = t->prices[0].codes;
    for (uint32_t i = 0; i < n; i++) {
        const float x = room->numbers[i], weight = t->columns ? room->weights[i] : 1.0f;
        float near = nearest(x);
        near = near > TARE_LOSSY_REACH ? TARE_LOSSY_REACH : near;
        near = near < -TARE_LOSSY_REACH ? -TARE_LOSSY_REACH : near;
        const float less = near > 0 ? near - 1 : near < 0 ? near + 1 : near;
        const float e = x - near, f = x - less;
        const float a = weight * (e * e) + prices[(int)near & 255];
        const float b = weight * (f * f) + prices[(int)less & 255];
        room->values[i] = (int8_t)(b < a ? less : near);
    }
}

void tare_lossy_choose(tare_lossy_room *room, const tare_lossy_target *t, uint32_t n) {
    for (uint32_t i = n; i < tare_wc_align(n); i++) room->numbers[i] = room->weights[i] = 0;
    if (t->choice.is_wide)
        round_wide(room, n);
    else if (t->choice.states)
        search(room, t, n);
    else
        choose_codes(room, t, n);
}
