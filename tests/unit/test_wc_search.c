/* SPDX-License-Identifier: MIT
 *
 * Guards against: a search through a trellis that gives other values at some CPU level, values that
 * no step of the trellis reaches, a path that is not the cheapest, or a gain over plain rounding
 * that is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "wc_random.h"
#include "wcodec/wc_kernels.h"
#include "wcodec/wc_trellis.h"

enum { N = 1 << 14, STEPS = 5 };

static float numbers[N], weights[N], prices[2][TARE_WC_SYMBOLS];
static uint8_t classes[N / TARE_WC_CLASS_RUN];
static uint32_t choices[N];
static int8_t symbols[4 * N], values[2][N];

static void fill(uint64_t *seed, float spread) {
    for (unsigned i = 0; i < N; i++) {
        numbers[i] = (float)wc_normal(seed) * spread;
        weights[i] = 0.25f + (float)(wc_random(seed) % 1000) / 500.0f;
    }
    for (unsigned c = 0; c < 2; c++)
        for (int s = 0; s < TARE_WC_SYMBOLS; s++) {
            int size = s < 32 ? s : 64 - s;
            prices[c][s] = 1.0f + (float)size * (c ? 0.4f : 0.9f);
        }
    for (unsigned i = 0; i < N / TARE_WC_CLASS_RUN; i++) classes[i] = wc_random(seed) % 2;
}

static tare_wc_search_job job_of(uint8_t states, uint32_t n, int8_t *to) {
    return (tare_wc_search_job){.states = states,
                                .n_positions = n,
                                .numbers = numbers,
                                .weights = weights,
                                .prices = (const float(*)[TARE_WC_SYMBOLS])prices,
                                .classes = classes,
                                .choices = choices,
                                .symbols = symbols,
                                .values = to};
}

static void every_level_finds_the_path_of_the_reference(void **state) {
    (void)state;
    uint64_t seed = 31;
    tare_wc_kernels k;
    for (unsigned round = 0; round < 8; round++) {
        fill(&seed, round % 4 == 3 ? 1.0f : 0.01f * (float)(1 + round));
        tare_wc_search_job job = job_of(round % 2 ? 32 : 8, N - 64 * round, values[0]);
        if (round & 2) job.weights = NULL;
        if (round & 4) job.classes = NULL;
        tare_wc_kernels_init(&k, TARE_CPU_NONE);
        k.search(&job);
        for (unsigned mask = TARE_CPU_AVX2; mask <= tare_cpu_mask_detect(); mask = mask << 1 | 1) {
            memset(values[1], 0, sizeof values[1]);
            job.values = values[1];
            tare_wc_kernels_init(&k, mask);
            k.search(&job);
            assert_memory_equal(values[1], values[0], job.n_positions);
        }
    }
}

/* The cost of a lane's values; fails where no step gives one. */
static float cost_of(uint8_t states, unsigned lane, unsigned n_steps, const int8_t *v) {
    uint8_t t = 0;
    float cost = 0;
    for (unsigned i = 0; i < n_steps; i++) {
        unsigned p = i * TARE_WC_LANES + lane;
        int size = t & 1 ? -v[p] : v[p], c = (size - 1) / 4;
        assert_int_equal(size, 4 * c + 1);
        float e = numbers[p] - (float)v[p];
        cost += weights[p] * e * e + prices[classes[p / TARE_WC_CLASS_RUN]][c & 63];
        t = tare_wc_trellis_next(states, t, (unsigned)c & 1);
    }
    return cost;
}

/* The least cost of all paths: c from -3 to 3 at each step. */
static float least_cost(uint8_t states, unsigned lane, unsigned step, unsigned n_steps, uint8_t t) {
    unsigned p = step * TARE_WC_LANES + lane;
    float least = 1e30f;
    if (step == n_steps) return 0;
    for (int c = -3; c <= 3; c++) {
        int v = t & 1 ? -(4 * c + 1) : 4 * c + 1;
        float e = numbers[p] - (float)v;
        float cost = weights[p] * e * e + prices[classes[p / TARE_WC_CLASS_RUN]][c & 63] +
                     least_cost(states, lane, step + 1, n_steps,
                                tare_wc_trellis_next(states, t, (unsigned)c & 1));
        if (cost < least) least = cost;
    }
    return least;
}

static void no_path_is_cheaper(void **state) {
    (void)state;
    uint64_t seed = 32;
    for (uint8_t states = 8; states <= 32; states = (uint8_t)(states * 4)) {
        fill(&seed, 0.01f); /* numbers around -4 .. 4 */
        for (unsigned i = 0; i < N; i++)
            if (numbers[i] > 6 || numbers[i] < -6) numbers[i] = 1;
        tare_wc_search_job job = job_of(states, STEPS * TARE_WC_LANES, values[0]);
        tare_wc_kernels_get()->search(&job);
        for (unsigned lane = 0; lane < TARE_WC_LANES; lane++) {
            float found = cost_of(states, lane, STEPS, values[0]);
            float least = least_cost(states, lane, 0, STEPS, 0);
            assert_true(found <= least * 1.0001f && found >= least * 0.9999f);
        }
    }
}

/* Without prices: the error of numbers spread evenly, against that of rounding to the same number
 * of values (multiples of 4), 4/3 on average. A trellis of 8 states has about 0.99 dB less, one of
 * 32 states 1.22. */
static void errors_are_smaller_than_by_rounding(void **state) {
    (void)state;
    uint64_t seed = 33;
    double errors[2] = {0};
    memset(prices, 0, sizeof prices);
    for (unsigned i = 0; i < N; i++)
        numbers[i] = (float)(wc_random(&seed) % 160000) / 1000.0f - 80.0f;
    for (unsigned which = 0; which < 2; which++) {
        tare_wc_search_job job = job_of(which ? 32 : 8, N, values[0]);
        job.weights = NULL;
        job.classes = NULL;
        tare_wc_kernels_get()->search(&job);
        for (unsigned i = 0; i < N; i++) {
            double e = (double)numbers[i] - (double)values[0][i];
            errors[which] += e * e / N;
        }
    }
    assert_true(errors[0] < 0.82 * 4 / 3);
    assert_true(errors[1] < 0.78 * 4 / 3 && errors[1] < errors[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_level_finds_the_path_of_the_reference),
        cmocka_unit_test(no_path_is_cheaper),
        cmocka_unit_test(errors_are_smaller_than_by_rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
