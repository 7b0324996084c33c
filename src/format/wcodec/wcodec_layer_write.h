/* SPDX-License-Identifier: MIT
 *
 * Writing layers of a .wcodec: one at a time, or all of a file by a few threads. The bytes depend
 * on the layers and the options alone. */
#ifndef TARE_FORMAT_WCODEC_WCODEC_LAYER_WRITE_H
#define TARE_FORMAT_WCODEC_WCODEC_LAYER_WRITE_H

#include "format/wcodec/wcodec_layer.h"

/* A layer to be written. It says all but sizes, places and CRC, which are filled in; its planes say
 * how they are cut, `options` (one for each plane) how to look for the smallest form. */
typedef struct tare_wcodec_job {
    tare_wcodec_layer *layer;
    const tare_wc_options *options;
    tare_wcodec_source own;
    const tare_wcodec_source *base; /* the same layer of the base model; NULL: none */
    bool may_be_whole; /* planes that make a small layer larger give way to one for each region */
} tare_wcodec_job;

/* Memory of one thread that writes layers. */
typedef struct tare_wcodec_worker {
    tare_wc_scratch scratch;
    uint8_t *room; /* a segment, its reference, its scales in both models */
    size_t room_size;
} tare_wcodec_worker;

void tare_wcodec_worker_init(tare_wcodec_worker *worker, const tare_allocator *allocator);
void tare_wcodec_worker_free(tare_wcodec_worker *worker);

/* Numbers of bytes and segments of the layer's planes; the list of sizes lies in the arena. */
tare_status tare_wcodec_measure_layer(tare_wcodec_layer *layer, tare_arena *arena, tare_error *err);
/* The two steps of a plane: segments are counted, in any order; then, with a plan of what was
 * counted, each is encoded: its stored bytes are appended. */
tare_status tare_wcodec_tally_segment(tare_wc_tally *tally, const tare_wcodec_job *job,
                                      unsigned plane, uint64_t segment, tare_wcodec_worker *worker,
                                      tare_error *err);
tare_status tare_wcodec_put_segment(tare_buffer *out, const tare_wc_plan *plan,
                                    const tare_wcodec_job *job, unsigned plane, uint64_t segment,
                                    tare_wcodec_worker *worker, tare_error *err);
/* The first one with the plane's head in front of it, whose size is noted. */
tare_status tare_wcodec_put_first(tare_buffer *out, const tare_wc_plan *plan,
                                  const tare_wcodec_job *job, unsigned plane,
                                  tare_wcodec_worker *worker, tare_error *err);
/* Appends the data of a small layer that has been measured, all but what pads it to a multiple of
 * 128. Fills in sizes and CRC; places are counted from where the layer begins. */
tare_status tare_wcodec_put_layer(tare_buffer *out, const tare_wcodec_job *job,
                                  tare_wcodec_worker *worker, tare_error *err);
/* Takes note of a segment of the layer, in their order: its CRC, whether it needs the base. */
void tare_wcodec_note_segment(tare_wcodec_layer *layer, const uint8_t *segment);

/* Takes what is written: any place, from any thread, no byte twice. */
typedef struct tare_wcodec_target {
    tare_status (*write)(void *ctx, uint64_t offset, const uint8_t *bytes, size_t n,
                         tare_error *err);
    void *ctx;
} tare_wcodec_target;

typedef struct tare_wcodec_run {
    const tare_wcodec_job *jobs;
    size_t n_jobs;
    uint64_t
        offset; /* of the first layer, a multiple of 128; when done, of what follows the last */
    unsigned threads;
    const tare_allocator *allocator;
    tare_progress_fn progress;
    void *progress_ctx;
    tare_parallel_fn parallel; /* the caller's threads; NULL: our own */
    void *parallel_ctx;
} tare_wcodec_run;

/* Writes the data of all layers, in their order. Memory: a few segments a thread. */
tare_status tare_wcodec_run_jobs(tare_wcodec_run *run, const tare_wcodec_target *target,
                                 tare_arena *arena, tare_error *err);

#endif
