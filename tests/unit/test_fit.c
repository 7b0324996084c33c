/* SPDX-License-Identifier: MIT
 *
 * Guards against: files above their target or far below it; a choice that a named mix beats; other
 * bytes when the choice is carried out by its rules; choices that depend on threads or the CPU;
 * weights on the grid of a type that get another; wishes of the caller that are not kept; columns that
 * weigh more or less than their role says; bad input that is not refused in one line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <math.h>

#include <cmocka.h>

#include <tare/experimental/fitting.h>
#include <tare/private/synth.h>

#include "base/bytes.h"
#include "base/cpu.h"
#include "convert_help.h"

#define SMALL_GAP 65536

static tare_model *synth(const char *spec) {
    tare_model *m;
    assert_int_equal(tare_synth_open(&m, spec, NULL, NULL), TARE_OK);
    return m;
}

static tare_fit *fit_with(const tare_model *in, const tare_convert_options *convert,
                          const tare_fit_options *options) {
    tare_fit *f;
    tare_error err;
    if (tare_fit_new(&f, "out.gguf", in, convert, options, &err) != TARE_OK)
        fail_msg("%s", err.what);
    return f;
}

static tare_status choose(tare_fit *f, uint64_t bytes, double bits, double damage,
                          tare_error *err) {
    tare_fit_target target = tare_fit_target_default();
    target.file_bytes = bytes;
    target.bits_per_weight = bits;
    target.damage = damage;
    return tare_fit_choose(f, &target, err);
}

static const tare_encoding *type_of(const tare_fit *f, const char *name) {
    tare_fit_tensor t;
    for (size_t i = 0; tare_fit_tensor_at(&t, f, i); i++)
        if (tare_str_is(t.name, name)) return t.type;
    return NULL;
}

/* The size that the conversion itself gives a choice. */
static uint64_t planned_size(const tare_fit *f, const tare_model *in) {
    tare_convert_options o = tare_convert_options_default();
    tare_mix_options mix;
    tare_plan *plan;
    assert_int_equal(tare_fit_apply(&o, &mix, f, NULL), TARE_OK);
    assert_int_equal(tare_plan_new(&plan, "out.gguf", in, &o, NULL), TARE_OK);
    const uint64_t size = tare_plan_summarize(plan)->write_bytes;
    tare_plan_free(plan);
    return size;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static void sizes_are_met(void **state) {
    (void)state;
    tare_model *in = synth("llama-tiny");
    tare_convert_options o = tare_convert_options_default();
    tare_fit *f = fit_with(in, &o, NULL);
    const tare_fit_summary *s = tare_fit_summarize(f);
    double last = INFINITY;
    for (uint64_t bytes = s->smallest_bytes; bytes < 9000000; bytes += bytes / 7) {
        assert_int_equal(choose(f, bytes, 0, 0, NULL), TARE_OK);
        assert_int_equal(s->file_bytes, planned_size(f, in));
        assert_true(s->file_bytes <= bytes);
        assert_true(bytes - s->file_bytes <= SMALL_GAP || s->damage == 0);
        assert_true(s->damage <= last);
        last = s->damage;
    }
    assert_true(last == 0); /* the type it has already */
    for (double bits = 2.75; bits < 9; bits += 0.5) {
        assert_int_equal(choose(f, 0, bits, 0, NULL), TARE_OK);
        assert_true(s->bits_per_weight <= bits && s->bits_per_weight > bits - 0.1);
    }
    for (double damage = 0.5; damage > 1e-4; damage /= 3) {
        assert_int_equal(choose(f, 0, 0, damage, NULL), TARE_OK);
        assert_true(s->damage <= damage);
        const uint64_t size = s->file_bytes;
        if (size < s->smallest_bytes + 4096) continue;
        assert_int_equal(choose(f, size - 4096, 0, 0, NULL), TARE_OK);
        assert_true(s->damage > damage * 0.99); /* no smaller file would have done */
    }
    tare_fit_free(f);
    tare_model_free(in);
}

/* The damage of the best point of the curve that is not larger. */
static double least_of_curve(const tare_fit *f, uint64_t bytes) {
    tare_fit_point point;
    double least = INFINITY, last = INFINITY;
    for (size_t i = 0; tare_fit_curve_at(&point, f, i); i++) {
        assert_true(point.damage < last); /* a larger file that is no better is none */
        last = point.damage;
        if (point.file_bytes <= bytes) least = point.damage;
    }
    return least;
}

/* What was quantized once is in its own types again without a loss, far below what its neighbours
 * lose. */
static void a_mix_without_loss_is_on_the_curve(void **state) {
    (void)state;
    tare_model *in = synth("llama-tiny"), *again;
    tare_mix_options m = tare_mix_options_default();
    tare_convert_options named = tare_convert_options_default(),
                         plain = tare_convert_options_default();
    m.mix = tare_mix_find(TARE_STR("Q5_0"));
    named.mix = &m;
    tare_output_options output = tare_output_options_default();
    output.force = true;
    named.output = plain.output = &output;
    help_convert(help_path("lossless.gguf"), in, &named);
    tare_model_free(in);
    assert_int_equal(tare_open_path(&in, help_path("lossless.gguf"), NULL, NULL), TARE_OK);
    plain.type = tare_encoding_get(TARE_ENCODING_F32);
    help_convert(help_path("plain.gguf"), in, &plain);
    assert_int_equal(tare_open_path(&again, help_path("plain.gguf"), NULL, NULL), TARE_OK);
    tare_convert_options o = tare_convert_options_default();
    tare_fit *f = fit_with(again, &o, NULL);
    tare_fit_point mix;
    for (size_t i = 0; tare_fit_mix_at(&mix, f, i); i++)
        assert_true(least_of_curve(f, mix.file_bytes) <= mix.damage);
    tare_fit_free(f);
    tare_model_free(in);
    tare_model_free(again);
}

static void no_mix_is_better(void **state) {
    (void)state;
    tare_model *in = synth("llama-tiny");
    tare_convert_options o = tare_convert_options_default();
    tare_fit *f = fit_with(in, &o, NULL);
    tare_fit_point mix, other;
    size_t n = 0;
    for (; tare_fit_mix_at(&mix, f, n); n++) {
        tare_mix_options m = tare_mix_options_default();
        tare_convert_options named = tare_convert_options_default();
        tare_plan *plan;
        m.mix = tare_mix_find(tare_str_of(mix.mix));
        named.mix = &m;
        assert_int_equal(tare_plan_new(&plan, "out.gguf", in, &named, NULL), TARE_OK);
        assert_int_equal(tare_plan_summarize(plan)->write_bytes, mix.file_bytes);
        tare_plan_free(plan);
        assert_int_equal(choose(f, mix.file_bytes, 0, 0, NULL), TARE_OK);
        assert_true(tare_fit_summarize(f)->damage <= mix.damage);
        /* The curve is what a target gets, but for points that tell nothing new. */
        assert_true(least_of_curve(f, mix.file_bytes) <= tare_fit_summarize(f)->damage * 1.03);
        if (n > 0)
            assert_true(tare_fit_mix_at(&other, f, n - 1) && other.file_bytes <= mix.file_bytes);
        assert_true(least_of_curve(f, mix.file_bytes) <= mix.damage);
    }
    assert_true(n >= 10);
    tare_fit_free(f);
    tare_model_free(in);
}

/* ---- the same again -------------------------------------------------------------------------- */

static void rules_repeat_the_choice(void **state) {
    (void)state;
    tare_model *in = synth("llama-tiny");
    tare_convert_options o = tare_convert_options_default(), chosen, ruled;
    tare_mix_options mix, again = tare_mix_options_default();
    tare_type_rule rules[64];
    const tare_output_options output = {.size = sizeof output, .force = true};
    o.output = &output;
    tare_mix_options pinned = tare_mix_options_default();
    pinned.embedding = tare_encoding_get(TARE_ENCODING_Q8_0);
    o.mix = &pinned;
    tare_fit *f = fit_with(in, &o, NULL);
    assert_int_equal(choose(f, 0, 4.3, 0, NULL), TARE_OK);
    chosen = ruled = o;
    assert_int_equal(tare_fit_apply(&chosen, &mix, f, NULL), TARE_OK);
    help_convert(help_path("chosen.gguf"), in, &chosen);
    size_t n = 0;
    for (; tare_fit_rule(f, n); n++) rules[n] = *tare_fit_rule(f, n);
    assert_int_equal(tare_mix_of_rules(&again.mix, in, rules, n, NULL), TARE_OK);
    assert_ptr_equal(again.mix, tare_fit_mix(f));
    ruled.rules = rules;
    ruled.n_rules = n;
    again.is_of_rules = true;
    ruled.mix = &again;
    help_convert(help_path("ruled.gguf"), in, &ruled);
    help_check_same_file(help_path("chosen.gguf"), help_path("ruled.gguf"));
    tare_fit_free(f);
    tare_model_free(in);
}

static void check_same_choice(const tare_fit *a, const tare_fit *b) {
    tare_fit_tensor x, y;
    for (size_t i = 0; tare_fit_tensor_at(&x, a, i); i++) {
        assert_true(tare_fit_tensor_at(&y, b, i));
        assert_ptr_equal(x.type, y.type);
        assert_true(memcmp(&x.error, &y.error, sizeof x.error) == 0);
    }
}

static void threads_and_cpu_do_not_show(void **state) {
    (void)state;
    tare_model *in = synth("llama-tiny");
    tare_convert_options o = tare_convert_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    context.threads = 1;
    tare_fit *one = fit_with(in, &o, NULL);
    assert_int_equal(choose(one, 0, 4, 0, NULL), TARE_OK);
    const unsigned cpu = tare_cpu_mask_active();
    for (unsigned threads = 2; threads < 8; threads += 3) {
        if (threads > 2) tare_cpu_mask_limit(0);
        context.threads = threads;
        tare_fit *more = fit_with(in, &o, NULL);
        assert_int_equal(choose(more, 0, 4, 0, NULL), TARE_OK);
        check_same_choice(one, more);
        tare_fit_free(more);
    }
    tare_cpu_mask_limit(cpu);
    tare_fit_free(one);
    tare_model_free(in);
}

/* ---- grids ----------------------------------------------------------------------------------- */

/* A model whose weights were encoded as `type` and decoded again. */
static tare_model *on_grid(tare_encoding_id type) {
    tare_model *in = synth("llama-tiny");
    tare_convert_options o = tare_convert_options_default();
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    output.force = true;
    o.type = tare_encoding_get(type);
    help_convert(help_path("grid.gguf"), in, &o);
    tare_model_free(in);
    in = help_open(help_path("grid.gguf"));
    o.type = tare_encoding_get(TARE_ENCODING_F32);
    help_convert(help_path("decoded.gguf"), in, &o);
    tare_model_free(in);
    return help_open(help_path("decoded.gguf"));
}

static void grids_are_found(void **state) {
    (void)state;
    static const tare_encoding_id types[] = {TARE_ENCODING_MXFP4, TARE_ENCODING_NVFP4,
                                             TARE_ENCODING_TQ1_0, TARE_ENCODING_Q4_0};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const tare_encoding *type = tare_encoding_get(types[i]);
        tare_model *in = on_grid(types[i]);
        tare_convert_options o = tare_convert_options_default();
        tare_fit *f = fit_with(in, &o, NULL);
        assert_int_equal(choose(f, 0, tare_encoding_bits(type) + 0.1, 0, NULL), TARE_OK);
        /* NVFP4's encoder chooses other scales for some blocks. */
        assert_true(tare_fit_summarize(f)->damage <
                    (types[i] == TARE_ENCODING_NVFP4 ? 0.005 : 1e-6));
        assert_ptr_equal(type_of(f, "model.layers.1.mlp.up_proj.weight"), type);
        tare_fit_free(f);
        tare_model_free(in);
    }
}

