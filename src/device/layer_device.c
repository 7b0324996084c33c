/* SPDX-License-Identifier: MIT
 *
 * Devices: opened by their names, their memory, and the count of what they did. */
#include "device/layer_device.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

TARE_DEFINE_INIT(tare_device_counts)

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
    d->number = (unsigned)number;
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
    tare_cuda_stage *stage = atomic_load(&d->idle_stage);
    if (stage) d->library.stage_free(stage);
    d->library.close(d->cuda);
    tare_free(NULL, d, sizeof *d);
}

const char *tare_device_name(const tare_device *d) {
    return d->library.name(d->cuda);
}

unsigned tare_device_number(const tare_device *d) {
    return d->number;
}

/* ---- memory ---------------------------------------------------------------------------------- */

tare_status tare_device_alloc(void **out, tare_device *d, size_t n, tare_error *err) {
    TARE_REQUIRE(out && d, err);
    *out = NULL;
    return d->library.alloc(out, d->cuda, n, err);
}

void tare_device_release(tare_device *d, void *memory) {
    if (d && memory) d->library.release(d->cuda, memory);
}

tare_status tare_device_upload(void *memory, tare_device *d, const void *from, size_t n,
                               tare_error *err) {
    TARE_REQUIRE(d && (!n || (memory && from)), err);
    return n ? d->library.upload(memory, d->cuda, from, n, err) : TARE_OK;
}

tare_status tare_device_download(void *to, tare_device *d, const void *memory, size_t n,
                                 tare_error *err) {
    TARE_REQUIRE(d && (!n || (memory && to)), err);
    return n ? d->library.download(to, d->cuda, memory, n, err) : TARE_OK;
}

/* ---- counts ---------------------------------------------------------------------------------- */

void tare_device_leave(tare_device *d, const char *why) {
    const char *none = NULL;
    atomic_compare_exchange_strong(&d->reason, &none, why);
    atomic_fetch_add(&d->n_left, 1);
}

void tare_device_done(tare_device *d, uint64_t n_layers, const tare_cuda_needs *needs) {
    atomic_fetch_add(&d->n_layers, n_layers);
    atomic_fetch_add(&d->n_bytes, needs->decoded_bytes);
    atomic_fetch_add(&d->n_segments, needs->n_segments);
    atomic_fetch_add(&d->n_host_segments, needs->n_host_segments);
}

tare_status tare_device_count(tare_device_counts *out, const tare_device *d) {
    tare_error err;
    TARE_REQUIRE(out && d, &err);
    TARE_TRY(tare_result_check(out, &err));
    const tare_device_counts counts = {sizeof counts,
                                       atomic_load(&d->n_layers),
                                       atomic_load(&d->n_bytes),
                                       atomic_load(&d->n_left),
                                       atomic_load(&d->reason),
                                       atomic_load(&d->n_segments),
                                       atomic_load(&d->n_host_segments)};
    tare_result_write(out, &counts, sizeof counts);
    return TARE_OK;
}
