/* SPDX-License-Identifier: MIT
 *
 * The model that is packed: tensors that lose something are int8_rowwise or I16, all else is the
 * input's, and tare.lossy says so; and the same model as it will be opened, which its digest is of.
 */
#include <string.h>

#include "base/str.h"
#include "encoding/outliers.h"
#include "encoding/table.h"
#include "model/lossy_record.h"
#include "model/stand_in.h"
#include "ops/lossy/lossy.h"
#include "ops/mix/mix.h"

#define FILE_TYPE "general.file_type"

/* ---- tensors --------------------------------------------------------------------------------- */

/* The files of the codes, and of scales and outliers; the input's come before them. */
typedef struct places {
    uint32_t codes, side;
} places;

static tare_status add_files(places *out, tare_model *m, const tare_lossy_run *r, tare_error *err) {
    tare_reader reader;
    TARE_TRY(tare_model_share_files(m, r->in, err));
    TARE_TRY(tare_reader_fd(&reader, tare_outset_fd(r->made), "codes", false, err));
    TARE_TRY(tare_model_add_file(m, &reader, "codes", &out->codes, err));
    tare_reader_memory(&reader, r->side, r->side_bytes, "scales");
    return tare_model_add_file(m, &reader, "scales", &out->side, err);
}

/* Codes, scales, outliers: the planes of int8_rowwise. I16 has codes only. */
static tare_status place_target(tare_model *m, const tare_lossy_run *r, const tare_lossy_target *t,
                                const places *p, tare_error *err) {
    tare_tensor *out = &m->catalog.tensors[t->tensor];
    const uint64_t scales = 2 * tare_lossy_scales(t),
                   outliers = t->n_outliers * (uint64_t)TARE_OUTLIER_BYTES;
    const uint64_t side = (uint64_t)(t->outliers - r->side) - scales;
    const tare_encoding *e = tare_lossy_encoding(t, NULL);
    TARE_TRY(tare_tensor_derive(out, e, out->dims, out->n_dims, &m->arena, err));
    if (!t->choice.is_wide) TARE_TRY(tare_tensor_set_list(out, outliers, &m->arena, err));
    tare_plane *planes = TARE_NEW_ARRAY(&m->arena, tare_plane, e->n_planes);
    if (!planes) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    out->planes = planes;
    out->native_type = 0;
    planes[0] = (tare_plane){p->codes, t->offset, t->n * tare_lossy_width(t)};
    if (t->choice.is_wide) return TARE_OK;
    planes[1] = (tare_plane){p->side, side, scales};
    planes[2] = (tare_plane){p->side, side + scales, outliers};
    return TARE_OK;
}

static tare_status add_tensors(tare_model *m, const tare_lossy_run *r, tare_error *err) {
    const tare_catalog *c = &r->in->catalog;
    places p;
    TARE_TRY(add_files(&p, m, r, err));
    m->catalog.tensors = TARE_NEW_ARRAY(&m->arena, tare_tensor, c->n_tensors);
    if (!m->catalog.tensors) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    memcpy(m->catalog.tensors, c->tensors, c->n_tensors * sizeof *c->tensors);
    m->catalog.n_tensors = c->n_tensors;
    for (size_t i = 0; i < r->n_targets; i++)
        if (!r->targets[i].choice.is_kept) TARE_TRY(place_target(m, r, &r->targets[i], &p, err));
    return TARE_OK;
}

/* ---- metadata -------------------------------------------------------------------------------- */

/* What was quantized is not any more when it is opened: the number of the type that most of the
 * weights have then. */
static void mend_file_type(tare_metadata *entry, const tare_lossy_run *r) {
    uint64_t most = 0;
    const tare_encoding *type = NULL;
    for (size_t i = 0; i < r->n_targets; i++) {
        const tare_lossy_target *t = &r->targets[i];
        const tare_encoding *was = r->in->catalog.tensors[t->tensor].encoding;
        if (t->choice.is_kept || t->n <= most || was->id == t->type) continue;
        most = t->n;
        type = tare_encoding_get(t->type);
    }
    const tare_mix *mix = type ? tare_mix_mostly(type) : NULL;
    if (mix) entry->value = (tare_value){.type = TARE_VALUE_U32, .as.u = (uint64_t)mix->file_type};
}