/* Ordinary weights lie on none. */
static void other_weights_get_no_grid(void **state) {
    (void)state;
    tare_model *in = synth("llama-tiny");
    tare_convert_options o = tare_convert_options_default();
    tare_fit *f = fit_with(in, &o, NULL);
    tare_fit_tensor t;
    for (double bits = 3; bits < 6; bits += 0.25) {
        assert_int_equal(choose(f, 0, bits, 0, NULL), TARE_OK);
        for (size_t i = 0; tare_fit_tensor_at(&t, f, i); i++)
            assert_true(t.type->block == 256 || t.type->id == TARE_ENCODING_Q8_0);
    }
    tare_fit_free(f);
    tare_model_free(in);
}

/* ---- wishes ---------------------------------------------------------------------------------- */

static void wishes_are_kept(void **state) {
    (void)state;
    tare_model *in = synth("llama-tiny");
    const tare_type_rule pins[] = {{"down_proj", tare_encoding_get(TARE_ENCODING_Q8_0)}};
    const tare_encoding *types[] = {tare_encoding_get(TARE_ENCODING_Q4_K),
                                    tare_encoding_get(TARE_ENCODING_Q6_K)};
    tare_convert_options o = tare_convert_options_default(), chosen;
    tare_fit_options options = tare_fit_options_default();
    tare_mix_options mix;
    tare_fit_tensor t;
    tare_error err;
    double damage = 0;
    o.rules = pins, o.n_rules = 1;
    options.types = types, options.n_types = 2;
    tare_fit *f = fit_with(in, &o, &options);
    const tare_fit_summary *s = tare_fit_summarize(f);
    assert_int_equal(choose(f, 0, 6, 0, NULL), TARE_OK);
    for (size_t i = 0; tare_fit_tensor_at(&t, f, i); i++) {
        assert_int_equal(t.is_pinned, tare_str_ends(t.name, TARE_STR("down_proj.weight")));
        assert_true(t.is_pinned ? t.type == pins[0].encoding : t.type->id != TARE_ENCODING_Q8_0);
        damage += t.damage;
    }
    assert_float_equal(damage, s->damage, 1e-12); /* of what is pinned, too */
    chosen = o;
    const tare_output_options output = {.size = sizeof output, .force = true};
    chosen.output = &output;
    assert_int_equal(tare_fit_apply(&chosen, &mix, f, NULL), TARE_OK);
    help_convert(help_path("pinned.gguf"), in, &chosen);
    tare_model *out = help_open(help_path("pinned.gguf"));
    const int64_t at = tare_model_find_tensor(out, TARE_STR("model.layers.0.mlp.down_proj.weight"));
    assert_ptr_equal(tare_model_tensor(out, (size_t)at)->encoding, pins[0].encoding);
    assert_int_equal(tare_model_file(out, 0)->size, s->file_bytes);
    tare_model_free(out);
    /* They leave no room for a target that would do without them. */
    assert_int_equal(choose(f, 0, 4.6, 0, &err), TARE_ERR_ARG);
    assert_string_equal(err.code, TARE_CODE_TARGET_TOO_SMALL);
    assert_true(s->smallest_bits > 4.6 && s->file_bytes == 0);
    assert_int_equal(choose(f, s->smallest_bytes, 0, 0, NULL), TARE_OK);
    assert_int_equal(s->file_bytes, s->smallest_bytes);
    assert_int_equal(choose(f, 0, 0, 1e-9, &err), TARE_ERR_ARG);
    assert_string_equal(err.code, TARE_CODE_TARGET_TOO_SMALL);
    tare_fit_free(f);
    tare_model_free(in);
}

