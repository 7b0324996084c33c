/* SPDX-License-Identifier: MIT
 *
 * Which planned tensors are encoded by an importance matrix: docs/behaviour.md, "Importance
 * matrices". Mismatches are reported here, before a byte is written. */
#include "base/report.h"
#include "base/str.h"
#include "encoding/kernels.h"
#include "ops/convert/plan_scan.h"
#include "ops/mix/importance_matrix.h"
#include "ops/mix/roles.h"

bool tare_plan_is_weighted(const tare_encoding *to, tare_quality quality) {
    if (to->kind != TARE_KIND_BLOCK) return false;
    return quality == TARE_QUALITY_BEST || tare_kernels_get()->encode_weighted[to->id];
}

static void report_estimate(const tare_plan *p, size_t tensor) {
    tare_finding f = TARE_FINDING(INFO, TARE_OK, "convert.importance-estimated");
    f.item_kind = TARE_ITEM_TENSOR;
    f.item = (int64_t)tensor;
    f.item_name = p->in->catalog.tensors[tensor].name;
    tare_report_addf(p->options.context->report, &f,
                     "the matrix has no entry for it: weighed by what the last layer reads");
}

/* Of the output matrix, where that is asked for. */
static tare_status estimate(tare_plan *p, tare_planned *planned, tare_error *err) {
    const tare_role role = tare_role_of_name(planned->becomes->name).role;
    tare_mix_model model;
    if (!p->options.weighs_output && p->options.quality != TARE_QUALITY_BEST) return TARE_OK;
    if (role != TARE_ROLE_OUTPUT && role != TARE_ROLE_TOKEN_EMBEDDING) return TARE_OK;
    if (planned->from != p->in) return TARE_OK;
    TARE_TRY(tare_mix_look(&model, p->in, false, &p->arena, err));
    TARE_TRY(tare_importance_of_output(&planned->importance, p->options.importance, &model, p->in,
                                       planned->source, &p->arena, err));
    if (planned->importance) report_estimate(p, planned->source);
    return TARE_OK;
}

/* Blocks that the matrix saw nothing in. What has the bytes of llama.cpp is weighed as it does it;
 * everything else takes such a block as it is without a matrix. */
static void note_unseen(tare_plan *p, tare_planned *planned) {
    const tare_tensor *t = planned->becomes;
    const uint64_t n_rows = tare_importance_slices(t),
                   n = tare_importance_unseen(planned->importance, n_rows, t->cols, t->encoding);
    const double share = 100.0 * (double)n / ((double)n_rows * (double)t->cols);
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "convert.importance-zero");
    f.item_kind = TARE_ITEM_TENSOR;
    f.item = (int64_t)planned->source;
    f.item_name = p->in->catalog.tensors[planned->source].name;
    if (n == 0) return;
    planned->floors_importance =
        p->options.weighs_output || p->options.quality == TARE_QUALITY_BEST;
    if (!planned->floors_importance) {
        tare_strict_note(
            &p->strict, &f, "the importance matrix has only zeros for blocks of it",
            "the importance matrix has only zeros, or less than 1e-18, for %.3g %% of it, where "
            "encoders of llama.cpp may make all weights 0; `quality best` does not",
            share);
        return;
    }
    f.level = TARE_LEVEL_INFO;
    f.status = TARE_OK;
    tare_report_addf(p->options.context->report, &f,
                     "the importance matrix has only zeros, or less than 1e-18, for %.3g %% of it, "
                     "which is encoded as if all of it counted alike",
                     share);
}

/* The importance of a tensor to be encoded. llama-imatrix does not measure the token embedding,
 * which is looked up and not multiplied, and measures the output matrix only on request: a matrix
 * without them is complete. As in llama-quantize, the entry of an embedding may have a different
 * size. */
