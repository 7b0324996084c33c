/* SPDX-License-Identifier: MIT
 *
 * tare/read.h: tensors, whole or in part, into memory of the caller: many of them in one call that
 * runs in parallel, as they are stored or decoded to floats.
 *
 *     tare_read_job jobs[2] = {TARE_READ_JOB_INIT, TARE_READ_JOB_INIT};
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

/* What is read, and where it goes. Nothing of it is changed.
 *
 * A box is every step[d]-th of some positions of each dimension d, from start[d] on, count[d] of
 * them; the arrays have as many numbers as the tensor has dimensions, outermost first. A step may be
 * negative. Where `count` is NULL there is no box: all of the tensor is read.
 *
 * Decoded (`as` is F32, F16 or BF16, see tare_tensor_rows_as), dst takes an element of that type, in
 * the machine's byte order, for each position of the box. It need not be aligned.
 *
 * Stored (`as` is UNKNOWN), dst takes the bytes of one plane, little-endian: without a box bytes
 * offset .. offset + n_bytes - 1 of it. A box needs a plane of elements (TARE_PLANE_ELEMENTS). Where
 * its units have several elements (blocks), the box takes whole units of the last dimension: step 1,
 * start and count multiples of the unit but for the end of the row; dst takes units, and the last
 * stride is the distance of two units. */
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
    const int64_t *strides; /* bytes between two positions of each dimension, of any sign; with a
                               box or decoded only. NULL: one behind the other */
} tare_read_job;

#define TARE_READ_JOB_INIT                                                                         \
    { sizeof(tare_read_job), 0, TARE_ENCODING_UNKNOWN, 0, 0, 0, NULL, NULL, NULL, NULL, NULL }
TARE_API void tare_read_job_init(tare_read_job *job, size_t size);

typedef struct tare_read_options {
    size_t size;
    unsigned threads;          /* 0: what affinity and cgroup allow */
    tare_parallel_fn parallel; /* the caller's threads; NULL: some that live as long as the call */
    void *parallel_ctx;
    tare_progress_fn progress; /* of the bytes that dst takes, of all jobs together */
    void *progress_ctx;
    const tare_cancel *cancel; /* may be NULL */
    const tare_allocator *allocator;
    /* Called once for each job that is complete, as soon as it is, in any order, by the thread that
     * did the last of it; several may call at a time. May be NULL. */
    void (*job_done)(void *ctx, size_t job);
    void *job_done_ctx;
} tare_read_options;

#define TARE_READ_OPTIONS_INIT                                                                     \
    { sizeof(tare_read_options), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL }
TARE_API void tare_read_options_init(tare_read_options *options, size_t size);

/* The bytes that a job writes, which is the size of dst where `strides` is NULL. Errors as for
 * tare_read_many; dst is not used. O(dimensions). */
TARE_API tare_status tare_read_job_bytes(uint64_t *out, const tare_model *model,
                                         const tare_read_job *job, tare_error *err);

/* Reads n jobs, whatever the container. All jobs are checked before the first byte is written; work
 * is cut so that large jobs have several threads and each segment of a .wcodec is decoded once, and
 * goes on in the order of the file. Bytes reach dst without a copy in between if they are stored
 * in the requested form; each position of dst is written once, and no other byte of dst. Jobs must
 * not write overlapping memory. After a failure any part of dst may have been written.
 * ERR_ARG: a tensor, plane, range or box that does not exist, or a box of a plane without elements;
 * UNSUPPORTED: a type that cannot be decoded, or units that run on across rows; LIMIT: more bytes
 * than memory can hold; CANCELLED; else as for tare_tensor_read. err->item is the tensor. */
TARE_API tare_status tare_read_many(const tare_model *model, const tare_read_job *jobs, size_t n,
                                    const tare_read_options *options, tare_error *err);

#ifdef __cplusplus
}
#endif
#endif