/* ---- rows of other lengths ------------------------------------------------------------------- */

/* Rows of 96 and of 90, by GGUF's names. */
static tare_model *make_short(made_model *made) {
    static const uint64_t even[] = {96, 96}, odd[] = {90, 90}, wide[] = {64, 256};
    const struct {
        const char *name;
        const uint64_t *dims;
    } all[] = {{"blk.0.attn_q.weight", even},
               {"blk.0.ffn_up.weight", odd},
               {"blk.0.ffn_down.weight", wide}};
    made_begin(made, 1 << 20, 3, 0);
    for (size_t i = 0; i < 3; i++) {
        float *v = (float *)(void *)made_add(made, tare_str_of(all[i].name), TARE_ENCODING_F32,
                                             all[i].dims, 2);
        for (size_t k = 0; k < all[i].dims[0] * all[i].dims[1]; k++)
            v[k] = (float)((k * 2654435761u >> 8) % 1000) / 1000.0f - 0.5f;
    }
    return made_finish(made, false, NULL, 0);
}

static void short_rows_get_short_blocks(void **state) {
    (void)state;
    made_model made;
    tare_model *in = make_short(&made);
    tare_convert_options o = tare_convert_options_default();
    tare_fit *f = fit_with(in, &o, NULL);
    assert_int_equal(choose(f, 0, 9.5, 0, NULL), TARE_OK);
    assert_int_equal(type_of(f, "blk.0.attn_q.weight")->block, 32);
    assert_int_equal(type_of(f, "blk.0.ffn_up.weight")->id, TARE_ENCODING_F16);
    const tare_encoding *wide = type_of(f, "blk.0.ffn_down.weight");
    assert_true(wide->block == 256 || wide->id == TARE_ENCODING_Q8_0);
    tare_fit_free(f);
    made_free(&made);
}

