/* SPDX-License-Identifier: MIT
 *
 * libtare_cuda, loaded while running. */
#ifndef TARE_DEVICE_CUDA_LIBRARY_H
#define TARE_DEVICE_CUDA_LIBRARY_H

#include <tare/cuda.h>

/* X(name without prefix, result, arguments): the functions that are used. */
#define TARE_CUDA_FUNCTIONS(X)                                                                     \
    X(plan_new, tare_status,                                                                       \
      (tare_cuda_plan * *out, const tare_cuda_layer *layers, size_t n,                             \
       const tare_cuda_plan_options *options, tare_error *err))                                    \
    X(plan_free, void, (tare_cuda_plan * plan))                                                    \
    X(plan_needs, tare_status, (tare_cuda_needs * out, const tare_cuda_plan *plan))                \
    X(plan_host_segment, bool,                                                                     \
      (tare_cuda_host_segment * out, const tare_cuda_plan *plan, uint64_t i))                      \
    X(open, tare_status, (tare_cuda * *out, int device, tare_error *err))                          \
    X(close, void, (tare_cuda * cuda))                                                             \
    X(name, const char *, (const tare_cuda *cuda))                                                 \
    X(alloc, tare_status, (void **out, tare_cuda *cuda, size_t n, tare_error *err))                \
    X(release, void, (tare_cuda * cuda, void *memory))                                             \
    X(upload, tare_status,                                                                         \
      (void *device, tare_cuda *cuda, const void *host, size_t n, tare_error *err))                \
    X(download, tare_status,                                                                       \
      (void *host, tare_cuda *cuda, const void *device, size_t n, tare_error *err))                \
    X(batch_new, tare_status,                                                                      \
      (tare_cuda_batch * *out, tare_cuda * cuda, const tare_cuda_plan *plan,                       \
       const tare_cuda_buffers *layers, const void *host_area, tare_error *err))                   \
    X(batch_new_at, tare_status,                                                                   \
      (tare_cuda_batch * *out, tare_cuda * cuda, const tare_cuda_plan *plan,                       \
       const tare_cuda_buffers *layers, const void *host_area, void *memory, void *stream,         \
       tare_error *err))                                                                           \
    X(stream_new, tare_status, (void **out, tare_cuda *cuda, tare_error *err))                     \
    X(stream_free, void, (tare_cuda * cuda, void *stream))                                         \
    X(stream_wait, tare_status, (tare_cuda * cuda, void *stream, tare_error *err))                 \
    X(stage_new, tare_status,                                                                      \
      (tare_cuda_stage * *out, tare_cuda * cuda, size_t buffer_bytes, unsigned n_buffers,          \
       tare_error *err))                                                                           \
    X(stage_free, void, (tare_cuda_stage * stage))                                                 \
    X(stage_next, tare_status, (void **out, tare_cuda_stage *stage, tare_error *err))              \
    X(stage_send, tare_status,                                                                     \
      (void *device, tare_cuda_stage *stage, size_t n, void *stream, tare_error *err))             \
    X(batch_free, void, (tare_cuda_batch * batch))                                                 \
    X(decode, tare_status,                                                                         \
      (tare_cuda_batch * batch, const tare_cuda_decode_options *options, tare_error *err))         \
    X(finish, tare_status, (tare_cuda_fault * fault, tare_cuda_batch * batch, tare_error * err))

typedef struct tare_cuda_library {
#define TARE_CUDA_MEMBER(name, result, arguments) result(*name) arguments;
    TARE_CUDA_FUNCTIONS(TARE_CUDA_MEMBER)
#undef TARE_CUDA_MEMBER
} tare_cuda_library;

/* UNSUPPORTED: it is not there, or lacks a function. It stays loaded. */
tare_status tare_cuda_library_load(tare_cuda_library *out, tare_error *err);

#endif
