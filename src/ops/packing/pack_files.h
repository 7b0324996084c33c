/* SPDX-License-Identifier: MIT
 *
 * The files that packing a model has to bring back. */
#ifndef TARE_OPS_PACKING_PACK_FILES_H
#define TARE_OPS_PACKING_PACK_FILES_H

#include <tare/packing.h>

#include "format/wcodec/wcodec_draft.h"

typedef struct tare_pack_files {
    tare_arena arena;
    tare_wcodec_origin *files; /* sorted by name */
    size_t n, capacity;
    tare_reader **opened; /* those that the model itself has not open */
    size_t n_opened, opened_capacity;
    bool is_directory;
} tare_pack_files;

/* The files of the model, or of options->directory. What is left out is reported. *out is to be
 * freed whatever comes back. */
tare_status tare_pack_files_open(tare_pack_files *out, const tare_model *in,
                                 const tare_pack_options *options, tare_error *err);
void tare_pack_files_free(tare_pack_files *files);

#endif
