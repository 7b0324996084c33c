/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: patterns from adapters, recipes and options. The input is an expression, a NUL, and a
 * name: a pattern is refused with a place inside it, or answers after a number of steps that the sizes
 * bound, the same each time. */
#include <string.h>

#include "base/pattern_steps.h"
#include "fuzz_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    const size_t n = end ? (size_t)(end - data) : size;
    const tare_str name = {end ? (const char *)end + 1 : "", end ? size - n - 1 : 0};
    tare_pattern *p;
    tare_error err = {0};
    if (tare_pattern_new(&p, size ? (const char *)data : "", n, NULL, &err) != TARE_OK) {
        FUZZ_CHECK(!p && err.what && (err.offset == TARE_NO_OFFSET || err.offset <= n));
        return 0;
    }
    const bool does = tare_pattern_matches(p, name);
    FUZZ_CHECK(p->n_done <= 2 * (uint64_t)p->n_steps * (name.len + 1));
    FUZZ_CHECK(tare_pattern_matches(p, name) == does);
    tare_pattern_free(p);
    return 0;
}
