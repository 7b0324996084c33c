/* SPDX-License-Identifier: MIT
 *
 * Checks of an entry's values that both readers of importance matrices use. */
#include <math.h>

#include "base/report.h"
#include "ops/mix/importance_matrix.h"

/* Encoders add up to 256 products of an importance and a square of a weight in floats: what is beyond
 * would be infinite, and weights become 0 by it. Squares of activations are far below. */
#define LARGEST 1e30f

bool tare_importance_check(const tare_importance *m, const tare_importance_entry *entry,
                           uint64_t *at) {
    uint64_t n_negative = 0;
    for (uint64_t i = 0; i < entry->n_values; i++) {
        if (!(fabsf(entry->values[i]) <= LARGEST)) {
            *at = i;
            return false;
        }
        n_negative += entry->values[i] < 0;
    }
    if (n_negative == 0) return true;
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, "importance.negative");
    f.item_name = entry->name;
    tare_report_addf(m->report, &f,
                     "importance matrix: %llu value%s negative, which no sum of squares is",
                     (unsigned long long)n_negative, n_negative == 1 ? " is" : "s are");
    return true;
}
