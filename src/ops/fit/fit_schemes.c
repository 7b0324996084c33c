/* SPDX-License-Identifier: MIT
 *
 * Schemes of packed weights as candidates. Each is tried as a reader of the output would see it: the
 * model packed by it alone, and its parts taken for weights again, whose numbers are compared with
 * the model's in some runs of rows. Weights that servers fuse are one unit, and so are all experts of
 * a layer, for which servers have one scheme. */
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/pool.h"
#include "base/report.h"
#include "ops/convert/type_rules.h"
#include "ops/fit/fit_parts.h"
#include "ops/mix/importance_matrix.h"
#include "ops/schemes/scheme_model.h"
#include "quantized/quantized.h"

#define RUN_FLOATS ((uint64_t)1 << 18) /* of a run of rows */
#define RUNS_MOST  4                   /* of a weight */

static const char plain_name[] = "none";

typedef struct trials {
    tare_fit *f;
    uint64_t *bytes; /* [tensor][candidate], of the parts; 0: it cannot have it */
    double *error;   /* the same, relative */
    uint64_t *plain; /* bytes of each tensor where it is not packed; 0: no candidate packs it */
    int64_t *rule;   /* of the caller's, for each tensor; -1: none */
    uint64_t
        others; /* bytes of the model packed by the last candidate, less those of its weights */
    double *of_weight; /* the error of each packed weight of the candidate that is tried */
    size_t k;          /* which that is */
    const tare_model *packed;
    const tare_scheme_work *work;
} trials;

static const tare_tensor *tensor(const tare_fit *f, size_t i) {
    return &f->in->catalog.tensors[i];
}

static size_t cell(const trials *t, size_t tensor, size_t k) {
    return tensor * t->f->n_types + k;
}

static tare_fit_constant constant_of(const tare_fit *f, size_t i) {
    const tare_role_info role = tare_role_of_name(tensor(f, i)->name);
    return tare_fit_constant_of(&f->model, &role, tare_mix_is_tied(&f->model, f->in, i), 0);
}

/* ---- one weight in one scheme ------------------------------------------------------------------ */

typedef struct comparison {
    float *before, *after; /* a run of rows */
    float *copy;           /* of the importance of columns */
    double *weights;       /* of errors in columns; NULL: all alike */
    size_t size;
    double error, reference;
} comparison;

static tare_status take_room(comparison *c, const tare_fit *f, uint64_t n, uint64_t cols,
                             tare_error *err) {
    if (!tare_size_of_u64((2 * n + cols) * sizeof(float) + cols * sizeof(double), &c->size))
        return tare_fail(err, TARE_ERR_LIMIT, "rows");
    c->weights = tare_alloc(f->context.allocator, c->size);
    if (!c->weights) return tare_fail(err, TARE_ERR_NOMEM, "rows");
    c->before = (float *)(void *)(c->weights + cols);
    c->after = c->before + n;
    c->copy = c->after + n;
    return TARE_OK;
}

static const float *importance_of(const tare_fit *f, const tare_tensor *t) {
    const float *values = NULL;
    if (!f->schemes.importance || tare_importance_slices(t) != 1) return NULL;
    return tare_importance_of_tensor(&values, f->schemes.importance, t) == TARE_IMPORTANCE_FITS
               ? values
               : NULL;
}

static void add_run(comparison *c, const double *weights, uint64_t n, uint64_t cols) {
    for (uint64_t i = 0; i < n; i++) {
        const double weight = weights ? weights[i % cols] : 1, v = (double)c->before[i];
        const double d = (double)c->after[i] - v;
        c->error += weight * d * d;
        c->reference += weight * v * v;
    }
}

