/* SPDX-License-Identifier: MIT
 *
 * Conversion into a .wcodec: what had to be computed is in an unnamed file by now; together with
 * the unchanged parts of the input it forms the model that is packed. */
#include <string.h>
#include <tare/experimental/unpack.h>
#include <tare/inspect.h>

#include "base/str.h"
#include "model/stand_in.h"
#include "ops/convert/conversion.h"
#include "ops/packing/bases.h"
#include "ops/packing/pack_run.h"

/* The readers of the input, borrowed, followed by the one of the computed data. */
static tare_status add_files(tare_model *m, const tare_plan *p, const tare_outset *made,
                             tare_error *err) {
    uint32_t index;
    tare_reader r;
    TARE_TRY(tare_model_share_files(m, p->in, err));
    m->n_sources = 0; /* what the input states was checked before anything was made of it */
    TARE_TRY(tare_reader_fd(&r, tare_outset_fd(made), p->out_path, false, err));
    return tare_model_add_file(m, &r, p->out_path, &index, err);
}

/* The tensors of the plan, and where their planes are now. */
static tare_status place_tensors(tare_model *m, const tare_plan *p, tare_error *err) {
    size_t n = p->catalog.n_tensors;
    tare_plane(*planes)[TARE_MAX_PLANES] = tare_arena_array(&m->arena, n, sizeof *planes);
    m->catalog.tensors = TARE_NEW_ARRAY(&m->arena, tare_tensor, n);
    if (!m->catalog.tensors || !planes) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    if (n) memcpy(m->catalog.tensors, p->catalog.tensors, n * sizeof *m->catalog.tensors);
    m->catalog.n_tensors = n;
    for (size_t i = 0; i < n; i++) {
        tare_tensor *t = &m->catalog.tensors[i];
        const tare_plane *from = tare_plan_is_straight(p, i)
                                     ? p->in->catalog.tensors[p->tensors[i].source].planes
                                     : t->planes;
        memcpy(planes[i], from, t->encoding->n_planes * sizeof *from);
        t->planes = planes[i];
    }
    for (size_t i = 0; i < p->files.n_extents; i++) {
        const tare_extent *e = &p->files.extents[i];
        planes[e->item][e->plane] = (tare_plane){(uint32_t)m->n_files - 1, e->offset, e->size};
    }
    return TARE_OK;
}

/* A copy, since restoring removes the record of stand-ins. */
static tare_status add_metadata(tare_model *m, const tare_plan *p, tare_error *err) {
    const tare_catalog *c = &p->catalog;
    m->catalog.metadata = TARE_NEW_ARRAY(&m->arena, tare_metadata, c->n_metadata);
    if (!m->catalog.metadata) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    if (c->n_metadata)
        memcpy(m->catalog.metadata, c->metadata, c->n_metadata * sizeof *c->metadata);
    m->catalog.n_metadata = c->n_metadata;
    return TARE_OK;
}

static tare_status make_model(tare_model **out, const tare_plan *p, const tare_outset *made,
                              tare_error *err) {
    tare_context options = tare_context_default();
    options.allocator = p->options.context->allocator;
    options.limits = &p->limits;
    TARE_TRY(tare_model_new(out, &options, err));
    tare_model *m = *out;
    tare_layout *layout = TARE_NEW(&m->arena, tare_layout);
    tare_status status =
        layout ? add_files(m, p, made, err) : tare_fail(err, TARE_ERR_NOMEM, "tensors");
    if (status == TARE_OK) {
        m->format = p->format->name;
        layout->is_big_endian = p->files.is_big_endian;
        m->catalog.layout = layout;
        m->catalog.resources = p->catalog.resources;
        m->catalog.n_resources = p->catalog.n_resources;
        status = add_metadata(m, p, err);
    }
    if (status == TARE_OK) status = place_tensors(m, p, err);
    if (status != TARE_OK) tare_model_free(m);
    return status;
}

static bool has_stand_ins(const tare_plan *p) {
    for (size_t i = 0; i < p->catalog.n_metadata; i++)
        if (tare_str_is(p->catalog.metadata[i].key, TARE_STAND_IN_KEY)) return true;
    return false;
}

