/* SPDX-License-Identifier: MIT
 *
 * What devices and plans are made of. */
#ifndef TARE_CUDA_WG_PLAN_H
#define TARE_CUDA_WG_PLAN_H

#include "wg_image.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Those that decode, once for each predictor; the check; two that predict, of which that by scales
 * needs what the other one makes. */
enum { WG_PREDICTORS = 3, WG_LAUNCHES = WG_PREDICTORS * WG_CHECK + 1 + 2 };

/* A kernel's jobs in the image; fast ones are told by blocks. */
typedef struct wg_launch {
    uint32_t kernel, first_job, n_jobs, first_block, n_blocks;
} wg_launch;

/* A stream of a layer that is decoded. */
typedef struct wg_planned {
    size_t layer;
    unsigned stream;
    uint64_t first, n; /* numbers of its segments */
} wg_planned;

enum { WG_NAME = 256 };

struct tare_cuda {
    int device;
    char name[WG_NAME];
};

struct tare_cuda_plan {
    uint8_t *image;
    uint64_t image_size;
    uint64_t scratch_bytes, host_bytes, decoded_bytes;
    size_t n_layers;
    uint64_t n_jobs;
    wg_launch launches[WG_LAUNCHES];
    uint32_t n_launches;
    wg_planned *planned;
    size_t n_planned;
    uint64_t *positions; /* of segments in the data of their layer, by number */
    tare_cuda_host_segment *host;
    uint64_t n_host;
    uint8_t *needs; /* of each layer: bits 0..3 regions, 4..7 bases, see below */
};

/* Fills err and returns the status. `item`: the layer; -1: none. */
tare_status wg_fail(tare_error *err, tare_status status, int64_t item, const char *what);
/* Copies the options of a caller whose struct may be shorter or longer. */
bool wg_options_read(void *out, size_t size, const void *options);

/* Whether the structs are consistent. */
tare_status wg_check_layer(const tare_cuda_layer *layer, int64_t item, tare_error *err);
tare_status wg_check_segment(const tare_coded_segment *s, const tare_cuda_layer *layer,
                             unsigned stream, uint64_t number, int64_t item, tare_error *err);
/* Whether a stream is asked for, or has the scales of one that is. */
bool wg_is_wanted(const tare_cuda_layer *layer, unsigned stream);
static inline bool wg_is_for_host(const tare_coded_segment *s) {
    return s->mode == TARE_CODED_ZSTD || s->mode == TARE_CODED_STRUCTURED;
}
/* Bytes of a stream that a unit of its region has. */
static inline uint64_t wg_unit_bytes(const tare_coded_field *f) {
    return f->join.high_bits ? (uint64_t)f->width / 2 * 3 : f->width;
}

void wg_make_table(wg_table *out, const tare_coded_table *t);
void wg_make_stream(wg_stream *out, uint32_t layer, const tare_coded_field *f);
/* All but `number`, `stream` and `scratch`. */
void wg_make_job(wg_job *out, const tare_coded_segment *s, const tare_cuda_layer *layer,
                 unsigned stream, uint64_t segment, const tare_cuda_plan_options *options);

#ifdef __cplusplus
}
#endif
#endif
