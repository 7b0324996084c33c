/* SPDX-License-Identifier: MIT
 *
 * A build that opens no URLs. */
#include "base/status.h"
#include "remote/transport.h"

#if !TARE_HAS_TRANSPORT
tare_status tare_transport_new(tare_transport **out, const tare_remote_options *options,
                               tare_error *err) {
    (void)options;
    *out = NULL;
    return tare_fail(err, TARE_ERR_UNSUPPORTED,
                     "this build of tare opens no URLs; Debian's packages, the wheels and builds "
                     "from source do, with libcurl");
}

void tare_transport_free(tare_transport *t) {
    (void)t;
}

bool tare_transport_start(tare_transport *t, tare_exchange *x) {
    (void)t, (void)x;
    return false;
}

tare_exchange *tare_transport_step(tare_transport *t, int timeout_ms) {
    (void)t, (void)timeout_ms;
    return NULL;
}

void tare_transport_release(tare_transport *t, tare_exchange *x) {
    (void)t, (void)x;
}

void tare_transport_wake(tare_transport *t) {
    (void)t;
}

#else
typedef int tare_has_transport; /* a source may not be empty */
#endif
