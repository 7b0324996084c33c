/* SPDX-License-Identifier: MIT
 *
 * The files that packing a model has to bring back. */
#ifndef TARE_OPS_PACKING_PACK_FILES_H
#define TARE_OPS_PACKING_PACK_FILES_H

#include "ops/packing/pack_list.h"

/* Adds files to the list; their readers, where they are of the model, are the model's own. */
typedef tare_status (*tare_pack_lister)(void *ctx, tare_pack_files *files, tare_error *err);

/* The files of the model, or those of `list` and of options->directory. What is left out is reported.
 * *out is to be freed (tare_pack_list_free) whatever comes back. */
tare_status tare_pack_files_open(tare_pack_files *out, const tare_model *in,
                                 const tare_pack_options *options, tare_pack_lister list, void *ctx,
                                 tare_error *err);

#endif
