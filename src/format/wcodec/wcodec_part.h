/* SPDX-License-Identifier: MIT
 *
 * What one of several machines makes of a .wcodec: a container of its layers, and after it what only the
 * whole has. Not a format for others: a part is read by the version that wrote it. */
#ifndef TARE_FORMAT_WCODEC_WCODEC_PART_H
#define TARE_FORMAT_WCODEC_WCODEC_PART_H

#include "format/wcodec/wcodec_draft.h"

/* Writes what follows the layers that the draft has written, up to `end`. *size: of the file. */
tare_status tare_wcodec_part_write(const tare_wcodec_draft *draft, const tare_wc_target *target,
                                   uint64_t end, const tare_pack_digest *digests, uint64_t *size,
                                   tare_error *err);

#endif