static void rows_that_no_type_divides_are_named(void **state) {
    (void)state;
    made_model made;
    tare_model *in = make_short(&made);
    const tare_encoding *types[] = {tare_encoding_get(TARE_ENCODING_Q4_K)};
    tare_convert_options o = tare_convert_options_default();
    tare_fit_options options = tare_fit_options_default();
    tare_fit *f;
    tare_error err;
    options.types = types;
    options.n_types = 1;
    assert_int_equal(tare_fit_new(&f, "out.gguf", in, &o, &options, &err), TARE_ERR_ARG);
    assert_null(f);
    assert_string_equal(err.item_name, "blk.0.attn_q.weight");
    made_free(&made);
}

/* ---- experts --------------------------------------------------------------------------------- */

/* Two layers of four experts that are tensors of their own; the second layer's are alike in size but
 * of other numbers. */
static tare_model *make_experts(made_model *made) {
    static const uint64_t dims[] = {64, 256};
    static const char *const kinds[] = {"up_proj", "down_proj"};
    made_begin(made, 2 << 20, 16, 0);
    for (size_t i = 0; i < 16; i++) {
        char name[80];
        snprintf(name, sizeof name, "model.layers.%zu.mlp.experts.%zu.%s.weight", i / 8, i / 2 % 4,
                 kinds[i % 2]);
        float *v = (float *)(void *)made_add(made, tare_str_of(name), TARE_ENCODING_F32, dims, 2);
        for (size_t k = 0; k < dims[0] * dims[1]; k++)
            v[k] = (float)(((k + 7 * i) * 2654435761u >> 8) % 1000) / 1000.0f - 0.5f;
    }
    return made_finish(made, false, NULL, 0);
}

