/* SPDX-License-Identifier: MIT
 *
 * Guards against: an output matrix, which usual importance matrices leave out, that is not weighed by
 * what the last layer reads where that is asked for, or weighed so where llama.cpp's bytes are
 * promised; an estimate from what it cannot be made from; damages of it that depend on how the
 * matrix counts; named mixes that are predicted as if they were encoded by the estimate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <math.h>

#include <cmocka.h>

#include <tare/experimental/fitting.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "convert_help.h"

enum { COLS = 256, ROWS = 24 };

/* What a case changes. */
typedef struct variant {
    const char *output;   /* the matrix that is weighed */
    const char *has;      /* a further tensor, as long as a row; NULL: none */
    const char *measured; /* the entry of the matrix */
    uint32_t n_calls;     /* that its sums are of */
    size_t zero;          /* the weight of this column before the last layer is 0; COLS: of none */
    const char *last;     /* a tensor of layer 1, which is not measured */
} variant;

static const variant usual = {"token_embd.weight",         NULL, "blk.0.ffn_gate.weight", 1, COLS,
                              "blk.1.nextn.eh_proj.weight"};

typedef struct fixture {
    made_model made;
    tare_buffer dat;
    tare_importance *importance;
    float values[ROWS * COLS]; /* of the output matrix */
    float estimate[COLS];      /* that is expected */
} fixture;

static float number(uint32_t *seed) {
    *seed = *seed * 1664525 + 1013904223;
    return (float)(*seed >> 8) / (float)(1 << 24);
}

static const float *add(fixture *f, const char *name, uint64_t rows, float least, uint32_t *seed) {
    const uint64_t dims[] = {rows, COLS};
    float *v = (float *)(void *)made_add(&f->made, tare_str_of(name), TARE_ENCODING_F32,
                                         rows > 1 ? dims : dims + 1, rows > 1 ? 2 : 1);
    for (size_t i = 0; i < rows * COLS; i++) v[i] = number(seed) - 0.5f + least;
    return v;
}

static void set_up(fixture *f, const variant *v) {
    uint32_t seed = 9;
    float measured[COLS];
    float state[COLS];
    double sum = 0;
    made_begin(&f->made, 1 << 20, 16, 0);
    memcpy(f->values, add(f, v->output, ROWS, 0, &seed), sizeof f->values);
    const float *after = add(f, "output_norm.weight", 1, 1, &seed);
    float *before = (float *)(uintptr_t)add(f, "blk.0.ffn_norm.weight", 1, 1, &seed);
    add(f, "blk.0.ffn_gate.weight", ROWS, 0, &seed);
    add(f, "blk.1.ffn_norm.weight", 1, 1, &seed);
    add(f, "blk.1.ffn_gate.weight", ROWS, 0, &seed);
    add(f, v->last, ROWS, 0, &seed);
    if (v->has) add(f, v->has, 1, 0, &seed);
    if (strcmp(v->measured, usual.measured) != 0) add(f, v->measured, ROWS, 0, &seed);
    made_finish(&f->made, false, NULL, 0)->catalog.layout = NULL;
    if (v->zero < COLS) before[v->zero] = 0;
    for (size_t c = 0; c < COLS; c++) {
        measured[c] = (c % 32 == 7 ? 500 : 1) * (number(&seed) + 0.1f);
        const double mean = (double)(measured[c] / (float)v->n_calls);
        const double one = c == v->zero ? 1 : mean / ((double)before[c] * (double)before[c]);
        state[c] = (float)one;
        sum += one;
    }
    for (size_t c = 0; c < COLS; c++) {
        state[c] *= (float)(COLS / sum); /* a mean of 1 */
        f->estimate[c] = after[c] * (after[c] * state[c]);
    }
    made_floats((float *)(void *)f->made.bytes, f->made.end / sizeof(float));
    tare_buffer_init(&f->dat, NULL);
    tare_buffer_put_u32(&f->dat, 1, false);
    tare_buffer_put_u32(&f->dat, (uint32_t)strlen(v->measured), false);
    tare_buffer_put_text(&f->dat, v->measured);
    tare_buffer_put_u32(&f->dat, v->n_calls, false);
    tare_buffer_put_u32(&f->dat, COLS, false);
    for (size_t c = 0; c < COLS; c++)
        tare_buffer_put_u32(&f->dat, tare_f32_bits(measured[c]), false);
    const tare_source source = {.size = sizeof source,
                                .kind = TARE_SOURCE_MEMORY,
                                .name = "m.dat",
                                .memory = f->dat.data,
                                .n_bytes = f->dat.size};
    assert_int_equal(tare_importance_open(&f->importance, &source, NULL, NULL), TARE_OK);
}

static void tear_down(fixture *f) {
    tare_importance_free(f->importance);
    tare_buffer_free(&f->dat);
    made_free(&f->made);
}

