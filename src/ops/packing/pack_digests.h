/* SPDX-License-Identifier: MIT
 *
 * Digests of what is packed, and which tensors are duplicates. Tensors that may be are hashed before
 * anything is packed: they have the same type and shape, and the same bytes at a few places. All
 * others are hashed while they are packed, so that writing need not wait for it. */
#ifndef TARE_OPS_PACKING_PACK_DIGESTS_H
#define TARE_OPS_PACKING_PACK_DIGESTS_H

#include <tare/inspect.h>
#include <tare/model.h>

#include "format/packed.h"
#include "ops/steps.h"

/* The first members are the caller's. */
typedef struct tare_pack_digests {
    const tare_model *model;
    const tare_model *opened; /* what the digest is of; NULL: the model */
    const tare_pack_options *options;
    tare_steps *steps;
    bool is_part; /* nothing is compared: duplicates are found when parts are joined */
    tare_digest *tensors;
    bool *is_known; /* of each tensor */
    size_t
        *duplicates;   /* for each tensor the first one of the same bytes, type and shape; itself if
                           there is none */
    tare_digest whole; /* of `opened` */
} tare_pack_digests;

/* Finds duplicates. What is found lies in the arena. */
tare_status tare_pack_digests_begin(tare_pack_digests *digests, tare_arena *arena, tare_error *err);
/* What packing has to call. */
tare_pack_digest tare_pack_digests_hooks(tare_pack_digests *digests);
/* The digest of another model, a step. */
tare_status tare_pack_digest_model(tare_digest *out, const tare_pack_digests *digests,
                                   const tare_model *model, tare_error *err);

#endif
