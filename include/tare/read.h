/* SPDX-License-Identifier: MIT
 *
 * tare/read.h: reads tensors, whole or in part, into the caller's memory: many of them in one
 * parallel call, as stored or decoded to floats.
 *
 *     tare_read_job jobs[2] = {tare_read_job_default(), tare_read_job_default()};
 *     jobs[0].tensor = 0, jobs[0].dst = a;
 *     jobs[1].tensor = 7, jobs[1].dst = b, jobs[1].as = TARE_ENCODING_BF16;
 *     status = tare_read_many(model, jobs, 2, NULL, &err);
 */
#ifndef TARE_READ_H
#define TARE_READ_H

#include <tare/base.h>
#include <tare/encoding.h>
#include <tare/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is read, and where it goes. The job itself is not modified.
 *
 * A box selects, in each dimension d, count[d] positions: every step[d]-th one, beginning at
 * start[d]. The arrays have one element per dimension of the tensor, outermost first. A step may be
 * negative. If `count` is NULL there is no box, and the whole tensor is read.
 *
 * Decoded (`as` is F32, F16 or BF16, see tare_tensor_rows_as): dst receives an element of that
 * type, in the machine's byte order, for each position of the box. It need not be aligned.
 *
 * Stored (`as` is UNKNOWN): dst receives the bytes of one plane, little-endian; without a box, its
 * bytes offset .. offset + n_bytes - 1. A box needs a plane of elements (TARE_PLANE_ELEMENTS). If
 * its units have several elements (blocks), the box consists of whole units along the last
 * dimension: step 1, and start and count multiples of the unit except at the end of the row. dst
 * then receives units, and the last stride is the distance between two units. */
typedef struct tare_read_job {
    size_t size; /* sizeof(tare_read_job), the same in all jobs of a call */
    size_t tensor;
    tare_encoding_id as;
    uint32_t plane;           /* stored only */
    uint64_t offset, n_bytes; /* stored, without a box; n_bytes 0: up to the end of the plane */
    const uint64_t *start;    /* NULL: 0 everywhere */
    const uint64_t *count;
    const int64_t *step;    /* never 0; NULL: 1 everywhere */
    void *dst;              /* where the first position of the box goes */
    const int64_t *strides; /* bytes between neighbouring positions of each dimension, of any sign;
                               only with a box or decoded. NULL: contiguous */
} tare_read_job;

TARE_DECLARE_INIT(tare_read_job)

typedef struct tare_read_options {
    size_t size;
    /* NULL: the defaults; progress is in bytes written to dst, over all jobs */
    const tare_context *context;
    /* Called once for each job, in any order, as soon as it is complete, by the thread that
     * finished it; several threads may call at the same time. May be NULL. */
    void (*job_done)(void *ctx, size_t job);
    void *job_done_ctx;
} tare_read_options;

TARE_DECLARE_INIT(tare_read_options)

/* The number of bytes that a job writes: the size of dst if `strides` is NULL. Errors as for
 * tare_read_many; dst is not accessed. O(dimensions). */
TARE_API tare_status tare_read_job_bytes(uint64_t *out, const tare_model *model,
                                         const tare_read_job *job, tare_error *err);

/* Runs n jobs, in any container format. All jobs are checked before the first byte is written. The
 * work is split so that several threads share a large job and each segment of a .wcodec is decoded
 * once, and it proceeds in file order. Data that is stored in the requested form reaches dst
 * without an intermediate copy. Each position of dst is written once, and no other byte of dst is.
 * Jobs must not write overlapping memory. After a failure any part of dst may have been written.
 * ERR_ARG: a tensor, plane, range or box that does not exist, or a box of a plane without elements;
 * UNSUPPORTED: a type that cannot be decoded, or units that span rows; LIMIT: more bytes than
 * memory can hold; CANCELLED; else as for tare_tensor_read. err->item is the tensor. */
TARE_API tare_status tare_read_many(const tare_model *model, const tare_read_job *jobs, size_t n,
                                    const tare_read_options *options, tare_error *err);

#ifdef __cplusplus
}
#endif
#endif
