/* SPDX-License-Identifier: MIT
 *
 * The heads and segments of a layer, parsed, as libtare_cuda takes them. */
#ifndef TARE_DEVICE_DEVICE_PARTS_H
#define TARE_DEVICE_DEVICE_PARTS_H

#include <tare/cuda.h>

typedef struct tare_device_parts {
    const tare_coded *coded;
    const tare_coded_layer *layer;
    const tare_coded_head *heads[TARE_CODED_MAX_STREAMS];
    tare_coded_segment *segments[TARE_CODED_MAX_STREAMS];
    bool refers_to_base; /* a segment does */
} tare_device_parts;

/* *out is to be closed even on failure. */
tare_status tare_device_parts_open(tare_device_parts *out, const tare_coded *coded,
                                   tare_error *err);
void tare_device_parts_close(tare_device_parts *parts);
/* Borrows from `parts`. */
tare_cuda_layer tare_device_parts_layer(const tare_device_parts *parts);
/* A segment, decoded by the CPU. */
tare_status tare_device_parts_decode(uint8_t *dst, const tare_device_parts *parts, unsigned stream,
                                     uint64_t segment, tare_error *err);

#endif
