/* SPDX-License-Identifier: MIT
 *
 * Plans: the image of all layers is counted, laid out, filled. */
#include "wg_plan.h"

#include <stdlib.h>
#include <string.h>

#include "wg_polynomial.h"

/* ---- options --------------------------------------------------------------------------------- */

bool wg_options_read(void *out, size_t size, const void *options) {
    size_t given;
    if (!options) return true;
    memcpy(&given, options, sizeof given);
    if (given < sizeof given) return false;
    const uint8_t *bytes = options;
    for (size_t i = size; i < given; i++)
        if (bytes[i]) return false;
    memcpy(out, options, given < size ? given : size);
    memcpy(out, &size, sizeof size);
    return true;
}

#define DEFINE_INIT(name)                                                                          \
    void name##_init(name *out, size_t size) {                                                     \
        memset(out, 0, size);                                                                      \
        memcpy(out, &size, sizeof size);                                                           \
    }
DEFINE_INIT(tare_cuda_plan_options)
DEFINE_INIT(tare_cuda_decode_options)
DEFINE_INIT(tare_cuda_needs)
DEFINE_INIT(tare_cuda_fault)

/* ---- counting -------------------------------------------------------------------------------- */

typedef struct counts {
    uint64_t streams, rules, tables, jobs, host;
} counts;

typedef struct planning {
    tare_cuda_plan *plan;
    const tare_cuda_layer *layers;
    const tare_cuda_plan_options *options;
    counts n;
    uint64_t tables;         /* made so far */
    uint32_t rules, streams; /* made so far */
    uint64_t number;         /* of the next segment */
    wg_job *jobs;
    wg_block *blocks;
    wg_stream *all_streams;
    wg_rule *all_rules;
    wg_table *all_tables;
} planning;

static tare_status count_stream(planning *p, size_t layer, unsigned stream, tare_error *err) {
    const tare_cuda_layer *l = &p->layers[layer];
    const tare_coded_head *h = l->heads[stream];
    p->n.rules += h->n_rules;
    p->n.tables += (uint64_t)h->n_tables64 + h->n_tables16;
    p->n.jobs += l->layer->streams[stream].n_segments;
    p->plan->n_planned++;
    for (uint64_t i = 0; i < l->layer->streams[stream].n_segments; i++) {
        const tare_coded_segment *s = &l->segments[stream][i];
        tare_status status = wg_check_segment(s, l, stream, i, (int64_t)layer, err);
        if (status != TARE_OK) return status;
        p->n.host += wg_is_for_host(s);
    }
    return TARE_OK;
}

static tare_status count(planning *p, tare_error *err) {
    for (size_t i = 0; i < p->plan->n_layers; i++) {
        const tare_cuda_layer *l = &p->layers[i];
        tare_status status = wg_check_layer(l, (int64_t)i, err);
        for (unsigned s = 0; status == TARE_OK && s < l->layer->n_streams; s++)
            if (wg_is_wanted(l, s)) status = count_stream(p, i, s, err);
        if (status != TARE_OK) return status;
        p->n.streams += l->layer->n_streams;
    }
    if (p->n.jobs >= UINT32_MAX || p->n.streams >= UINT32_MAX || p->n.rules >= UINT32_MAX)
        return wg_fail(err, TARE_ERR_LIMIT, -1, "plan: more than 2^32 segments");
    return TARE_OK;
}

/* ---- making ---------------------------------------------------------------------------------- */

static void *list(size_t n, size_t size) {
    return calloc(n ? n : 1, size);
}

static void make_factors(wg_row_factors *out, unsigned bits) {
    const uint32_t row = wg_power(bits * WG_LANES);
    for (unsigned l = 0; l < WG_LANES; l++) out->lane_factor[l] = wg_power(bits * (WG_LANES - l));
    for (unsigned i = 0; i < 4; i++)
        for (uint32_t b = 0; b < 256; b++) out->next_row[i][b] = wg_multiply(b << 8 * i, row);
}

