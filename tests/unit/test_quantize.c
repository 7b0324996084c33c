/* SPDX-License-Identifier: MIT
 *
 * Guards against: a mix that is applied where it was not to be; numbers that are quantized twice in
 * silence; file types that do not name the mix; shards that lose their tensors; measured errors
 * that depend on threads or are not those of the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>

#include <tare/inspect.h>
#include <tare/private/synth.h>

#include "convert_help.h"

static tare_model *tiny(void) {
    tare_model *m;
    assert_int_equal(tare_synth_open(&m, "llama-tiny:t5", NULL, NULL), TARE_OK);
    return m;
}

static uint64_t key_of(const tare_model *m, const char *key) {
    uint64_t n = UINT64_MAX;
    int64_t i = tare_model_find_key(m, tare_str_of(key));
    if (i >= 0) assert_true(tare_value_u64(&n, &tare_model_metadata(m, (size_t)i)->value));
    return n;
}

static const char *type_of(const tare_model *m, const char *name) {
    int64_t i = tare_model_find_tensor(m, tare_str_of(name));
    assert_true(i >= 0);
    return tare_model_tensor(m, (size_t)i)->encoding->name;
}

static void quantize(const char *path, const tare_model *in, const char *mix,
                     tare_convert_options *options) {
    tare_error err;
    const tare_output_options *asked = options->output;
    tare_output_options output = options->output ? *options->output : tare_output_options_default();
    output.no_sync = true;
    options->output = &output;
    if (tare_quantize(path, in, tare_str_of(mix), options, &err) != TARE_OK)
        fail_msg("%s: %s", mix, err.what);
    options->output = asked;
}

static void a_mix_is_named_in_the_file(void **state) {
    (void)state;
    tare_convert_options options = tare_convert_options_default();
    tare_model *in = tiny();
    quantize(help_path("a.gguf"), in, "q5_k_m", &options);
    tare_model *out = help_open(help_path("a.gguf"));
    assert_int_equal(key_of(out, "general.file_type"), 17);
    assert_int_equal(key_of(out, "general.quantization_version"), 2);
    assert_string_equal(type_of(out, "lm_head.weight"), "q6_k");
    assert_string_equal(type_of(out, "model.norm.weight"), "f32");
    tare_model_free(out);
    tare_model_free(in);
}

static void quantized_tensors_stay_unless_allowed(void **state) {
    (void)state;
    tare_convert_options options = tare_convert_options_default();
    tare_output_options output = tare_output_options_default();
    options.output = &output;
    tare_mix_options mix = tare_mix_options_default();
    tare_error err;
    tare_model *source = tiny();
    quantize(help_path("b.gguf"), source, "Q4_0", &options);
    tare_model *in = help_open(help_path("b.gguf"));
    output.no_sync = true;
    assert_int_equal(tare_quantize(help_path("c.gguf"), in, TARE_STR("Q8_0"), &options, &err),
                     TARE_ERR_ARG);
    assert_string_equal(err.item_name, "model.embed_tokens.weight");
    mix.allow_requantize = true;
    options.mix = &mix;
    quantize(help_path("c.gguf"), in, "Q8_0", &options);
    options.mix = NULL;
    quantize(help_path("same.gguf"), in, "Q4_0", &options); /* what has its type is copied */
    tare_model *same = help_open(help_path("same.gguf"));
    help_check_same(in, same);
    tare_model_free(same);
    tare_model_free(in);
    tare_model_free(source);
}

static void wrong_use_is_refused(void **state) {
    (void)state;
    tare_convert_options options = tare_convert_options_default();
    tare_mix_options mix = tare_mix_options_default();
    tare_error err;
    tare_model *in = tiny();
    const char *path = help_path("d.gguf");
    assert_int_equal(tare_quantize(path, in, TARE_STR("Q4_X"), NULL, &err), TARE_ERR_ARG);
    assert_string_equal(err.code, TARE_CODE_UNKNOWN_MIX);
    assert_int_equal(tare_quantize(path, in, TARE_STR("IQ2_XXS"), NULL, &err), TARE_ERR_ARG);
    assert_string_equal(err.item_name, "model.layers.0.self_attn.q_proj.weight");
    options.type = tare_encoding_get(TARE_ENCODING_Q8_0);
    assert_int_equal(tare_quantize(path, in, TARE_STR("Q4_0"), &options, &err), TARE_ERR_ARG);
    options.type = NULL;
    mix.output = tare_encoding_get(TARE_ENCODING_I8); /* of no kind that can be encoded */
    options.mix = &mix;
    assert_int_equal(tare_quantize(path, in, TARE_STR("Q4_0"), &options, &err),
                     TARE_ERR_UNSUPPORTED);
    tare_metadata override = {.key = TARE_STR("a"), .value = {.type = TARE_VALUE_ARRAY}};
    mix.output = NULL;
    options.overrides = &override;
    options.n_overrides = 1;
    assert_int_equal(tare_quantize(path, in, TARE_STR("Q4_0"), &options, &err), TARE_ERR_ARG);
    assert_int_equal(access(path, F_OK), -1);
    tare_model_free(in);
}

