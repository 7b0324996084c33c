/* SPDX-License-Identifier: MIT
 *
 * Plans bound to a device's memory: one block of device memory holds the image, the pointers, the
 * work memory for classes, and the error word. */
#include <stdlib.h>
#include <string.h>

#include "wg_device.h"
#include "wg_plan.h"

struct tare_cuda_batch {
    const tare_cuda_plan *plan;
    int device;
    uint8_t *memory, *owned; /* the same, or owned is NULL */
    wg_call call;
    void *stream; /* of the last decoding */
};

/* ---- what a plan needs ----------------------------------------------------------------------- */

/* Places in the memory of a batch. */
typedef struct places {
    uint64_t buffers, faults, scratch, end;
} places;

enum { ALIGNED = 256 };

static uint64_t align(uint64_t n) {
    return (n + ALIGNED - 1) / ALIGNED * ALIGNED;
}

static places places_of(const tare_cuda_plan *plan) {
    places p = {.buffers = align(plan->image_size)};
    p.faults = align(p.buffers + plan->n_layers * sizeof(tare_cuda_buffers));
    p.scratch = align(p.faults + sizeof(wg_faults));
    p.end = p.scratch + plan->scratch_bytes;
    return p;
}

tare_status tare_cuda_plan_needs(tare_cuda_needs *out, const tare_cuda_plan *plan) {
    if (!out || !plan || out->size < sizeof out->size) return TARE_ERR_ARG;
    size_t size = out->size;
    tare_cuda_needs needs = {.size = size,
                             .image_bytes = places_of(plan).end,
                             .host_bytes = plan->host_bytes,
                             .decoded_bytes = plan->decoded_bytes,
                             .n_segments = plan->n_jobs,
                             .n_host_segments = plan->n_host,
                             .n_launches = plan->n_launches};
    memset(out, 0, size);
    memcpy(out, &needs, size < sizeof needs ? size : sizeof needs);
    return TARE_OK;
}

/* ---- batches --------------------------------------------------------------------------------- */

static tare_status check_buffers(const tare_cuda_plan *plan, const tare_cuda_buffers *layers,
                                 tare_error *err) {
    for (size_t i = 0; i < plan->n_layers; i++) {
        const tare_cuda_buffers *b = &layers[i];
        uint8_t needs = plan->needs[i];
        if (needs && (!b->stored || (uintptr_t)b->stored % 4))
            return wg_fail(err, TARE_ERR_ARG, (int64_t)i, "stored bytes: NULL, or not aligned");
        for (unsigned r = 0; r < TARE_CODED_MAX_REGIONS; r++) {
            if (needs >> r & 1 && (!b->regions[r] || (uintptr_t)b->regions[r] % 4))
                return wg_fail(err, TARE_ERR_ARG, (int64_t)i, "region: NULL, or not aligned");
            if (needs >> (4 + r) & 1 && !b->bases[r])
                return wg_fail(err, TARE_ERR_ARG, (int64_t)i, "base of a region: NULL");
        }
    }
    return TARE_OK;
}

static tare_status bind(tare_cuda_batch *b, const tare_cuda_buffers *layers, tare_error *err) {
    const tare_cuda_plan *plan = b->plan;
    const places at = places_of(plan);
    tare_status status =
        wg_device_post(b->memory, b->device, plan->image, (size_t)plan->image_size, b->stream, err);
    if (status == TARE_OK)
        status = wg_device_post(b->memory + at.buffers, b->device, layers,
                                plan->n_layers * sizeof *layers, b->stream, err);
    /* Nothing is damaged as long as nothing was decoded. */
    const wg_faults none = {WG_NO_FAULT, 0};
    if (status == TARE_OK)
        status =
            wg_device_post(b->memory + at.faults, b->device, &none, sizeof none, b->stream, err);
    b->call.image = b->memory;
    b->call.buffers = (const tare_cuda_buffers *)(void *)(b->memory + at.buffers);
    b->call.faults = (wg_faults *)(void *)(b->memory + at.faults);
    b->call.scratch = b->memory + at.scratch;
    return status;
}

tare_status tare_cuda_batch_new_at(tare_cuda_batch **out, tare_cuda *cuda,
                                   const tare_cuda_plan *plan, const tare_cuda_buffers *layers,
                                   const void *host_area, void *memory, void *stream,
                                   tare_error *err) {
    if (!out) return wg_fail(err, TARE_ERR_ARG, -1, "out: NULL");
    *out = NULL;
    if (!cuda || !plan || (plan->n_layers && !layers) || (plan->host_bytes && !host_area))
        return wg_fail(err, TARE_ERR_ARG, -1, "device, plan, layers or host area: NULL");
    if (!memory || (uintptr_t)memory % ALIGNED)
        return wg_fail(err, TARE_ERR_ARG, -1, "memory of the batch: NULL, or not aligned");
    tare_status status = check_buffers(plan, layers, err);
    if (status == TARE_OK) status = wg_device_prepare(cuda->device, err);
    if (status != TARE_OK) return status;
    tare_cuda_batch *b = calloc(1, sizeof *b);
    if (!b) return wg_fail(err, TARE_ERR_NOMEM, -1, "batch");
    b->plan = plan;
    b->device = cuda->device;
    b->call.host = host_area;
    b->memory = memory;
    b->stream = stream;
    status = bind(b, layers, err);
    if (status == TARE_OK)
        *out = b;
    else
        tare_cuda_batch_free(b);
    return status;
}

