/* SPDX-License-Identifier: MIT
 *
 * All constants of the damage model. The damage of a tensor is alpha times its relative error, and
 *
 *     alpha = kappa of its role / number of layers x factor of its layer
 *
 * The constants of the roles of a dense transformer were fitted to sensitivities measured on a small
 * Llama, in eight types each; those of feed-forward parts, embeddings and the last layer lie between
 * these and those of a small GPT-NeoX, which disagreed by more than twice. Those of the other roles follow from what
 * such a tensor computes, as said beside each.
 *
 * With an importance matrix errors are weighed by column. What the matrices of queries, keys and
 * values read has columns that are huge in a few tokens, which nearly all others attend to: an error
 * there does more than the mean over all tokens says, and types without an offset for each block make
 * three times as much of it as those with one. So their weights are steeper than importance. A few
 * columns of what the last matrix of a feed-forward part reads are huge in a single token, which
 * nothing else depends on: no column counts for more than ten medians there. */
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "ops/fit/fit_parts.h"

/* ---- candidates ------------------------------------------------------------------------------ */

/* Formats with blocks of 256 come first, then those with blocks of 32 for other rows, and F16 for
 * rows that have no blocks; then those of other containers. On a grid are formats that some models
 * were trained or published in: where weights were decoded from one, encoding them again loses
 * nothing, or next to nothing. */
