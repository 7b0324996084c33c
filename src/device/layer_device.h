/* SPDX-License-Identifier: MIT
 *
 * A device, and what drivers and verbs tell it. */
#ifndef TARE_DEVICE_LAYER_DEVICE_H
#define TARE_DEVICE_LAYER_DEVICE_H

#include <tare/experimental/device.h>

#include <stdatomic.h>

#include "device/cuda_library.h"

struct tare_device {
    tare_cuda_library library;
    tare_cuda *cuda;
    unsigned number;
    _Atomic uint64_t n_layers, n_bytes, n_left, n_segments, n_host_segments;
    const char *_Atomic reason;
    tare_cuda_stage *_Atomic idle_stage; /* page-locked buffers, slow to make, for the next load */
};

/* A layer is decoded by the CPU after all; `why` is static. */
void tare_device_leave(tare_device *device, const char *why);
/* The device has decoded n layers, of so many bytes and segments, as `needs` says. */
void tare_device_done(tare_device *device, uint64_t n_layers, const tare_cuda_needs *needs);

#endif