tare_status tare_cuda_batch_new(tare_cuda_batch **out, tare_cuda *cuda, const tare_cuda_plan *plan,
                                const tare_cuda_buffers *layers, const void *host_area,
                                tare_error *err) {
    void *memory;
    if (!out || !cuda || !plan) return wg_fail(err, TARE_ERR_ARG, -1, "out, device or plan: NULL");
    *out = NULL;
    tare_status status = wg_device_alloc(&memory, cuda->device, (size_t)places_of(plan).end, err);
    if (status != TARE_OK) return status;
    status = tare_cuda_batch_new_at(out, cuda, plan, layers, host_area, memory, NULL, err);
    if (status == TARE_OK) {
        (*out)->owned = memory;
        status = wg_device_wait(cuda->device, NULL, err);
        if (status == TARE_OK) return TARE_OK;
        tare_cuda_batch_free(*out);
        *out = NULL;
        return status;
    }
    wg_device_release(cuda->device, memory);
    return status;
}

void tare_cuda_batch_free(tare_cuda_batch *b) {
    if (!b) return;
    if (b->owned) wg_device_release(b->device, b->owned);
    free(b);
}

tare_status tare_cuda_decode(tare_cuda_batch *b, const tare_cuda_decode_options *options,
                             tare_error *err) {
    tare_cuda_decode_options o = tare_cuda_decode_options_default();
    if (!b || !wg_options_read(&o, sizeof o, options))
        return wg_fail(err, TARE_ERR_ARG, -1, "batch or options");
    b->stream = o.stream;
    tare_status status = wg_device_reset(b->call.faults, b->device, o.stream, err);
    for (unsigned i = 0; status == TARE_OK && i < b->plan->n_launches; i++) {
        const wg_launch *l = &b->plan->launches[i];
        wg_call call = b->call;
        if (l->kernel == WG_CHECK && o.without_crc) continue;
        call.kernel = l->kernel;
        call.first_job = l->first_job;
        call.n_jobs = l->n_jobs;
        call.first_block = l->first_block;
        call.n_blocks = l->n_blocks;
        call.with_crc = !o.without_crc;
        status = wg_device_launch(&call, b->device, o.stream, err);
    }
    return status;
}

/* ---- what became of it ----------------------------------------------------------------------- */

static tare_status tell(tare_cuda_fault *out, const tare_cuda_plan *plan, const wg_faults *faults,
                        tare_error *err) {
    uint64_t number = faults->first >> 8;
    uint32_t bad = (uint32_t)(faults->first & 255);
    const wg_planned *p = plan->planned;
    size_t low = 0, high = plan->n_planned; /* the stream whose numbers begin at or before it */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (p[middle].first <= number)
            low = middle;
        else
            high = middle;
    }
    p += low;
    out->n_faults = faults->n;
    out->status = bad & ~(uint32_t)WG_BAD_CRC ? TARE_ERR_CORRUPT : TARE_ERR_CHECKSUM;
    out->layer = p->layer;
    out->stream = p->stream;
    out->segment = number - p->first;
    out->position = plan->positions[number];
    wg_fail(err, out->status, (int64_t)p->layer,
            out->status == TARE_ERR_CHECKSUM
                ? "segment: CRC-32 differs from that of the decoded bytes"
                : "segment: states, words, patches, classes or padding do not fit together");
    if (err) err->offset = out->position;
    return out->status;
}

tare_status tare_cuda_finish(tare_cuda_fault *fault, tare_cuda_batch *b, tare_error *err) {
    tare_cuda_fault found = tare_cuda_fault_default();
    wg_faults faults;
    if (!b || (fault && fault->size < sizeof fault->size))
        return wg_fail(err, TARE_ERR_ARG, -1, "batch or fault");
    tare_status status = wg_device_wait(b->device, b->stream, err);
    if (status == TARE_OK)
        status = wg_device_download(&faults, b->device, b->call.faults, sizeof faults, err);
    if (status != TARE_OK) return status;
    if (faults.n && faults.first >> 8 >= b->plan->n_jobs)
        return wg_fail(err, TARE_ERR_IO, -1, "the device: its error word was overwritten");
    if (faults.n) status = tell(&found, b->plan, &faults, err);
    if (!fault) return status;
    size_t size = fault->size;
    memset(fault, 0, size);
    memcpy(fault, &found, size < sizeof found ? size : sizeof found);
    memcpy(fault, &size, sizeof size);
    return status;
}
