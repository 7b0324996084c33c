/* SPDX-License-Identifier: MIT
 *
 * The flag that stops calls. */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/pool.h"

struct tare_cancel {
    atomic_int is_requested; /* int: lock-free everywhere, so fit for signal handlers */
};

tare_cancel *tare_cancel_new(void) {
    tare_cancel *c = malloc(sizeof *c);
    if (c) atomic_init(&c->is_requested, 0);
    return c;
}

void tare_cancel_free(tare_cancel *cancel) {
    free(cancel);
}

void tare_cancel_request(tare_cancel *cancel) {
    atomic_store(&cancel->is_requested, 1);
}

void tare_cancel_reset(tare_cancel *cancel) {
    atomic_store(&cancel->is_requested, 0);
}

bool tare_cancel_is_requested(const tare_cancel *cancel) {
    return atomic_load_explicit(&cancel->is_requested, memory_order_relaxed) != 0;
}

tare_status tare_cancel_check(const tare_cancel *cancel, tare_error *err) {
    if (!cancel || !tare_cancel_is_requested(cancel)) return TARE_OK;
    return tare_fail(err, TARE_ERR_CANCELLED, "cancelled");
}
