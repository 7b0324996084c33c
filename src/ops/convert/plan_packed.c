/* SPDX-License-Identifier: MIT
 *
 * Packed weights in a conversion. They stay as they are stored where nothing else is asked for and
 * the target has tensors in the same way; everywhere else they are decoded, and the output says
 * nothing of their packing any more. */
#include <string.h>

#include "base/glob.h"
#include "base/report.h"
#include "base/str.h"
#include "mlx/mlx_plain.h"
#include "model/json_resource.h"
#include "ops/convert/plan.h"
#include "ops/convert/type_rules.h"
#include "quantized/quantized.h"

#define SCHEMES_SIZE 256 /* of a text with their names */

/* Whether tensors, their names, and side files mean the same there. */
static bool has_same_form(const tare_plan *p) {
    const tare_layout *layout = p->in->catalog.layout;
    const tare_format *from = layout ? layout->format : NULL;
    if (p->in->types && p->in->types->program != TARE_PROGRAM_TRANSFORMERS)
        return tare_plan_types(p) != NULL;
    if (p->format->write.pack || !from || from == p->format) return true;
    return from->stored.keys == TARE_KEY_FORM_PAIRS &&
           p->format->stored.keys == TARE_KEY_FORM_PAIRS;
}

/* Whether a rule is about a packed weight. */
static tare_status rules_match(bool *out, const tare_plan *p, const tare_model *in,
                               tare_arena *arena, tare_error *err) {
    const tare_convert_options *o = &p->options;
    int64_t *rule = TARE_NEW_ARRAY(arena, int64_t, in->catalog.n_tensors);
    *out = false;
    if (!rule) return tare_fail(err, TARE_ERR_NOMEM, "plan");
    TARE_TRY(tare_type_rules_match(rule, in, o->rules, o->n_rules, err));
    for (size_t i = 0; i < in->catalog.n_tensors; i++)
        *out = *out || (rule[i] >= 0 && in->stored_of[i] < 0);
    return TARE_OK;
}

static tare_status are_decoded(bool *out, tare_plan *p, const tare_model *in, tare_error *err) {
    const tare_convert_options *o = &p->options;
    const bool is_same = !o->type || tare_quantized_are(in, o->type);
    *out =
        !p->changes && !o->opaque && (!is_same || p->mix.mix || o->n_merges || !has_same_form(p));
    if (*out || p->changes || o->n_rules == 0 || !in->stored) return TARE_OK;
    return rules_match(out, p, in, &p->arena, err);
}

/* The type that has to be rounded to, if it is one; NULL: there is none. */
static const tare_encoding *rounded_to(const tare_plan *p) {
    const tare_encoding *type = p->options.type;
    return type && (type->id == TARE_ENCODING_BF16 || type->id == TARE_ENCODING_F16) ? type : NULL;
}

static void report_decoded(const tare_plan *p) {
    char schemes[SCHEMES_SIZE];
    const size_t n = tare_quantized_count(p->in);
    const tare_encoding *rounded = rounded_to(p);
    tare_finding f = TARE_FINDING(INFO, TARE_OK, "convert.decoded");
    if (n)
        tare_report_addf(p->options.context->report, &f,
                         "%zu packed weight%s decoded (%s): codes, scales and settings of their "
                         "packing are left out",
                         n, n == 1 ? " is" : "s are",
                         tare_quantized_schemes(schemes, sizeof schemes, p->in));
    f.code = "convert.rounded";
    if (n && rounded && !tare_quantized_is_exact(p->in, rounded->id))
        tare_report_addf(
            p->options.context->report, &f,
            "%s rounds the decoded weights, by up to 1/%d of each: `type f32` has them "
            "exactly",
            rounded->name, rounded->id == TARE_ENCODING_BF16 ? 512 : 4096);
}

