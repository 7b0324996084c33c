/* SPDX-License-Identifier: MIT
 *
 * Fits: measure once, choose as often as asked. The bytes of a choice are those of its tensors,
 * padded, and a base that does not depend on it; a plan of the conversion then says what the files
 * really take, and where that differs the base is corrected and the choice made again. */
#include "ops/fit/fit_parts.h"

#include <math.h>
#include <string.h>

#include "base/report.h"
#include "base/str.h"
#include "mlx/mlx_plain.h"
#include "ops/convert/type_rules.h"

#define PLANS_MOST 5    /* of one choice; GGUF needs one */
#define FINEST     0.99 /* of the target: that a file is smaller is reported */

/* ---- plans ----------------------------------------------------------------------------------- */

static size_t chosen(const tare_fit *f, size_t u) {
    return f->candidates[u][f->choice[u]];
}

tare_status tare_fit_apply(tare_convert_options *options, tare_mix_options *mix,
                           const tare_fit *fit, tare_error *err) {
    TARE_REQUIRE(fit && options && mix && fit->rules.rules, err);
    *mix = fit->mix;
    mix->mix = fit->named ? fit->named : tare_mix_at(TARE_MIX_F16); /* nothing was chosen for */
    mix->is_of_rules = true;
    options->mix = mix;
    options->rules = fit->rules.rules;
    options->n_rules = fit->rules.n;
    options->weighs_output = true;
    return TARE_OK;
}

/* A plan of the choice, perhaps named after a mix. What it has to report is reported by the
 * conversion. */
static tare_status plan_as(tare_plan **out, tare_fit *f, bool is_named, tare_error *err) {
    tare_convert_options options = f->convert;
    tare_mix_options mix;
    TARE_TRY(tare_fit_make_rules(f, err));
    TARE_TRY(tare_fit_apply(&options, &mix, f, err));
    mix.is_of_rules = !is_named;
    tare_context context = f->context;
    tare_output_options output = f->output;
    context.report = NULL;
    output.strict = false;
    options.context = &context;
    options.output = &output;
    return tare_plan_new(out, f->out_path, f->in, &options, err);
}

static tare_status plan(tare_plan **out, tare_fit *f, tare_error *err) {
    if (f->scheme_names) return tare_fit_plan_schemes(out, f, err);
    return plan_as(out, f, false, err);
}

/* What it takes to name a file of these types after a mix. */
static tare_status note_name(tare_fit *f, const tare_plan *unnamed, tare_error *err) {
    tare_plan *named;
    TARE_TRY(plan_as(&named, f, true, err));
    f->name_bytes = (double)tare_plan_summarize(named)->write_bytes -
                    (double)tare_plan_summarize(unnamed)->write_bytes;
    tare_plan_free(named);
    return TARE_OK;
}

static uint64_t tensor_bytes_of(const tare_plan *p) {
    uint64_t sum = 0;
    for (size_t i = 0; i < p->catalog.n_tensors; i++) sum += p->catalog.tensors[i].size_bytes;
    return sum;
}

/* Whether the plan gives each tensor the type that was chosen for it: names that the expressions of
 * rules cannot tell apart would not get it. */
static tare_status check_types(const tare_fit *f, const tare_plan *p, tare_error *err) {
    for (size_t i = 0; i < p->catalog.n_tensors; i++) {
        const tare_planned *t = &p->tensors[i];
        const int64_t u = f->unit_of[t->source];
        if (u < 0 || t->becomes->encoding == f->types[chosen(f, (size_t)u)]) continue;
        return tare_fail_tensor(err, TARE_ERR_UNSUPPORTED, t->becomes, t->source,
                                "no rule can give it a type of its own: another has such a name");
    }
    return TARE_OK;
}

/* ---- the problem ----------------------------------------------------------------------------- */

