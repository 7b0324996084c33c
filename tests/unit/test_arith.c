/* SPDX-License-Identifier: MIT
 *
 * Guards against: a place that is found in the part beside its own, at the edges of parts, among
 * empty ones or in a row of one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/arith.h"
#include "wc_random.h"

typedef struct part {
    uint8_t before[3];
    uint64_t start;
} part;

static size_t slow_part_of(const part *parts, size_t n, uint64_t place) {
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        if (parts[i].start <= place) found = i;
    return found;
}

static void places_are_found_in_their_part(void **state) {
    (void)state;
    enum { MOST = 40 };
    part parts[MOST];
    uint64_t seed = 3;
    for (size_t n = 1; n <= MOST; n++) {
        uint64_t at = wc_random(&seed) % 2; /* a place may lie before the first */
        for (size_t i = 0; i < n; i++) {
            parts[i].start = at;
            at += wc_random(&seed) % 4; /* empty parts, too: the last of them is found */
        }
        for (uint64_t place = 0; place < at + 3; place++)
            assert_int_equal(tare_part_of(&parts->start, n, sizeof *parts, place),
                             slow_part_of(parts, n, place));
        assert_int_equal(tare_part_of(&parts->start, n, sizeof *parts, UINT64_MAX), n - 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_found_in_their_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