/* The parts of the image, one after the other. */
static tare_status lay_out(planning *p, tare_error *err) {
    tare_cuda_plan *plan = p->plan;
    wg_image head = {.streams = sizeof head};
    head.rules = head.streams + p->n.streams * sizeof(wg_stream);
    head.tables = (head.rules + p->n.rules * sizeof(wg_rule) + 15) / 16 * 16;
    head.jobs = head.tables + p->n.tables * sizeof(wg_table);
    head.blocks = head.jobs + p->n.jobs * sizeof(wg_job);
    plan->image_size = head.blocks + p->n.jobs * sizeof(wg_block); /* no more than jobs */
    make_factors(&head.words, WG_WORD_BITS);
    make_factors(&head.fours, WG_FOUR_BITS);
    plan->image = list((size_t)plan->image_size, 1);
    plan->planned = list(plan->n_planned, sizeof *plan->planned);
    plan->positions = list((size_t)p->n.jobs, sizeof *plan->positions);
    plan->host = list((size_t)p->n.host, sizeof *plan->host);
    plan->needs = list(plan->n_layers, 1);
    if (!plan->image || !plan->planned || !plan->positions || !plan->host || !plan->needs)
        return wg_fail(err, TARE_ERR_NOMEM, -1, "plan");
    memcpy(plan->image, &head, sizeof head);
    p->jobs = (wg_job *)(void *)(plan->image + head.jobs);
    p->all_streams = (wg_stream *)(void *)(plan->image + head.streams);
    p->all_rules = (wg_rule *)(void *)(plan->image + head.rules);
    p->all_tables = (wg_table *)(void *)(plan->image + head.tables);
    p->blocks = (wg_block *)(void *)(plan->image + head.blocks);
    plan->n_jobs = p->n.jobs;
    plan->n_planned = 0;
    return TARE_OK;
}

static void make_head(planning *p, wg_stream *s, const tare_coded_head *h) {
    s->rules = p->rules;
    for (unsigned i = 0; i < h->n_rules; i++) {
        const tare_coded_rule *r = &h->rules[i];
        wg_rule *to = &p->all_rules[p->rules++];
        *to = (wg_rule){.form = r->form, .k = r->bypass_bits, .trellis = r->trellis};
        memcpy(to->map, r->map, sizeof to->map);
        if (r->trellis) /* steps are made of symbols as they are */
            for (uint16_t v = 0; v < 64; v++) to->map[v] = v;
    }
    s->tables64 = (uint32_t)p->tables;
    for (unsigned i = 0; i < h->n_tables64; i++)
        wg_make_table(&p->all_tables[p->tables++], &h->tables64[i]);
    s->tables16 = (uint32_t)p->tables;
    for (unsigned i = 0; i < h->n_tables16; i++)
        wg_make_table(&p->all_tables[p->tables++], &h->tables16[i]);
}

static void add_host(planning *p, size_t layer, unsigned stream, uint64_t segment, wg_job *job) {
    tare_cuda_plan *plan = p->plan;
    job->at = plan->host_bytes;
    plan->host[plan->n_host++] =
        (tare_cuda_host_segment){layer, stream, segment, plan->host_bytes, job->n_bytes};
    plan->host_bytes += ((uint64_t)job->n_bytes + 63) / 64 * 64;
}

/* What memory of its layer a segment asks for. */
static uint8_t needs_of(const tare_coded_field *f, const tare_cuda_layer *l, const wg_job *job) {
    uint8_t needs = (uint8_t)(1 << f->region);
    if (job->predictor) needs |= (uint8_t)(needs << 4);
    if (job->predictor != TARE_CODED_REF_SCALED) return needs;
    uint8_t scales = (uint8_t)(1 << l->layer->streams[f->scale_stream - 1].field.region);
    return (uint8_t)(needs | scales | scales << 4);
}

static void make_segment(planning *p, size_t layer, unsigned stream, uint64_t segment) {
    const tare_cuda_layer *l = &p->layers[layer];
    const tare_coded_segment *s = &l->segments[stream][segment];
    wg_job *job = &p->jobs[p->number];
    wg_make_job(job, s, l, stream, segment, p->options);
    job->stream = p->streams + stream;
    job->number = p->number;
    p->plan->positions[p->number++] = s->position;
    p->plan->decoded_bytes += job->n_bytes;
    p->plan->needs[layer] |= needs_of(&l->layer->streams[stream].field, l, job);
    if (job->mode == WG_HOST) add_host(p, layer, stream, segment, job);
    if (!job->n_classes) return;
    uint32_t n = (job->n_positions + WG_CLASS_RUN - 1) / WG_CLASS_RUN;
    job->scratch = p->plan->scratch_bytes;
    p->plan->scratch_bytes += (n + 63) / 64 * 64;
}

