/* SPDX-License-Identifier: MIT
 *
 * Models that others were packed against. */
#ifndef TARE_OPS_PACKING_BASES_H
#define TARE_OPS_PACKING_BASES_H

#include <tare/ops.h>

#include "format/packed.h"

/* Finds the models that the layers of a container refer to among `models`, by their digests, and
 * hands them to it. ERR_ARG: one is not among them; its digest and the name that it had are
 * reported ("wcodec.base"), and the digests of those that were given. Others are handed over all
 * the same. */
tare_status tare_bases_use(tare_packed *store, const tare_model *const *models, size_t n,
                           const tare_run_options *options, tare_error *err);

/* The tensor that one of `m` may be predicted from: the same name, type, shape and byte order, in
 * the first of the models that has it; *which is the model's number. NULL: there is none. */
const tare_tensor *tare_bases_like(size_t *which, const tare_model *const *models, size_t n,
                                   const tare_model *m, const tare_tensor *t);
/* Bytes of the tensors of all of them. */
uint64_t tare_bases_bytes(const tare_model *const *models, size_t n);

#endif