/* What the encoder makes of the output matrix with such weights. */
static void encode(uint8_t *out, const fixture *f, const float *weights, tare_quality quality) {
    tare_encode_params params = tare_encode_params_default();
    const tare_rows_mut to = {.planes = {out}, .n_rows = ROWS, .cols = COLS};
    params.importance = weights;
    params.quality = quality;
    assert_int_equal(
        tare_encode_rows(&to, tare_encoding_get(TARE_ENCODING_Q4_K), f->values, &params, NULL),
        TARE_OK);
}

/* Converts to Q4_K: whether the output matrix got the estimate, and is else as without any. */
static bool is_estimated(const variant *v, bool weighs_output, tare_quality quality) {
    static uint8_t got[ROWS * 144], plain[ROWS * 144], weighed[ROWS * 144];
    fixture f;
    set_up(&f, v);
    tare_convert_options o = tare_convert_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_output_options o_output = tare_output_options_default();
    o.output = &o_output;
    o.importance = f.importance;
    o.type = tare_encoding_get(TARE_ENCODING_Q4_K);
    o.weighs_output = weighs_output;
    o.quality = quality;
    o_output.force = true;
    context.report = tare_report_new();
    help_convert(help_path("out.gguf"), f.made.model, &o);
    tare_model *out = help_open(help_path("out.gguf"));
    const int64_t at = tare_model_find_tensor(out, tare_str_of(v->output));
    assert_int_equal(tare_tensor_read(got, out, (size_t)at, 0, 0, sizeof got, NULL), TARE_OK);
    encode(plain, &f, NULL, quality);
    encode(weighed, &f, f.estimate, quality);
    assert_memory_not_equal(plain, weighed, sizeof plain);
    const bool is = memcmp(got, weighed, sizeof got) == 0;
    if (!is) assert_memory_equal(got, plain, sizeof got);
    assert_int_equal(help_findings(context.report, "convert.importance-estimated"), is);
    tare_report_free(context.report);
    tare_model_free(out);
    tear_down(&f);
    return is;
}

static bool is_asked_for(const variant *v) {
    return is_estimated(v, true, TARE_QUALITY_DEFAULT);
}

static void it_is_weighed_where_asked_for(void **state) {
    (void)state;
    variant untied = usual, experts = usual, zero = usual;
    untied.output = "output.weight";
    experts.measured = "blk.0.ffn_gate_inp.weight";
    zero.zero = 5;
    assert_true(is_asked_for(&usual));
    assert_true(is_asked_for(&untied));
    assert_true(is_asked_for(&experts));
    assert_true(is_asked_for(&zero));
    assert_true(is_estimated(&usual, false, TARE_QUALITY_BEST));
    assert_false(is_estimated(&usual, false, TARE_QUALITY_DEFAULT)); /* llama.cpp's bytes */
}

static void what_it_cannot_be_told_from_is_left(void **state) {
    (void)state;
    variant v = usual;
    v.has = "output.weight"; /* the embedding is not it */
    assert_false(is_asked_for(&v));
    v.has = "output_norm.bias"; /* inputs are no mere products */
    assert_false(is_asked_for(&v));
    v.has = "blk.0.ffn_norm.bias";
    assert_false(is_asked_for(&v));
    v.has = NULL;
    v.measured = "blk.0.ffn_down.weight"; /* reads something else */
    assert_false(is_asked_for(&v));
    v = usual;
    v.last = "blk.1.attn_v.weight"; /* layer 1 lies between, and the matrix stops before it */
    assert_false(is_asked_for(&v));
    v = usual;
    v.output = "per_layer_token_embd.weight";
    assert_false(is_asked_for(&v));
}

/* The damage follows from the mean square error of the scores, whatever the matrix's unit. */
static double damage_of(const variant *v, double *expected) {
    static uint8_t bytes[ROWS * 272];
    static float decoded[ROWS * COLS];
    fixture f;
    set_up(&f, v);
    const tare_encoding *q8_0 = tare_encoding_get(TARE_ENCODING_Q8_0);
    tare_convert_options o = tare_convert_options_default();
    tare_fit_options options = tare_fit_options_default();
    tare_fit_target target = tare_fit_target_default();
    tare_fit_tensor t;
    tare_fit *fit;
    o.importance = f.importance;
    options.types = &q8_0;
    options.n_types = 1;
    target.bits_per_weight = 40;
    assert_int_equal(tare_fit_new(&fit, "out.gguf", f.made.model, &o, &options, NULL), TARE_OK);
    assert_int_equal(tare_fit_choose(fit, &target, NULL), TARE_OK);
    assert_true(tare_fit_tensor_at(&t, fit, 0) && tare_str_is(t.name, v->output));
    const tare_rows_mut to = {.planes = {bytes}, .n_rows = ROWS, .cols = COLS};
    const tare_rows from = {.planes = {bytes}, .n_rows = ROWS, .cols = COLS};
    assert_int_equal(tare_encode_rows(&to, q8_0, f.values, NULL, NULL), TARE_OK);
    assert_int_equal(tare_decode_rows(decoded, q8_0, &from, NULL), TARE_OK);
    double lost = 0, whole = 0;
    for (size_t i = 0; i < ROWS * COLS; i++) {
        const double d = (double)decoded[i] - (double)f.values[i];
        const double c = (double)f.estimate[i % COLS];
        lost += c * d * d;
        whole += c * (double)f.values[i] * (double)f.values[i];
    }
    assert_true(fabs(t.error / (lost / whole) - 1) < 1e-2); /* of a sample of the rows */
    *expected = 0.37 * lost / ROWS;
    const double damage = t.sensitivity * t.error;
    tare_fit_free(fit);
    tear_down(&f);
    return damage;
}