/* What all of them lose for an error of 1, with and without a pin to the type that all get. */
static double sensitivity_of_experts(tare_model *in, const tare_type_rule *pin, size_t n_pins) {
    const tare_fit_options options = {
        .size = sizeof options, .types = &pin->encoding, .n_types = 1};
    tare_convert_options o = tare_convert_options_default();
    tare_fit_tensor t;
    double sum = 0;
    o.rules = pin, o.n_rules = n_pins;
    tare_fit *f = fit_with(in, &o, &options);
    assert_int_equal(choose(f, 0, 6, 0, NULL), TARE_OK);
    for (size_t i = 0; tare_fit_tensor_at(&t, f, i); i++) sum += t.sensitivity;
    tare_fit_free(f);
    return sum;
}

static void experts_get_one_type(void **state) {
    (void)state;
    made_model made;
    tare_model *in = make_experts(&made);
    tare_convert_options o = tare_convert_options_default();
    tare_fit *f = fit_with(in, &o, NULL);
    tare_fit_tensor t;
    const tare_encoding *types[2][2] = {{NULL}};
    size_t n = 0;
    assert_int_equal(choose(f, 0, 4.7, 0, NULL), TARE_OK);
    for (; tare_fit_tensor_at(&t, f, n); n++) {
        const size_t layer = t.name.ptr[strlen("model.layers.")] == '1';
        const bool is_down = tare_str_ends(t.name, TARE_STR("down_proj.weight"));
        if (!types[layer][is_down]) types[layer][is_down] = t.type;
        assert_ptr_equal(t.type, types[layer][is_down]);
        assert_string_equal(t.role, is_down ? "ffn_down_exps" : "ffn_up_exps");
    }
    assert_int_equal(n, 16);
    assert_true(tare_fit_rule(f, 0) && !tare_fit_rule(f, 4));
    assert_non_null(strstr(tare_fit_rule(f, 0)->pattern, "experts\\.[0-9]+\\."));
    assert_int_equal(tare_fit_summarize(f)->file_bytes, planned_size(f, in));
    tare_fit_free(f);
    const tare_type_rule pin = {"experts\\.0\\.down", tare_encoding_get(TARE_ENCODING_Q4_K)};
    const double without = sensitivity_of_experts(in, &pin, 0);
    assert_float_equal(sensitivity_of_experts(in, &pin, 1), without, 1e-9);
    made_free(&made);
}

