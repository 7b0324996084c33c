/* SPDX-License-Identifier: MIT
 *
 * Models that others were packed against. */
#ifndef TARE_OPS_PACKING_BASES_H
#define TARE_OPS_PACKING_BASES_H

#include <tare/model.h>

#include "format/packed.h"

/* Finds, by their digests, the models among `models` that the layers of a container refer to, and
 * hands them to it. ERR_ARG: one is not among them; its digest and former name are reported
 * ("wcodec.base"), along with the digests of the given models. The others are handed over
 * nevertheless. */
tare_status tare_bases_use(tare_packed *store, const tare_model *const *models, size_t n,
                           const tare_context *context, tare_error *err);

/* The tensor from which a tensor of `m` may be predicted: one with the same name, type, shape and
 * byte order. Where several models have one, samples are read, and it is that which differs least
 * (the first of those that differ equally). *which is the index of its model. *out is NULL: none. */
tare_status tare_bases_like(const tare_tensor **out, size_t *which, const tare_model *const *models,
                            size_t n, const tare_model *m, const tare_tensor *t, tare_error *err);
/* Bytes of the tensors of all of them. */
uint64_t tare_bases_bytes(const tare_model *const *models, size_t n);

#endif
