/* SPDX-License-Identifier: MIT
 *
 * tare/cuda.h: decodes layers of a .wcodec on a GPU, from stored bytes to the bytes of their
 * regions, both in device memory. The result is bit for bit that of tare_coded_decode_layer.
 *
 * This is a separate library, libtare_cuda; it and libtare do not call each other. It learns about
 * a layer through the plain structs of tare/experimental/wcodec.h:
 *
 *     tare_cuda_layer layer = {tare_coded_describe(coded), heads, segments, 0};
 *     tare_cuda_plan_new(&plan, &layer, 1, NULL, &err);       // on the host, no GPU needed
 *     tare_cuda_open(&cuda, 0, &err);
 *     tare_cuda_buffers buffers = {stored, {region}, {NULL}};  // device pointers
 *     tare_cuda_batch_new(&batch, cuda, plan, &buffers, NULL, &err);
 *     tare_cuda_decode(batch, NULL, &err);                    // enqueues and returns
 *     tare_cuda_finish(&fault, batch, &err);                  // waits; what was damaged
 *
 * No type of CUDA appears: `stream` is a cudaStream_t or CUstream, device memory a pointer into the
 * primary context of the device.
 */
#ifndef TARE_CUDA_H
#define TARE_CUDA_H

#include <tare/experimental/wcodec.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- plans: on the host ---------------------------------------------------------------------- */

/* A layer to be decoded, as described by the getters of tare/experimental/wcodec.h. Everything is borrowed until
 * tare_cuda_plan_new returns. A final struct. */
typedef struct tare_cuda_layer {
    const tare_coded_layer *layer;             /* its `data` is not accessed */
    const tare_coded_head *const *heads;       /* of each stream: tare_coded_stream_head */
    const tare_coded_segment *const *segments; /* of each stream, all of them in order:
                                                  tare_coded_parse_segment */
    uint32_t streams; /* bit i: decode stream i; 0: decode all. Streams that provide the scales of
                         requested ones are included */
} tare_cuda_layer;

typedef struct tare_cuda_plan_options {
    size_t size;
    bool is_coarse; /* as in tare_coded_options: only the first n_groups groups of bypass bits */
    unsigned n_groups;
    bool is_general; /* use only the general kernel, which handles every form, not the fast ones */
} tare_cuda_plan_options;

TARE_DECLARE_INIT(tare_cuda_plan_options)

/* The work for some layers: which segments, with which tables, to which destinations. Immutable:
 * any number of threads and batches may use it at once. */
typedef struct tare_cuda_plan tare_cuda_plan;

/* ERR_ARG: the structs describe something impossible (err->item: the index of the layer); NOMEM. */
TARE_API tare_status tare_cuda_plan_new(tare_cuda_plan **out, const tare_cuda_layer *layers,
                                        size_t n_layers, const tare_cuda_plan_options *options,
                                        tare_error *err);
TARE_API void tare_cuda_plan_free(tare_cuda_plan *plan);

typedef struct tare_cuda_needs {
    size_t size;
    uint64_t image_bytes;     /* device memory of a batch: jobs, tables, pointers, work memory */
    uint64_t host_bytes;      /* of segments that the host has to decode */
    uint64_t decoded_bytes;   /* of all segments */
    uint64_t n_segments;      /* all */
    uint64_t n_host_segments; /* those of them left to the host: ZSTD and STRUCTURED */
    uint32_t n_launches;      /* of kernels, at most, per call of tare_cuda_decode */
} tare_cuda_needs;

TARE_DECLARE_INIT(tare_cuda_needs)
/* ERR_ARG: plan is NULL or out->size too small. */
TARE_API tare_status tare_cuda_plan_needs(tare_cuda_needs *out, const tare_cuda_plan *plan);

/* A segment for the host: its decoded bytes (tare_coded_decode_segments) belong at `position` of
 * the host area of a batch. A final struct. */
typedef struct tare_cuda_host_segment {
    size_t layer; /* number in the plan's list */
    unsigned stream;
    uint64_t segment, position;
    uint32_t n_bytes;
} tare_cuda_host_segment;

/* False: i is not below n_host_segments. */
TARE_API bool tare_cuda_plan_host_segment(tare_cuda_host_segment *out, const tare_cuda_plan *plan,
                                          uint64_t i);

/* ---- the device ------------------------------------------------------------------------------ */

/* A device and its primary context. Any number of threads may use it at once. */
typedef struct tare_cuda tare_cuda;

/* UNSUPPORTED: there is no driver or no such device, or it is older than compute capability 8.0. */
TARE_API tare_status tare_cuda_open(tare_cuda **out, int device, tare_error *err);
TARE_API void tare_cuda_close(tare_cuda *cuda);
/* The device's name. Valid as long as `cuda`. */
TARE_API const char *tare_cuda_name(const tare_cuda *cuda);

/* Device memory and copies, for callers that do not use CUDA themselves. Copies are done when the
 * call returns. NOMEM, IO. */
TARE_API tare_status tare_cuda_alloc(void **out, tare_cuda *cuda, size_t n, tare_error *err);
TARE_API void tare_cuda_release(tare_cuda *cuda, void *memory);
TARE_API tare_status tare_cuda_upload(void *device, tare_cuda *cuda, const void *host, size_t n,
                                      tare_error *err);