static void make_layer(planning *p, size_t layer) {
    const tare_cuda_layer *l = &p->layers[layer];
    for (unsigned i = 0; i < l->layer->n_streams; i++) {
        const tare_coded_stream *from = &l->layer->streams[i];
        wg_stream *s = &p->all_streams[p->streams + i];
        wg_make_stream(s, (uint32_t)layer, &from->field);
        if (from->field.scale_stream) s->scales = p->streams + from->field.scale_stream - 1;
        if (!wg_is_wanted(l, i)) continue;
        make_head(p, s, l->heads[i]);
        p->plan->planned[p->plan->n_planned++] =
            (wg_planned){layer, i, p->number, from->n_segments};
        for (uint64_t n = 0; n < from->n_segments; n++) make_segment(p, layer, i, n);
    }
    p->streams += l->layer->n_streams;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* Jobs of a predictor side by side, among them those of a kernel, of a fast one those that share a
 * table. */
static int compare_jobs(const void *left, const void *right) {
    const wg_job *a = left, *b = right;
    if (a->predictor != b->predictor) return a->predictor - b->predictor;
    if (a->kernel != b->kernel) return a->kernel - b->kernel;
    if (a->kernel != WG_GENERAL) {
        if (a->stream != b->stream) return a->stream < b->stream ? -1 : 1;
        if (a->rule != b->rule) return a->rule - b->rule;
        if (a->first_table != b->first_table) return a->first_table - b->first_table;
    }
    return a->number < b->number ? -1 : a->number > b->number;
}

static bool is_same_launch(const wg_job *a, const wg_job *b) {
    return a->kernel == b->kernel && a->predictor == b->predictor;
}
static bool is_same_table(const wg_job *a, const wg_job *b) {
    return a->stream == b->stream && a->rule == b->rule && a->first_table == b->first_table;
}

/* A launch for jobs that are decoded, which stand side by side: of a predictor, but for those that the
 * general kernel has checked already. */
static void add_second(planning *p, uint32_t kernel, uint8_t predictor) {
    wg_launch l = {.kernel = kernel};
    for (uint32_t i = 0; i < (uint32_t)p->n.jobs; i++) {
        const wg_job *job = &p->jobs[i];
        if (job->predictor != predictor || (kernel == WG_CHECK && job->kernel == WG_GENERAL))
            continue;
        if (!l.n_jobs++) l.first_job = i;
    }
    if (l.n_jobs) p->plan->launches[p->plan->n_launches++] = l;
}

static void make_launches(planning *p) {
    tare_cuda_plan *plan = p->plan;
    uint32_t n_blocks = 0, n_jobs = (uint32_t)p->n.jobs;
    wg_launch *l = plan->launches;
    wg_block *block = NULL;
    if (!n_jobs) return;
    qsort(p->jobs, n_jobs, sizeof *p->jobs, compare_jobs);
    for (uint32_t i = 0; i < n_jobs; i++) {
        const wg_job *job = &p->jobs[i], *before = i ? job - 1 : NULL;
        if (!before || !is_same_launch(job, before)) {
            l = &plan->launches[plan->n_launches++];
            *l = (wg_launch){.kernel = job->kernel, .first_job = i, .first_block = n_blocks};
            block = NULL;
        }
        l->n_jobs++;
        if (job->kernel == WG_GENERAL) continue;
        if (!block || block->n == WG_WARPS || !is_same_table(job, before)) {
            block = &p->blocks[n_blocks++];
            *block = (wg_block){i, 0};
            l->n_blocks++;
        }
        block->n++;
    }
    plan->image_size -= (n_jobs - n_blocks) * sizeof *block;
    add_second(p, WG_CHECK, TARE_CODED_NO_PREDICTOR);
    add_second(p, WG_PREDICT, TARE_CODED_REF);
    add_second(p, WG_PREDICT, TARE_CODED_REF_SCALED);
}

/* ---- plans ----------------------------------------------------------------------------------- */

void tare_cuda_plan_free(tare_cuda_plan *plan) {
    if (!plan) return;
    free(plan->image);
    free(plan->planned);
    free(plan->positions);
    free(plan->host);
    free(plan->needs);
    free(plan);
}

tare_status tare_cuda_plan_new(tare_cuda_plan **out, const tare_cuda_layer *layers, size_t n_layers,
                               const tare_cuda_plan_options *options, tare_error *err) {
    tare_cuda_plan_options o = tare_cuda_plan_options_default();
    if (!out) return wg_fail(err, TARE_ERR_ARG, -1, "out: NULL");
    *out = NULL;
    if ((n_layers && !layers) || n_layers >= UINT32_MAX || !wg_options_read(&o, sizeof o, options))
        return wg_fail(err, TARE_ERR_ARG, -1, "layers or options");
    tare_cuda_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return wg_fail(err, TARE_ERR_NOMEM, -1, "plan");
    planning p = {.plan = plan, .layers = layers, .options = &o};
    plan->n_layers = n_layers;
    tare_status status = count(&p, err);
    if (status == TARE_OK) status = lay_out(&p, err);
    if (status != TARE_OK) {
        tare_cuda_plan_free(plan);
        return status;
    }
    for (size_t i = 0; i < n_layers; i++) make_layer(&p, i);
    make_launches(&p);
    *out = plan;
    return TARE_OK;
}

bool tare_cuda_plan_host_segment(tare_cuda_host_segment *out, const tare_cuda_plan *plan,
                                 uint64_t i) {
    if (!plan || i >= plan->n_host) return false;
    *out = plan->host[i];
    return true;
}