/* The model as it will be when the output is opened. */
static tare_status make_opened(tare_model **out, const tare_plan *p, const tare_outset *made,
                               tare_error *err) {
    TARE_TRY(make_model(out, p, made, err));
    tare_status status = tare_stand_in_restore(*out, NULL, err);
    if (status != TARE_OK) tare_model_free(*out);
    return status;
}

/* ---- reading back ---------------------------------------------------------------------------- */

typedef struct check {
    const tare_plan *plan;
    const tare_model *meant; /* as it is to be opened */
    tare_steps *steps;
} check;

static tare_status digest_of(tare_digest *out, const tare_model *m, const check *c,
                             tare_error *err) {
    const tare_context o = tare_steps_context(c->plan->options.context, c->steps);
    TARE_TRY(tare_model_digest(NULL, out, m, &o, err));
    tare_steps_end(c->steps, tare_catalog_tensor_bytes(&m->catalog));
    return TARE_OK;
}

static tare_status read_back(void *ctx, tare_outset *set, tare_error *err) {
    const check *c = ctx;
    tare_open_options options = tare_open_options_default();
    options.stored = true;
    const tare_source source = {.size = sizeof(tare_source),
                                .kind = TARE_SOURCE_FD,
                                .name = c->plan->out_path,
                                .fd = tare_outset_fd(set)};
    tare_digest meant, found;
    tare_model *m;
    tare_context context = tare_steps_context_quiet(c->plan->options.context);
    context.limits = &c->plan->limits;
    context.report = NULL;
    options.context = &context;
    TARE_TRY(tare_outset_sync(set, err));
    TARE_TRY(tare_convert_check(c->plan, set, err));
    TARE_TRY(digest_of(&meant, c->meant, c, err));
    options.bases = c->plan->wcodec.bases;
    options.n_bases = c->plan->wcodec.n_bases;
    options.needs_bases = true;
    TARE_TRY(tare_model_open(&m, &source, &options, err));
    tare_status status = digest_of(&found, m, c, err);
    tare_model_free(m);
    if (status != TARE_OK || memcmp(meant.bytes, found.bytes, sizeof meant.bytes) == 0)
        return status;
    return tare_fail(err, TARE_ERR_CHECKSUM, "the output does not read back as it was written");
}

/* ---- the whole ------------------------------------------------------------------------------- */

static tare_status pack(uint64_t *size, const tare_plan *plan, const tare_pack_source *source,
                        tare_error *err) {
    tare_pack_options options = tare_pack_options_default();
    tare_pack_summary sum = tare_pack_summary_default();
    tare_context context = tare_steps_context_quiet(plan->options.context);
    const tare_output_options output = {.size = sizeof output,
                                        .force = plan->options.output->force,
                                        .no_sync = plan->options.output->no_sync};
    context.limits = NULL;
    options.context = &context;
    options.output = &output;
    options.effort = plan->wcodec.effort;
    options.bases = plan->wcodec.bases;
    options.base_hints = plan->wcodec.base_hints;
    options.n_bases = plan->wcodec.n_bases;
    TARE_TRY(tare_pack_run(&sum, plan->out_path, source, &options, err));
    *size = sum.to_bytes;
    return TARE_OK;
}

uint64_t tare_convert_pack_work(const tare_plan *plan) {
    uint64_t n_digests = (has_stand_ins(plan) ? 1u : 0u) + (plan->options.verify ? 2u : 0u);
    return tare_pack_work(&plan->catalog) + n_digests * tare_catalog_tensor_bytes(&plan->catalog) +
           tare_bases_bytes(plan->wcodec.bases, plan->wcodec.n_bases);
}

tare_status tare_convert_pack(uint64_t *size, const tare_plan *plan, const tare_outset *made,
                              tare_steps *steps, tare_error *err) {
    tare_model *m, *opened = NULL;
    TARE_TRY(make_model(&m, plan, made, err));
    tare_status status = has_stand_ins(plan) ? make_opened(&opened, plan, made, err) : TARE_OK;
    if (status == TARE_OK) {
        check c = {plan, opened ? opened : m, steps};
        const tare_pack_source source = {.format = plan->format,
                                         .model = m,
                                         .opened = opened,
                                         .check = plan->options.verify ? read_back : NULL,
                                         .check_ctx = &c,
                                         .steps = steps};
        status = pack(size, plan, &source, err);
        tare_model_free(opened);
    }
    tare_model_free(m);
    return status;
}
