/* SPDX-License-Identifier: MIT
 *
 * CRC-32 of members of archives (tare_stated_crc). */
#ifndef TARE_OPS_CHECKSUMS_H
#define TARE_OPS_CHECKSUMS_H

#include "ops/item_walk.h"

#define TARE_WRONG_CRC "CRC-32 of the archive's member is not the one that is stated"

/* Reads the k-th member that a checksum is stated of. */
tare_status tare_crc_compare(bool *is_right, const tare_model *m, size_t k,
                             const tare_walk_job *job, tare_error *err);
/* The tensor that lies in it; -1: none does, or several do. */
int64_t tare_crc_tensor(const tare_model *m, size_t k);
/* Compares all members of files that are at hand; or those that a tensor lies in, if these are no whole files of
 * the model. */
tare_status tare_crcs_check(const tare_model *model, const tare_tensor *of, const tare_context *o,
                            tare_error *err);

#endif
