/* SPDX-License-Identifier: MIT
 *
 * Writing layers of a .wcodec: one at a time, or all of a file by a few threads. The bytes depend
 * on the layers and the options alone. */
#ifndef TARE_WCODEC_LAYER_WC_LAYER_WRITE_H
#define TARE_WCODEC_LAYER_WC_LAYER_WRITE_H

#include "base/pool.h"
#include "wcodec/layer/wc_layer.h"

/* A layer to be written. It has everything but sizes, places and CRC, which are filled in; its
 * streams say how they are cut, and with what hints. */
typedef struct tare_wc_layer_job {
    tare_wc_layer *layer;
    tare_wc_options how; /* what holds for all streams; hints are in their fields */
    tare_wc_source own;
    const tare_wc_source *base; /* the same layer of the base model; NULL: none */
    bool may_be_whole; /* streams that make a small layer larger give way to one for each region */
    size_t number;     /* that the visitor of the run gets */
} tare_wc_layer_job;

/* Memory of one thread that writes layers. */
typedef struct tare_wc_worker {
    tare_wc_scratch scratch;
    uint8_t *room; /* a segment, its reference, its scales in both models */
    size_t room_size;
    const uint8_t
        *retained; /* all bytes of the stream at hand, where they are in memory; else NULL */
} tare_wc_worker;

void tare_wc_worker_init(tare_wc_worker *worker, const tare_allocator *allocator);
void tare_wc_worker_free(tare_wc_worker *worker);

/* Numbers of bytes and segments of the layer's streams; the list of sizes lies in the arena. */
tare_status tare_wc_measure_layer(tare_wc_layer *layer, tare_arena *arena, tare_error *err);
/* The two steps of a stream: segments are counted, in any order; then, with a scheme of what was
 * counted, each is encoded: its stored bytes are appended. */
tare_status tare_wc_tally_segment(tare_wc_tally *tally, const tare_wc_layer_job *job,
                                  unsigned stream, uint64_t segment, tare_wc_worker *worker,
                                  tare_error *err);
tare_status tare_wc_put_segment(tare_buffer *out, const tare_wc_scheme *scheme,
                                const tare_wc_layer_job *job, unsigned stream, uint64_t segment,
                                tare_wc_worker *worker, tare_error *err);
/* The first one with the stream's head in front of it, whose size is noted. */
tare_status tare_wc_put_first(tare_buffer *out, const tare_wc_scheme *scheme,
                              const tare_wc_layer_job *job, unsigned stream, tare_wc_worker *worker,
                              tare_error *err);
/* Appends the data of a small layer that has been measured, all but what pads it to a multiple of
 * 128. Fills in sizes and CRC; places are counted from where the layer begins. */
tare_status tare_wc_put_layer(tare_buffer *out, const tare_wc_layer_job *job,
                              tare_wc_worker *worker, tare_error *err);
/* Records a segment of the layer, in order: its CRC, and whether it needs the base. */
void tare_wc_note_segment(tare_wc_layer *layer, const uint8_t *segment);

/* Receives the output: at any place, from any thread, no byte twice. */
typedef struct tare_wc_target {
    tare_status (*write)(void *ctx, uint64_t offset, const uint8_t *bytes, size_t n,
                         tare_error *err);
    void *ctx;
} tare_wc_target;

/* What else is done with each layer, by one thread of the run while others encode: its bytes, which
 * are large, are read anyway. */
typedef struct tare_wc_visitor {
    tare_status (*visit)(void *ctx, size_t number, tare_error *err); /* NULL: nothing */
    void *ctx;
} tare_wc_visitor;

typedef struct tare_wc_run {
    const tare_wc_layer_job *jobs;
    size_t n_jobs;
    uint64_t
        offset; /* of the first layer, a multiple of 128; when done, of what follows the last */
    tare_context how; /* threads, progress and cancelling */
    tare_wc_visitor visitor;
    const tare_allocator *allocator;
    /* For a layer of one stream that is never there as a whole. Its segments are only counted, and
     * this is what comes of it, the caller's to free; NULL: they are encoded. */
    tare_wc_scheme **learned;
    /* They are encoded with what was learned before, without a head and what pads a layer; NULL: with
     * what is counted now. */
    tare_wc_scheme *scheme;
} tare_wc_run;

/* Writes the data of all layers, in their order. Memory: a few segments a thread, and small streams of
 * a layer or two. */
tare_status tare_wc_run_jobs(tare_wc_run *run, const tare_wc_target *target, tare_arena *arena,
                             tare_error *err);

#endif