/* The options of each unit: all candidates whose error is known. */
static tare_status make_options(tare_fit *f, tare_error *err) {
    f->options = TARE_NEW_ARRAY(&f->arena, tare_fit_unit_options, f->n_units);
    f->candidates = TARE_NEW_ARRAY(&f->arena, size_t *, f->n_units);
    f->choice = TARE_NEW_ARRAY(&f->arena, size_t, f->n_units);
    if (!f->options || !f->candidates || !f->choice)
        return tare_fail(err, TARE_ERR_NOMEM, "choice of types");
    for (size_t u = 0; u < f->n_units; u++) {
        const tare_fit_unit *unit = &f->units[u];
        tare_fit_option *o = TARE_NEW_ARRAY(&f->arena, tare_fit_option, f->n_types);
        f->candidates[u] = TARE_NEW_ARRAY(&f->arena, size_t, f->n_types);
        if (!o || !f->candidates[u]) return tare_fail(err, TARE_ERR_NOMEM, "choice of types");
        f->options[u].options = o;
        for (size_t k = 0; k < f->n_types; k++) {
            if (!(unit->usable >> k & 1)) continue;
            const double bytes = (double)tare_fit_bytes(f, unit, k, true);
            f->candidates[u][f->options[u].n] = k;
            o[f->options[u].n++] = (tare_fit_option){bytes, unit->alpha * unit->error[k]};
        }
    }
    return TARE_OK;
}

static tare_fit_problem problem_of(const tare_fit *f) {
    return (tare_fit_problem){f->options, f->n_units, f->convert.context->allocator,
                              f->convert.context->cancel};
}

/* What the plan of the choice takes besides the choice. */
static void note_base(tare_fit *f, const tare_plan *p) {
    const tare_fit_problem problem = problem_of(f);
    f->base_bytes =
        (double)tare_plan_summarize(p)->write_bytes - tare_fit_sum(&problem, f->choice).cost;
    f->base_tensor_bytes = tensor_bytes_of(p);
    for (size_t u = 0; u < f->n_units; u++)
        f->base_tensor_bytes -= tare_fit_bytes(f, &f->units[u], chosen(f, u), false);
}

/* Types of the tensors that nothing is chosen for, so that a recipe has them, too. */
static void note_fixed(tare_fit *f, const tare_plan *p) {
    for (size_t i = 0; i < p->catalog.n_tensors; i++) {
        const size_t source = p->tensors[i].source;
        if (f->unit_of[source] < 0 && f->model.tensors[source].is_open &&
            !f->model.tensors[source].is_tower)
            f->fixed[source] = p->tensors[i].becomes->encoding;
    }
}