#define ROW(type, use)                                                                             \
    { TARE_ENCODING_##type, use }
static const tare_fit_candidate candidates[] = {
    ROW(Q2_K, TARE_FIT_ALWAYS),         ROW(IQ2_S, TARE_FIT_ALWAYS),
    ROW(IQ3_XXS, TARE_FIT_ALWAYS),      ROW(Q3_K, TARE_FIT_ALWAYS),
    ROW(IQ3_S, TARE_FIT_ALWAYS),        ROW(IQ4_XS, TARE_FIT_ALWAYS),
    ROW(Q4_K, TARE_FIT_ALWAYS),         ROW(Q5_K, TARE_FIT_ALWAYS),
    ROW(Q6_K, TARE_FIT_ALWAYS),         ROW(Q8_0, TARE_FIT_ALWAYS),
    ROW(F16, TARE_FIT_ALWAYS),          ROW(Q4_0, TARE_FIT_SHORT_BLOCKS | TARE_FIT_ON_GRID),
    ROW(IQ4_NL, TARE_FIT_SHORT_BLOCKS), ROW(Q4_1, TARE_FIT_ON_GRID),
    ROW(Q5_0, TARE_FIT_SHORT_BLOCKS),   ROW(Q5_1, TARE_FIT_SHORT_BLOCKS),
    ROW(MXFP4, TARE_FIT_ON_GRID),       ROW(NVFP4, TARE_FIT_ON_GRID),
    ROW(TQ1_0, TARE_FIT_ON_GRID),       ROW(TQ2_0, TARE_FIT_ON_GRID),
    ROW(Q1_0, TARE_FIT_ON_GRID),        ROW(Q2_0, TARE_FIT_ON_GRID),
    ROW(K2, TARE_FIT_ALWAYS),           ROW(K3, TARE_FIT_ALWAYS),
    ROW(K4, TARE_FIT_ALWAYS),           ROW(K6, TARE_FIT_ALWAYS),
    ROW(Q4, TARE_FIT_ALWAYS),           ROW(Q8, TARE_FIT_ALWAYS),
    ROW(INT4_ROWWISE, TARE_FIT_ALWAYS), ROW(INT8_ROWWISE, TARE_FIT_ALWAYS),
};

const tare_fit_candidate *tare_fit_candidate_at(size_t i) {
    return i < sizeof candidates / sizeof *candidates ? &candidates[i] : NULL;
}

/* A quarter for each bit, through Q4_K's 0.0050 at 4.5 bits. */
double tare_fit_usual_error(double bits) {
    return 0.005 * exp2(2 * (4.5 - bits));
}

/* ---- roles ----------------------------------------------------------------------------------- */

#define Q 0.36
#define K 0.42
#define V 1.0
/* The same where errors are weighed as those of inputs of attention are. */
#define Q_WEIGHED 1.35
#define K_WEIGHED 2.1
#define V_WEIGHED 1.45
#define O         1.1
#define GATE      1.35
#define UP        1.6
#define DOWN      1.7
#define OUTPUT    7.0
/* Of the output matrix nothing stands between an error and the predictions, so that its damage
 * follows from the mean square error of the scores: half of that, less what is common to all scores
 * and what is wrong where nothing else is probable. */
#define OUTPUT_BY_ENERGY 0.37
#define EMBED            1.2
#define OTHER            1.0

/* What all tensors of a layer have together, and the output matrix: the whole of a model whose names
 * say nothing, shared out by the number of weights. */
#define WHOLE (Q + K + V + O + GATE + UP + DOWN + OUTPUT)

/* In place of a tensor: matrices of experts, whatever they are called. */
static const char experts[] = "";

static const tare_fit_weighing plain = {100, false}, attention = {200, true}, held = {10, false},
                               whole = {0, false};

typedef struct row {
    const char *tensor; /* what llama.cpp calls it; NULL: whatever it is called */
    tare_role role;
    const char *kind;
    double kappa, weighed; /* without, and with an importance matrix */
    const tare_fit_weighing *weighing;
    bool is_ffn; /* first and last layers count more */
} row;

#define ALIKE(kappa)   kappa, kappa, &plain
#define HELD(kappa)    kappa, kappa, &held
#define READS(q, k, v) q *Q + k *K + v *V, q *Q_WEIGHED + k *K_WEIGHED + v *V_WEIGHED, &attention

/* The first row that fits counts. A fused matrix has the sum of its parts: with the same relative
 * error in each of them their damages add up. */
static const row rows[] = {
    /* Latent attention: an error in either factor of Q or of K and V is one of the same relative
     * size in their product; what K and V are both made from has the sum of both. */
    {"attn_q_a", TARE_ROLE_ATTN_Q, "attn_q_a", READS(1, 0, 0), false},
    {"attn_q_b", TARE_ROLE_ATTN_Q, "attn_q_b", READS(1, 0, 0), false},
    {"attn_kv_a_mqa", TARE_ROLE_ATTN_QKV, "attn_kv_a", READS(0, 1, 1), false},
    {"attn_kv_b", TARE_ROLE_ATTN_QKV, "attn_kv_b", READS(0, 1, 1), false},
    {NULL, TARE_ROLE_ATTN_Q, "attn_q", READS(1, 0, 0), false},
    {NULL, TARE_ROLE_ATTN_K, "attn_k", READS(0, 1, 0), false},
    {NULL, TARE_ROLE_ATTN_V, "attn_v", READS(0, 0, 1), false},
    {NULL, TARE_ROLE_ATTN_QKV, "attn_qkv", READS(1, 1, 1), false},
    {NULL, TARE_ROLE_ATTN_OUTPUT, "attn_output", HELD(O), false},
    /* Experts of a layer together do what one feed-forward matrix does, and their errors average
     * out over tokens as those of its columns do. A shared expert does a part of that at most; it
     * has the whole constant because every token goes through it. */
    {experts, TARE_ROLE_FFN_GATE, "ffn_gate_exps", ALIKE(GATE), true},
    {experts, TARE_ROLE_FFN_UP, "ffn_up_exps", ALIKE(UP), true},
    {experts, TARE_ROLE_FFN_DOWN, "ffn_down_exps", HELD(DOWN), true},
    {experts, TARE_ROLE_FFN_GATE_UP, "ffn_gate_up_exps", ALIKE(GATE + UP), true},
    {NULL, TARE_ROLE_FFN_GATE, "ffn_gate", ALIKE(GATE), true},
    {NULL, TARE_ROLE_FFN_UP, "ffn_up", ALIKE(UP), true},
    {NULL, TARE_ROLE_FFN_DOWN, "ffn_down", HELD(DOWN), true},
    {NULL, TARE_ROLE_FFN_GATE_UP, "ffn_gate_up", ALIKE(GATE + UP), true},
    /* State spaces: the input projection makes the layer's values and their gate, as up and gate
     * do; the output projection reads them, as down does; the small ones steer what is kept, as
     * queries and keys do. */
    {"ssm_in", TARE_ROLE_SSM, "ssm_in", ALIKE(GATE + UP), false},
    {"ssm_out", TARE_ROLE_SSM, "ssm_out", HELD(DOWN), false},
    {NULL, TARE_ROLE_SSM, "ssm", ALIKE(Q + K), false},
    {NULL, TARE_ROLE_OUTPUT, "output", ALIKE(OUTPUT), false},
    {NULL, TARE_ROLE_TOKEN_EMBEDDING, "token_embd", ALIKE(EMBED), false},
    {NULL, TARE_ROLE_UNKNOWN, "other", ALIKE(OTHER), false},
};

static bool is_of_row(const row *r, const tare_role_info *role) {
    if (r->role != role->role) return false;
    if (r->tensor == experts) return role->is_expert;
    return !r->tensor || (role->tensor && strcmp(r->tensor, role->tensor) == 0);
}

static const row *find_row(const tare_role_info *role) {
    const size_t last = sizeof rows / sizeof *rows - 1;
    for (size_t i = 0; i < last; i++)
        if (is_of_row(&rows[i], role)) return &rows[i];
    return &rows[last];
}

/* In the middle of a model layers can stand in for each other; before and behind they count more. The
 * first ones make the few huge activations that all others rely on, and no later layer can make good
 * what the last one gets wrong. */
static double factor_of_layer(int32_t layer, uint64_t n_layers) {
    if (layer < 0 || n_layers < 3 || (uint64_t)layer >= n_layers) return 1;
    const double from_middle = 2 * (double)layer / (double)(n_layers - 1) - 1;
    const double edge = layer == 0                        ? 2.5
                        : (uint64_t)layer + 1 == n_layers ? 1.8
                        : layer == 1                      ? 1.5
                                                          : 1;
    return (1 + 0.9 * from_middle * from_middle) * edge;
}

tare_fit_constant tare_fit_constant_of(const tare_mix_model *model, const tare_role_info *role,
                                       bool is_tied, double share) {
    if (!model->has_roles)
        return (tare_fit_constant){"other", WHOLE * share, WHOLE * share, plain, 0};
    const row *r = find_row(role);
    double scale = 1, tied = 0;
    if (role->role == TARE_ROLE_OUTPUT || role->role == TARE_ROLE_TOKEN_EMBEDDING)
        tied = is_tied ? OUTPUT : 0;
    else
        scale = (r->is_ffn ? factor_of_layer(role->layer, model->n_layers) : 1) /
                (model->n_layers ? (double)model->n_layers : 1);
    const bool is_output = is_tied || role->role == TARE_ROLE_OUTPUT;
    return (tare_fit_constant){r->kind, r->kappa * scale + tied, r->weighed * scale + tied,
                               is_output ? whole : *r->weighing, is_output ? OUTPUT_BY_ENERGY : 0};
}
