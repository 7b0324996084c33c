/* SPDX-License-Identifier: MIT
 *
 * Guards against: tensors that are converted without a request, or not converted despite one;
 * losses that are not reported; metadata that is no longer true; outputs that are the input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "convert_help.h"
#include "quantized/quantized.h"

static const uint64_t matrix[] = {4, 64}, narrow[] = {4, 30}, vector[] = {64};

static const tare_encoding *enc(tare_encoding_id id) {
    return tare_encoding_get(id);
}

static tare_model *finish(made_model *made) {
    tare_model *m = made_finish(made, false, NULL, 0);
    m->catalog.layout = NULL;
    return m;
}

/* Plans towards a format without a path; NULL with the status when that fails. */
static tare_plan *plan(const tare_model *in, tare_convert_options *options, const char *to,
                       tare_status expected, tare_error *err) {
    tare_plan *p;
    options->to = to;
    assert_int_equal(tare_plan_new(&p, NULL, in, options, err), expected);
    return p;
}

static void check_tensor(const tare_plan *p, const char *name, tare_encoding_id to,
                         tare_tensor_action action) {
    const tare_plan_tensor *t;
    for (size_t i = 0; (t = tare_plan_tensor_at(p, i)) != NULL; i++) {
        if (!tare_str_is(t->name, name)) continue;
        assert_int_equal(t->to->id, to);
        assert_int_equal(t->action, action);
        return;
    }
    fail_msg("%s is missing", name);
}

static void a_type_is_for_eligible_tensors(void **state) {
    (void)state;
    made_model made;
    tare_convert_options options = tare_convert_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    tare_output_options output = tare_output_options_default();
    options.output = &output;
    made_begin(&made, 1 << 16, 20, 8);
    help_add(&made, "blk.0.attn_q.weight", TARE_ENCODING_F32, matrix, 2);
    help_add(&made, "blk.0.attn_q.half", TARE_ENCODING_BF16, matrix, 2);
    help_add(&made, "blk.0.attn_norm.weight", TARE_ENCODING_F32, matrix, 2);
    help_add(&made, "blk.0.attn_q.bias", TARE_ENCODING_F32, vector, 1);
    help_add(&made, "positions", TARE_ENCODING_I32, matrix, 2);
    help_add(&made, "quantized.weight", TARE_ENCODING_Q4_0, matrix, 2);
    help_add(&made, "already.weight", TARE_ENCODING_Q8_0, matrix, 2);
    help_add(&made, "narrow.weight", TARE_ENCODING_F32, narrow, 2);
    tare_model *m = finish(&made);
    options.type = enc(TARE_ENCODING_Q8_0);
    context.report = tare_report_new();
    tare_plan *p = plan(m, &options, "gguf", TARE_OK, NULL);
    check_tensor(p, "blk.0.attn_q.weight", TARE_ENCODING_Q8_0, TARE_ACTION_ENCODE);
    check_tensor(p, "blk.0.attn_q.half", TARE_ENCODING_Q8_0, TARE_ACTION_ENCODE);
    check_tensor(p, "blk.0.attn_norm.weight", TARE_ENCODING_F32, TARE_ACTION_COPY);
    check_tensor(p, "blk.0.attn_q.bias", TARE_ENCODING_F32, TARE_ACTION_COPY);
    check_tensor(p, "positions", TARE_ENCODING_I32, TARE_ACTION_COPY);
    check_tensor(p, "quantized.weight", TARE_ENCODING_Q8_0, TARE_ACTION_ENCODE);
    check_tensor(p, "already.weight", TARE_ENCODING_Q8_0, TARE_ACTION_COPY);
    check_tensor(p, "narrow.weight", TARE_ENCODING_F32, TARE_ACTION_COPY);
    assert_int_equal(help_findings(context.report, "convert.kept"), 1);
    tare_plan_free(p);
    tare_error err;
    output.strict = true;
    assert_null(plan(m, &options, "gguf", TARE_ERR_UNSUPPORTED, &err));
    assert_string_equal(err.item_name, "narrow.weight");
    tare_report_free(context.report);
    made_free(&made);
}

