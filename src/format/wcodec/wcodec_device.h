/* SPDX-License-Identifier: MIT
 *
 * Layers of a store that a device decodes, whole, when a part of them is first read. */
#ifndef TARE_FORMAT_WCODEC_WCODEC_DEVICE_H
#define TARE_FORMAT_WCODEC_WCODEC_DEVICE_H

#include "device/layer_device.h"
#include "wcodec/layer/wc_stream.h"

typedef struct tare_wcodec_device tare_wcodec_device;

/* Opens a layer of the store that `ctx` is. */
typedef tare_status (*tare_wcodec_open_layer_fn)(void *ctx, tare_coded **out, uint32_t layer,
                                                 tare_error *err);

/* NULL: memory is out. The store and the device must outlive it. */
tare_wcodec_device *tare_wcodec_device_new(uint32_t n_layers, tare_wcodec_open_layer_fn open,
                                           void *ctx, tare_device *device,
                                           const tare_allocator *allocator);
void tare_wcodec_device_free(tare_wcodec_device *device);
/* n bytes of a region of layer `number` from byte `offset` on. False: the layer is left to the CPU; if it is damaged,
 * that will say so. */
bool tare_wcodec_device_read(tare_wcodec_device *device, uint32_t number,
                             const tare_wc_layer *layer, unsigned region, uint64_t offset,
                             void *buf, size_t n);

#endif
