/* SPDX-License-Identifier: MIT
 *
 * Tensors into a device's memory. Layers are put into groups, two of which are at work: while one is
 * copied and decoded, each on a stream of its own, the stored bytes of the other are read. What the
 * device does not decode is read and decoded here, and copied. */
#include <stdlib.h>
#include <string.h>
#include <tare/experimental/unpack.h>

#include "base/alloc.h"
#include "base/arith.h"
#include "base/pool.h"
#include "device/device_parts.h"
#include "model/catalog.h"
#include "ops/device/device_stage.h"

enum { GROUPS = 2, MOST_MEMBERS = 256, ALIGNED = 256 };
#define USUAL_WINDOW (UINT64_C(128) << 20)

TARE_DEFINE_INIT(tare_device_job)
TARE_DEFINE_INIT(tare_device_load_options)

/* A layer of a group. */
typedef struct member {
    const tare_device_job *job;
    tare_coded *coded;
    tare_device_parts parts;
    uint64_t stored, bases[TARE_CODED_MAX_REGIONS]; /* places in the group's memory */
    tare_cuda_buffers buffers;
} member;

typedef struct group {
    void *stream;
    uint8_t *memory; /* of the device: stored bytes, bases, the host area, the batch */
    uint64_t memory_bytes, used;
    uint64_t host_area;
    member members[MOST_MEMBERS];
    size_t n;
    tare_cuda_plan *plan;
    tare_cuda_batch *batch;
    tare_cuda_needs needs;
} group;

typedef struct loading {
    tare_device *device;
    const tare_model *model;
    tare_device_load_options options;
    tare_context context; /* of the options */
    tare_staging staging;
    group *groups;
    unsigned current;
    uint64_t done, total;
    tare_error *err;
} loading;

static uint64_t take_place(group *g, uint64_t n) {
    const uint64_t at = g->used;
    g->used += (n + ALIGNED - 1) / ALIGNED * ALIGNED;
    return at;
}

/* Bytes of a tensor have reached the device, or are on their way. */
static tare_status report(loading *l, uint64_t n) {
    const tare_device_load_options *o = &l->options;
    l->done += n;
    if (o->context->progress && o->context->progress(o->context->progress_ctx, l->done, l->total))
        return tare_fail(l->err, TARE_ERR_CANCELLED, "cancelled");
    return tare_cancel_check(o->context->cancel, l->err);
}

static tare_status blame(tare_status status, const loading *l, const tare_device_job *job) {
    if (status != TARE_OK && status != TARE_ERR_CANCELLED)
        tare_error_item(l->err, TARE_ITEM_TENSOR, (int64_t)job->tensor,
                        tare_model_tensor(l->model, job->tensor)->name);
    return status;
}

/* ---- tensors that are read here -------------------------------------------------------------- */

static tare_status load_planes(loading *l, const tare_device_job *job) {
    const tare_tensor *t = tare_model_tensor(l->model, job->tensor);
    for (uint32_t p = 0; p < TARE_MAX_PLANES; p++) {
        const tare_staged_source source = {.tensor = job->tensor, .plane = p};
        const uint64_t n = p < t->encoding->n_planes || p == 0 ? t->planes[p].size : 0;
        TARE_TRY(blame(tare_staging_send(job->planes[p], &l->staging, &source, n,
                                         l->groups[l->current].stream, l->err),
                       l, job));
    }
    return report(l, t->size_bytes);
}