static void rules_come_first_and_the_first_counts(void **state) {
    (void)state;
    made_model made;
    tare_convert_options options = tare_convert_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    const tare_type_rule rules[] = {{"\\.bias$", enc(TARE_ENCODING_F16)},
                                    {"^a", enc(TARE_ENCODING_Q4_0)},
                                    {"weight", enc(TARE_ENCODING_BF16)}};
    made_begin(&made, 1 << 16, 20, 8);
    help_add(&made, "a.weight", TARE_ENCODING_F32, matrix, 2);
    help_add(&made, "b.weight", TARE_ENCODING_F32, matrix, 2);
    help_add(&made, "c", TARE_ENCODING_F32, matrix, 2);
    help_add(&made, "a.bias", TARE_ENCODING_F32, vector, 1); /* a rule asks: no dimensions needed */
    help_add(&made, "an.integer", TARE_ENCODING_I32, matrix, 2);
    tare_model *m = finish(&made);
    options.type = enc(TARE_ENCODING_Q8_0);
    options.rules = rules;
    options.n_rules = 3;
    context.report = tare_report_new();
    tare_plan *p = plan(m, &options, "gguf", TARE_OK, NULL);
    check_tensor(p, "a.weight", TARE_ENCODING_Q4_0, TARE_ACTION_ENCODE);
    check_tensor(p, "b.weight", TARE_ENCODING_BF16, TARE_ACTION_ENCODE);
    check_tensor(p, "c", TARE_ENCODING_Q8_0, TARE_ACTION_ENCODE);
    check_tensor(p, "a.bias", TARE_ENCODING_F16, TARE_ACTION_ENCODE);
    check_tensor(p, "an.integer", TARE_ENCODING_I32, TARE_ACTION_COPY);
    assert_int_equal(help_findings(context.report, "convert.kept"), 1);
    tare_plan_free(p);
    const tare_type_rule wrong[] = {{"(", enc(TARE_ENCODING_F16)}, {NULL, NULL}};
    options.rules = wrong;
    options.n_rules = 1;
    assert_null(plan(m, &options, "gguf", TARE_ERR_ARG, NULL));
    options.rules = wrong + 1;
    assert_null(plan(m, &options, "gguf", TARE_ERR_ARG, NULL));
    tare_report_free(context.report);
    made_free(&made);
}

static void a_type_that_the_target_lacks_is_refused_or_carried(void **state) {
    (void)state;
    made_model made;
    tare_convert_options options = tare_convert_options_default();
    made_begin(&made, 1 << 16, 20, 8);
    help_add(&made, "weight", TARE_ENCODING_F32, matrix, 2);
    tare_model *m = finish(&made);
    tare_error err;
    options.type = enc(TARE_ENCODING_Q8_0);
    assert_null(plan(m, &options, "safetensors", TARE_ERR_UNSUPPORTED, &err));
    assert_string_equal(err.item_name, "weight");
    assert_string_equal(err.code, TARE_CODE_CANNOT_HOLD);
    options.opaque = true;
    tare_plan *p = plan(m, &options, "safetensors", TARE_OK, NULL);
    check_tensor(p, "weight", TARE_ENCODING_U8, TARE_ACTION_ENCODE);
    tare_plan_free(p);
    help_convert(help_path("q.safetensors"), m, &options);
    tare_model *back = help_open(help_path("q.safetensors"));
    assert_int_equal(tare_model_tensor(back, 0)->encoding->id, TARE_ENCODING_Q8_0);
    tare_model_free(back);
    options.type = enc(TARE_ENCODING_F8_E4M3); /* a plain type needs no leave */
    options.opaque = false;
    p = plan(m, &options, "gguf", TARE_OK, NULL);
    check_tensor(p, "weight", TARE_ENCODING_I8, TARE_ACTION_ENCODE);
    tare_plan_free(p);
    options.type = enc(TARE_ENCODING_Q8_1); /* decoded, never encoded */
    assert_null(plan(m, &options, "gguf", TARE_ERR_UNSUPPORTED, NULL));
    made_free(&made);
}

