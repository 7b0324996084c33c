/* SPDX-License-Identifier: MIT
 *
 * Fault guarded against: a list of lost segments that grows with how often they are read, which a
 * hostile container decides; one that loses or repeats any of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "ops/packing/losses.h"
#include "wcodec_build.h"

enum { SEGMENTS = 300, TIMES = 200 };

/* A container of two layers without a byte. */
static tare_packed *open_container(wcodec_build *b) {
    const tare_limits limits = tare_limits_default();
    const tare_wc_source none = {0};
    tare_packed *container;
    tare_reader reader;
    size_t size;
    build_start(b);
    for (unsigned i = 0; i < 2; i++)
        build_layer(b,
                    (tare_wcodec_layer){.kind = TARE_WCODEC_BYTES,
                                        .coded.n_regions = 1,
                                        .name = {i ? "b" : "a", 1}},
                    &none);
    uint8_t *bytes = build_end(b, &size);
    tare_reader_memory(&reader, bytes, size, "packed");
    assert_int_equal(tare_packed_open(&container, &reader, &limits, NULL, NULL), TARE_OK);
    free(bytes);
    return container;
}

static void repeats_take_no_room(void **state) {
    (void)state;
    static wcodec_build build;
    tare_packed *container = open_container(&build);
    const tare_losses_words words = {"test.lost", "", SIZE_MAX};
    const tare_error fault = {.status = TARE_ERR_CORRUPT};
    tare_losses l;
    assert_int_equal(tare_losses_init(&l, NULL, NULL), TARE_OK);
    for (unsigned i = 0; i < TIMES * SEGMENTS; i++)
        tare_losses_note(&l, i % 2, i % 3, i * 7 % SEGMENTS / 6, &fault);
    assert_in_range(l.capacity, SEGMENTS, 4 * SEGMENTS);
    assert_int_equal(tare_losses_report(&l, container, &words, NULL), SEGMENTS);
    tare_losses_free(&l);
    tare_packed_free(container);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(repeats_take_no_room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
