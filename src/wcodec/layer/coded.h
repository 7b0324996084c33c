/* SPDX-License-Identifier: MIT
 *
 * What the parts of include/tare/experimental/wcodec.h share. */
#ifndef TARE_WCODEC_LAYER_CODED_H
#define TARE_WCODEC_LAYER_CODED_H

#include <tare/experimental/wcodec.h>

#include "base/pool.h"
#include "wcodec/layer/wc_layer_write.h"

struct tare_coded {
    const tare_allocator *allocator;
    tare_arena arena;
    tare_wc_layer layer; /* its data begins at 0 of `file` */
    tare_coded_head *heads;
    tare_coded_layer described;
    tare_buffer owned;     /* what was encoded here; empty where the data is the caller's */
    tare_reader memory;    /* the data, where it is in memory */
    tare_wc_opened opened; /* of memory, or of a container */
    tare_reader base_readers[TARE_CODED_MAX_REGIONS];
    tare_wc_source base;
};

_Static_assert(sizeof((tare_coded_join *)0)->place == (size_t)TARE_WC_MAX_JOIN, "joins");

/* A layer of a file, from byte layer->offset on; both must outlive *out. `base` is NULL if the
 * layer needs none or it is not available. Reads the heads. */
tare_status tare_coded_in_file(tare_coded **out, const tare_wc_layer *layer,
                               const tare_reader *file, const tare_wc_source *base,
                               const tare_allocator *allocator, tare_error *err);
/* The heads of the opened layer in their public form. */
tare_status tare_coded_make_heads(tare_coded *coded, tare_error *err);
/* The stream that a field requests, in a region of the given size, as far as it can be told before
 * the cut is checked. */
void tare_coded_complete(tare_coded_stream *stream, const tare_coded_field *field,
                         uint64_t region_bytes);
/* Whether the field's requirements can be met. */
tare_status tare_coded_field_check(const tare_coded_field *field, tare_error *err);
/* A work list with the caller's settings for threads and progress. */
tare_run tare_coded_run(const tare_coded_options *o, uint64_t n_tasks, tare_task_fn task, void *ctx,
                        uint64_t total, _Atomic uint64_t *done);
/* As many threads as a run may have: workers' memory is made for them. */
unsigned tare_coded_threads(const tare_coded_options *o);

#endif