/* Codes of 7 and scales that make them 3.5 and, in the second tensor, 7 * 65504 once. */
static void what_the_target_lacks_is_decoded_to_f16_or_f32(void **state) {
    (void)state;
    made_model made;
    tare_convert_options options = tare_convert_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    tare_output_options output = tare_output_options_default();
    options.output = &output;
    made_begin(&made, 1 << 16, 20, 8);
    for (int t = 0; t < 2; t++) {
        uint8_t *block = made_add(&made, t ? TARE_STR("large") : TARE_STR("small"),
                                  TARE_ENCODING_Q4_0, matrix, 2);
        for (int b = 0; b < 8; b++, block += 18) {
            tare_store_le16(block, t && b == 5 ? 0x7BFF : 0x3800);
            memset(block + 2, 0xFF, 16);
        }
    }
    tare_model *m = finish(&made);
    context.report = tare_report_new();
    tare_plan *p = plan(m, &options, "safetensors", TARE_OK, NULL);
    check_tensor(p, "small", TARE_ENCODING_F16, TARE_ACTION_LOSSY);
    check_tensor(p, "large", TARE_ENCODING_F32, TARE_ACTION_LOSSY);
    assert_int_equal(help_findings(context.report, "convert.lossy"), 2);
    tare_plan_free(p);
    help_convert(help_path("d.safetensors"), m, &options);
    tare_model *back = help_open(help_path("d.safetensors"));
    float rows[256];
    assert_int_equal(tare_tensor_rows_f32(rows, back, 1, 0, 4, NULL), TARE_OK);
    assert_true(rows[0] == 3.5f && rows[5 * 32] == 7 * 65504.0f);
    tare_model_free(back);
    output.strict = true;
    tare_error err;
    assert_null(plan(m, &options, "safetensors", TARE_ERR_UNSUPPORTED, &err));
    assert_string_equal(err.item_name, "small");
    options.opaque = true;
    p = plan(m, &options, "safetensors", TARE_OK, NULL);
    check_tensor(p, "small", TARE_ENCODING_U8, TARE_ACTION_STAND_IN);
    tare_plan_free(p);
    tare_report_free(context.report);
    made_free(&made);
}

static void what_cannot_be_decoded_is_refused(void **state) {
    (void)state;
    made_model made;
    tare_convert_options options = tare_convert_options_default();
    made_begin(&made, 1 << 16, 20, 8);
    help_add(&made, "fine", TARE_ENCODING_F32, matrix, 2);
    help_add(&made, "strange", TARE_ENCODING_I8, vector, 1);
    tare_tensor *t = &made.model->catalog.tensors[1];
    t->encoding = enc(TARE_ENCODING_UNKNOWN);
    t->native_type = 1234;
    tare_model *m = finish(&made);
    tare_error err;
    assert_null(plan(m, &options, "safetensors", TARE_ERR_UNSUPPORTED, &err));
    assert_string_equal(err.item_name, "strange");
    assert_non_null(strstr(err.what, "`opaque`"));
    options.opaque = true;
    tare_plan_free(plan(m, &options, "safetensors", TARE_OK, NULL));
    options.opaque = false;
    tare_plan_free(plan(m, &options, "gguf", TARE_OK, NULL));
    options.order = TARE_ORDER_BIG; /* whose units nobody knows */
    assert_null(plan(m, &options, "gguf", TARE_ERR_UNSUPPORTED, &err));
    assert_string_equal(err.item_name, "strange");
    options.order = TARE_ORDER_KEEP; /* a record would not tell in which order its bytes are */
    options.opaque = true;
    made.layout.is_big_endian = true;
    m->catalog.layout = &made.layout;
    assert_null(plan(m, &options, "safetensors", TARE_ERR_UNSUPPORTED, &err));
    assert_string_equal(err.item_name, "strange");
    made_free(&made);
}