static tare_status compare(comparison *c, const trials *t, const tare_packed_weight *w, int64_t at,
                           uint64_t rows, tare_error *err) {
    const tare_fit *f = t->f;
    const size_t i = w->tensor;
    const tare_tensor *from = tensor(f, i);
    const uint64_t n = rows * from->cols, n_runs = tare_ceil_div_u64(w->n_rows, rows);
    const uint64_t runs = tare_min_u64(n_runs, RUNS_MOST);
    const tare_fit_constant constant = constant_of(f, i);
    const float *importance = importance_of(f, from);
    const bool is_weighed = tare_fit_weigh_columns(c->weights, importance, (size_t)from->cols,
                                                   &constant.weighing, c->copy);
    for (uint64_t k = 0; k < runs; k++) {
        const uint64_t first = runs > 1 ? (w->n_rows - rows) * k / (runs - 1) : 0;
        const uint64_t before = w->first_row + first, after = w->place * w->n_rows + first;
        TARE_TRY(tare_tensor_values_f32(c->before, f->in, i, before * from->cols, n, err));
        TARE_TRY(
            tare_tensor_values_f32(c->after, t->packed, (size_t)at, after * from->cols, n, err));
        add_run(c, is_weighed ? c->weights : NULL, n, from->cols);
    }
    return TARE_OK;
}

/* The weight, or the stack that it is in. */
static int64_t find_packed(const trials *t, const tare_packed_weight *w) {
    static const char end[] = ".weight";
    char name[1200];
    const tare_str module = w->stack.len ? w->stack : w->module;
    if (!w->stack.len && !w->is_slice)
        return tare_model_find_tensor(t->packed, tensor(t->f, w->tensor)->name);
    if (module.len + strlen(end) > sizeof name) return -1;
    memcpy(name, module.ptr, module.len);
    memcpy(name + module.len, end, strlen(end));
    return tare_model_find_tensor(t->packed, (tare_str){name, module.len + strlen(end)});
}

static tare_status measure_weight(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    const trials *t = ctx;
    const tare_packed_weight *w = &t->work->weights[task];
    const tare_tensor *from = tensor(t->f, w->tensor);
    comparison c = {.error = 0};
    (void)worker;
    if (!w->scheme.writer || t->rule[w->tensor] >= 0) return TARE_OK;
    const int64_t at = find_packed(t, w);
    if (at < 0)
        return tare_fail_tensor(err, TARE_ERR_UNSUPPORTED, from, w->tensor,
                                "its parts are not found again once it is packed");
    const uint64_t rows = tare_min_u64(w->n_rows, tare_max_u64(RUN_FLOATS / from->cols, 1));
    TARE_TRY(take_room(&c, t->f, rows * from->cols, from->cols, err));
    const tare_status status = compare(&c, t, w, at, rows, err);
    const double error = c.reference > 0 ? c.error / c.reference : c.error > 0;
    t->of_weight[task] = isfinite(error) ? error : 1;
    tare_free(t->f->context.allocator, c.weights, c.size);
    return status;
}

/* ---- one scheme -------------------------------------------------------------------------------- */

static void note_bytes(trials *t) {
    t->others = 0;
    for (size_t i = 0; i < t->packed->catalog.n_tensors; i++)
        t->others += t->packed->catalog.tensors[i].size_bytes;
    for (size_t i = 0; i < t->work->n_weights; i++) {
        const tare_packed_weight *w = &t->work->weights[i];
        uint64_t sum = 0;
        if (!w->scheme.writer || t->rule[w->tensor] >= 0) continue;
        for (size_t p = 0; p < w->n_parts; p++) sum += t->work->parts[w->first_part + p].size;
        t->bytes[cell(t, w->tensor, t->k)] += sum;
        t->plain[w->tensor] =
            tensor(t->f, w->tensor)->n_elements * tare_encoding_get(w->type)->planes[0].unit_bytes;
        t->others -= sum;
    }
}

/* Slices of a tensor are of one size. */
static void join_errors(const trials *t) {
    for (size_t i = 0; i < t->work->n_weights; i++) {
        const tare_packed_weight *w = &t->work->weights[i];
        const double share = (double)w->n_rows / (double)tensor(t->f, w->tensor)->n_rows;
        t->error[cell(t, w->tensor, t->k)] += share * t->of_weight[i];
    }
}

static tare_status measure_all(trials *t, tare_model *packed, tare_error *err) {
    tare_arena arena;
    tare_arena_init(&arena, t->f->context.allocator);
    t->packed = packed;
    t->work = packed->private_data;
    t->of_weight = TARE_NEW_ARRAY(&arena, double, t->work->n_weights);
    note_bytes(t);
    _Atomic uint64_t done = 0;
    tare_run run = {.context = t->f->context,
                    .n_tasks = t->work->n_weights,
                    .task = measure_weight,
                    .ctx = t,
                    .total = t->work->n_weights,
                    .done = &done};
    tare_status status = t->of_weight ? tare_quantized_open(packed, false, err)
                                      : tare_fail(err, TARE_ERR_NOMEM, "errors");
    if (status == TARE_OK) status = tare_run_parallel(&run, err);
    if (status == TARE_OK) join_errors(t);
    tare_arena_free(&arena);
    return status;
}

