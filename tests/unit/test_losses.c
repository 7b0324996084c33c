/* SPDX-License-Identifier: MIT
 *
 * Fault guarded against: a list of lost segments that grows with how often they are read, which a
 * hostile container decides; one that loses or repeats any of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "ops/packing/losses.h"

enum { SEGMENTS = 300, TIMES = 200 };

static void repeats_take_no_room(void **state) {
    (void)state;
    static tare_wcodec_layer layers[2];
    const tare_wcodec_index index = {.n_layers = 2, .layers = layers};
    const tare_losses_words words = {"test.lost", "", SIZE_MAX};
    const tare_error fault = {.status = TARE_ERR_CORRUPT};
    tare_losses l;
    assert_int_equal(tare_losses_init(&l, NULL, NULL), TARE_OK);
    for (unsigned i = 0; i < TIMES * SEGMENTS; i++)
        tare_losses_note(&l, i % 2, i % 3, i * 7 % SEGMENTS / 6, &fault);
    assert_in_range(l.capacity, SEGMENTS, 4 * SEGMENTS);
    assert_int_equal(tare_losses_report(&l, &index, &words, NULL), SEGMENTS);
    tare_losses_free(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(repeats_take_no_room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
