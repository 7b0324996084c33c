/* SPDX-License-Identifier: MIT
 *
 * A device that decodes layers: a plan for one layer, its stored bytes to the device, its regions
 * back. Segments that the device does not decode are decoded here and sent along. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "device/cuda_library.h"
#include "device/layer_device.h"

struct tare_device {
    tare_cuda_library library;
    tare_cuda *cuda;
    _Atomic uint64_t n_layers, n_bytes, n_left;
    const char *_Atomic reason;
};

/* A layer at work; all that is in use is freed at once. */
typedef struct run {
    const tare_device *device;
    const tare_coded *coded;
    const tare_coded_layer *layer;
    const tare_coded_head *heads[TARE_CODED_MAX_STREAMS];
    tare_coded_segment *segments[TARE_CODED_MAX_STREAMS];
    tare_cuda_plan *plan;
    tare_cuda_batch *batch;
    tare_cuda_needs needs;
    tare_cuda_buffers buffers;
    void *stored, *host_area; /* of the device */
    tare_error *err;
} run;

TARE_DEFINE_INIT(tare_device_counts, TARE_DEVICE_COUNTS_INIT)

/* ---- a layer --------------------------------------------------------------------------------- */

static size_t list_size(uint64_t n) {
    return (size_t)(n ? n : 1) * sizeof(tare_coded_segment);
}

static tare_status parse(run *r) {
    for (unsigned i = 0; i < r->layer->n_streams; i++) {
        const uint64_t n = r->layer->streams[i].n_segments;
        r->heads[i] = tare_coded_stream_head(r->coded, i);
        tare_coded_segment *list = tare_alloc(NULL, list_size(n));
        r->segments[i] = list;
        if (!list) return tare_fail(r->err, TARE_ERR_NOMEM, "segments");
        for (uint64_t s = 0; s < n; s++) {
            tare_coded_segment_init(&list[s], sizeof list[s]);
            TARE_TRY(tare_coded_parse_segment(&list[s], r->coded, i, s, r->err));
        }
    }
    return TARE_OK;
}

static tare_status send(void **out, const run *r, const uint8_t *bytes, size_t n) {
    const tare_cuda_library *l = &r->device->library;
    TARE_TRY(l->alloc(out, r->device->cuda, n, r->err));
    return n ? l->upload(*out, r->device->cuda, bytes, n, r->err) : TARE_OK;
}

static tare_status send_stored(run *r) {
    const size_t n = (size_t)r->layer->size;
    uint8_t *bytes = tare_alloc(NULL, n ? n : 1);
    if (!bytes) return tare_fail(r->err, TARE_ERR_NOMEM, "stored bytes of a layer");
    tare_status status = tare_coded_read(bytes, r->coded, 0, n, r->err);
    if (status == TARE_OK) status = send(&r->stored, r, bytes, n);
    tare_free(NULL, bytes, n ? n : 1);
    r->buffers.stored = r->stored;
    return status;
}

static tare_status decode_host_segments(uint8_t *area, const run *r) {
    tare_coded_options o = TARE_CODED_OPTIONS_INIT;
    tare_cuda_host_segment h;
    o.threads = 1;
    for (uint64_t i = 0; r->device->library.plan_host_segment(&h, r->plan, i); i++)
        TARE_TRY(tare_coded_decode_segments(area + h.position, r->coded, h.stream, h.segment, 1, &o,
                                            r->err));
    return TARE_OK;
}

static tare_status send_host_area(run *r) {
    const size_t n = (size_t)r->needs.host_bytes;
    if (!n) return TARE_OK;
    uint8_t *area = tare_alloc(NULL, n);
    if (!area) return tare_fail(r->err, TARE_ERR_NOMEM, "segments of a layer");
    memset(area, 0, n);
    tare_status status = decode_host_segments(area, r);
    if (status == TARE_OK) status = send(&r->host_area, r, area, n);
    tare_free(NULL, area, n);
    return status;
}

static tare_status make_plan(run *r) {
    const tare_cuda_library *l = &r->device->library;
    const tare_cuda_layer layer = {r->layer, r->heads,
                                   (const tare_coded_segment *const *)r->segments, 0};
    TARE_TRY(parse(r));
    TARE_TRY(l->plan_new(&r->plan, &layer, 1, NULL, r->err));
    r->needs = (tare_cuda_needs)TARE_CUDA_NEEDS_INIT;
    return l->plan_needs(&r->needs, r->plan);
}

