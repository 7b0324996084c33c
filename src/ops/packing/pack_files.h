/* SPDX-License-Identifier: MIT
 *
 * The files that packing a model has to bring back. */
#ifndef TARE_OPS_PACKING_PACK_FILES_H
#define TARE_OPS_PACKING_PACK_FILES_H

#include "ops/packing/pack_list.h"

/* The files of the model, or of options->directory. What is left out is reported. *out is to be
 * freed (tare_pack_list_free) whatever comes back. */
tare_status tare_pack_files_open(tare_pack_files *out, const tare_model *in,
                                 const tare_pack_options *options, tare_error *err);

#endif
