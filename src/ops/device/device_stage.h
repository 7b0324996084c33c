/* SPDX-License-Identifier: MIT
 *
 * Bytes of a model on their way to a device, through a ring of page-locked buffers. */
#ifndef TARE_OPS_DEVICE_DEVICE_STAGE_H
#define TARE_OPS_DEVICE_DEVICE_STAGE_H

#include <tare/experimental/device.h>

#include "device/layer_device.h"

/* Where bytes come from: of a layer what is stored, or of its base a region; else the plane of a
 * tensor. */
typedef struct tare_staged_source {
    const tare_coded *coded; /* NULL: the plane of a tensor */
    bool is_base;
    unsigned region;
    size_t tensor;
    uint32_t plane;
} tare_staged_source;

typedef struct tare_staging {
    tare_device *device;
    const tare_model *model;
    const tare_device_load_options *options;
    tare_cuda_stage *stage;
} tare_staging;

tare_status tare_staging_open(tare_staging *out, tare_device *device, const tare_model *model,
                              const tare_device_load_options *options, tare_error *err);
/* When the device has copied all that was sent. */
void tare_staging_close(tare_staging *staging);
/* Reads n bytes in parallel and enqueues copying them to the device's memory. */
tare_status tare_staging_send(void *to, const tare_staging *staging,
                              const tare_staged_source *source, uint64_t n, void *stream,
                              tare_error *err);

#endif
