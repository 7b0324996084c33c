/* SPDX-License-Identifier: MIT
 *
 * What matching an expression may cost (include/tare/experimental/pattern.h), and what it did. A step is an item
 * of the expression that is tried, or a byte of a name that is passed over by one. */
#ifndef TARE_BASE_PATTERN_COST_H
#define TARE_BASE_PATTERN_COST_H

#include <tare/experimental/pattern.h>

/* All names that an expression is tried on share what it may take: a whole number of steps at
 * first, which a short name may need, and more for each byte of a name. */
#define TARE_PATTERN_STEPS          (1u << 22)
#define TARE_PATTERN_STEPS_PER_BYTE 1024u
#define TARE_PATTERN_LONGEST        (1u << 15) /* bytes of an expression */
#define TARE_PATTERN_HEAP_KIB       8192u      /* memory of a match */

/* Steps so far. */
uint64_t tare_pattern_cost(const tare_pattern *pattern);

#endif
