/* SPDX-License-Identifier: MIT
 *
 * Options structs of callers that were built against an older or newer header. */
#include <string.h>

#include "base/status.h"

tare_status tare_options_read(void *ours, size_t our_size, const void *theirs, tare_error *err) {
    if (!theirs) return TARE_OK;
    size_t size;
    memcpy(&size, theirs, sizeof size);
    if (size < sizeof size) return tare_fail(err, TARE_ERR_ARG, "options: size is not set");
    const uint8_t *tail = theirs;
    for (size_t i = our_size; i < size; i++)
        if (tail[i])
            return tare_fail(err, TARE_ERR_ARG, "options: made for a newer version of the library");
    memcpy(ours, theirs, size < our_size ? size : our_size);
    memcpy(ours, &our_size, sizeof our_size);
    return TARE_OK;
}