static tare_str method_of(const tare_lossy_run *r) {
    bool has_steps = false, has_codes = false;
    for (size_t i = 0; i < r->n_targets; i++) {
        has_steps |= !r->targets[i].choice.is_kept && r->targets[i].choice.states;
        has_codes |= !r->targets[i].choice.is_kept && !r->targets[i].choice.states;
    }
    return has_steps && has_codes ? TARE_STR("uniform steps, trellis of 32 states or rounded")
           : has_steps            ? TARE_STR("uniform steps, trellis of 32 states")
                                  : TARE_STR("uniform steps, rounded");
}

static tare_status make_record(tare_metadata *out, tare_model *m, const tare_lossy_run *r,
                               const tare_digest *source, tare_error *err) {
    tare_lossy lossy = {.container = tare_str_of(tare_model_content_format(r->in)),
                        .method = method_of(r),
                        .target_bpw = r->wish->target_bpw,
                        .target_bytes = (double)r->wish->target_bytes,
                        .target_damage = r->wish->target_damage,
                        .lambda = (double)TARE_LOSSY_LAMBDA,
                        .is_weighted = r->wish->importance != NULL};
    tare_lossy_tensor *tensors = TARE_NEW_ARRAY(&m->arena, tare_lossy_tensor, r->n_targets);
    uint64_t *cols = TARE_NEW_ARRAY(&m->arena, uint64_t, r->n_targets);
    if (!tensors || !cols) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    memcpy(lossy.source, source->bytes, sizeof lossy.source);
    for (size_t i = 0; i < r->n_targets; i++) {
        const tare_lossy_target *t = &r->targets[i];
        if (t->choice.is_kept) continue;
        cols[lossy.n_tensors] = t->cols;
        tensors[lossy.n_tensors++] = (tare_lossy_tensor){
            t->tensor, t->type, t->choice.is_wide ? t->choice.unit : 0, t->columns};
        lossy.damage += t->choice.damage;
    }
    return tare_lossy_record(out, &lossy, tensors, cols, lossy.n_tensors, &m->arena, err);
}

/* All keys of the input; the record stands last. */
static tare_status add_metadata(tare_model *m, const tare_lossy_run *r, const tare_digest *source,
                                tare_error *err) {
    const tare_catalog *c = &r->in->catalog;
    m->catalog.metadata = TARE_NEW_ARRAY(&m->arena, tare_metadata, c->n_metadata + 1);
    if (!m->catalog.metadata) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    for (size_t i = 0; i < c->n_metadata; i++) {
        tare_metadata *entry = &m->catalog.metadata[i];
        *entry = c->metadata[i];
        if (entry->space == TARE_KEYS_MODEL && tare_str_is(entry->key, FILE_TYPE))
            mend_file_type(entry, r);
    }
    TARE_TRY(make_record(&m->catalog.metadata[c->n_metadata], m, r, source, err));
    m->catalog.n_metadata = c->n_metadata + 1;
    return TARE_OK;
}

/* ---- the models ------------------------------------------------------------------------------ */

static tare_status fill(tare_model *m, const tare_lossy_run *r, const tare_digest *source,
                        tare_error *err) {
    tare_layout *layout = TARE_NEW(&m->arena, tare_layout);
    if (!layout) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    m->format = "wcodec";
    m->catalog.layout = layout;
    m->catalog.resources = r->in->catalog.resources;
    m->catalog.n_resources = r->in->catalog.n_resources;
    TARE_TRY(add_tensors(m, r, err));
    return add_metadata(m, r, source, err);
}

static tare_status make(tare_model **out, const tare_lossy_run *r, const tare_digest *source,
                        tare_error *err) {
    tare_context options = tare_context_default();
    options.allocator = r->options->context->allocator;
    options.limits = &r->in->limits;
    TARE_TRY(tare_model_new(out, &options, err));
    tare_status status = fill(*out, r, source, err);
    if (status == TARE_OK) return TARE_OK;
    tare_model_free(*out);
    *out = NULL;
    return status;
}

tare_status tare_lossy_models(tare_model **stored, tare_model **opened, const tare_lossy_run *r,
                              const tare_digest *source, tare_error *err) {
    *opened = NULL;
    TARE_TRY(make(stored, r, source, err));
    tare_status status = make(opened, r, source, err);
    if (status == TARE_OK) status = tare_lossy_restore(*opened, err);
    if (status == TARE_OK) return TARE_OK;
    tare_model_free(*stored);
    tare_model_free(*opened);
    return status;
}