static tare_status summarize_smallest(tare_fit *f, tare_error *err) {
    const tare_fit_problem problem = problem_of(f);
    size_t *choice = TARE_NEW_ARRAY(&f->arena, size_t, f->n_units);
    if (!choice) return tare_fail(err, TARE_ERR_NOMEM, "choice of types");
    tare_fit_cheapest(choice, &problem);
    const tare_fit_point point = tare_fit_point_of(f, choice);
    f->summary.smallest_bytes = point.file_bytes;
    f->summary.smallest_bits = point.bits_per_weight;
    for (size_t u = 0; u < f->n_units; u++) {
        double least = INFINITY;
        for (size_t i = 0; i < f->options[u].n; i++)
            least = fmin(least, f->options[u].options[i].loss);
        f->summary.smallest_damage += least;
    }
    return TARE_OK;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static uint64_t alignment_of(const tare_fit *f) {
    const tare_layout *layout = f->in->catalog.layout;
    uint64_t n;
    const int64_t at = tare_model_find_key(f->in, TARE_STR("general.alignment"));
    if (f->convert.alignment) return f->convert.alignment;
    if (layout && layout->format == f->format && layout->alignment) return layout->alignment;
    if (at >= 0 && tare_value_u64(&n, &f->in->catalog.metadata[at].value) && n) return n;
    return 32; /* GGUF's; of others the plan corrects it */
}

static tare_status find_manual(tare_fit *f, tare_error *err) {
    const size_t n = f->in->catalog.n_tensors;
    int64_t *rules = TARE_NEW_ARRAY(&f->arena, int64_t, n);
    f->manual = TARE_NEW_ARRAY(&f->arena, const tare_encoding *, n);
    f->fixed = TARE_NEW_ARRAY(&f->arena, const tare_encoding *, n);
    if (!rules || !f->manual || !f->fixed) return tare_fail(err, TARE_ERR_NOMEM, "rules");
    TARE_TRY(tare_type_rules_match(rules, f->in, f->convert.rules, f->convert.n_rules, err));
    for (size_t i = 0; i < n; i++)
        if (rules[i] >= 0) f->manual[i] = f->convert.rules[rules[i]].encoding;
    return TARE_OK;
}

/* The smallest types, or what is known to be usable, until errors are known. */
static tare_status plan_first(tare_plan **out, tare_fit *f, tare_error *err) {
    TARE_TRY(make_options(f, err));
    const tare_fit_problem problem = problem_of(f);
    tare_fit_cheapest(f->choice, &problem);
    return plan(out, f, err);
}

static void report_no_roles(const tare_fit *f) {
    if (f->model.has_roles || f->n_units == 0) return;
    tare_finding finding = TARE_FINDING(WARNING, TARE_OK, "fit.no-roles");
    tare_report_addf(
        f->convert.context->report, &finding,
        "the roles of tensors do not follow from their names: all weights count the same");
}

static tare_status examine(tare_fit *f, const tare_fit_options *options, tare_error *err) {
    TARE_TRY(tare_mix_look(&f->model, f->in, f->convert.keep_split, &f->arena, err));
    TARE_TRY(find_manual(f, err));
    TARE_TRY(tare_fit_find_units(f, options, err));
    if (options->sensitivities.len)
        TARE_TRY(tare_fit_read_sensitivities(f, options->sensitivities, err));
    report_no_roles(f);
    f->alignment = alignment_of(f);
    f->summary.n_weights = tare_model_summarize(f->in)->n_parameters;
    for (size_t u = 0; u < f->n_units; u++)
        if (!f->units[u].pinned) f->summary.n_tensors += f->units[u].n_tensors;
    return TARE_OK;
}

static tare_status measure(tare_fit *f, const tare_fit_options *options, tare_error *err) {
    tare_plan *first;
    TARE_TRY(examine(f, options, err));
    TARE_TRY(plan_first(&first, f, err));
    note_base(f, first);
    note_fixed(f, first);
    /* Measuring takes as long as encoding: better to know now. */
    const bool is_checked = options->check_output && first->out_path;
    tare_status status = is_checked ? tare_plan_check(first, err) : TARE_OK;
    if (status == TARE_OK) status = note_name(f, first, err);
    if (status == TARE_OK) status = tare_fit_measure(f, first, err);
    tare_plan_free(first);
    f->rules = (tare_fit_rules){NULL, NULL, 0};
    if (status != TARE_OK) return status;
    TARE_TRY(make_options(f, err));
    TARE_TRY(summarize_smallest(f, err));
    TARE_TRY(tare_fit_find_mixes(f, err));
    return tare_fit_draw_curve(f, err);
}

/* The tensors that a scheme is for have MLX's names and form, or must not have them. */
static tare_status take_form(tare_fit *f, const tare_fit_options *options, tare_error *err) {
    const bool is_mlx = options->n_schemes && strncmp(options->schemes[0], "mlx", 3) == 0;
    tare_context open = tare_context_default();
    open.allocator = f->context.allocator;
    open.limits = f->context.limits ? f->context.limits : &f->in->limits;
    if (is_mlx)
        TARE_TRY(tare_mlx_formed(&f->formed, f->in, &open, err));
    else
        TARE_TRY(tare_mlx_plain(&f->formed, f->in, TARE_MLX_AS_MODEL, &open, err));
    if (f->formed) f->in = f->formed;
    return TARE_OK;
}

static tare_status measure_schemes(tare_fit *f, const tare_fit_options *options, tare_error *err) {
    TARE_TRY(take_form(f, options, err));
    TARE_TRY(tare_mix_look(&f->model, f->in, false, &f->arena, err));
    TARE_TRY(tare_fit_try_schemes(f, options, err));
    if (options->sensitivities.len)
        TARE_TRY(tare_fit_read_sensitivities(f, options->sensitivities, err));
    f->summary.n_weights = tare_model_summarize(f->in)->n_parameters;
    TARE_TRY(make_options(f, err));
    TARE_TRY(summarize_smallest(f, err));
    return tare_fit_draw_curve(f, err);
}

static tare_status read_arguments(tare_fit *f, const char *out_path,
                                  const tare_convert_options *convert, tare_error *err) {
    f->convert = tare_convert_options_default();
    f->mix = tare_mix_options_default();
    TARE_TRY(tare_options_read(&f->convert, sizeof f->convert, convert, err));
    TARE_TRY(tare_context_keep(&f->context, &f->convert.context, err));
    TARE_TRY(tare_output_keep(&f->output, &f->convert.output, err));
    TARE_TRY(tare_options_read(&f->mix, sizeof f->mix, f->convert.mix, err));
    TARE_REQUIRE(!f->convert.type, err);
    TARE_REQUIRE(f->convert.n_rules == 0 || f->convert.rules, err);
    for (size_t i = 0; i < f->convert.n_rules; i++)
        TARE_REQUIRE(f->convert.rules[i].pattern && f->convert.rules[i].encoding, err);
    TARE_TRY(tare_format_of_output(&f->format, f->convert.to, out_path, err));
    if (f->format->write.pack)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "the size of a packed model is known only once it is packed: no types can "
                         "be chosen for it");
    return TARE_OK;
}