static tare_status decode(void *const *dst, run *r) {
    const tare_cuda_library *l = &r->device->library;
    tare_cuda *cuda = r->device->cuda;
    TARE_TRY(make_plan(r));
    TARE_TRY(send_stored(r));
    TARE_TRY(send_host_area(r));
    for (unsigned i = 0; i < r->layer->n_regions; i++)
        TARE_TRY(l->alloc(&r->buffers.regions[i], cuda, (size_t)r->layer->region_bytes[i], r->err));
    TARE_TRY(l->batch_new(&r->batch, cuda, r->plan, &r->buffers, r->host_area, r->err));
    TARE_TRY(l->decode(r->batch, NULL, r->err));
    TARE_TRY(l->finish(NULL, r->batch, r->err));
    for (unsigned i = 0; i < r->layer->n_regions; i++) {
        const size_t n = (size_t)r->layer->region_bytes[i];
        if (n) TARE_TRY(l->download(dst[i], cuda, r->buffers.regions[i], n, r->err));
    }
    return TARE_OK;
}

static void free_run(run *r) {
    const tare_cuda_library *l = &r->device->library;
    l->batch_free(r->batch);
    l->plan_free(r->plan);
    for (unsigned i = 0; i < r->layer->n_regions; i++)
        l->release(r->device->cuda, r->buffers.regions[i]);
    l->release(r->device->cuda, r->stored);
    l->release(r->device->cuda, r->host_area);
    for (unsigned i = 0; i < r->layer->n_streams; i++)
        tare_free(NULL, r->segments[i], list_size(r->layer->streams[i].n_segments));
}

tare_status tare_device_decode_layer(void *const *dst, tare_device *device, const tare_coded *coded,
                                     tare_error *err) {
    TARE_REQUIRE(dst && device && coded, err);
    run r = {.device = device, .coded = coded, .layer = tare_coded_describe(coded), .err = err};
    if (r.layer->base) return tare_fail(err, TARE_ERR_UNSUPPORTED, "a layer that refers to a base");
    tare_status status = decode(dst, &r);
    free_run(&r);
    if (status != TARE_OK) return status;
    atomic_fetch_add(&device->n_layers, 1);
    for (unsigned i = 0; i < r.layer->n_regions; i++)
        atomic_fetch_add(&device->n_bytes, r.layer->region_bytes[i]);
    return TARE_OK;
}

/* ---- devices --------------------------------------------------------------------------------- */

/* "cuda" or "cuda:N". */
static bool parse_name(int *number, const char *name) {
    *number = 0;
    if (strncmp(name, "cuda", 4) != 0) return false;
    if (!name[4]) return true;
    if (name[4] != ':' || !name[5]) return false;
    for (const char *digit = name + 5; *digit; digit++) {
        if (*digit < '0' || *digit > '9' || *number > 999) return false;
        *number = *number * 10 + (*digit - '0');
    }
    return true;
}

tare_status tare_device_open(tare_device **out, const char *name, tare_error *err) {
    int number;
    TARE_REQUIRE(out && name, err);
    *out = NULL;
    if (!parse_name(&number, name))
        return tare_fail(err, TARE_ERR_ARG, "device: neither \"cuda\" nor \"cuda:N\"");
    tare_device *d = tare_alloc(NULL, sizeof *d);
    if (!d) return tare_fail(err, TARE_ERR_NOMEM, "device");
    memset(d, 0, sizeof *d);
    tare_status status = tare_cuda_library_load(&d->library, err);
    if (status == TARE_OK) status = d->library.open(&d->cuda, number, err);
    if (status == TARE_OK)
        *out = d;
    else
        tare_free(NULL, d, sizeof *d);
    return status;
}

void tare_device_free(tare_device *d) {
    if (!d) return;
    d->library.close(d->cuda);
    tare_free(NULL, d, sizeof *d);
}

const char *tare_device_name(const tare_device *d) {
    return d->library.name(d->cuda);
}

void tare_device_leave(tare_device *d, const char *why) {
    const char *none = NULL;
    atomic_compare_exchange_strong(&d->reason, &none, why);
    atomic_fetch_add(&d->n_left, 1);
}

tare_status tare_device_count(tare_device_counts *out, const tare_device *d) {
    tare_error err;
    TARE_REQUIRE(out && d, &err);
    TARE_TRY(tare_result_check(out, &err));
    const tare_device_counts counts = {sizeof counts, atomic_load(&d->n_layers),
                                       atomic_load(&d->n_bytes), atomic_load(&d->n_left),
                                       atomic_load(&d->reason)};
    tare_result_write(out, &counts, sizeof counts);
    return TARE_OK;
}
