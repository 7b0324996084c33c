/* SPDX-License-Identifier: MIT
 *
 * What the library asks of a device: memory, copies, launches. One is a GPU (wg_device.cu), the
 * other, for tests, the emulation (wg_device_emulated.cc). */
#ifndef TARE_CUDA_WG_DEVICE_H
#define TARE_CUDA_WG_DEVICE_H

#include "wg_image.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { WG_NAME = 256 };

tare_status wg_device_open(char name[WG_NAME], int device, tare_error *err);
tare_status wg_device_alloc(void **out, int device, size_t n, tare_error *err);
void wg_device_release(int device, void *memory);
/* Done when they return. */
tare_status wg_device_upload(void *to, int device, const void *from, size_t n, tare_error *err);
tare_status wg_device_download(void *to, int device, const void *from, size_t n, tare_error *err);
/* Waits for a stream. */
tare_status wg_device_wait(int device, void *stream, tare_error *err);

/* Enqueue. */
tare_status wg_device_reset(wg_faults *faults, int device, void *stream, tare_error *err);
tare_status wg_device_launch(const wg_call *call, int device, void *stream, tare_error *err);

#ifdef __cplusplus
}
#endif
#endif
