/* SPDX-License-Identifier: MIT
 *
 * Digests that files state of tensors which were unpacked in part. */
#ifndef TARE_OPS_PACKING_UNPACK_DIGESTS_H
#define TARE_OPS_PACKING_UNPACK_DIGESTS_H

#include "base/outfile.h"
#include "format/packed.h"
#include "ops/packing/unpack_losses.h"

typedef struct tare_unpack_digests {
    tare_packed *store; /* which gives the coarse bytes */
    const tare_unpack_losses *losses;
    tare_outset *set; /* the files that were written, a member each */
} tare_unpack_digests;

/* States the digests of tensors that are coarse again, where the model in `in` states them. */
tare_status tare_unpack_mend_digests(const tare_unpack_digests *to, const tare_source *in,
                                     const tare_unpack_options *options, tare_error *err);

#endif
