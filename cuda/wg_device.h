/* SPDX-License-Identifier: MIT
 *
 * What the library asks of a device: memory, copies, launches. One is a GPU (wg_device.cu), the
 * other, for tests, the emulation (wg_device_emulated.cc). */
#ifndef TARE_CUDA_WG_DEVICE_H
#define TARE_CUDA_WG_DEVICE_H

#include "wg_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

tare_status wg_device_open(char name[WG_NAME], int device, tare_error *err);
/* What the first launches would allocate or wait for. */
tare_status wg_device_prepare(int device, tare_error *err);
tare_status wg_device_alloc(void **out, int device, size_t n, tare_error *err);
void wg_device_release(int device, void *memory);
/* Done when they return. */
tare_status wg_device_upload(void *to, int device, const void *from, size_t n, tare_error *err);
tare_status wg_device_download(void *to, int device, const void *from, size_t n, tare_error *err);
/* Page-locked memory of the host. */
tare_status wg_device_alloc_host(void **out, int device, size_t n, tare_error *err);
void wg_device_release_host(int device, void *memory);
tare_status wg_device_new_stream(void **out, int device, tare_error *err);
/* Waits for it. */
void wg_device_free_stream(int device, void *stream);
tare_status wg_device_wait(int device, void *stream, tare_error *err);

/* Marks of what was enqueued on a stream. One that was never set is reached. */
tare_status wg_device_new_mark(void **out, int device, tare_error *err);
void wg_device_free_mark(int device, void *mark);
tare_status wg_device_set_mark(void *mark, int device, void *stream, tare_error *err);
tare_status wg_device_wait_mark(int device, void *mark, tare_error *err);

/* Enqueue. */
/* Reads `from`, page-locked, when its turn comes. */
tare_status wg_device_send(void *to, int device, const void *from, size_t n, void *stream,
                           tare_error *err);
/* Has read `from` when it returns. */
tare_status wg_device_post(void *to, int device, const void *from, size_t n, void *stream,
                           tare_error *err);
tare_status wg_device_reset(wg_faults *faults, int device, void *stream, tare_error *err);
tare_status wg_device_launch(const wg_call *call, int device, void *stream, tare_error *err);

#ifdef __cplusplus
}
#endif
#endif