/* ---- shards ---------------------------------------------------------------------------------- */

static void write_shard(const char *dir, const char *name, const tare_model *in, unsigned no) {
    char path[200];
    tare_convert_options options = tare_convert_options_default();
    const tare_metadata keys[] = {
        {TARE_STR("split.no"), {.type = TARE_VALUE_U16, .as.u = no}, 0, TARE_NO_OFFSET},
        {TARE_STR("split.count"), {.type = TARE_VALUE_U16, .as.u = 2}, 0, TARE_NO_OFFSET},
        {TARE_STR("split.tensors.count"), {.type = TARE_VALUE_I32, .as.u = 21}, 0, TARE_NO_OFFSET}};
    options.overrides = keys;
    options.n_overrides = 3;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    help_convert(path, in, &options);
}

/* Sets whose first file has keys only are common. */
static void an_empty_first_shard_stays(void **state) {
    (void)state;
    made_model none;
    tare_convert_options options = tare_convert_options_default();
    tare_model *in = tiny(), *set, *out;
    const char *dir = help_path("set"), *kept = help_path("kept");
    assert_int_equal(mkdir(dir, 0777), 0);
    made_begin(&none, 16, 1, 0);
    tare_model *empty = made_finish(&none, false, NULL, 0);
    empty->catalog.layout = NULL;
    write_shard(dir, "m-00001-of-00002.gguf", empty, 0);
    write_shard(dir, "m-00002-of-00002.gguf", in, 1);
    set = help_open(dir);
    options.keep_split = true;
    options.to = "gguf";
    quantize(kept, set, "Q8_0", &options);
    assert_int_equal(help_count_entries(kept), 2);
    out = help_open(kept);
    const tare_model_summary *sum = tare_model_summarize(out);
    assert_int_equal(sum->n_tensors, 21);
    for (size_t i = 0; i < sum->n_tensors; i++)
        assert_int_equal(tare_model_tensor(out, i)->planes[0].file, 1);
    tare_model_free(out);
    tare_model_free(set);
    tare_model_free(in);
    made_free(&none);
}

/* ---- what is lost ---------------------------------------------------------------------------- */

typedef struct told {
    tare_tensor_error errors[32];
    size_t index[32];
    size_t n;
} told;

static void remember(void *ctx, size_t i, const tare_tensor_error *error) {
    told *t = ctx;
    assert_true(t->n < 32);
    t->errors[t->n] = *error;
    t->index[t->n++] = i;
}

static told measure(const char *name, const tare_model *in, unsigned threads) {
    tare_convert_options options = tare_convert_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    told t = {.n = 0};
    options.measured = remember;
    options.measured_ctx = &t;
    context.threads = threads;
    quantize(help_path(name), in, "Q4_K_M", &options);
    return t;
}

static void errors_are_those_of_the_file(void **state) {
    (void)state;
    tare_model *in = tiny();
    const told one = measure("e1.gguf", in, 1), three = measure("e3.gguf", in, 3);
    assert_int_equal(one.n, 16);
    assert_memory_equal(&one, &three, sizeof one);
    tare_model *out = help_open(help_path("e1.gguf"));
    tare_diff *diff;
    assert_int_equal(tare_diff_new(&diff, in, out, NULL, NULL), TARE_OK);
    size_t n_compared = 0;
    const tare_diff_item *item;
    for (size_t k = 0; (item = tare_diff_at(diff, k)) != NULL; k++) {
        for (size_t i = 0; item->kind == TARE_DIFF_ENCODING && i < one.n; i++) {
            if ((int64_t)one.index[i] != item->b) continue;
            assert_true(item->max_abs == one.errors[i].max_abs);
            assert_true(fabs(item->relative_rmse - one.errors[i].relative_rmse) <
                        1e-12 * item->relative_rmse);
            n_compared++;
        }
    }
    assert_int_equal(n_compared, 16);
    tare_diff_free(diff);
    tare_model_free(out);
    tare_model_free(in);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mix_is_named_in_the_file),
        cmocka_unit_test(quantized_tensors_stay_unless_allowed),
        cmocka_unit_test(wrong_use_is_refused),
        cmocka_unit_test(an_empty_first_shard_stays),
        cmocka_unit_test(errors_are_those_of_the_file),
    };
    return cmocka_run_group_tests(tests, help_set_up, help_tear_down);
}