/* What transformers would not find: experts in one tensor under a name that only mlx-lm knows. */
static void note_stacks(tare_plan *p) {
    const tare_catalog *c = &p->in->catalog;
    size_t n = 0;
    for (size_t i = 0; i < c->n_tensors; i++)
        n += tare_glob_matches(TARE_STR("*.switch_mlp.*"), c->tensors[i].name, false);
    const tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "convert.mlx-experts");
    if (n)
        tare_strict_note(&p->strict, &f, "stacks of experts under names that only MLX knows",
                         "%zu stack%s of experts %s MLX's names (switch_mlp): mlx-lm loads the "
                         "output, transformers does not find them",
                         n, n == 1 ? "" : "s", n == 1 ? "keeps" : "keep");
}

static tare_status note_biases(tare_plan *p, tare_error *err) {
    const char *what;
    TARE_TRY(tare_mlx_left_out(&what, p->in, err));
    const tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "convert.mlx-left-out");
    if (what)
        tare_strict_note(&p->strict, &f, "tensors of routers that MLX left out",
                         "MLX left %s out, with which routers choose experts: transformers makes "
                         "them up, and may choose others",
                         what);
    return TARE_OK;
}

/* mlx-lm has text models only: transformers makes up what config.json names beside them. */
static tare_status note_left_out(tare_plan *p, tare_error *err) {
    static const char *const rows[][2] = {
        {"vision_config", "*vis*"}, {"audio_config", "*audio*"}, {"visual", "*vis*"}};
    const tare_json_node *config;
    TARE_TRY(tare_model_json(&config, p->in, "config.json", &p->arena, err));
    for (size_t i = 0; config && i < sizeof rows / sizeof *rows; i++) {
        size_t n = 0;
        const tare_json_node *named = tare_json_path(config, tare_str_of(rows[i][0]));
        for (size_t k = 0; named && k < p->in->catalog.n_tensors; k++)
            n += tare_glob_matches(tare_str_of(rows[i][1]), p->in->catalog.tensors[k].name, false);
        if (!named || named->type != TARE_JSON_OBJECT || n) continue;
        const tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "convert.mlx-left-out");
        tare_strict_note(&p->strict, &f, "an encoder that config.json names and MLX left out",
                         "config.json has a %s, and MLX left the encoder's tensors out: "
                         "transformers makes them up",
                         rows[i][0]);
    }
    return TARE_OK;
}

/* A file of tensors has the names of what it is made of, whoever is to read it. */
static tare_status note_kept_form(tare_plan *p, const tare_context *open, tare_error *err) {
    const tare_finding f = TARE_FINDING(INFO, TARE_OK, "convert.mlx-kept");
    tare_model *plain;
    const tare_status status = tare_mlx_plain(&plain, p->in, TARE_MLX_AS_MODEL, open, err);
    const size_t n = status == TARE_OK && plain ? tare_mlx_changed(plain, p->in) : 0;
    if (n || status == TARE_ERR_UNSUPPORTED)
        tare_report_addf(p->options.context->report, &f,
                         "the file keeps MLX's names and form, which transformers does not read: "
                         "`to hf` has transformers'");
    tare_model_free(plain);
    return status == TARE_ERR_NOMEM ? status : TARE_OK;
}

/* Transformers has other names than MLX, and some tensors in another form. */
static tare_status take_plain(tare_plan *p, tare_error *err) {
    tare_context open = tare_context_default();
    const bool is_file = strcmp(p->format->name, "safetensors") == 0;
    const bool is_read = p->format->stored.program == TARE_PROGRAM_TRANSFORMERS;
    if (!(is_read || is_file) || p->changes || p->options.opaque) return TARE_OK;
    open.allocator = p->options.context->allocator;
    open.limits = &p->limits;
    if (!is_read) return note_kept_form(p, &open, err);
    TARE_TRY(tare_mlx_plain(&p->plain, p->in, TARE_MLX_AS_MODEL, &open, err));
    if (!p->plain) return TARE_OK;
    const size_t n = tare_mlx_changed(p->plain, p->in);
    const tare_finding f = TARE_FINDING(INFO, TARE_OK, "convert.mlx-form");
    if (n)
        tare_report_addf(p->options.context->report, &f,
                         "%zu tensor%s MLX's names or form: they become transformers'", n,
                         n == 1 ? " has" : "s have");
    TARE_TRY(note_biases(p, err));
    p->in = p->plain;
    note_stacks(p);
    return note_left_out(p, err);
}

