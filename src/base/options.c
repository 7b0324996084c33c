/* SPDX-License-Identifier: MIT
 *
 * Structs from callers that were built against an older or newer header. */
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

void tare_options_fill(void *theirs, size_t size, const void *defaults, size_t our_size) {
    memset(theirs, 0, size);
    memcpy(theirs, defaults, size < our_size ? size : our_size);
    if (size >= sizeof size) memcpy(theirs, &size, sizeof size);
}

/* More than any result struct will ever have: a size member that was never set may hold this much.
 */
#define RESULT_MOST ((size_t)4096)

tare_status tare_result_check(const void *theirs, tare_error *err) {
    size_t size;
    memcpy(&size, theirs, sizeof size);
    if (size >= sizeof size && size <= RESULT_MOST) return TARE_OK;
    return tare_fail(err, TARE_ERR_ARG, "result: size is not set");
}

void tare_result_write(void *theirs, const void *ours, size_t our_size) {
    size_t size;
    memcpy(&size, theirs, sizeof size);
    if (tare_result_check(theirs, NULL) == TARE_OK) tare_options_fill(theirs, size, ours, our_size);
}

tare_status tare_context_keep(tare_context *own, const tare_context **context, tare_error *err) {
    *own = tare_context_default();
    TARE_TRY(tare_options_read(own, sizeof *own, *context, err));
    *context = own;
    return TARE_OK;
}

tare_status tare_output_keep(tare_output_options *own, const tare_output_options **output,
                             tare_error *err) {
    *own = tare_output_options_default();
    TARE_TRY(tare_options_read(own, sizeof *own, *output, err));
    *output = own;
    return TARE_OK;
}

TARE_DEFINE_INIT(tare_context)
TARE_DEFINE_INIT(tare_output_options)
TARE_DEFINE_INIT_WITH(tare_limits, .tensors = UINT64_C(1) << 24, .keys = UINT64_C(1) << 20,
                      .array_elements = UINT64_C(1) << 30, .name_bytes = 65535,
                      .metadata_bytes = UINT64_C(1) << 30, .safetensors_header = 100000000,
                      .resource_bytes = UINT64_C(1) << 26, .dims = 8, .nesting = 8, .shards = 65535)
