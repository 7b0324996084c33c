/* SPDX-License-Identifier: MIT
 *
 * Reports about a salvaged container. */
#ifndef TARE_OPS_PACKING_UNPACK_SALVAGE_H
#define TARE_OPS_PACKING_UNPACK_SALVAGE_H

#include <tare/experimental/unpack.h>

#include "format/packed.h"
#include "ops/packing/losses.h"

/* Reports what was wrong with the directory, and notes it in the result. ERR_TRUNCATED: it tells of
 * no file any more. */
tare_status tare_unpack_salvage_begin(tare_unpack_result *result, const tare_packed_damage *damage,
                                      const tare_packed *store, tare_report *report,
                                      tare_error *err);
/* Once all was read: what vouches for it where the directory's CRC does not, and whether it is the
 * whole model. */
tare_status tare_unpack_salvage_end(const tare_unpack_result *result, const tare_losses *lost,
                                    tare_packed *store, const tare_unpack_options *options,
                                    tare_error *err);

#endif
