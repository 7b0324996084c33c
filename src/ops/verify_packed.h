/* SPDX-License-Identifier: MIT
 *
 * Verifying what only a .wcodec has. */
#ifndef TARE_OPS_VERIFY_PACKED_H
#define TARE_OPS_VERIFY_PACKED_H

#include <tare/ops.h>

/* Reports layers whose CRC is wrong ("wcodec.layer"), segments that cannot be decoded ("wcodec.
 * segment"; then *is_damaged, and who reads the model's tensors meets them again), and a model that
 * is not that of the header ("wcodec.digest"). Other formats have nothing of the kind. */
tare_status tare_verify_packed(bool *is_damaged, const tare_model *model,
                               const tare_run_options *options, tare_error *err);

#endif
