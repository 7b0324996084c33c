/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: patterns from adapters, recipes and options. The input is an expression, a NUL, and a
 * name: a pattern is refused with a place inside it, or answers, or gives up after a number of steps
 * that the size of the name bounds, and the same each time. */
#include <string.h>

#include "base/pattern_cost.h"
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
    bool does = false, again = false;
    const tare_status status = tare_pattern_matches(&does, p, name, &err);
    const uint64_t most = TARE_PATTERN_STEPS + TARE_PATTERN_STEPS_PER_BYTE * (uint64_t)name.len;
    FUZZ_CHECK(status == TARE_OK || (status == TARE_ERR_LIMIT && err.field[0]));
    FUZZ_CHECK(tare_pattern_cost(p) <= most + name.len + 1);
    if (tare_pattern_cost(p) < most / 2)
        FUZZ_CHECK(tare_pattern_matches(&again, p, name, &err) == status && again == does);
    tare_pattern_free(p);
    return 0;
}