/* ---- importance ------------------------------------------------------------------------------ */

enum { WEIGHED_ROWS = 16, WEIGHED_COLS = 256 };

static const char *const weighed[] = {"blk.0.attn_v.weight", "blk.0.ffn_up.weight",
                                      "blk.0.ffn_down.weight"};

/* The same numbers in each; in the column that matters most, small ones, which lose most. */
static tare_model *make_weighed(made_model *made) {
    static const uint64_t dims[] = {WEIGHED_ROWS, WEIGHED_COLS};
    made_begin(made, 1 << 20, 3, 0);
    for (size_t i = 0; i < 3; i++) {
        float *v =
            (float *)(void *)made_add(made, tare_str_of(weighed[i]), TARE_ENCODING_F32, dims, 2);
        for (size_t k = 0; k < WEIGHED_ROWS * WEIGHED_COLS; k++)
            v[k] = ((float)((k * 2654435761u >> 8) % 1000) / 1000.0f - 0.5f) *
                   (k % WEIGHED_COLS == 3 ? 0.02f : 1);
        made_floats(v, WEIGHED_ROWS * WEIGHED_COLS);
    }
    return made_finish(made, false, NULL, 0);
}

static float importance_of(size_t col) {
    return col == 3 ? 1e6f : col % 16 == 5 ? 50.0f : 2.0f;
}

/* Of all three tensors, in the older form of its file. */
static tare_importance *make_importance(void) {
    static uint8_t bytes[3 * (12 + 24 + 4 * WEIGHED_COLS) + 4];
    uint8_t *at = bytes;
    tare_source source = {
        .size = sizeof source, .kind = TARE_SOURCE_MEMORY, .name = "m.dat", .memory = bytes};
    tare_importance *out;
    tare_store_le32(at, 3), at += 4;
    for (size_t i = 0; i < 3; i++) {
        const size_t n = strlen(weighed[i]);
        tare_store_le32(at, (uint32_t)n), at += 4;
        memcpy(at, weighed[i], n), at += n;
        tare_store_le32(at, 1), at += 4;
        tare_store_le32(at, WEIGHED_COLS), at += 4;
        for (size_t c = 0; c < WEIGHED_COLS; c++, at += 4) {
            tare_store_le32(at, tare_f32_bits(importance_of(c)));
        }
    }
    source.n_bytes = (size_t)(at - bytes);
    assert_int_equal(tare_importance_open(&out, &source, NULL, NULL), TARE_OK);
    return out;
}

