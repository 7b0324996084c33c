/* SPDX-License-Identifier: MIT
 *
 * What the columns of a tensor matter, by an importance matrix: held or steeper by the role of the
 * tensor, as when types are chosen for a size (ops/fit). The factor of a column is one for the whole
 * tensor, as a file stores it; errors are weighed by the matrix of each slice, an expert, which is
 * why a tensor of experts keeps no weights of its own. */
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/str.h"
#include "model/lossy_record.h"
#include "ops/lossy/lossy.h"
#include "ops/mix/importance_matrix.h"
#include "ops/mix/roles.h"

#define LEAST_COUNTED 1e-3f

static int by_size(const void *a, const void *b) {
    const float *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static float median_of(float *scratch, const float *values, uint64_t n) {
    memcpy(scratch, values, (size_t)n * sizeof *values);
    qsort(scratch, (size_t)n, sizeof *scratch, by_size);
    return scratch[n / 2];
}

/* In medians; of a slice that was never used 1. */
static float weight_of(const tare_lossy_target *t, float value, float median) {
    if (!(median > 0)) return 1;
    const double x = tare_fit_weight(&t->weighing, (double)(value / median));
    return x < LEAST_COUNTED ? LEAST_COUNTED : (float)x;
}

/* The mean over the slices that were used; how many these are. */
static uint64_t average_slices(float *mean, const tare_lossy_target *t, float *scratch) {
    const uint64_t n_slices = t->n / t->slice;
    uint64_t n_used = 0;
    for (uint64_t s = 0; s < n_slices; s++) {
        const float *values = t->importance + s * t->cols;
        t->medians[s] = median_of(scratch, values, t->cols);
        if (!(t->medians[s] > 0)) continue;
        n_used++;
        for (uint64_t c = 0; c < t->cols; c++) mean[c] += weight_of(t, values[c], t->medians[s]);
    }
    for (uint64_t c = 0; c < t->cols && n_used; c++) mean[c] /= (float)n_used;
    return n_used;
}

/* Steps go with the inverse fourth root: with one table for all columns that is the best power. */
static int quarters_of(float importance) {
    const double q = -tare_lossy_log2((double)importance);
    int quarters = (int)(q < 0 ? q - 0.5 : q + 0.5);
    if (quarters > TARE_LOSSY_MOST_COLUMN) quarters = TARE_LOSSY_MOST_COLUMN;
    return quarters < -TARE_LOSSY_MOST_COLUMN ? -TARE_LOSSY_MOST_COLUMN : quarters;
}

static bool set_columns(tare_lossy_target *t, const float *importance, tare_arena *arena) {
    double total = 0;
    t->columns = TARE_NEW_ARRAY(arena, int8_t, t->cols);
    t->inverse = TARE_NEW_ARRAY(arena, float, t->cols);
    t->unit = TARE_NEW_ARRAY(arena, float, t->cols);
    if (!t->columns || !t->inverse || !t->unit) return false;
    for (uint64_t c = 0; c < t->cols; c++) {
        t->columns[c] = (int8_t)quarters_of(importance[c]);
        const float factor = tare_lossy_factor(t->columns[c]);
        t->inverse[c] = 1.0f / factor;
        t->unit[c] = factor * factor;
        total += (double)(importance[c] * t->unit[c]);
    }
    const float mean = (float)(total / (double)t->cols);
    for (uint64_t c = 0; c < t->cols; c++) t->unit[c] /= mean;
    t->mean_weight = (double)mean;
    return true;
}

/* The values of the target's entry, or an estimate of them; NULL: there is neither, which is counted. */
static tare_status find_values(tare_lossy_run *r, tare_lossy_target *t, tare_error *err) {
    const tare_tensor *tensor = &r->in->catalog.tensors[t->tensor];
    const tare_importance *m = r->wish->importance;
    const tare_role role = tare_role_of_name(tensor->name).role;
    const tare_importance_fit fit =
        m ? tare_importance_of_tensor(&t->importance, m, tensor) : TARE_IMPORTANCE_NONE;
    if (fit == TARE_IMPORTANCE_WRONG && role != TARE_ROLE_TOKEN_EMBEDDING)
        return tare_fail_tensor(err, TARE_ERR_ARG, tensor, t->tensor,
                                "its importance matrix has another size: is it of this model?");
    if (fit == TARE_IMPORTANCE_FITS) return TARE_OK;
    TARE_TRY(
        tare_importance_of_output(&t->importance, m, &r->model, r->in, t->tensor, &r->arena, err));
    r->n_unweighed += m && fit != TARE_IMPORTANCE_LEFT_OUT && !t->importance &&
                      role != TARE_ROLE_TOKEN_EMBEDDING && role != TARE_ROLE_OUTPUT;
    return TARE_OK;
}

tare_status tare_lossy_weigh_columns(tare_lossy_run *r, tare_lossy_target *t, tare_error *err) {
    const tare_tensor *tensor = &r->in->catalog.tensors[t->tensor];
    TARE_TRY(find_values(r, t, err));
    if (!t->importance) return TARE_OK;
    const tare_role_info role = tare_role_of_name(tensor->name);
    const uint64_t n_slices = tare_importance_slices(tensor);
    const size_t size = (size_t)t->cols * sizeof(float);
    t->weighing =
        tare_fit_constant_of(&r->model, &role, tare_mix_is_tied(&r->model, r->in, t->tensor), 0)
            .weighing;
    t->slice = t->n / n_slices;
    t->medians = TARE_NEW_ARRAY(&r->arena, float, n_slices);
    float *mean = tare_alloc(r->options->context->allocator, 2 * size);
    bool is_done = t->medians && mean;
    if (is_done) {
        memset(mean, 0, size);
        const uint64_t n_used = average_slices(mean, t, mean + t->cols);
        r->n_unseen += n_used < n_slices;
        if (n_used)
            is_done = set_columns(t, mean, &r->arena);
        else
            t->importance = NULL; /* zeros measure nothing: as without an entry */
    }
    tare_free(r->options->context->allocator, mean, 2 * size);
    return is_done ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "importance");
}

tare_status tare_lossy_check_importance(const tare_lossy_run *r, tare_error *err) {
    const tare_catalog *c = &r->in->catalog;
    const float *values;
    if (!r->wish->importance) return TARE_OK;
    for (size_t i = 0; i < c->n_tensors; i++)
        if (tare_importance_of_tensor(&values, r->wish->importance, &c->tensors[i]) !=
            TARE_IMPORTANCE_NONE)
            return TARE_OK;
    return tare_fail(err, TARE_ERR_ARG,
                     "the importance matrix is of another model: it has an entry for no tensor of "
                     "this one");
}

void tare_lossy_scale(float *numbers, float *weights, const tare_lossy_target *t, uint64_t first,
                      uint64_t n) {
    for (uint64_t i = 0, run; i < n; i += run) {
        const uint64_t slice = (first + i) / t->slice, col = (first + i) % t->cols;
        const float *importance = t->importance + slice * t->cols + col;
        const float *inverse = t->inverse + col, *unit = t->unit + col;
        const float median = t->medians[slice];
        run = tare_min_u64(n - i, t->cols - col);
        for (uint64_t k = 0; k < run; k++) {
            numbers[i + k] *= inverse[k];
            weights[i + k] = weight_of(t, importance[k], median) * unit[k];
        }
    }
}