/* A weight that its codes and scales stand for; they themselves, where nothing is asked for. */
static void packed_weights_are_weights(void **state) {
    (void)state;
    static const uint64_t weights[] = {256, 256}, scales[] = {2, 2};
    made_model made;
    tare_convert_options options = tare_convert_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    made_begin(&made, 1 << 20, 20, 8);
    uint8_t *w = made_add(&made, TARE_STR("p.weight"), TARE_ENCODING_F8_E4M3, weights, 2);
    uint8_t *s = made_add(&made, TARE_STR("p.weight_scale_inv"), TARE_ENCODING_F32, scales, 2);
    memset(w, 0x38, 256 * 256); /* 1.0 */
    for (uint32_t i = 0; i < 4; i++) tare_store_le32(s + 4 * i, tare_f32_bits((float)(i + 1)));
    help_add(&made, "v", TARE_ENCODING_F32, vector, 1);
    tare_model *m = finish(&made);
    assert_int_equal(tare_quantized_open(m, false, NULL), TARE_OK);
    assert_string_equal(tare_tensor_scheme(m, 0), "fp8");
    options.type = enc(TARE_ENCODING_F32);
    context.report = tare_report_new();
    tare_plan *p = plan(m, &options, "safetensors", TARE_OK, NULL);
    check_tensor(p, "p.weight", TARE_ENCODING_F32, TARE_ACTION_ENCODE);
    assert_int_equal(tare_plan_summarize(p)->n_tensors, 2);
    assert_int_equal(help_findings(context.report, "convert.decoded"), 1);
    tare_plan_free(p);
    options.verify = true;
    help_convert(help_path("w.safetensors"), m, &options);
    tare_model *back = help_open(help_path("w.safetensors"));
    float row[256];
    int64_t at = tare_model_find_tensor(back, TARE_STR("p.weight"));
    assert_int_equal(tare_tensor_rows_f32(row, back, (size_t)at, 200, 1, NULL), TARE_OK);
    assert_true(row[0] == 3.0f && row[255] == 4.0f);
    assert_int_equal(tare_model_find_tensor(back, TARE_STR("p.weight_scale_inv")), -1);
    tare_model_free(back);
    options.type = NULL; /* nothing asked: nothing happens to them */
    options.opaque = true;
    p = plan(m, &options, "gguf", TARE_OK, NULL);
    check_tensor(p, "p.weight", TARE_ENCODING_I8, TARE_ACTION_STAND_IN);
    check_tensor(p, "p.weight_scale_inv", TARE_ENCODING_F32, TARE_ACTION_COPY);
    tare_plan_free(p);
    tare_report_free(context.report);
    made_free(&made);
}

/* ---- metadata -------------------------------------------------------------------------------- */

static void add_key(made_model *made, const char *key, uint64_t value) {
    tare_catalog *c = &made->model->catalog;
    if (!c->metadata) c->metadata = TARE_NEW_ARRAY(&made->model->arena, tare_metadata, 16);
    c->metadata[c->n_metadata++] = (tare_metadata){.key = tare_str_of(key),
                                                   .value = {.type = TARE_VALUE_U32, .as.u = value},
                                                   .offset = TARE_NO_OFFSET};
}

static uint64_t key_of(const tare_model *m, const char *key) {
    int64_t at = tare_model_find_key(m, tare_str_of(key));
    return at < 0 ? UINT64_MAX : tare_model_metadata(m, (size_t)at)->value.as.u;
}

static void keys_say_what_the_types_are(void **state) {
    (void)state;
    made_model made;
    tare_convert_options options = tare_convert_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    made_begin(&made, 1 << 16, 20, 8);
    help_add(&made, "a.weight", TARE_ENCODING_F32, matrix, 2);
    help_add(&made, "vector", TARE_ENCODING_F32, vector, 1);
    add_key(&made, "general.file_type", 0);
    add_key(&made, "split.no", 1);
    add_key(&made, "split.count", 3);
    add_key(&made, "split.tensors.count", 100);
    tare_model *m = finish(&made);
    context.report = tare_report_new();
    options.type = enc(TARE_ENCODING_Q8_0);
    help_convert(help_path("q8.gguf"), m, &options);
    tare_model *out = help_open(help_path("q8.gguf"));
    assert_int_equal(key_of(out, "general.file_type"), 7);
    assert_int_equal(key_of(out, "general.quantization_version"), 2);
    assert_int_equal(key_of(out, "split.count"), UINT64_MAX);
    assert_int_equal(help_findings(context.report, "convert.split-keys-dropped"), 1);
    assert_int_equal(help_findings(context.report, "convert.not-llama-cpp"), 1);
    tare_model_free(out);
    options.type = enc(TARE_ENCODING_F8_E4M3); /* no number says that */
    help_convert(help_path("f8.gguf"), m, &options);
    out = help_open(help_path("f8.gguf"));
    assert_int_equal(key_of(out, "general.file_type"), UINT64_MAX);
    assert_int_equal(key_of(out, "general.quantization_version"), UINT64_MAX);
    assert_int_equal(help_findings(context.report, "convert.file-type"), 1);
    tare_model_free(out);
    options.type = NULL;
    help_convert(help_path("f32.gguf"), m, &options);
    out = help_open(help_path("f32.gguf"));
    assert_int_equal(key_of(out, "general.file_type"), 0);
    tare_model_free(out);
    tare_report_free(context.report);
    made_free(&made);
}

