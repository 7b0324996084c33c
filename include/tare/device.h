/* SPDX-License-Identifier: MIT
 *
 * tare/device.h: decodes the layers of a .wcodec on another device, a GPU, into the caller's memory.
 *
 *     tare_device *device;
 *     if (tare_device_open(&device, "cuda:0", &err) == TARE_OK)
 *         options.device = device;      // of tare_open_options or tare_unpack_options
 *
 * libtare does not depend on libtare_cuda: it is loaded when a device is opened. Layers that the
 * device cannot decode are decoded by the CPU, and counted.
 */
#ifndef TARE_DEVICE_H
#define TARE_DEVICE_H

#include <tare/base.h>
#include <tare/wcodec.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Any number of threads and models may use it at once; it must outlive them. */
typedef struct tare_device tare_device;

/* `name`: "cuda:N", a GPU by its number, or "cuda", the first one. ERR_ARG: another name;
 * UNSUPPORTED: there is no libtare_cuda, no driver, or no such GPU; NOMEM. */
TARE_API tare_status tare_device_open(tare_device **out, const char *name, tare_error *err);
TARE_API void tare_device_free(tare_device *device);
/* What the driver calls it. Valid as long as `device`. */
TARE_API const char *tare_device_name(const tare_device *device);

/* As tare_coded_decode_layer; the device holds the stored and the decoded bytes of the layer
 * meanwhile. UNSUPPORTED: the layer refers to a base; NOMEM, IO: of the device, too. */
TARE_API tare_status tare_device_decode_layer(void *const *dst, tare_device *device,
                                              const tare_coded *coded, tare_error *err);

typedef struct tare_device_counts {
    size_t size;
    uint64_t n_layers, n_bytes; /* decoded by the device; bytes are decoded ones */
    uint64_t n_left;            /* layers that were left to the CPU, though not for their size */
    const char *reason;         /* why the first of these was; NULL: there is none */
} tare_device_counts;

#define TARE_DEVICE_COUNTS_INIT                                                                    \
    { sizeof(tare_device_counts), 0, 0, 0, NULL }
TARE_API void tare_device_counts_init(tare_device_counts *counts, size_t size);
/* ERR_ARG: out->size is too small. */
TARE_API tare_status tare_device_count(tare_device_counts *out, const tare_device *device);

#ifdef __cplusplus
}
#endif
#endif