/* A scheme that no weight fits is none to choose from; *n counts the others. */
static tare_status try_scheme(size_t *n, trials *t, size_t k, tare_error *err) {
    tare_scheme_options options = t->f->schemes;
    tare_context context = t->f->context;
    tare_model *packed;
    context.report = NULL;
    options.context = &context;
    options.scheme = t->f->scheme_names[k];
    options.strict = false;
    t->k = k;
    const tare_status found = tare_scheme_apply(&packed, t->f->in, &options, err);
    if (found == TARE_ERR_UNSUPPORTED) return TARE_OK;
    if (found != TARE_OK) return found;
    const tare_status status = measure_all(t, packed, err);
    *n += status == TARE_OK;
    tare_model_free(packed);
    return status;
}

/* ---- units ------------------------------------------------------------------------------------- */

static bool is_of_experts(const tare_role_info *role) {
    return role->is_expert && !role->is_shared;
}

/* The unit of a weight that has the same scheme as this one; -1: none is known so far. */
static int64_t unit_with(const tare_fit *f, size_t i, const tare_role_info *role) {
    for (size_t u = f->n_units; is_of_experts(role) && u-- > 0;)
        if (is_of_experts(&f->units[u].role) && f->units[u].role.layer == role->layer)
            return (int64_t)u;
    return f->unit_of[tare_scheme_fused_with(f->in, i)];
}

/* What a unit of several weights is called. */
static const char *kind_of(const tare_fit_unit *u, const char *own) {
    if (is_of_experts(&u->role)) return "experts";
    if (u->n_tensors == 1) return own;
    return u->role.role == TARE_ROLE_FFN_GATE || u->role.role == TARE_ROLE_FFN_UP ? "ffn_gate_up"
                                                                                  : "attn_qkv";
}

/* The damages of its weights add up. */
static void sum_unit(tare_fit_unit *u, const trials *t, uint64_t *bytes) {
    const tare_fit *f = t->f;
    u->bytes = bytes;
    u->usable = f->n_types == 64 ? UINT64_MAX : (UINT64_C(1) << f->n_types) - 1;
    for (size_t m = 0; m < u->n_tensors; m++) {
        const size_t i = u->tensors[m];
        const tare_fit_constant c = constant_of(f, i);
        const double share =
            u->role.expert >= 0 && f->model.n_experts ? 1 / (double)f->model.n_experts : 1;
        const double alpha = share * (importance_of(f, tensor(f, i)) ? c.weighed_alpha : c.alpha);
        u->kind = kind_of(u, c.kind);
        u->alpha += alpha;
        u->n_weights += tensor(f, i)->n_elements;
        u->n_rows += tensor(f, i)->n_rows;
        for (size_t k = 0; k < f->n_types; k++) {
            bytes[k] += t->bytes[cell(t, i, k)];
            u->error[k] += alpha * t->error[cell(t, i, k)];
            if (!t->bytes[cell(t, i, k)]) u->usable &= ~(UINT64_C(1) << k);
        }
    }
    for (size_t k = 0; k < f->n_types && u->alpha > 0; k++) u->error[k] /= u->alpha;
    u->known = u->usable;
}

static void number_units(trials *t) {
    tare_fit *f = t->f;
    for (size_t i = 0; i < f->in->catalog.n_tensors; i++) f->unit_of[i] = -1;
    for (size_t i = 0; i < f->in->catalog.n_tensors; i++) {
        if (!t->plain[i]) continue;
        const tare_role_info role = tare_role_of_name(tensor(f, i)->name);
        f->unit_of[i] = unit_with(f, i, &role);
        if (f->unit_of[i] < 0) {
            f->unit_of[i] = (int64_t)f->n_units;
            f->units[f->n_units++] =
                (tare_fit_unit){.role = role, .share = 1, .cols = tensor(f, i)->cols};
        }
        f->units[f->unit_of[i]].n_tensors++;
    }
}

