/* SPDX-License-Identifier: MIT
 *
 * Unpacking what was packed with loss: there are no files to restore, so the model is written in
 * the format that it was packed from, with its tensors in their types. */
#ifndef TARE_OPS_PACKING_UNPACK_LOSSY_H
#define TARE_OPS_PACKING_UNPACK_LOSSY_H

#include <tare/unpack.h>

/* As tare_unpack, of a container without files. ERR_ARG: it was not packed with loss, or not from a
 * format that can be written. */
tare_status tare_unpack_lossy(tare_unpack_result *result, const char *out_path,
                              const tare_source *in, const tare_unpack_options *options,
                              tare_error *err);

#endif
