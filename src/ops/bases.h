/* SPDX-License-Identifier: MIT
 *
 * Models that others were packed against. */
#ifndef TARE_OPS_BASES_H
#define TARE_OPS_BASES_H

#include <tare/model.h>

#include "format/wcodec_virtual.h"

/* Finds the models that the layers of a container refer to among `models`, by their digests, and
 * hands them to it. ERR_ARG: one is not among them; its digest and the name that it had are
 * reported ("wcodec.base"), and the digests of those that were given. */
tare_status tare_bases_use(tare_wcodec_store *store, const tare_model *const *models, size_t n,
                           unsigned threads, tare_report *report, tare_error *err);

#endif