static tare_status find_units(trials *t, tare_error *err) {
    tare_fit *f = t->f;
    const size_t n = f->in->catalog.n_tensors;
    size_t *members = TARE_NEW_ARRAY(&f->arena, size_t, n);
    f->unit_of = TARE_NEW_ARRAY(&f->arena, int64_t, n);
    f->units = TARE_NEW_ARRAY(&f->arena, tare_fit_unit, n);
    if (!members || !f->unit_of || !f->units) return tare_fail(err, TARE_ERR_NOMEM, "units");
    number_units(t);
    for (size_t u = 0; u < f->n_units; u++) {
        f->units[u].tensors = members;
        members += f->units[u].n_tensors;
        f->units[u].n_tensors = 0;
    }
    for (size_t i = 0; i < n; i++)
        if (f->unit_of[i] >= 0) {
            tare_fit_unit *u = &f->units[f->unit_of[i]];
            u->tensors[u->n_tensors++] = i;
        }
    for (size_t u = 0; u < f->n_units; u++) {
        uint64_t *bytes = TARE_NEW_ARRAY(&f->arena, uint64_t, f->n_types);
        if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "units");
        sum_unit(&f->units[u], t, bytes);
        f->summary.n_tensors += f->units[u].n_tensors;
        if (!f->units[u].usable)
            return tare_fail_tensor(err, TARE_ERR_ARG, tensor(f, f->units[u].tensors[0]),
                                    f->units[u].tensors[0],
                                    "no scheme to choose from fits it and all that servers fuse "
                                    "it with; add \"none\"");
    }
    return TARE_OK;
}

/* ---- all --------------------------------------------------------------------------------------- */

static tare_status read_names(tare_fit *f, const tare_fit_options *options, tare_error *err) {
    static const char *const usual[] = {"w4a16", "w8a16", "fp8_dynamic", "nvfp4a16", plain_name};
    const size_t n = options->n_schemes ? options->n_schemes : sizeof usual / sizeof *usual;
    const char **names = TARE_NEW_ARRAY(&f->arena, const char *, n);
    if (!names) return tare_fail(err, TARE_ERR_NOMEM, "schemes");
    for (size_t i = 0; i < n; i++) {
        const char *name = options->n_schemes ? options->schemes[i] : usual[i];
        TARE_REQUIRE(name, err);
        names[f->n_types] = tare_arena_str(&f->arena, tare_str_of(name)).ptr;
        if (!names[f->n_types]) return tare_fail(err, TARE_ERR_NOMEM, "schemes");
        bool is_known = false;
        for (size_t k = 0; k < f->n_types; k++) is_known |= strcmp(names[k], name) == 0;
        f->n_types += !is_known;
    }
    f->scheme_names = names;
    return TARE_OK;
}

/* One config.json speaks of all of them. */
static tare_status check_family(const tare_fit *f, tare_error *err) {
    tare_scheme_choice first = {.writer = NULL}, other;
    for (size_t k = 0; k < f->n_types; k++) {
        if (strcmp(f->scheme_names[k], plain_name) == 0) continue;
        TARE_TRY(tare_scheme_read(&other, f->scheme_names[k], err));
        if (!first.writer) first = other;
        if (first.writer->family == other.writer->family) continue;
        tare_fail(err, TARE_ERR_ARG, "two schemes to choose from cannot stand in one model");
        tare_error_detail(err, "%s and %s", first.writer->name, other.writer->name);
        return TARE_ERR_ARG;
    }
    return first.writer ? TARE_OK
                        : tare_fail(err, TARE_ERR_ARG, "there is no scheme to choose from");
}

static tare_status match_rules(trials *t, tare_arena *arena, tare_error *err) {
    const tare_scheme_options *o = &t->f->schemes;
    tare_type_rule *rules = TARE_NEW_ARRAY(arena, tare_type_rule, o->n_rules);
    if (!rules) return tare_fail(err, TARE_ERR_NOMEM, "rules");
    for (size_t i = 0; i < o->n_rules; i++) rules[i].pattern = o->rules[i].pattern;
    return tare_type_rules_match(t->rule, t->f->in, rules, o->n_rules, err);
}