/* The numbers of llama.cpp's list, for a model that is all of one type. */
static void every_type_has_its_number(void **state) {
    (void)state;
    static const struct {
        tare_encoding_id id;
        uint64_t number;
    } cases[] = {
        {TARE_ENCODING_F16, 1},     {TARE_ENCODING_BF16, 32},    {TARE_ENCODING_Q4_0, 2},
        {TARE_ENCODING_Q4_1, 3},    {TARE_ENCODING_Q5_0, 8},     {TARE_ENCODING_Q5_1, 9},
        {TARE_ENCODING_Q8_0, 7},    {TARE_ENCODING_Q2_K, 10},    {TARE_ENCODING_Q3_K, 11},
        {TARE_ENCODING_Q4_K, 14},   {TARE_ENCODING_Q5_K, 16},    {TARE_ENCODING_Q6_K, 18},
        {TARE_ENCODING_IQ2_S, 28},  {TARE_ENCODING_IQ3_XXS, 23}, {TARE_ENCODING_IQ3_S, 26},
        {TARE_ENCODING_IQ4_NL, 25}, {TARE_ENCODING_IQ4_XS, 30},  {TARE_ENCODING_TQ1_0, 36},
        {TARE_ENCODING_TQ2_0, 37},  {TARE_ENCODING_MXFP4, 38},   {TARE_ENCODING_NVFP4, 39},
        {TARE_ENCODING_Q1_0, 40},   {TARE_ENCODING_Q2_0, 41},
    };
    static const uint64_t dims[] = {2, 256};
    made_model made;
    tare_convert_options options = tare_convert_options_default();
    tare_output_options output = tare_output_options_default();
    options.output = &output;
    made_begin(&made, 1 << 16, 4, 8);
    help_add(&made, "a.weight", TARE_ENCODING_F32, dims, 2);
    add_key(&made, "general.file_type", 0);
    tare_model *m = finish(&made);
    output.force = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        options.type = enc(cases[i].id);
        help_convert(help_path("a.gguf"), m, &options);
        tare_model *out = help_open(help_path("a.gguf"));
        assert_int_equal(key_of(out, "general.file_type"), cases[i].number);
        tare_model_free(out);
    }
    made_free(&made);
}

/* ---- what counts as unchanged ---------------------------------------------------------------- */

static bool is_identity(const tare_model *m, const char *to, tare_convert_options options) {
    tare_plan_summary summary;
    tare_plan *p = plan(m, &options, to, TARE_OK, NULL);
    summary = *tare_plan_summarize(p);
    tare_plan_free(p);
    return summary.is_identity;
}

static void only_the_unchanged_is_identical(void **state) {
    (void)state;
    made_model made;
    tare_convert_options plain = tare_convert_options_default(), options;
    help_convert(help_path("a.gguf"), help_make(&made, HELP_COMMON | HELP_CARRIED), &plain);
    tare_model *m = help_open(help_path("a.gguf"));
    assert_true(is_identity(m, "gguf", plain));
    assert_false(is_identity(m, "safetensors", plain));
    options = plain;
    options.order = TARE_ORDER_LITTLE;
    options.alignment = 32;
    const tare_output_options output = {.size = sizeof output, .force = true};
    options.output = &output;
    options.opaque = options.verify = true;
    assert_true(is_identity(m, "gguf", options));
    options.order = TARE_ORDER_BIG;
    assert_false(is_identity(m, "gguf", options));
    options = plain;
    options.alignment = 64;
    assert_false(is_identity(m, "gguf", options));
    options = plain;
    options.shard_size = 1 << 20;
    assert_false(is_identity(m, "gguf", options));
    options = plain;
    options.type = enc(TARE_ENCODING_BF16);
    assert_false(is_identity(m, "gguf", options));
    help_convert(help_path("b.gguf"), m, &plain);
    help_check_same_file(help_path("a.gguf"), help_path("b.gguf"));
    tare_model_free(m);
    made_free(&made);
}