static tare_status leave(loading *l, const tare_device_job *job, const char *why) {
    tare_device_leave(l->device, why);
    return load_planes(l, job);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static void close_member(member *m) {
    tare_device_parts_close(&m->parts);
    tare_coded_free(m->coded);
    *m = (member){0};
}

static void empty(const loading *l, group *g) {
    l->device->library.batch_free(g->batch);
    l->device->library.plan_free(g->plan);
    g->batch = NULL;
    g->plan = NULL;
    for (size_t i = 0; i < g->n; i++) close_member(&g->members[i]);
    g->n = 0;
    g->used = 0;
}

/* Waits for a group that is at work. */
static tare_status finish(loading *l, group *g) {
    tare_cuda_fault fault = (tare_cuda_fault){.size = sizeof(tare_cuda_fault)};
    uint64_t n = 0;
    if (!g->batch) return TARE_OK;
    tare_status status = l->device->library.finish(&fault, g->batch, l->err);
    if (status == TARE_OK) {
        tare_device_done(l->device, g->n, &g->needs);
        for (size_t i = 0; i < g->n; i++)
            n += tare_model_tensor(l->model, g->members[i].job->tensor)->size_bytes;
    } else if (fault.n_faults) {
        const member *m = &g->members[fault.layer];
        if (l->err) l->err->offset = m->parts.layer->offset + fault.position;
        if (m->parts.layer->file) tare_error_file(l->err, m->parts.layer->file);
        if (l->err) l->err->item = -1;
        blame(status, l, m->job);
    }
    empty(l, g);
    return status == TARE_OK ? report(l, n) : status;
}

static tare_status make_room(const loading *l, group *g) {
    void *memory;
    if (g->used <= g->memory_bytes) return TARE_OK;
    tare_device_release(l->device, g->memory);
    g->memory = NULL;
    g->memory_bytes = 0;
    TARE_TRY(tare_device_alloc(&memory, l->device, (size_t)g->used, l->err));
    g->memory = memory;
    g->memory_bytes = g->used;
    return TARE_OK;
}

/* A layer that libtare_cuda has no kernels for leaves the group. */
static tare_status remove_member(loading *l, group *g, size_t i, const char *why) {
    const tare_device_job *job = g->members[i].job;
    close_member(&g->members[i]);
    memmove(&g->members[i], &g->members[i + 1], (--g->n - i) * sizeof *g->members);
    return leave(l, job, why);
}

static tare_status make_plan(loading *l, group *g) {
    tare_cuda_layer layers[MOST_MEMBERS];
    const tare_cuda_library *lib = &l->device->library;
    tare_error fault = TARE_ERROR_NONE;
    for (;;) {
        for (size_t i = 0; i < g->n; i++) layers[i] = tare_device_parts_layer(&g->members[i].parts);
        tare_status status = lib->plan_new(&g->plan, layers, g->n, NULL, &fault);
        if (status == TARE_OK) break;
        if (status != TARE_ERR_UNSUPPORTED || fault.item < 0 || (size_t)fault.item >= g->n) {
            if (l->err) *l->err = fault;
            return status;
        }
        TARE_TRY(remove_member(l, g, (size_t)fault.item, fault.what));
    }
    g->needs = (tare_cuda_needs){.size = sizeof(tare_cuda_needs)};
    return lib->plan_needs(&g->needs, g->plan);
}

static void lay_out(group *g) {
    for (size_t i = 0; i < g->n; i++) {
        member *m = &g->members[i];
        m->stored = take_place(g, m->parts.layer->size);
        for (unsigned r = 0; m->parts.refers_to_base && r < m->parts.layer->n_regions; r++)
            m->bases[r] = take_place(g, m->parts.layer->region_bytes[r]);
    }
    g->host_area = take_place(g, g->needs.host_bytes);
}

static tare_status send_member(const loading *l, const group *g, member *m) {
    tare_staged_source source = {.coded = m->coded};
    m->buffers.stored = g->memory + m->stored;
    TARE_TRY(tare_staging_send(g->memory + m->stored, &l->staging, &source, m->parts.layer->size,
                               g->stream, l->err));
    source.is_base = true;
    for (unsigned r = 0; m->parts.refers_to_base && r < m->parts.layer->n_regions; r++) {
        uint8_t *to = g->memory + m->bases[r];
        source.region = r;
        m->buffers.bases[r] = to;
        TARE_TRY(tare_staging_send(to, &l->staging, &source, m->parts.layer->region_bytes[r],
                                   g->stream, l->err));
    }
    return TARE_OK;
}

static tare_status send_host_area(const loading *l, const group *g) {
    const size_t n = (size_t)g->needs.host_bytes;
    tare_cuda_host_segment h;
    if (!n) return TARE_OK;
    uint8_t *area = tare_alloc(l->options.context->allocator, n);
    if (!area) return tare_fail(l->err, TARE_ERR_NOMEM, "segments of layers");
    memset(area, 0, n);
    tare_status status = TARE_OK;
    for (uint64_t i = 0; status == TARE_OK && l->device->library.plan_host_segment(&h, g->plan, i);
         i++)
        status = tare_device_parts_decode(area + h.position, &g->members[h.layer].parts, h.stream,
                                          h.segment, l->err);
    if (status == TARE_OK)
        status = tare_device_upload(g->memory + g->host_area, l->device, area, n, l->err);
    tare_free(l->options.context->allocator, area, n);
    return status;
}

/* Reads a group and enqueues the rest. */
static tare_status start(loading *l, group *g) {
    tare_cuda_buffers buffers[MOST_MEMBERS];
    tare_cuda_decode_options o =
        (tare_cuda_decode_options){.size = sizeof(tare_cuda_decode_options)};
    const tare_cuda_library *lib = &l->device->library;
    if (!g->n) return TARE_OK;
    TARE_TRY(make_plan(l, g));
    lay_out(g);
    const uint64_t image = take_place(g, g->needs.image_bytes);
    TARE_TRY(make_room(l, g));
    TARE_TRY(send_host_area(l, g));
    for (size_t i = 0; i < g->n; i++) {
        TARE_TRY(blame(send_member(l, g, &g->members[i]), l, g->members[i].job));
        buffers[i] = g->members[i].buffers;
    }
    TARE_TRY(lib->batch_new_at(&g->batch, l->device->cuda, g->plan, buffers,
                               g->memory + g->host_area, g->memory + image, g->stream, l->err));
    o.stream = g->stream;
    return lib->decode(g->batch, &o, l->err);
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Whether regions are planes, so that the device decodes into them. */
static bool set_regions(member *m, const tare_coded_place *places, const tare_tensor *t) {
    const tare_coded_layer *about = tare_coded_describe(m->coded);
    bool is_seen[TARE_CODED_MAX_REGIONS] = {false};
    const uint32_t n_planes = t->encoding->n_planes ? t->encoding->n_planes : 1;
    for (uint32_t p = 0; p < n_planes; p++) {
        const unsigned r = places[p].region;
        if (!t->planes[p].size) continue;
        if (places[p].offset || is_seen[r] || about->region_bytes[r] != t->planes[p].size)
            return false;
        is_seen[r] = true;
        m->buffers.regions[r] = m->job->planes[p];
    }
    for (unsigned r = 0; r < about->n_regions; r++)
        if (about->region_bytes[r] && !is_seen[r]) return false;
    return true;
}

/* Opens the layer of a tensor as a member. *is_member false: it is loaded in another way. */
static tare_status open_member(bool *is_member, loading *l, member *m, const tare_device_job *job) {
    const tare_tensor *t = tare_model_tensor(l->model, job->tensor);
    tare_coded_place places[TARE_MAX_PLANES] = {{0, 0}};
    tare_error fault = TARE_ERROR_NONE;
    *is_member = false;
    *m = (member){.job = job};
    if (!t->size_bytes) return TARE_OK;
    tare_status status = tare_tensor_coded(&m->coded, places, l->model, job->tensor, NULL, &fault);
    if (status == TARE_ERR_UNSUPPORTED) return leave(l, job, fault.what);
    if (status == TARE_OK && tare_model_is_big_endian(l->model)) {
        close_member(m);
        return leave(l, job, "tensors of the other byte order");
    }
    if (status == TARE_OK && !set_regions(m, places, t)) {
        close_member(m);
        return leave(l, job, "planes that are not regions");
    }
    if (status == TARE_OK) status = tare_device_parts_open(&m->parts, m->coded, &fault);
    *is_member = status == TARE_OK;
    if (status == TARE_OK) return TARE_OK;
    close_member(m);
    if (l->err) *l->err = fault;
    return blame(status, l, job);
}

static tare_status next_group(loading *l) {
    TARE_TRY(start(l, &l->groups[l->current]));
    l->current = (l->current + 1) % GROUPS;
    return finish(l, &l->groups[l->current]);
}

static tare_status load_tensor(loading *l, const tare_device_job *job) {
    group *g = &l->groups[l->current];
    tare_container_info container = tare_container_info_default();
    bool is_member;
    if (!tare_model_container(&container, l->model)) return load_planes(l, job);
    TARE_TRY(open_member(&is_member, l, &g->members[g->n], job));
    if (!is_member) return TARE_OK;
    g->used += g->members[g->n++].parts.layer->size; /* until it is laid out */
    if (g->used < l->options.window && g->n < MOST_MEMBERS) return TARE_OK;
    g->used = 0;
    return next_group(l);
}

/* ---- all ------------------------------------------------------------------------------------- */

static tare_status read_jobs(loading *l, const tare_device_job *jobs, size_t n) {
    for (size_t i = 0; i < n; i++) {
        TARE_REQUIRE(jobs[i].size == sizeof *jobs, l->err);
        const tare_tensor *t = tare_model_tensor(l->model, jobs[i].tensor);
        TARE_REQUIRE(t, l->err);
        for (uint32_t p = 0; p < t->encoding->n_planes || p == 0; p++)
            if (t->planes[p].size && (!jobs[i].planes[p] || (uintptr_t)jobs[i].planes[p] % 4))
                return blame(tare_fail(l->err, TARE_ERR_ARG, "plane: NULL, or not aligned to 4"), l,
                             &jobs[i]);
        l->total += t->size_bytes;
    }
    return TARE_OK;
}

static tare_status open_loading(loading *l) {
    const tare_cuda_library *lib = &l->device->library;
    l->groups = tare_alloc(l->options.context->allocator, GROUPS * sizeof *l->groups);
    if (!l->groups) return tare_fail(l->err, TARE_ERR_NOMEM, "groups of layers");
    memset(l->groups, 0, GROUPS * sizeof *l->groups);
    TARE_TRY(lib->stream_wait(l->device->cuda, l->options.stream, l->err));
    for (unsigned i = 0; i < GROUPS; i++)
        TARE_TRY(lib->stream_new(&l->groups[i].stream, l->device->cuda, l->err));
    return tare_staging_open(&l->staging, l->device, l->model, &l->options, l->err);
}

static tare_status load_all(loading *l, const tare_device_job *jobs, size_t n) {
    for (size_t i = 0; i < n; i++) TARE_TRY(load_tensor(l, &jobs[i]));
    l->groups[l->current].used = 0;
    TARE_TRY(next_group(l));
    TARE_TRY(next_group(l));
    for (unsigned i = 0; i < GROUPS; i++)
        TARE_TRY(l->device->library.stream_wait(l->device->cuda, l->groups[i].stream, l->err));
    return TARE_OK;
}

/* Nothing is freed that the device may still use. */
static void close_loading(loading *l) {
    for (unsigned i = 0; l->groups && i < GROUPS; i++) {
        group *g = &l->groups[i];
        if (g->stream) l->device->library.stream_free(l->device->cuda, g->stream);
        empty(l, g);
        tare_device_release(l->device, g->memory);
    }
    tare_staging_close(&l->staging);
    if (l->groups) tare_free(l->options.context->allocator, l->groups, GROUPS * sizeof *l->groups);
}

tare_status tare_device_load(tare_device *device, const tare_model *model,
                             const tare_device_job *jobs, size_t n,
                             const tare_device_load_options *options, tare_error *err) {
    loading l = {.device = device,
                 .model = model,
                 .err = err,
                 .options = tare_device_load_options_default()};
    TARE_REQUIRE(device && model && (jobs || !n), err);
    TARE_TRY(tare_options_read(&l.options, sizeof l.options, options, err));
    TARE_TRY(tare_context_keep(&l.context, &l.options.context, err));
    if (!l.options.window) l.options.window = USUAL_WINDOW;
    TARE_TRY(read_jobs(&l, jobs, n));
    tare_status status = open_loading(&l);
    if (status == TARE_OK) status = load_all(&l, jobs, n);
    close_loading(&l);
    return status;
}
