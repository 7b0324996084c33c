/* SPDX-License-Identifier: MIT
 *
 * Verifying what only a .wcodec has. */
#ifndef TARE_OPS_VERIFY_PACKED_H
#define TARE_OPS_VERIFY_PACKED_H

#include <tare/ops.h>

/* Reports layers whose CRC is wrong ("wcodec.layer") and a model that is not that of the header
 * ("wcodec.digest"). Models of other formats have nothing of the kind. */
tare_status tare_verify_packed(const tare_model *model, const tare_run_options *options,
                               tare_error *err);

#endif