static void damage_follows_from_scores(void **state) {
    (void)state;
    variant many = usual;
    double expected, again;
    many.n_calls = 40;
    const double damage = damage_of(&usual, &expected), of_many = damage_of(&many, &again);
    assert_true(fabs(damage / expected - 1) < 0.02);
    assert_true(fabs(of_many / damage - 1) < 1e-4);
}

static double damage_of_pinned(tare_fit *fit) {
    tare_fit_target target = tare_fit_target_default();
    tare_fit_tensor t;
    double sum = 0;
    target.bits_per_weight = 40;
    assert_int_equal(tare_fit_choose(fit, &target, NULL), TARE_OK);
    for (size_t i = 0; tare_fit_tensor_at(&t, fit, i); i++) sum += t.is_pinned ? t.damage : 0;
    assert_true(sum > 0);
    return sum;
}

/* The damage that a mix of Q6_K is predicted, and by its definition. */
static double damage_of_mix(tare_quality quality, bool by_estimate, double *expected) {
    static uint8_t bytes[ROWS * 210];
    static float decoded[ROWS * COLS];
    const tare_encoding *q6_k = tare_encoding_get(TARE_ENCODING_Q6_K);
    const tare_type_rule rule = {"blk", tare_encoding_get(TARE_ENCODING_Q8_0)};
    const tare_rows_mut to = {.planes = {bytes}, .n_rows = ROWS, .cols = COLS};
    const tare_rows from = {.planes = {bytes}, .n_rows = ROWS, .cols = COLS};
    tare_encode_params params = tare_encode_params_default();
    tare_convert_options o = tare_convert_options_default();
    tare_fit_options options = tare_fit_options_default();
    tare_fit_point mix;
    tare_fit *fit;
    fixture f;
    set_up(&f, &usual);
    o.importance = f.importance;
    params.quality = o.quality = quality;
    o.rules = &rule;
    o.n_rules = 1;
    options.types = &q6_k;
    options.n_types = 1;
    assert_int_equal(tare_fit_new(&fit, "out.gguf", f.made.model, &o, &options, NULL), TARE_OK);
    assert_true(tare_fit_mix_at(&mix, fit, 0) && mix.mix);
    mix.damage -= damage_of_pinned(fit);
    params.importance = by_estimate ? f.estimate : NULL;
    assert_int_equal(tare_encode_rows(&to, q6_k, f.values, &params, NULL), TARE_OK);
    assert_int_equal(tare_decode_rows(decoded, q6_k, &from, NULL), TARE_OK);
    *expected = 0;
    for (size_t i = 0; i < ROWS * COLS; i++) {
        const double d = (double)decoded[i] - (double)f.values[i];
        *expected += 0.37 * (double)f.estimate[i % COLS] * d * d / ROWS;
    }
    tare_fit_free(fit);
    tear_down(&f);
    return mix.damage;
}

static void mixes_are_predicted_as_they_are_encoded(void **state) {
    (void)state;
    double plain, weighed, best;
    const double got = damage_of_mix(TARE_QUALITY_DEFAULT, false, &plain);
    damage_of_mix(TARE_QUALITY_DEFAULT, true, &weighed);
    assert_true(weighed < 0.9 * plain); /* the one is not the other */
    assert_true(fabs(got / plain - 1) < 0.02);
    const double got_best = damage_of_mix(TARE_QUALITY_BEST, true, &best);
    assert_true(fabs(got_best / best - 1) < 0.02);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_weighed_where_asked_for, help_set_up, help_tear_down),
        cmocka_unit_test_setup_teardown(what_it_cannot_be_told_from_is_left, help_set_up,
                                        help_tear_down),
        cmocka_unit_test(damage_follows_from_scores),
        cmocka_unit_test(mixes_are_predicted_as_they_are_encoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
