/* SPDX-License-Identifier: MIT
 *
 * What the columns of the output matrix matter. llama-imatrix leaves it out unless asked, and the
 * rows of an embedding that is the output matrix, too, with it; but it is among the largest tensors,
 * and a few of its columns count hundreds of times as much as most.
 *
 * What the feed-forward part of the last layer reads is the state of the model, normalized and times
 * a weight for each column. The state behind that layer, which the output matrix reads, is the same
 * but for one sum; it is normalized too, and has weights of its own. So the mean square of a column
 * is about that of the feed-forward part's, by the squares of both weights. On a small Llama the
 * logarithms of this estimate and of the curvature of its predictions are correlated by 0.88. */
#include <math.h>
#include <stdio.h>

#include "base/str.h"
#include "ops/mix/importance_matrix.h"

/* What reads all that the feed-forward part of a layer does, the best first: a router sees each
 * token, an expert its own. */
static const char *const readers[] = {"ffn_gate", "ffn_up", "ffn_gate_inp", "ffn_gate_exps",
                                      "ffn_up_exps"};

/* Two norms, and what is known of the inputs behind the first. */
typedef struct neighbour {
    const tare_importance_entry *entry;
    int64_t norm, output_norm; /* tensors of the model */
} neighbour;

/* Reader i of a layer; false: there are no more. */
static bool reader_name(char out[64], int32_t layer, size_t i) {
    if (i >= sizeof readers / sizeof *readers) return false;
    snprintf(out, 64, "blk.%d.%s.weight", (int)layer, readers[i]);
    return true;
}

static const tare_importance_entry *find_entry(const tare_importance *m, int32_t layer,
                                               uint64_t cols) {
    char name[64];
    for (size_t i = 0; reader_name(name, layer, i); i++) {
        const int64_t at = tare_importance_find(m, tare_str_of(name));
        if (at < 0) continue;
        const tare_importance_entry *e = &m->entries[at];
        if (e->n_values > 0 && e->n_values % cols == 0) return e;
    }
    return NULL;
}

/* A norm of so many weights, and without offsets, which say that inputs are no mere products; -1:
 * there is none. */
static int64_t find_norm(const tare_model *in, const char *stem, uint64_t cols) {
    char name[64];
    snprintf(name, sizeof name, "%s.bias", stem);
    if (tare_model_find_tensor(in, tare_str_of(name)) >= 0) return -1;
    snprintf(name, sizeof name, "%s.weight", stem);
    const int64_t at = tare_model_find_tensor(in, tare_str_of(name));
    return at >= 0 && in->catalog.tensors[at].n_elements == cols ? at : -1;
}

static bool is_reader(tare_str tensor, int32_t layer) {
    char name[64];
    for (size_t i = 0; reader_name(name, layer, i); i++)
        if (tare_str_is(tensor, name)) return true;
    return false;
}

static bool predicts_further(tare_str tensor, int32_t layer) {
    char prefix[32];
    const int n = snprintf(prefix, sizeof prefix, "blk.%d.nextn.", (int)layer);
    return tare_str_starts(tensor, (tare_str){prefix, (size_t)n});
}

/* The last layer with a feed-forward part before those that predict further tokens; -1: there is none. */
static int32_t last_layer(const tare_mix_model *model, const tare_model *in) {
    int32_t last = -1, further = INT32_MAX;
    for (size_t i = 0; i < in->catalog.n_tensors; i++) {
        const int32_t layer = model->tensors[i].layer;
        if (layer >= 0 && layer < further && predicts_further(in->catalog.tensors[i].name, layer))
            further = layer;
    }
    for (size_t i = 0; i < in->catalog.n_tensors; i++) {
        const int32_t layer = model->tensors[i].layer;
        if (layer > last && layer < further && is_reader(in->catalog.tensors[i].name, layer))
            last = layer;
    }
    return last;
}

/* A matrix that stops before the last layer says nothing of what is behind it. */
static bool find_neighbour(neighbour *out, const tare_importance *m, const tare_mix_model *model,
                           const tare_model *in, uint64_t cols) {
    char stem[64];
    const int32_t last = last_layer(model, in);
    if (last < 0) return false;
    snprintf(stem, sizeof stem, "blk.%d.ffn_norm", (int)last);
    out->entry = find_entry(m, last, cols);
    out->norm = find_norm(in, stem, cols);
    out->output_norm = find_norm(in, "output_norm", cols);
    return out->entry && out->norm >= 0 && out->output_norm >= 0;
}

/* The mean over the slices of an entry. */
static double mean_of(const tare_importance_entry *e, uint64_t cols, uint64_t column) {
    double sum = 0;
    for (uint64_t i = column; i < e->n_values; i += cols) sum += (double)e->values[i];
    return sum / (double)(e->n_values / cols);
}

/* The mean squares of the normalized state, whose mean over all columns is 1 whatever the matrix
 * counts by. A column that is normalized away says nothing: 1. False: there is no number for one. */
static bool find_state(float *norm, const tare_importance_entry *e, uint64_t cols) {
    double sum = 0;
    for (uint64_t c = 0; c < cols; c++) {
        const double square = (double)norm[c] * (double)norm[c];
        const double state = square > 0 ? mean_of(e, cols, c) / square : 1;
        if (!(state >= 0 && state < 1e30)) return false;
        norm[c] = (float)state;
        sum += state;
    }
    for (uint64_t c = 0; c < cols && sum > 0; c++) norm[c] *= (float)((double)cols / sum);
    return sum > 0;
}

static bool is_output(const tare_mix_model *model, const tare_model *in, size_t tensor) {
    return model->tensors[tensor].part == TARE_PART_OUTPUT || tare_mix_is_tied(model, in, tensor);
}

tare_status tare_importance_of_output(const float **values, const tare_importance *m,
                                      const tare_mix_model *model, const tare_model *in,
                                      size_t tensor, tare_arena *arena, tare_error *err) {
    const tare_tensor *t = &in->catalog.tensors[tensor];
    const float *own;
    neighbour n = {NULL, -1, -1};
    *values = NULL;
    if (!m || !is_output(model, in, tensor) || tare_importance_slices(t) != 1 ||
        tare_importance_of_tensor(&own, m, t) != TARE_IMPORTANCE_NONE ||
        !find_neighbour(&n, m, model, in, t->cols))
        return TARE_OK;
    float *out = TARE_NEW_ARRAY(arena, float, t->cols);
    float *state = TARE_NEW_ARRAY(arena, float, t->cols);
    if (!out || !state) return tare_fail(err, TARE_ERR_NOMEM, "importance of the output matrix");
    TARE_TRY(tare_tensor_values_f32(state, in, (size_t)n.norm, 0, t->cols, err));
    TARE_TRY(tare_tensor_values_f32(out, in, (size_t)n.output_norm, 0, t->cols, err));
    if (!find_state(state, n.entry, t->cols)) return TARE_OK;
    for (uint64_t c = 0; c < t->cols; c++) {
        out[c] *= out[c] * state[c];
        if (!isfinite(out[c])) return TARE_OK;
    }
    *values = out;
    return TARE_OK;
}