/* `schemes` NULL: of types. */
static tare_status make(tare_fit **out, const char *out_path, const tare_model *in,
                        const tare_convert_options *convert, const tare_scheme_options *schemes,
                        const tare_fit_options *options, tare_error *err) {
    tare_fit asked = {.in = in};
    if (schemes) asked.schemes = *schemes;
    TARE_TRY(read_arguments(&asked, out_path, convert, err));
    tare_fit *f = tare_alloc(asked.convert.context->allocator, sizeof *f);
    if (!f) return tare_fail(err, TARE_ERR_NOMEM, "fit");
    *f = asked;
    f->convert.context = &f->context;
    f->convert.output = &f->output;
    tare_arena_init(&f->arena, f->convert.context->allocator);
    tare_arena_init(&f->rules_arena, f->convert.context->allocator);
    if (out_path) f->out_path = tare_arena_str(&f->arena, tare_str_of(out_path)).ptr;
    tare_status status = TARE_OK;
    if (out_path && !f->out_path)
        status = tare_fail(err, TARE_ERR_NOMEM, "output path");
    else
        status = (schemes ? measure_schemes : measure)(f, options, err);
    if (status == TARE_OK)
        *out = f;
    else
        tare_fit_free(f);
    return status;
}

tare_status tare_fit_new(tare_fit **out, const char *out_path, const tare_model *in,
                         const tare_convert_options *convert, const tare_fit_options *options,
                         tare_error *err) {
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(in, err);
    tare_fit_options own = tare_fit_options_default();
    TARE_TRY(tare_options_read(&own, sizeof own, options, err));
    TARE_REQUIRE(own.n_types == 0 || (own.types && own.n_types <= TARE_FIT_TYPES_MAX / 2), err);
    TARE_REQUIRE(own.n_schemes == 0, err);
    return make(out, out_path, in, convert, NULL, &own, err);
}

