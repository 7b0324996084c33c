/* SPDX-License-Identifier: MIT
 *
 * What is reported while layers are read. */
#ifndef TARE_WCODEC_LAYER_WC_WATCH_H
#define TARE_WCODEC_LAYER_WC_WATCH_H

#include <tare/base.h>

#define TARE_WC_ALL_SEGMENTS UINT64_MAX

/* Called by any thread. */
typedef struct tare_wc_watch {
    /* A segment (or, where the head is damaged, all of a stream) cannot be decoded and is taken as
     * zeros. NULL: the first fault ends the reading. */
    void (*lost)(void *ctx, uint64_t layer, unsigned stream, uint64_t segment,
                 const tare_error *fault);
    /* Some segment of the layer was read in part. May be NULL. */
    void (*coarse)(void *ctx, uint64_t layer);
    void *ctx;
} tare_wc_watch;

#endif