TARE_API tare_status tare_cuda_download(void *host, tare_cuda *cuda, const void *device, size_t n,
                                        tare_error *err);

/* ---- streams and staging --------------------------------------------------------------------- */

/* A stream of the device that does not wait for its default stream. */
TARE_API tare_status tare_cuda_stream_new(void **out, tare_cuda *cuda, tare_error *err);
/* Waits for what was enqueued, first. */
TARE_API void tare_cuda_stream_free(tare_cuda *cuda, void *stream);
/* Waits for what was enqueued; NULL: on the default stream. IO. */
TARE_API tare_status tare_cuda_stream_wait(tare_cuda *cuda, void *stream, tare_error *err);

/* A ring of page-locked buffers: the next one is filled while the device copies from the others and
 * decodes. One thread at a time. */
typedef struct tare_cuda_stage tare_cuda_stage;

/* n_buffers: at least 1. NOMEM, IO. */
TARE_API tare_status tare_cuda_stage_new(tare_cuda_stage **out, tare_cuda *cuda,
                                         size_t buffer_bytes, unsigned n_buffers, tare_error *err);
/* Waits for all copies, first. */
TARE_API void tare_cuda_stage_free(tare_cuda_stage *stage);
/* A buffer of buffer_bytes bytes, the caller's until the next call; waits until the device has
 * copied what it held. IO. */
TARE_API tare_status tare_cuda_stage_next(void **out, tare_cuda_stage *stage, tare_error *err);
/* Enqueues copying the first n bytes of that buffer to device memory, once for each buffer. ERR_ARG:
 * n is more than a buffer has, or there is no buffer to send; IO. */
TARE_API tare_status tare_cuda_stage_send(void *device, tare_cuda_stage *stage, size_t n,
                                          void *stream, tare_error *err);

/* ---- decoding -------------------------------------------------------------------------------- */

/* Device memory of a layer. `stored`: its data, aligned to 4 bytes; nothing beyond it is read.
 * regions[r]: region_bytes[r] bytes, also aligned to 4; exactly these are written; NULL if the plan
 * has no stream of the region. bases[r]: as many bytes of the base; NULL if no segment refers to
 * it. A final struct. */
typedef struct tare_cuda_buffers {
    const void *stored;
    void *regions[TARE_CODED_MAX_REGIONS];
    const void *bases[TARE_CODED_MAX_REGIONS];
} tare_cuda_buffers;

/* A plan bound to memory of a device. Owns its jobs, tables and work memory there. One thread and
 * one stream at a time. */
typedef struct tare_cuda_batch tare_cuda_batch;

/* Uploads the plan and the pointers, one tare_cuda_buffers for each layer; waits for that.
 * `host_area`: device memory of host_bytes bytes, filled before it is decoded; NULL if there are
 * none. The plan must outlive the batch. ERR_ARG: a pointer that segments need is NULL (err->item:
 * the layer), or one that is not aligned; NOMEM, IO. */
TARE_API tare_status tare_cuda_batch_new(tare_cuda_batch **out, tare_cuda *cuda,
                                         const tare_cuda_plan *plan,
                                         const tare_cuda_buffers *layers, const void *host_area,
                                         tare_error *err);
/* The same in the caller's device memory: image_bytes bytes, aligned to 256, which must outlive the
 * batch. Allocates nothing on the device; the copies are enqueued on `stream`, on which the batch is
 * to be decoded. `layers` may go when this returns. */
TARE_API tare_status tare_cuda_batch_new_at(tare_cuda_batch **out, tare_cuda *cuda,
                                            const tare_cuda_plan *plan,
                                            const tare_cuda_buffers *layers, const void *host_area,
                                            void *memory, void *stream, tare_error *err);
TARE_API void tare_cuda_batch_free(tare_cuda_batch *batch);

typedef struct tare_cuda_decode_options {
    size_t size;
    bool without_crc; /* the CRC-32 of segments is not compared */
    void *stream;     /* NULL: the default stream */
} tare_cuda_decode_options;

TARE_DECLARE_INIT(tare_cuda_decode_options)

/* Enqueues the decoding of all segments and returns. Allocates nothing and does not wait: a CUDA
 * graph can capture it. IO: it could not be launched. */
TARE_API tare_status tare_cuda_decode(tare_cuda_batch *batch,
                                      const tare_cuda_decode_options *options, tare_error *err);

/* What was found damaged. The other segments are decoded all the same. */
typedef struct tare_cuda_fault {
    size_t size;
    uint64_t n_faults;  /* 0: none; a segment may have two */
    tare_status status; /* of the first segment: CORRUPT or CHECKSUM, as when decoding on the CPU */
    size_t layer;       /* where it is, in the order of layers, streams, segments */
    unsigned stream;
    uint64_t segment;
    uint64_t position; /* in the layer's data */
} tare_cuda_fault;

TARE_DECLARE_INIT(tare_cuda_fault)

/* Waits for the last tare_cuda_decode (or a replay of its graph) to complete. Returns the status of
 * the first damaged segment, with its position as err->offset; IO. `fault` may be NULL. */
TARE_API tare_status tare_cuda_finish(tare_cuda_fault *fault, tare_cuda_batch *batch,
                                      tare_error *err);

#ifdef __cplusplus
}
#endif
#endif