tare_status tare_fit_new_schemes(tare_fit **out, const char *out_path, const tare_model *in,
                                 const tare_scheme_options *schemes,
                                 const tare_convert_options *convert,
                                 const tare_fit_options *options, tare_error *err) {
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(in, err);
    tare_fit_options own = tare_fit_options_default();
    tare_scheme_options rules = tare_scheme_options_default();
    TARE_TRY(tare_options_read(&own, sizeof own, options, err));
    TARE_TRY(tare_options_read(&rules, sizeof rules, schemes, err));
    TARE_REQUIRE(own.n_schemes == 0 || (own.schemes && own.n_schemes <= TARE_FIT_TYPES_MAX / 2),
                 err);
    TARE_REQUIRE(own.n_types == 0 && (rules.n_rules == 0 || rules.rules), err);
    return make(out, out_path, in, convert, &rules, &own, err);
}

void tare_fit_free(tare_fit *fit) {
    if (!fit) return;
    tare_model_free(fit->packed);
    tare_model_free(fit->formed);
    tare_arena_free(&fit->rules_arena);
    tare_arena_free(&fit->arena);
    tare_free(fit->convert.context->allocator, fit, sizeof *fit);
}

/* ---- choosing -------------------------------------------------------------------------------- */

static double damage_of(const tare_fit *f) {
    const tare_fit_problem problem = problem_of(f);
    return tare_fit_sum(&problem, f->choice).loss;
}

/* The smallest choice of at most so much damage: the same problem, with costs and losses swapped. */
static tare_status choose_by_damage(tare_fit *f, double damage, tare_error *err) {
    tare_arena arena;
    tare_arena_init(&arena, f->convert.context->allocator);
    tare_fit_unit_options *units = TARE_NEW_ARRAY(&arena, tare_fit_unit_options, f->n_units);
    tare_status status = units ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "choice of types");
    for (size_t u = 0; status == TARE_OK && u < f->n_units; u++) {
        tare_fit_option *o = TARE_NEW_ARRAY(&arena, tare_fit_option, f->options[u].n);
        if (!o) status = tare_fail(err, TARE_ERR_NOMEM, "choice of types");
        units[u] = (tare_fit_unit_options){o, f->options[u].n};
        for (size_t i = 0; o && i < f->options[u].n; i++)
            o[i] = (tare_fit_option){f->options[u].options[i].loss, f->options[u].options[i].cost};
    }
    const tare_fit_problem problem = {units, f->n_units, f->convert.context->allocator,
                                      f->convert.context->cancel};
    double slope;
    if (status == TARE_OK) status = tare_fit_allocate(f->choice, &slope, &problem, damage, err);
    if (status == TARE_OK) f->summary.lambda = slope > 0 ? 1 / slope : 0;
    tare_arena_free(&arena);
    return status;
}

/* What the target counts, of a plan. */
static double size_of(const tare_plan *p, const tare_fit_target *target) {
    return target->file_bytes ? (double)tare_plan_summarize(p)->write_bytes
                              : (double)tensor_bytes_of(p);
}

/* Bytes that may be counted. */
static double limit_of(const tare_fit *f, const tare_fit_target *target) {
    return target->file_bytes ? (double)target->file_bytes
                              : target->bits_per_weight * (double)f->summary.n_weights / 8;
}

static tare_status too_small(tare_error *err) {
    return tare_fail_code(err, TARE_ERR_ARG, TARE_CODE_TARGET_TOO_SMALL,
                          "the target is smaller than any choice of types");
}

/* Plans the choice, and sums up what it takes. */
static tare_status resolve(double *size, tare_fit *f, const tare_fit_target *target,
                           tare_error *err) {
    tare_plan *p;
    TARE_TRY(plan(&p, f, err));
    tare_status status = f->scheme_names ? TARE_OK : check_types(f, p, err);
    note_base(f, p);
    *size = size_of(p, target);
    f->summary.file_bytes = tare_plan_summarize(p)->write_bytes;
    f->summary.tensor_bytes = tensor_bytes_of(p);
    tare_plan_free(p);
    return status;
}