/* What Q8_0 loses of the numbers, where a column weighs min(importance, most)^power in medians. */
static double weighed_error(const float *v, double most, double power) {
    static uint8_t bytes[WEIGHED_ROWS * WEIGHED_COLS * 2];
    static float after[WEIGHED_ROWS * WEIGHED_COLS];
    const tare_encoding *q8_0 = tare_encoding_get(TARE_ENCODING_Q8_0);
    const tare_rows_mut to = {.planes = {bytes}, .n_rows = WEIGHED_ROWS, .cols = WEIGHED_COLS};
    const tare_rows from = {.planes = {bytes}, .n_rows = WEIGHED_ROWS, .cols = WEIGHED_COLS};
    double lost = 0, whole = 0;
    assert_int_equal(tare_encode_rows(&to, q8_0, v, NULL, NULL), TARE_OK);
    assert_int_equal(tare_decode_rows(after, q8_0, &from, NULL), TARE_OK);
    for (size_t i = 0; i < WEIGHED_ROWS * WEIGHED_COLS; i++) {
        const double d = (double)after[i] - (double)v[i];
        const double c = pow(fmin((double)importance_of(i % WEIGHED_COLS) / 2, most), power);
        lost += c * d * d;
        whole += c * (double)v[i] * (double)v[i];
    }
    return lost / whole;
}

/* Huge columns count for more where attention reads them than where a feed-forward part ends. */
static void columns_weigh_by_role(void **state) {
    (void)state;
    made_model made;
    tare_fit_tensor t;
    tare_model *in = make_weighed(&made);
    static float v[WEIGHED_ROWS * WEIGHED_COLS];
    for (size_t k = 0; k < WEIGHED_ROWS * WEIGHED_COLS; k++)
        v[k] = tare_f32_of_bits(tare_load_le32(made.bytes + 4 * k));
    const double expected[] = {weighed_error(v, 200, 1.5), weighed_error(v, 100, 1),
                               weighed_error(v, 10, 1)};
    tare_importance *importance = make_importance();
    tare_convert_options o = tare_convert_options_default();
    tare_fit_options options = tare_fit_options_default();
    const tare_encoding *types[] = {tare_encoding_get(TARE_ENCODING_Q8_0)};
    o.importance = importance;
    options.types = types;
    options.n_types = 1;
    tare_fit *f = fit_with(in, &o, &options);
    assert_int_equal(choose(f, 0, 9, 0, NULL), TARE_OK);
    assert_true(fabs(expected[0] / expected[1] - 1) > 0.05);
    assert_true(fabs(expected[1] / expected[2] - 1) > 0.05);
    for (size_t i = 0; i < 3; i++) {
        assert_true(tare_fit_tensor_at(&t, f, i));
        assert_true(fabs(t.error / expected[i] - 1) < 1e-9);
    }
    tare_fit_free(f);
    tare_importance_free(importance);
    made_free(&made);
}

/* ---- sensitivities --------------------------------------------------------------------------- */

static tare_status fit_text(tare_fit **f, const tare_model *in, const char *text,
                            tare_report *report, tare_error *err) {
    tare_convert_options o = tare_convert_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_fit_options options = tare_fit_options_default();
    options.sensitivities = tare_str_of(text);
    context.report = report;
    return tare_fit_new(f, "out.gguf", in, &o, &options, err);
}

