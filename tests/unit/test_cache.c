/* SPDX-License-Identifier: MIT
 *
 * Guards against: a cache that keeps more than its budget, or drops what was just made because it
 * alone is more, so that it is made again each time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/cache.h"

enum { BUDGET = 100 };

static void forget(void *ctx, void *value, size_t cost) {
    *(size_t *)ctx -= cost;
    *(char *)value = 0;
}

/* Whether it is there; else it is made. Lets go of it. */
static bool take(tare_cache *c, uint64_t key, char *value, size_t cost, size_t *kept) {
    tare_cached *e;
    tare_cache_state state = tare_cache_take(&e, c, (tare_cache_key){key, 0}, true);
    if (state == TARE_CACHE_TO_MAKE) {
        *value = 1;
        *kept += cost;
        tare_cache_fill(c, e, value, cost);
    }
    tare_cache_release(c, e);
    return state == TARE_CACHE_HELD;
}

static void the_oldest_goes(void **state) {
    (void)state;
    char values[3] = {0};
    size_t kept = 0;
    tare_cache *c = tare_cache_new(BUDGET, forget, &kept, NULL);
    assert_false(take(c, 0, &values[0], 60, &kept));
    assert_false(take(c, 1, &values[1], 30, &kept));
    assert_true(take(c, 0, &values[0], 60, &kept));
    assert_false(take(c, 2, &values[2], 40, &kept));
    assert_true(values[0] && !values[1] && values[2]);
    assert_int_equal(kept, 100);
    tare_cache_free(c);
    assert_int_equal(kept, 0);
}

static void what_is_large_stays_until_something_else_is_used(void **state) {
    (void)state;
    char values[2] = {0};
    size_t kept = 0;
    tare_cache *c = tare_cache_new(BUDGET, forget, &kept, NULL);
    assert_false(take(c, 0, &values[0], 3 * BUDGET, &kept));
    assert_true(take(c, 0, &values[0], 3 * BUDGET, &kept));
    assert_false(take(c, 1, &values[1], 1, &kept));
    assert_int_equal(kept, 1);
    tare_cache_free(c);
    assert_int_equal(kept, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_oldest_goes),
        cmocka_unit_test(what_is_large_stays_until_something_else_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
