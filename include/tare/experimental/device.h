/* SPDX-License-Identifier: MIT
 *
 * tare/experimental/device.h: decodes the layers of a .wcodec on another device, a GPU, into the caller's memory.
 *
 *     tare_device *device;
 *     if (tare_device_open(&device, "cuda:0", &err) == TARE_OK)
 *         options.device = device;      // of tare_open_options or tare_unpack_options
 *
 * libtare does not depend on libtare_cuda: it is loaded when a device is opened. Layers that the
 * device cannot decode are decoded by the CPU, and counted.
 */
#ifndef TARE_EXPERIMENTAL_DEVICE_H
#define TARE_EXPERIMENTAL_DEVICE_H

#include <tare/base.h>
#include <tare/encoding.h>
#include <tare/experimental/wcodec.h>
#include <tare/model.h>

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

/* N of "cuda:N". */
TARE_API unsigned tare_device_number(const tare_device *device);

/* ---- its memory ------------------------------------------------------------------------------ */

/* n bytes, aligned to 256. NOMEM, IO. */
TARE_API tare_status tare_device_alloc(void **out, tare_device *device, size_t n, tare_error *err);
TARE_API void tare_device_release(tare_device *device, void *memory);
/* Copies between the device's memory and the caller's; done when they return. NOMEM, IO. */
TARE_API tare_status tare_device_upload(void *memory, tare_device *device, const void *from,
                                        size_t n, tare_error *err);
TARE_API tare_status tare_device_download(void *to, tare_device *device, const void *memory,
                                          size_t n, tare_error *err);

/* ---- layers ---------------------------------------------------------------------------------- */

/* As tare_coded_decode_layer; the device holds the stored and the decoded bytes of the layer
 * meanwhile, and those of its base if segments refer to one. ERR_ARG: that base is missing; NOMEM,
 * IO: of the device, too. */
TARE_API tare_status tare_device_decode_layer(void *const *dst, tare_device *device,
                                              const tare_coded *coded, tare_error *err);

/* A layer whose stored bytes are in the device's memory, to be decoded there as often as wanted. One
 * thread at a time; the device and `coded` must outlive it. */
typedef struct tare_device_layer tare_device_layer;

/* Copies there what decoding needs: stored bytes, the base, segments that the CPU has to decode. */
TARE_API tare_status tare_device_layer_new(tare_device_layer **out, tare_device *device,
                                           const tare_coded *coded, tare_error *err);
TARE_API void tare_device_layer_free(tare_device_layer *layer);
/* Decodes all regions in the device's memory and compares the CRCs; done when it returns. CORRUPT,
 * CHECKSUM: err->offset is relative to the layer's data. */
TARE_API tare_status tare_device_layer_decode(tare_device_layer *layer, tare_error *err);
/* Copies the decoded regions; dst[i] takes region_bytes[i] bytes. */
TARE_API tare_status tare_device_layer_fetch(void *const *dst, const tare_device_layer *layer,
                                             tare_error *err);

/* ---- models ---------------------------------------------------------------------------------- */

/* A tensor, and where its planes go: planes[p] is device memory, aligned to 4, for the bytes of plane
 * p, little-endian, as tare_tensor_read gives them; NULL where there are none. */
typedef struct tare_device_job {
    size_t size;
    size_t tensor;
    void *planes[TARE_MAX_PLANES];
} tare_device_job;

TARE_DECLARE_INIT(tare_device_job)

typedef struct tare_device_load_options {
    size_t size;
    const tare_context *context; /* NULL: the defaults; progress is in bytes of tensors */
    uint64_t window; /* stored bytes of layers that are decoded together, twice of which take memory
                        of the device; a larger layer is decoded alone. 0: 128 MiB */
    void *stream;    /* what was enqueued on it is complete before memory is written; NULL: on the
                        default stream */
} tare_device_load_options;

TARE_DECLARE_INIT(tare_device_load_options)

/* Loads n tensors of a model in any container; all are in place when it returns. Layers of a .wcodec
 * are copied as they are stored, through page-locked buffers, and decoded on the device while the
 * next ones are read; what it cannot decode is decoded by the CPU, copied, and counted. Tensors of
 * other containers are copied. Best in the order of the file. After a failure any part of the memory
 * may have been written. ERR_ARG: a plane without memory; CORRUPT, CHECKSUM: err->item is the tensor;
 * NOMEM, IO: of the device, too; CANCELLED; else as for tare_read_many. */
TARE_API tare_status tare_device_load(tare_device *device, const tare_model *model,
                                      const tare_device_job *jobs, size_t n,
                                      const tare_device_load_options *options, tare_error *err);

/* ---- what became of them --------------------------------------------------------------------- */

typedef struct tare_device_counts {
    size_t size;
    uint64_t n_layers, n_bytes; /* decoded by the device; bytes are decoded ones */
    uint64_t n_left;            /* layers that were left to the CPU, though not for their size */
    const char *reason;         /* why the first of these was; NULL: there is none */
    uint64_t n_segments, n_host_segments; /* of the former layers; those that the CPU decoded: ZSTD
                                             and STRUCTURED */
} tare_device_counts;

TARE_DECLARE_INIT(tare_device_counts)
/* ERR_ARG: out->size is too small. */
TARE_API tare_status tare_device_count(tare_device_counts *out, const tare_device *device);

#ifdef __cplusplus
}
#endif
#endif