/* By name, and by role under the other kind of names. */
static void sensitivities_count(void **state) {
    (void)state;
    tare_model *in = synth("llama-tiny");
    tare_report *report = tare_report_new();
    tare_fit *f;
    tare_fit_tensor t;
    size_t n = 0;
    assert_int_equal(fit_text(&f, in,
                              "# measured\n\n  model.layers.0.self_attn.q_proj.weight \t 2.5e-1\r\n"
                              "blk.1.ffn_down.weight 8\nsomething.else 1",
                              report, NULL),
                     TARE_OK);
    assert_int_equal(choose(f, 0, 4, 0, NULL), TARE_OK);
    for (size_t i = 0; tare_fit_tensor_at(&t, f, i); i++) {
        if (!t.is_measured) continue;
        n++;
        if (tare_str_is(t.name, "model.layers.0.self_attn.q_proj.weight"))
            assert_true(t.sensitivity == 0.25);
        else if (tare_str_is(t.name, "model.layers.1.mlp.down_proj.weight"))
            assert_true(t.sensitivity == 8);
        else
            fail_msg("%.*s", (int)t.name.len, t.name.ptr);
    }
    assert_int_equal(n, 2);
    assert_int_equal(help_findings(report, "fit.sensitivity-missing"), 1);
    tare_fit_free(f);
    tare_report_free(report);
    tare_model_free(in);
}

static void bad_sensitivities_are_named(void **state) {
    (void)state;
    static const struct {
        const char *text, *field;
    } bad[] = {{"a 1\nb\n", "line[2]"},
               {"a 1\n\nb -1", "line[3]"},
               {"a nan", "line[1]"},
               {"a 1e999", "line[1]"},
               {"a 1x", "line[1]"},
               {"a 1\nb 2\na 3", "line[3]"},
               {"a 1\n", ""}, /* of another model */
               {"#", ""}};
    tare_model *in = synth("llama-tiny");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tare_fit *f;
        tare_error err;
        assert_int_equal(fit_text(&f, in, bad[i].text, NULL, &err), TARE_ERR_ARG);
        assert_string_equal(err.field, bad[i].field);
        assert_null(f);
    }
    tare_model_free(in);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static void wrong_arguments_are_refused(void **state) {
    (void)state;
    tare_model *in = synth("llama-tiny");
    tare_convert_options o = tare_convert_options_default();
    tare_mix_options mix;
    tare_fit *f;
    tare_error err;
    assert_int_equal(tare_fit_new(&f, "out.wcodec", in, &o, NULL, &err), TARE_ERR_UNSUPPORTED);
    assert_int_equal(tare_fit_new(&f, "out", in, &o, NULL, &err), TARE_ERR_ARG);
    f = fit_with(in, &o, NULL);
    assert_int_equal(tare_fit_apply(&o, &mix, f, &err), TARE_ERR_ARG); /* nothing was chosen */
    assert_null(tare_fit_rule(f, 0));
    assert_null(tare_fit_mix(f));
    assert_int_equal(choose(f, 0, 0, 0, &err), TARE_ERR_ARG);
    assert_int_equal(choose(f, 1000000, 4, 0, &err), TARE_ERR_ARG);
    assert_int_equal(choose(f, 1000, 0, 0, &err), TARE_ERR_ARG);
    tare_fit_free(f);
    tare_fit_free(NULL);
    tare_model_free(in);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_met),
        cmocka_unit_test(no_mix_is_better),
        cmocka_unit_test(a_mix_without_loss_is_on_the_curve),
        cmocka_unit_test(rules_repeat_the_choice),
        cmocka_unit_test(threads_and_cpu_do_not_show),
        cmocka_unit_test(grids_are_found),
        cmocka_unit_test(other_weights_get_no_grid),
        cmocka_unit_test(wishes_are_kept),
        cmocka_unit_test(short_rows_get_short_blocks),
        cmocka_unit_test(rows_that_no_type_divides_are_named),
        cmocka_unit_test(experts_get_one_type),
        cmocka_unit_test(columns_weigh_by_role),
        cmocka_unit_test(sensitivities_count),
        cmocka_unit_test(bad_sensitivities_are_named),
        cmocka_unit_test(wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, help_set_up, help_tear_down);
}
