/* SPDX-License-Identifier: MIT
 *
 * A layer in a device's memory: a plan for it alone, its stored bytes, its base, and the segments
 * that the device does not decode, decoded here. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "device/device_parts.h"
#include "device/layer_device.h"

struct tare_device_layer {
    tare_device *device;
    tare_device_parts parts;
    tare_cuda_plan *plan;
    tare_cuda_batch *batch;
    tare_cuda_needs needs;
    tare_cuda_buffers buffers;
    void *stored, *host_area, *bases[TARE_CODED_MAX_REGIONS]; /* of the device */
};

/* Device memory, filled with what `read` gives. */
static tare_status send(void **out, const tare_device_layer *l, uint64_t size,
                        tare_status (*read)(uint8_t *bytes, const tare_device_layer *l,
                                            unsigned region, tare_error *err),
                        unsigned region, tare_error *err) {
    const size_t n = (size_t)size;
    if (!n) return TARE_OK;
    uint8_t *bytes = tare_alloc(NULL, n);
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "bytes of a layer");
    tare_status status = read(bytes, l, region, err);
    if (status == TARE_OK) status = tare_device_alloc(out, l->device, n, err);
    if (status == TARE_OK) status = tare_device_upload(*out, l->device, bytes, n, err);
    tare_free(NULL, bytes, n);
    return status;
}

static tare_status read_stored(uint8_t *bytes, const tare_device_layer *l, unsigned region,
                               tare_error *err) {
    (void)region;
    return tare_coded_read(bytes, l->parts.coded, 0, (size_t)l->parts.layer->size, err);
}

static tare_status read_base(uint8_t *bytes, const tare_device_layer *l, unsigned region,
                             tare_error *err) {
    const size_t n = (size_t)l->parts.layer->region_bytes[region];
    return tare_coded_read_base(bytes, l->parts.coded, region, 0, n, err);
}

static tare_status decode_host_segments(uint8_t *area, const tare_device_layer *l, unsigned region,
                                        tare_error *err) {
    tare_cuda_host_segment h;
    (void)region;
    memset(area, 0, (size_t)l->needs.host_bytes);
    for (uint64_t i = 0; l->device->library.plan_host_segment(&h, l->plan, i); i++)
        TARE_TRY(tare_device_parts_decode(area + h.position, &l->parts, h.stream, h.segment, err));
    return TARE_OK;
}

static tare_status make_plan(tare_device_layer *l, tare_error *err) {
    const tare_cuda_layer layer = tare_device_parts_layer(&l->parts);
    TARE_TRY(l->device->library.plan_new(&l->plan, &layer, 1, NULL, err));
    l->needs = (tare_cuda_needs){.size = sizeof(tare_cuda_needs)};
    return l->device->library.plan_needs(&l->needs, l->plan);
}

static tare_status prepare(tare_device_layer *l, const tare_coded *coded, tare_error *err) {
    TARE_TRY(tare_device_parts_open(&l->parts, coded, err));
    TARE_TRY(make_plan(l, err));
    const tare_coded_layer *about = l->parts.layer;
    TARE_TRY(send(&l->stored, l, about->size, read_stored, 0, err));
    TARE_TRY(send(&l->host_area, l, l->needs.host_bytes, decode_host_segments, 0, err));
    l->buffers.stored = l->stored;
    for (unsigned i = 0; i < about->n_regions; i++) {
        const uint64_t n = about->region_bytes[i];
        TARE_TRY(tare_device_alloc(&l->buffers.regions[i], l->device, (size_t)n, err));
        if (l->parts.refers_to_base) TARE_TRY(send(&l->bases[i], l, n, read_base, i, err));
        l->buffers.bases[i] = l->bases[i];
    }
    return l->device->library.batch_new(&l->batch, l->device->cuda, l->plan, &l->buffers,
                                        l->host_area, err);
}

tare_status tare_device_layer_new(tare_device_layer **out, tare_device *device,
                                  const tare_coded *coded, tare_error *err) {
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(device && coded, err);
    tare_device_layer *l = tare_alloc(NULL, sizeof *l);
    if (!l) return tare_fail(err, TARE_ERR_NOMEM, "layer of a device");
    memset(l, 0, sizeof *l);
    l->device = device;
    tare_status status = prepare(l, coded, err);
    if (status == TARE_OK)
        *out = l;
    else
        tare_device_layer_free(l);
    return status;
}

void tare_device_layer_free(tare_device_layer *l) {
    if (!l) return;
    l->device->library.batch_free(l->batch);
    l->device->library.plan_free(l->plan);
    for (unsigned i = 0; i < TARE_CODED_MAX_REGIONS; i++) {
        tare_device_release(l->device, l->buffers.regions[i]);
        tare_device_release(l->device, l->bases[i]);
    }
    tare_device_release(l->device, l->stored);
    tare_device_release(l->device, l->host_area);
    tare_device_parts_close(&l->parts);
    tare_free(NULL, l, sizeof *l);
}

tare_status tare_device_layer_decode(tare_device_layer *l, tare_error *err) {
    TARE_REQUIRE(l, err);
    TARE_TRY(l->device->library.decode(l->batch, NULL, err));
    TARE_TRY(l->device->library.finish(NULL, l->batch, err));
    tare_device_done(l->device, 1, &l->needs);
    return TARE_OK;
}

tare_status tare_device_layer_fetch(void *const *dst, const tare_device_layer *l, tare_error *err) {
    TARE_REQUIRE(dst && l, err);
    for (unsigned i = 0; i < l->parts.layer->n_regions; i++)
        TARE_TRY(tare_device_download(dst[i], l->device, l->buffers.regions[i],
                                      (size_t)l->parts.layer->region_bytes[i], err));
    return TARE_OK;
}

tare_status tare_device_decode_layer(void *const *dst, tare_device *device, const tare_coded *coded,
                                     tare_error *err) {
    tare_device_layer *l;
    TARE_REQUIRE(dst, err);
    TARE_TRY(tare_device_layer_new(&l, device, coded, err));
    tare_status status = tare_device_layer_decode(l, err);
    if (status == TARE_OK) status = tare_device_layer_fetch(dst, l, err);
    tare_device_layer_free(l);
    return status;
}