static void report_kept(const tare_model *in, const tare_plan *p) {
    char schemes[SCHEMES_SIZE];
    const size_t n = tare_quantized_count(in);
    const tare_finding f = TARE_FINDING(INFO, TARE_OK, "convert.packed");
    if (n)
        tare_report_addf(p->options.context->report, &f,
                         "%zu packed weight%s (%s) as stored: `type` decodes them", n,
                         n == 1 ? " stays" : "s stay",
                         tare_quantized_schemes(schemes, sizeof schemes, in));
}

tare_status tare_plan_packed(tare_plan *p, tare_error *err) {
    const tare_model *in = p->in;
    bool is_decoded;
    if (in->stored && !in->packed) return TARE_OK; /* in chunks, which it is not written in */
    TARE_TRY(are_decoded(&is_decoded, p, in, err));
    if (!is_decoded) {
        if (!p->changes && !p->options.opaque && !p->format->write.pack) report_kept(in, p);
        p->in = in->stored ? in->stored : in;
        return in->stored ? TARE_OK : take_plain(p, err);
    }
    TARE_TRY(tare_model_check_packed(in, err));
    TARE_TRY(tare_quantized_check(in, p->options.context->report, err));
    if (in->stored) report_decoded(p);
    return take_plain(p, err);
}

/* The name in config.json of the type that most elements have; NULL: it has none there. */
static const char *dtype_of(const tare_catalog *c) {
    static const struct {
        tare_encoding_id id;
        const char *name;
    } rows[] = {{TARE_ENCODING_F32, "float32"},
                {TARE_ENCODING_F16, "float16"},
                {TARE_ENCODING_BF16, "bfloat16"}};
    const char *found = NULL;
    uint64_t all = 0, most = 0;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        uint64_t n = 0;
        for (size_t i = 0; i < c->n_tensors; i++)
            if (c->tensors[i].encoding->id == rows[k].id) n += c->tensors[i].n_elements;
        if (n > most) most = n, found = rows[k].name;
    }
    for (size_t i = 0; i < c->n_tensors; i++) all += c->tensors[i].n_elements;
    return most > all / 2 ? found : NULL;
}

/* What is decoded is no longer packed; what becomes another type for transformers would be rounded by
 * it again to the one that config.json has. */
tare_status tare_plan_typed_config(tare_plan *p, tare_error *err) {
    const bool was_packed = tare_quantized_count(p->in) > 0;
    const bool is_read = p->format->stored.program == TARE_PROGRAM_TRANSFORMERS;
    const char *dtype = dtype_of(&p->catalog), *before = dtype_of(&p->in->catalog);
    tare_str text, edited;
    if (!dtype || !(was_packed || (is_read && dtype != before))) return TARE_OK;
    for (size_t i = 0; i < p->catalog.n_resources; i++) {
        tare_resource_entry *r = &p->catalog.resources[i];
        if (!tare_str_is(r->info.name, "config.json")) continue;
        TARE_TRY(tare_model_text(&text, p->in, "config.json", &p->arena, err));
        TARE_TRY((was_packed ? tare_quantized_plain_config : tare_quantized_retyped_config)(
            &edited, text, dtype, &p->arena, err));
        if (!edited.ptr) continue;
        r->bytes = (const uint8_t *)edited.ptr;
        r->info.size = edited.len;
    }
    return TARE_OK;
}
