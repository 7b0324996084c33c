/* SPDX-License-Identifier: MIT
 *
 * What unpacking did not give back, told by the threads that read. */
#ifndef TARE_OPS_UNPACK_LOSSES_H
#define TARE_OPS_UNPACK_LOSSES_H

#include <tare/unpack.h>

#include <pthread.h>

#include "format/wcodec_virtual.h"

/* A segment that could not be decoded. */
typedef struct tare_loss {
    uint64_t layer, segment; /* TARE_WCODEC_ALL_SEGMENTS: all of the plane */
    unsigned plane;
    tare_error fault;
} tare_loss;

/* What threads tell of while they read. */
typedef struct tare_losses {
    const tare_allocator *allocator;
    pthread_mutex_t mutex;
    tare_loss *items;
    size_t n, capacity;
    size_t n_untold;         /* for which there was no memory */
    _Atomic bool *is_coarse; /* of each layer; NULL: not asked for */
    tare_wcodec_watch watch;
} tare_losses;

tare_status tare_losses_init(tare_losses *l, const tare_wcodec_index *index,
                             const tare_unpack_options *options, tare_error *err);
void tare_losses_free(tare_losses *l, const tare_wcodec_index *index);
/* Reports what was lost, in the order of the container, and counts it. */
void tare_losses_report(tare_losses *l, const tare_wcodec_index *index, tare_report *report,
                        tare_unpack_result *result);
/* Reports the tensors that came back whole though fewer bits were asked for, and counts. ERR_
 * UNSUPPORTED: all of them, or `strict` and some. */
tare_status tare_losses_check_coarse(const tare_losses *l, const tare_wcodec_index *index,
                                     const tare_unpack_options *options, tare_unpack_result *result,
                                     tare_error *err);

#endif