static tare_status weigh(tare_plan *p, tare_planned *planned, tare_error *err) {
    const tare_tensor *t = planned->becomes;
    const tare_importance *m = p->options.importance;
    size_t i = planned->source;
    tare_role role = tare_role_of_name(t->name).role;
    bool is_embedding = role == TARE_ROLE_TOKEN_EMBEDDING;
    bool is_measured = !is_embedding && role != TARE_ROLE_OUTPUT;
    tare_importance_fit fit =
        m ? tare_importance_of_tensor(&planned->importance, m, t) : TARE_IMPORTANCE_NONE;
    if (fit == TARE_IMPORTANCE_FITS) {
        note_unseen(p, planned);
        return TARE_OK;
    }
    if (fit == TARE_IMPORTANCE_WRONG && !is_embedding)
        return tare_fail_tensor(err, TARE_ERR_ARG, t, i,
                                "its importance matrix has another size: is it of this model?");
    TARE_TRY(estimate(p, planned, err));
    if (planned->importance) return TARE_OK;
    bool is_left_out = fit == TARE_IMPORTANCE_LEFT_OUT;
    if (tare_encoding_needs_importance(t->encoding)) {
        tare_fail_tensor(err, TARE_ERR_ARG, t, i,
                         !m ? "its type needs an importance matrix: give one with `imatrix`"
                         : is_left_out
                             ? "its type needs an importance matrix, and its entry in the one "
                               "given is left out"
                             : "its type needs an importance matrix, and the one given has no "
                               "entry for it");
        if (!m) tare_error_code(err, TARE_CODE_NEEDS_IMPORTANCE);
        return TARE_ERR_ARG;
    }
    if (!m || is_left_out) return TARE_OK;
    static const char missing[] = "encoded without importance: the matrix has no entry for it";
    tare_finding f = TARE_FINDING(INFO, TARE_OK, "convert.importance-missing");
    f.item_kind = TARE_ITEM_TENSOR;
    f.item = (int64_t)i;
    f.item_name = p->in->catalog.tensors[i].name;
    if (is_measured)
        tare_strict_note(&p->strict, &f, missing, "%s", missing);
    else
        tare_report_addf(p->options.context->report, &f, "%s", missing);
    return TARE_OK;
}

/* If none of its names is in the model, the matrix belongs to another model. */
static tare_status check_related(const tare_plan *p, tare_error *err) {
    const tare_catalog *c = &p->in->catalog;
    const float *values;
    for (size_t i = 0; i < c->n_tensors; i++)
        if (tare_importance_of_tensor(&values, p->options.importance, &c->tensors[i]) !=
            TARE_IMPORTANCE_NONE)
            return TARE_OK;
    return tare_fail(err, TARE_ERR_ARG,
                     "the importance matrix is of another model: it has an entry for no tensor of "
                     "this one");
}

tare_status tare_plan_importance(tare_plan *plan, tare_error *err) {
    bool is_related = false;
    for (size_t i = 0; i < plan->catalog.n_tensors; i++) {
        tare_planned *planned = &plan->tensors[i];
        if (planned->action != TARE_ACTION_ENCODE ||
            !tare_plan_is_weighted(planned->becomes->encoding, plan->options.quality))
            continue;
        if (plan->options.importance && !is_related) TARE_TRY(check_related(plan, err));
        is_related = true;
        TARE_TRY(weigh(plan, planned, err));
    }
    return TARE_OK;
}

tare_status tare_plan_chunks(tare_chunks *chunks, const tare_plan *plan,
                             const tare_planned *planned, tare_error *err) {
    const tare_tensor *t = planned->becomes;
    TARE_TRY(tare_chunks_init(chunks, planned->from, planned->source, t->encoding, err));
    if (planned->from == plan->in) tare_merge_into(chunks, plan->merge);
    if (planned->importance) tare_chunks_keep_slices(chunks, t->n_rows / tare_importance_slices(t));
    return TARE_OK;
}

tare_status tare_plan_chunk_importance(const float **out, const tare_planned *planned,
                                       const tare_chunks *chunks, uint64_t index,
                                       tare_scratch *scratch, tare_error *err) {
    const uint64_t cols = planned->becomes->cols;
    *out = planned->importance;
    if (!*out) return TARE_OK;
    *out += tare_chunks_slice(chunks, index) * cols;
    if (!planned->floors_importance) return TARE_OK;
    float *row =
        (float *)(void *)tare_scratch_get(scratch, TARE_SCRATCH_IMPORTANCE, cols * sizeof *row);
    if (!row) return tare_fail(err, TARE_ERR_NOMEM, "importance");
    tare_importance_floor(row, *out, cols);
    *out = row;
    return TARE_OK;
}
