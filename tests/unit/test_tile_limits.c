/* SPDX-License-Identifier: MIT
 *
 * Guards against: an encoder that tries tiles, predictors or transforms that it was told not to,
 * that refuses limits which name all there is, or that writes other bytes with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <tare/experimental/wcodec.h>

#include "wcodec/wc_structured_encode.h"

enum { ROWS = 128, COLS = 128, N = ROWS * COLS };

static uint8_t image[N];

/* A smooth surface with noise: STRUCTURED pays, with several predictors and transforms. */
static void draw(void) {
    unsigned seed = 7;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLS; c++) {
            seed = seed * 1103515245 + 12345;
            int wave = (r * r / 97 + c * 3 / 2 + (r * c) / 61) % 120;
            image[r * COLS + c] = (uint8_t)(wave + (int)(seed >> 16 & 3));
        }
}

static tare_coded *encode(const tare_tile_limits *limits) {
    tare_coded_options options = tare_coded_options_default();
    tare_coded_field field = {.value_bits = 8, .row = COLS, .mode = TARE_CODED_STRUCTURED};
    const tare_coded_region region = {.bytes = image, .size = N};
    static uint8_t back[N];
    tare_coded *coded;
    tare_error err;
    options.is_full = true;
    if (limits) options.tiles = *limits;
    assert_int_equal(tare_coded_encode(&coded, &region, 1, &field, 1, &options, &err), TARE_OK);
    assert_int_equal(tare_coded_decode_region(back, coded, 0, 0, N, NULL, &err), TARE_OK);
    assert_memory_equal(back, image, N);
    return coded;
}

static tare_coded_segment segment_of(const tare_coded *coded) {
    tare_coded_segment s = tare_coded_segment_default();
    tare_error err;
    assert_int_equal(tare_coded_parse_segment(&s, coded, 0, 0, &err), TARE_OK);
    return s;
}

static void shapes(void **state) {
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        const tare_tile_limits limits = {.shapes = 1u << i};
        tare_coded *coded = encode(&limits);
        const tare_coded_segment s = segment_of(coded);
        assert_int_equal(s.mode, TARE_CODED_STRUCTURED);
        assert_int_equal(s.tile_shape, i);
        tare_coded_free(coded);
    }
}

/* Which predictors (context 0) and transforms (context 1) a sketch uses: sets of bits. */
static void used(uint32_t sets[2], const tare_tile_limits *limits) {
    tare_wc_scratch scratch;
    tare_wc_sketch sketch;
    tare_status status;
    tare_wc_options options = TARE_WC_OPTIONS_DEFAULT;
    options.tiles = *limits;
    options.width = COLS;
    tare_wc_scratch_init(&scratch, NULL);
    assert_true(tare_wc_sketch_init(&sketch, 8, &options, 0, COLS, image, N, &scratch, &status));
    sets[0] = sets[1] = 0;
    for (uint32_t i = 0; i < sketch.n_symbols; i++)
        if (sketch.contexts[i] < TARE_WC_SIDE_CONTEXTS)
            sets[sketch.contexts[i]] |= 1u << sketch.symbols[i];
    tare_wc_scratch_free(&scratch);
}

static void predictors_and_transforms(void **state) {
    (void)state;
    const tare_tile_limits all = {0, 0, 0};
    uint32_t sets[2];
    used(sets, &all);
    assert_true((sets[0] & (sets[0] - 1)) !=
                0); /* more than one: the limits have something to do */
    assert_true((sets[1] & (sets[1] - 1)) != 0);
    for (unsigned i = 0; i < 6; i++) {
        const tare_tile_limits one = {.predictors = 1u << i};
        used(sets, &one);
        assert_int_equal(sets[0], 1u << i);
    }
    for (unsigned i = 0; i < 3; i++) {
        const tare_tile_limits one = {.transforms = 1u << i};
        used(sets, &one);
        assert_int_equal(sets[1], 1u << i);
    }
    const tare_tile_limits two = {.predictors = TARE_TILE_PREDICTOR_LEFT | TARE_TILE_PREDICTOR_TOP};
    used(sets, &two);
    assert_int_equal(sets[0] & ~two.predictors, 0);
}

static void all_is_default(void **state) {
    (void)state;
    const tare_tile_limits all = {15, 63, 7};
    tare_coded *a = encode(NULL), *b = encode(&all);
    const tare_coded_layer *x = tare_coded_describe(a), *y = tare_coded_describe(b);
    assert_int_equal(x->size, y->size);
    assert_memory_equal(x->data, y->data, (size_t)x->size);
    tare_coded_free(a);
    tare_coded_free(b);
}

static void unknown(void **state) {
    (void)state;
    const tare_tile_limits bad[] = {{.shapes = 16}, {.predictors = 64}, {.transforms = 8}};
    for (unsigned i = 0; i < 3; i++) {
        tare_coded_options options = tare_coded_options_default();
        const tare_coded_field field = {.value_bits = 8};
        const tare_coded_region region = {.bytes = image, .size = N};
        tare_coded *coded;
        tare_coder *coder;
        tare_error err;
        options.tiles = bad[i];
        assert_int_equal(tare_coded_encode(&coded, &region, 1, &field, 1, &options, &err),
                         TARE_ERR_ARG);
        assert_null(coded);
        assert_int_equal(tare_coder_new(&coder, &field, image, N, NULL, &options, &err),
                         TARE_ERR_ARG);
        assert_null(coder);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes),
        cmocka_unit_test(predictors_and_transforms),
        cmocka_unit_test(all_is_default),
        cmocka_unit_test(unknown),
    };
    draw();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
