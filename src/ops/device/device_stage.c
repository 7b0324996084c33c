/* SPDX-License-Identifier: MIT
 *
 * While the device copies from one buffer, threads fill the next. */
#include "ops/device/device_stage.h"

#include <string.h>
#include <tare/read.h>

#include "base/arith.h"
#include "base/pool.h"
#include "ops/steps.h"

enum { BUFFERS = 4, BUFFER = 16 << 20, PIECE = 1 << 20 /* that a thread reads at once */ };

tare_status tare_staging_open(tare_staging *s, tare_device *device, const tare_model *model,
                              const tare_device_load_options *options, tare_error *err) {
    *s = (tare_staging){.device = device, .model = model, .options = options};
    s->stage = atomic_exchange(&device->idle_stage, NULL);
    if (s->stage) return TARE_OK;
    return device->library.stage_new(&s->stage, device->cuda, BUFFER, BUFFERS, err);
}

void tare_staging_close(tare_staging *s) {
    tare_cuda_stage *none = NULL;
    if (!s->stage || atomic_compare_exchange_strong(&s->device->idle_stage, &none, s->stage))
        return;
    s->device->library.stage_free(s->stage);
}

/* A buffer that is being filled with bytes of a layer. */
typedef struct filling {
    const tare_staged_source *source;
    uint8_t *dst;
    uint64_t offset, n;
} filling;

static tare_status read_piece(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    const filling *f = ctx;
    const uint64_t at = task * PIECE;
    const size_t n = (size_t)tare_min_u64(PIECE, f->n - at);
    (void)worker;
    if (f->source->is_base)
        return tare_coded_read_base(f->dst + at, f->source->coded, f->source->region,
                                    f->offset + at, n, err);
    return tare_coded_read(f->dst + at, f->source->coded, f->offset + at, n, err);
}

static tare_status fill_from_layer(const filling *f, const tare_staging *s, tare_error *err) {
    filling own = *f;
    const tare_run run = {.context = tare_steps_context_quiet(s->options->context),
                          .n_tasks = tare_ceil_div_u64(f->n, PIECE),
                          .task = read_piece,
                          .ctx = &own};
    return tare_run_parallel(&run, err);
}

static tare_status fill_from_tensor(const filling *f, const tare_staging *s, tare_error *err) {
    tare_read_job job = tare_read_job_default();
    tare_read_options o = tare_read_options_default();
    job.tensor = f->source->tensor;
    job.plane = f->source->plane;
    job.offset = f->offset;
    job.n_bytes = f->n;
    job.dst = f->dst;
    const tare_context context = tare_steps_context_quiet(s->options->context);
    o.context = &context;
    return tare_read_many(s->model, &job, 1, &o, err);
}

tare_status tare_staging_send(void *to, const tare_staging *s, const tare_staged_source *source,
                              uint64_t n, void *stream, tare_error *err) {
    const tare_cuda_library *l = &s->device->library;
    for (uint64_t at = 0; at < n; at += BUFFER) {
        void *buffer;
        TARE_TRY(l->stage_next(&buffer, s->stage, err));
        const filling f = {source, buffer, at, tare_min_u64(BUFFER, n - at)};
        TARE_TRY(source->coded ? fill_from_layer(&f, s, err) : fill_from_tensor(&f, s, err));
        TARE_TRY(l->stage_send((uint8_t *)to + at, s->stage, (size_t)f.n, stream, err));
    }
    return TARE_OK;
}