static void report_finest(const tare_fit *f, double size, double limit) {
    if (f->summary.lambda > 0 || size >= FINEST * limit) return;
    tare_report_addf(f->convert.context->report, &TARE_FINDING(INFO, TARE_OK, "fit.finest"),
                     "smaller than requested: no larger choice of types loses less");
}

/* `overhead`: bytes that are counted beside those of the units, as the first plan had it until this
 * choice is planned; after that the largest that was seen, so that this ends. */
static tare_status choose_by_bytes(tare_fit *f, const tare_fit_target *target, tare_error *err) {
    const tare_fit_problem problem = problem_of(f);
    const double limit = limit_of(f, target);
    double overhead = target->file_bytes ? f->base_bytes : (double)f->base_tensor_bytes, size;
    size_t *cheapest = TARE_NEW_ARRAY(&f->rules_arena, size_t, f->n_units);
    if (!cheapest) return tare_fail(err, TARE_ERR_NOMEM, "choice of types");
    tare_fit_cheapest(cheapest, &problem);
    const double least = tare_fit_sum(&problem, cheapest).cost;
    for (int i = 0; i < PLANS_MOST; i++) {
        if (least + overhead > limit) return too_small(err);
        TARE_TRY(tare_fit_choose_within(f->choice, &f->summary.lambda, f, limit - overhead, err));
        TARE_TRY(resolve(&size, f, target, err));
        const double real = size - tare_fit_sum(&problem, f->choice).cost;
        if (size <= limit && (real >= overhead || i > 0)) {
            report_finest(f, size, limit);
            return TARE_OK;
        }
        overhead = i == 0 ? real : fmax(overhead, real);
    }
    return too_small(err);
}

/* What one more bit for each weight of the whole would leave of the damage. */
static tare_status look_ahead(tare_fit *f, tare_error *err) {
    const tare_fit_problem problem = problem_of(f);
    const double cost = tare_fit_sum(&problem, f->choice).cost;
    double slope;
    size_t *choice = TARE_NEW_ARRAY(&f->rules_arena, size_t, f->n_units);
    if (!choice) return tare_fail(err, TARE_ERR_NOMEM, "choice of types");
    TARE_TRY(
        tare_fit_climb(choice, &slope, &problem, cost + (double)f->summary.n_weights / 8, err));
    const tare_fit_option more = tare_fit_sum(&problem, choice);
    f->summary.damage_at_one_more = more.loss;
    f->summary.one_more_bytes = more.cost > cost ? (uint64_t)(more.cost - cost) : 0;
    return TARE_OK;
}

static tare_status choose(tare_fit *f, const tare_fit_target *target, tare_error *err) {
    double size;
    if (target->damage > 0) {
        if (f->summary.smallest_damage > target->damage) return too_small(err);
        TARE_TRY(choose_by_damage(f, target->damage, err));
        TARE_TRY(resolve(&size, f, target, err));
    } else {
        TARE_TRY(choose_by_bytes(f, target, err));
    }
    f->summary.damage = damage_of(f);
    f->summary.bits_per_weight =
        f->summary.n_weights ? (double)f->summary.tensor_bytes * 8 / (double)f->summary.n_weights
                             : 0;
    return look_ahead(f, err);
}

tare_status tare_fit_choose(tare_fit *fit, const tare_fit_target *target, tare_error *err) {
    tare_fit_target own = tare_fit_target_default();
    TARE_REQUIRE(fit && target, err);
    TARE_TRY(tare_options_read(&own, sizeof own, target, err));
    TARE_REQUIRE((own.file_bytes > 0) + (own.bits_per_weight > 0) + (own.damage > 0) == 1, err);
    tare_status status = choose(fit, &own, err);
    if (status != TARE_OK) {
        fit->rules = (tare_fit_rules){NULL, NULL, 0};
        fit->summary.file_bytes = 0;
    }
    return status;
}
