/* SPDX-License-Identifier: MIT
 *
 * tare/output.h: destination of an output other than a file: the caller's memory, a socket, an
 * upload. Accepted by tare_plan_run_to, tare_pack_to and tare_unpack_to.
 */
#ifndef TARE_OUTPUT_H
#define TARE_OUTPUT_H

#include <tare/base.h>

struct tare_model;

#ifdef __cplusplus
extern "C" {
#endif

/* How a file or directory is written: whole or not at all, in any case. */
typedef struct tare_output_options {
    size_t size;
    bool force;   /* replace an existing output */
    bool strict;  /* what is lost is an error */
    bool no_sync; /* do not wait for the disk */
    bool
        dry_run; /* write nothing: checks and results as far as they are known before the first byte
                     is written. Packing encodes all the same, as its sizes are known then only */
    /* What paths that begin with s3:// are written through (tare/experimental/remote.h): an object
     * appears when it is complete, and what was sent of it is removed otherwise. NULL: paths are
     * those of files */
    struct tare_remote *remote;
} tare_output_options;
TARE_DECLARE_INIT(tare_output_options)

/* Writes n bytes at byte `offset` of the output. Any status but OK ends the call with that status.
 */
typedef tare_status (*tare_write_fn)(void *ctx, uint64_t offset, const void *bytes, size_t n);

/* Such an output is not atomic: after a failure any part of it may have been written. */
typedef struct tare_output {
    size_t size;
    tare_write_fn write;
    void *ctx;
    /* true: bytes arrive in order and without gaps, one call at a time but from any thread; only
     * one thread encodes then. false: in any order and from several threads at once, each byte at
     * most once except for the first 128 of a .wcodec; bytes that are never written are zero. */
    bool in_order;
} tare_output;

TARE_DECLARE_INIT(tare_output)

/* Writes n bytes to a file atomically, like every output. ERR_ARG: it exists and `force` is off, or
 * it is a file of `model` (which may be NULL). */
TARE_API tare_status tare_file_write(const char *path, const void *bytes, size_t n,
                                     const struct tare_model *model,
                                     const tare_output_options *output, const tare_context *context,
                                     tare_error *err);

#ifdef __cplusplus
}
#endif
#endif
