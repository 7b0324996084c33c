/* SPDX-License-Identifier: MIT
 *
 * What lies in a directory that is packed. */
#ifndef TARE_OPS_PACKING_PACK_DIRECTORY_H
#define TARE_OPS_PACKING_PACK_DIRECTORY_H

#include "model/catalog.h"
#include "ops/packing/pack_list.h"

/* Adds all that lies in options->directory; what is left out is reported. */
tare_status tare_pack_directory(tare_pack_files *files, const tare_model *in,
                                const tare_pack_options *options, tare_error *err);
/* Adds a file alone, under its own name; `reader` NULL: it is opened. */
tare_status tare_pack_file_alone(tare_pack_files *files, const char *path,
                                 const tare_reader *reader, tare_error *err);
/* Finds the files that links lead to, once all are there and sorted by name. */
void tare_pack_resolve_links(tare_pack_files *files);

#endif
