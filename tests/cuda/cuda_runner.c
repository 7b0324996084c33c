/* SPDX-License-Identifier: MIT
 *
 * See cuda_runner.h. */
#include "cuda_runner.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/wg_plan.h"

/* All that is in use, freed at once. */
typedef struct running {
    const tare_coded *coded;
    const tare_coded_layer *layer;
    const tare_coded_head *heads[TARE_CODED_MAX_STREAMS];
    tare_coded_segment *segments[TARE_CODED_MAX_STREAMS];
    tare_cuda *cuda;
    tare_cuda_plan *plan;
    tare_cuda_batch *batch;
    tare_cuda_buffers buffers;
    void *memory[2 * TARE_CODED_MAX_REGIONS + 2]; /* of the device */
    size_t n_memory;
    void *host_area;
} running;

static void *check(void *memory) {
    if (!memory) abort();
    return memory;
}

static tare_status to_device(void **out, running *r, const void *bytes, size_t n, tare_error *err) {
    tare_status status = tare_cuda_alloc(out, r->cuda, n, err);
    if (status != TARE_OK) return status;
    r->memory[r->n_memory++] = *out;
    return n && bytes ? tare_cuda_upload(*out, r->cuda, bytes, n, err) : TARE_OK;
}

static tare_status parse(running *r, tare_error *err) {
    for (unsigned i = 0; i < r->layer->n_streams; i++) {
        const tare_coded_stream *p = &r->layer->streams[i];
        r->heads[i] = tare_coded_stream_head(r->coded, i);
        r->segments[i] = check(calloc((size_t)p->n_segments + 1, sizeof *r->segments[i]));
        for (uint64_t s = 0; s < p->n_segments; s++) {
            tare_coded_segment_init(&r->segments[i][s], sizeof r->segments[i][s]);
            tare_status status = tare_coded_parse_segment(&r->segments[i][s], r->coded, i, s, err);
            if (status != TARE_OK) return status;
        }
    }
    return TARE_OK;
}

/* Segments for the host, decoded there. */
static tare_status fill_host_area(running *r, const tare_cuda_needs *needs, tare_error *err) {
    tare_cuda_host_segment h;
    uint8_t *area = check(calloc(1, (size_t)needs->host_bytes + 1));
    tare_status status = TARE_OK;
    for (uint64_t i = 0; status == TARE_OK && tare_cuda_plan_host_segment(&h, r->plan, i); i++) {
        uint8_t *bytes = check(malloc(h.n_bytes));
        status = tare_coded_decode_segments(bytes, r->coded, h.stream, h.segment, 1, NULL, err);
        memcpy(area + h.position, bytes, h.n_bytes);
        free(bytes);
    }
    if (status == TARE_OK && needs->host_bytes)
        status = to_device(&r->host_area, r, area, (size_t)needs->host_bytes, err);
    free(area);
    return status;
}

static tare_status set_up(running *r, const void *const *bases, const cuda_how *how,
                          cuda_counts *counts, tare_error *err) {
    tare_cuda_plan_options o = tare_cuda_plan_options_default();
    tare_cuda_needs needs = tare_cuda_needs_default();
    const tare_cuda_layer layer = {r->layer, r->heads,
                                   (const tare_coded_segment *const *)r->segments, how->streams};
    void *stored;
    o.is_coarse = how->is_coarse;
    o.n_groups = how->n_groups;
    o.is_general = how->is_general;
    tare_status status = parse(r, err);
    if (status == TARE_OK) status = tare_cuda_plan_new(&r->plan, &layer, 1, &o, err);
    if (status == TARE_OK) status = tare_cuda_open(&r->cuda, 0, err);
    if (status != TARE_OK) return status;
    tare_cuda_plan_needs(&needs, r->plan);
    *counts = (cuda_counts){needs.n_segments, needs.n_host_segments, 0};
    for (uint32_t i = 0; i < r->plan->n_launches; i++)
        counts->kernels |= 1u << r->plan->launches[i].kernel;
    uint8_t *bytes = check(malloc((size_t)r->layer->size + 1));
    status = tare_coded_read(bytes, r->coded, 0, (size_t)r->layer->size, err);
    if (status == TARE_OK) status = to_device(&stored, r, bytes, (size_t)r->layer->size, err);
    free(bytes);
    if (status == TARE_OK) r->buffers.stored = stored;
    for (unsigned i = 0; status == TARE_OK && i < r->layer->n_regions; i++) {
        size_t n = (size_t)r->layer->region_bytes[i];
        status = to_device(&r->buffers.regions[i], r, NULL, n, err);
        void *base = NULL;
        if (status == TARE_OK && bases) status = to_device(&base, r, bases[i], n, err);
        r->buffers.bases[i] = base;
    }
    return status == TARE_OK ? fill_host_area(r, &needs, err) : status;
}

static tare_status run(running *r, uint8_t *const *regions, const cuda_how *how,
                       tare_cuda_fault *fault, tare_error *err) {
    tare_cuda_decode_options o = tare_cuda_decode_options_default();
    o.without_crc = how->without_crc;
    for (unsigned i = 0; i < r->layer->n_regions; i++) /* what is not decoded stays */
        tare_cuda_upload(r->buffers.regions[i], r->cuda, regions[i],
                         (size_t)r->layer->region_bytes[i], err);
    tare_status status =
        tare_cuda_batch_new(&r->batch, r->cuda, r->plan, &r->buffers, r->host_area, err);
    if (status == TARE_OK)
        status = (how->decode ? how->decode : tare_cuda_decode)(r->batch, &o, err);
    if (status == TARE_OK) status = tare_cuda_finish(fault, r->batch, err);
    for (unsigned i = 0; i < r->layer->n_regions; i++) {
        size_t n = (size_t)r->layer->region_bytes[i];
        if (n) tare_cuda_download(regions[i], r->cuda, r->buffers.regions[i], n, NULL);
    }
    return status;
}

tare_status cuda_decode(uint8_t *const *regions, const tare_coded *coded, const void *const *bases,
                        const cuda_how *how, cuda_counts *counts, tare_cuda_fault *fault,
                        tare_error *err) {
    running r = {.coded = coded, .layer = tare_coded_describe(coded)};
    tare_status status = set_up(&r, bases, how, counts, err);
    if (status == TARE_OK) status = run(&r, regions, how, fault, err);
    tare_cuda_batch_free(r.batch);
    for (size_t i = 0; i < r.n_memory; i++) tare_cuda_release(r.cuda, r.memory[i]);
    tare_cuda_plan_free(r.plan);
    tare_cuda_close(r.cuda);
    for (unsigned i = 0; i < TARE_CODED_MAX_STREAMS; i++) free(r.segments[i]);
    return status;
}
