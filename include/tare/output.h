/* SPDX-License-Identifier: MIT
 *
 * tare/output.h: where the bytes of an output go, if not into a file: memory of the caller, a
 * socket, an upload. Taken by tare_plan_run_to, tare_pack_to and tare_unpack_to.
 */
#ifndef TARE_OUTPUT_H
#define TARE_OUTPUT_H

#include <tare/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Takes n bytes at byte `offset` of the output. Anything but OK ends the call with that status. */
typedef tare_status (*tare_write_fn)(void *ctx, uint64_t offset, const void *bytes, size_t n);

/* Nothing of an output is atomic: after a failure any part of it may have been written. */
typedef struct tare_output {
    size_t size;
    tare_write_fn write;
    void *ctx;
    /* true: bytes come in order and without gaps, by one call at a time, whichever thread makes it;
     * so one thread encodes. false: in any order, by several threads at once, each byte at most
     * once but for the first 128 of a .wcodec; what is never written is zero. */
    bool in_order;
} tare_output;

#define TARE_OUTPUT_INIT                                                                           \
    { sizeof(tare_output), NULL, NULL, false }
TARE_API void tare_output_init(tare_output *output, size_t size);

#ifdef __cplusplus
}
#endif
#endif