static void outputs_that_cannot_be(void **state) {
    (void)state;
    made_model made;
    tare_error err;
    tare_convert_options options = tare_convert_options_default();
    tare_output_options output = tare_output_options_default();
    options.output = &output;
    const tare_model *m = help_make(&made, HELP_COMMON);
    assert_int_equal(help_try(help_path("no.suffix"), m, &options, &err), TARE_ERR_ARG);
    options.to = "none";
    assert_int_equal(help_try(help_path("x"), m, &options, &err), TARE_ERR_ARG);
    options.to = NULL;
    help_convert(help_path("x.gguf"), m, &options);
    assert_int_equal(help_try(help_path("x.gguf"), m, &options, &err), TARE_ERR_ARG);
    tare_model *in = help_open(help_path("x.gguf"));
    output.force = true; /* not even then */
    assert_int_equal(help_try(help_path("x.gguf"), in, &options, &err), TARE_ERR_ARG);
    assert_int_equal(symlink(help_path("x.gguf"), help_path("link.gguf")), 0);
    assert_int_equal(help_try(help_path("link.gguf"), in, &options, &err), TARE_ERR_ARG);
    options.to = "gguf";
    assert_int_equal(help_try(help_dir, in, &options, &err), TARE_ERR_ARG);
    tare_model_free(in);
    in = help_open(help_path("x.gguf"));
    tare_model_free(in);
    assert_int_equal(help_count_entries(help_dir), 2);
    made_free(&made);
}

/* With force a directory goes with all that is in it: it must be a model's. */
static void only_directories_of_models_are_replaced(void **state) {
    (void)state;
    made_model made;
    tare_error err;
    tare_convert_options options = tare_convert_options_default();
    tare_output_options output = tare_output_options_default();
    options.output = &output;
    const tare_model *m = help_make(&made, HELP_COMMON);
    options.to = "hf";
    output.force = true;
    mkdir(help_path("out"), 0700);
    help_convert(help_path("out"), m, &options); /* empty */
    help_convert(help_path("out"), m, &options); /* a model */
    mkdir(help_path("letters"), 0700);
    FILE *f = fopen(help_path("letters/to-grandmother.txt"), "w");
    assert_non_null(f);
    fclose(f);
    assert_int_equal(help_try(help_path("letters"), m, &options, &err), TARE_ERR_ARG);
    assert_int_equal(access(help_path("letters/to-grandmother.txt"), F_OK), 0);
    mkdir(help_path("out/inner"), 0700); /* a model and more */
    assert_int_equal(help_try(help_path("out"), m, &options, &err), TARE_ERR_ARG);
    made_free(&made);
}

static void data_that_is_not_there_is_found_first(void **state) {
    (void)state;
    made_model made;
    tare_error err;
    tare_convert_options options = tare_convert_options_default();
    help_convert(help_path("x.gguf"), help_make(&made, HELP_COMMON), &options);
    size_t size;
    free(help_read(help_path("x.gguf"), &size));
    assert_int_equal(truncate(help_path("x.gguf"), (off_t)size - 1000), 0);
    tare_model *in = help_open(help_path("x.gguf"));
    assert_int_equal(help_try(help_path("y.gguf"), in, &options, &err), TARE_ERR_TRUNCATED);
    assert_int_equal(err.item_kind, TARE_ITEM_TENSOR);
    assert_int_equal(help_count_entries(help_dir), 1);
    tare_model_free(in);
    made_free(&made);
}

#define T(f) cmocka_unit_test_setup_teardown(f, help_set_up, help_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        T(a_type_is_for_eligible_tensors),
        T(rules_come_first_and_the_first_counts),
        T(a_type_that_the_target_lacks_is_refused_or_carried),
        T(what_the_target_lacks_is_decoded_to_f16_or_f32),
        T(what_cannot_be_decoded_is_refused),
        T(packed_weights_are_weights),
        T(keys_say_what_the_types_are),
        T(every_type_has_its_number),
        T(only_the_unchanged_is_identical),
        T(outputs_that_cannot_be),
        T(only_directories_of_models_are_replaced),
        T(data_that_is_not_there_is_found_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
