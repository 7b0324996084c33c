/* SPDX-License-Identifier: MIT
 *
 * Packing with loss, which lies in ops/lossy. */
#ifndef TARE_OPS_PACKING_PACK_LOSSY_H
#define TARE_OPS_PACKING_PACK_LOSSY_H

#include "ops/packing/pack_run.h"

/* As tare_pack, with options.lossy, which are complete. */
tare_status tare_pack_lossy(tare_pack_summary *out, const char *out_path, const tare_model *in,
                            const tare_pack_options *options, tare_error *err);

#endif
