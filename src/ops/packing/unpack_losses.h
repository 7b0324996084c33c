/* SPDX-License-Identifier: MIT
 *
 * What unpacking did not restore: damaged segments, and bits that were not requested. */
#ifndef TARE_OPS_PACKING_UNPACK_LOSSES_H
#define TARE_OPS_PACKING_UNPACK_LOSSES_H

#include <tare/experimental/unpack.h>

#include "format/packed.h"
#include "ops/packing/losses.h"

/* What threads report while they read. */
typedef struct tare_unpack_losses {
    tare_losses segments;
    _Atomic bool *is_coarse; /* of each layer; NULL: not asked for */
    tare_wc_watch watch;     /* ctx NULL: nothing to free */
} tare_unpack_losses;

tare_status tare_unpack_losses_init(tare_unpack_losses *l, const tare_packed *store,
                                    const tare_unpack_options *options, tare_error *err);
void tare_unpack_losses_free(tare_unpack_losses *l, const tare_packed *store);
/* Reports what was lost and the tensors that came back whole though fewer bits were asked for, and
 * counts both. ERR_UNSUPPORTED: all of them came back whole, or `strict` and some. */
tare_status tare_unpack_losses_report(tare_unpack_losses *l, tare_packed *store,
                                      const tare_unpack_options *options,
                                      tare_unpack_result *result, tare_error *err);

#endif