static tare_status run_trials(trials *t, tare_arena *arena, tare_error *err) {
    tare_fit *f = t->f;
    const size_t n = f->in->catalog.n_tensors;
    size_t n_fit = 0;
    t->bytes = TARE_NEW_ARRAY(arena, uint64_t, n * f->n_types);
    t->error = TARE_NEW_ARRAY(arena, double, n * f->n_types);
    t->plain = TARE_NEW_ARRAY(arena, uint64_t, n);
    t->rule = TARE_NEW_ARRAY(arena, int64_t, n);
    if (!t->bytes || !t->error || !t->plain || !t->rule)
        return tare_fail(err, TARE_ERR_NOMEM, "schemes");
    TARE_TRY(match_rules(t, arena, err));
    for (size_t k = 0; k < f->n_types; k++)
        if (strcmp(f->scheme_names[k], plain_name) != 0) TARE_TRY(try_scheme(&n_fit, t, k, err));
    if (!n_fit) return TARE_ERR_UNSUPPORTED; /* the last scheme's fault */
    const size_t last = t->k;
    for (size_t k = 0; k < f->n_types; k++)
        for (size_t i = 0; i < n && strcmp(f->scheme_names[k], plain_name) == 0; i++)
            t->bytes[cell(t, i, k)] = t->plain[i];
    TARE_TRY(find_units(t, err));
    /* what the last candidate could not pack lies among the others */
    f->base_tensor_bytes = t->others;
    for (size_t i = 0; i < n; i++)
        if (f->unit_of[i] >= 0 && !t->bytes[cell(t, i, last)]) f->base_tensor_bytes -= t->plain[i];
    f->base_bytes = (double)f->base_tensor_bytes;
    return TARE_OK;
}

tare_status tare_fit_try_schemes(tare_fit *f, const tare_fit_options *options, tare_error *err) {
    tare_arena arena;
    TARE_TRY(read_names(f, options, err));
    TARE_TRY(check_family(f, err));
    tare_arena_init(&arena, f->context.allocator);
    trials t = {.f = f};
    const tare_status status = run_trials(&t, &arena, err);
    tare_arena_free(&arena);
    f->summary.predicts_tokens = f->model.has_output;
    for (size_t i = 0; status == TARE_OK && i < f->in->catalog.n_tensors; i++)
        f->summary.predicts_tokens |= tare_mix_is_tied(&f->model, f->in, i);
    return status;
}

/* The scheme of most weights; NULL: all stay as they are. */
static const char *usual_scheme(const tare_fit *f) {
    const char *best = NULL;
    uint64_t most = 0;
    for (size_t k = 0; k < f->n_types; k++) {
        uint64_t n = 0;
        for (size_t u = 0; u < f->n_units; u++)
            if (f->candidates[u][f->choice[u]] == k) n += f->units[u].n_weights;
        if (strcmp(f->scheme_names[k], plain_name) == 0 || n <= most) continue;
        most = n;
        best = f->scheme_names[k];
    }
    return best;
}

tare_status tare_fit_apply_schemes(tare_scheme_options *options, const tare_fit *fit,
                                   tare_error *err) {
    TARE_REQUIRE(fit && options && fit->scheme_names && fit->rules.schemes, err);
    *options = fit->schemes;
    options->scheme = usual_scheme(fit);
    options->rules = fit->rules.schemes;
    options->n_rules = fit->rules.n;
    return TARE_OK;
}

/* A plan of the model packed by the choice, which stays until the next one. */
tare_status tare_fit_plan_schemes(tare_plan **out, tare_fit *f, tare_error *err) {
    tare_convert_options convert = f->convert;
    tare_context context = f->context;
    tare_scheme_options options;
    TARE_TRY(tare_fit_make_rules(f, err));
    TARE_TRY(tare_fit_apply_schemes(&options, f, err));
    context.report = NULL;
    convert.context = options.context = &context;
    options.strict = false;
    tare_model_free(f->packed);
    f->packed = NULL;
    if (options.scheme) TARE_TRY(tare_scheme_apply(&f->packed, f->in, &options, err));
    return tare_plan_new(out, f->out_path, f->packed ? f->packed : f->in, &convert, err);
}
