/* SPDX-License-Identifier: MIT
 *
 * Where outputs go that are no files: the store of the caller's session. */
#ifndef TARE_OPS_OUTPUT_DESTINATION_H
#define TARE_OPS_OUTPUT_DESTINATION_H

#include <tare/output.h>

#include "base/outfile_store.h"

/* For tare_out_options; NULL: no session was given. */
const tare_store *tare_output_store(const tare_output_options *output);
/* UNSUPPORTED where the path names an object, which cannot be what `what` says. */
tare_status tare_output_refuse_store(const tare_output_options *output, const char *path,
                                     const char *what, tare_error *err);

#endif
