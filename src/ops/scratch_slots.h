/* SPDX-License-Identifier: MIT
 *
 * The slots of a thread's scratch: what is in use at the same time has different ones. */
#ifndef TARE_OPS_SCRATCH_SLOTS_H
#define TARE_OPS_SCRATCH_SLOTS_H

#include "base/thread_scratch.h"

enum {
    TARE_SCRATCH_STORED = 0,
    TARE_SCRATCH_VALUES = 1,
    TARE_SCRATCH_ENCODED = 2,
    TARE_SCRATCH_READ_BACK = 3,
    TARE_SCRATCH_DECODED = 4,
    TARE_SCRATCH_FACTOR = 5,
    TARE_SCRATCH_OUTLIERS = 6,
    TARE_SCRATCH_IMPORTANCE = 7
};
_Static_assert((int)TARE_SCRATCH_IMPORTANCE < (int)TARE_SCRATCH_SLOTS, "a slot for each");

#endif
