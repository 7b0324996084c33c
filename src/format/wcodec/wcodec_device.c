/* SPDX-License-Identifier: MIT
 *
 * Readers ask for parts of layers, a device decodes whole ones: these are kept until others take
 * their place. A layer that a device has failed at is not tried again. */
#include "format/wcodec/wcodec_device.h"

#include <stdatomic.h>
#include <string.h>

#include "base/cache.h"
#include "base/status.h"

/* Smaller layers are decoded before a device has been asked; larger ones do not fit. */
#define LEAST_BYTES (UINT64_C(1) << 18)
#define MOST_BYTES  (UINT64_C(1) << 31)

enum { BUDGET = 1 << 29 /* of layers that nobody reads at the moment */ };

/* The regions of a layer, one after the other. */
typedef struct decoded {
    uint8_t *regions[TARE_CODED_MAX_REGIONS];
    uint8_t bytes[];
} decoded;

struct tare_wcodec_device {
    tare_wcodec_open_layer_fn open;
    void *ctx;
    tare_device *device;
    const tare_allocator *allocator;
    tare_cache *layers;
    uint32_t n_layers;
    _Atomic bool is_left[]; /* of each layer: to the CPU */
};

static size_t device_size(uint32_t n_layers) {
    return sizeof(tare_wcodec_device) + n_layers * sizeof(_Atomic bool);
}

static void free_decoded(void *ctx, void *value, size_t cost) {
    const tare_wcodec_device *d = ctx;
    tare_free(d->allocator, value, cost);
}

tare_wcodec_device *tare_wcodec_device_new(uint32_t n_layers, tare_wcodec_open_layer_fn open,
                                           void *ctx, tare_device *device,
                                           const tare_allocator *allocator) {
    tare_wcodec_device *d = tare_alloc(allocator, device_size(n_layers));
    if (!d) return NULL;
    *d = (tare_wcodec_device){
        .open = open, .ctx = ctx, .device = device, .allocator = allocator, .n_layers = n_layers};
    for (uint32_t i = 0; i < n_layers; i++) atomic_init(&d->is_left[i], false);
    d->layers = tare_cache_new(BUDGET, free_decoded, d, allocator);
    if (d->layers) return d;
    tare_wcodec_device_free(d);
    return NULL;
}

void tare_wcodec_device_free(tare_wcodec_device *d) {
    if (!d) return;
    if (d->layers) tare_cache_free(d->layers);
    tare_free(d->allocator, d, device_size(d->n_layers));
}

/* Decoded bytes of a layer; 0: it is not for a device. */
static uint64_t bytes_of(const tare_wc_layer *l) {
    uint64_t n = 0;
    for (unsigned i = 0; i < l->n_regions; i++)
        if (l->region_bytes[i] > MOST_BYTES || (n += l->region_bytes[i]) > MOST_BYTES) return 0;
    return n < LEAST_BYTES ? 0 : n;
}

static tare_status decode(decoded *out, const tare_wcodec_device *d, uint32_t number,
                          const tare_wc_layer *l, tare_error *err) {
    uint8_t *at = out->bytes;
    tare_coded *coded;
    for (unsigned i = 0; i < l->n_regions; at += l->region_bytes[i++]) out->regions[i] = at;
    TARE_TRY(d->open(d->ctx, &coded, number, err));
    tare_status status =
        tare_device_decode_layer((void *const *)out->regions, d->device, coded, err);
    tare_coded_free(coded);
    return status;
}

/* Fills in the place that was taken for a layer, or gives it back. */
static bool make(tare_wcodec_device *d, tare_cached *place, uint32_t number,
                 const tare_wc_layer *l) {
    const size_t size = sizeof(decoded) + (size_t)bytes_of(l);
    tare_error err = TARE_ERROR_NONE;
    decoded *value = tare_alloc(d->allocator, size);
    tare_status status = value ? decode(value, d, number, l, &err)
                               : tare_fail(&err, TARE_ERR_NOMEM, "memory for a decoded layer");
    if (status == TARE_OK) {
        tare_cache_fill(d->layers, place, value, size);
        return true;
    }
    if (value) tare_free(d->allocator, value, size);
    atomic_store(&d->is_left[number], true);
    bool is_damage = status == TARE_ERR_CORRUPT || status == TARE_ERR_CHECKSUM;
    if (!is_damage) tare_device_leave(d->device, err.what);
    tare_cache_fail(d->layers, place);
    return false;
}

bool tare_wcodec_device_read(tare_wcodec_device *d, uint32_t number, const tare_wc_layer *layer,
                             unsigned region, uint64_t offset, void *buf, size_t n) {
    tare_cached *held;
    if (!bytes_of(layer) || !n || atomic_load(&d->is_left[number])) return false;
    tare_cache_state state = tare_cache_take(&held, d->layers, (tare_cache_key){number, 0}, true);
    if (state == TARE_CACHE_NO_MEMORY) return false;
    if (state == TARE_CACHE_TO_MAKE) {
        bool is_left = atomic_load(&d->is_left[number]); /* another thread has just failed at it */
        if (is_left) tare_cache_fail(d->layers, held);
        if (is_left || !make(d, held, number, layer)) return false;
    }
    const decoded *value = held->value;
    memcpy(buf, value->regions[region] + offset, n);
    tare_cache_release(d->layers, held);
    return true;
}
