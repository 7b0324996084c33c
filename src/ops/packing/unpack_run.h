/* SPDX-License-Identifier: MIT
 *
 * Unpacking from inside: of containers that hold files. */
#ifndef TARE_OPS_PACKING_UNPACK_RUN_H
#define TARE_OPS_PACKING_UNPACK_RUN_H

#include <tare/experimental/unpack.h>

/* As tare_unpack. *is_model: the container holds none, but a model; then nothing is written. */
tare_status tare_unpack_files(tare_unpack_result *out, bool *is_model, const char *out_path,
                              const tare_source *in, const tare_unpack_options *options,
                              tare_error *err);

#endif
