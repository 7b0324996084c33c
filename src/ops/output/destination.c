/* SPDX-License-Identifier: MIT
 *
 * Outputs that are objects of a store are written through the session that the caller's options name. */
#include "ops/output/destination.h"

#include "remote/upload.h"

const tare_store *tare_output_store(const tare_output_options *output) {
    return tare_remote_store(output->remote);
}

tare_status tare_output_refuse_store(const tare_output_options *output, const char *path,
                                     const char *what, tare_error *err) {
    const tare_store *store = tare_output_store(output);
    if (!store || !store->has(path)) return TARE_OK;
    tare_fail(err, TARE_ERR_UNSUPPORTED, what);
    tare_error_file(err, path);
    return TARE_ERR_UNSUPPORTED;
}
