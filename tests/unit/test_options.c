/* SPDX-License-Identifier: MIT
 *
 * Guards against: an option that cannot be set by name, or sets another member; a default in the
 * table that is not the struct's; values that are taken although they are of another kind; a failed
 * call that changes something; memory of the caller that is kept. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <tare/experimental/containers.h>
#include <tare/experimental/options.h>

static tare_options *make(tare_verb verb) {
    tare_options *o;
    tare_error err;
    assert_int_equal(tare_options_new(&o, verb, NULL, &err), TARE_OK);
    return o;
}

static void set(tare_options *o, const char *name, const char *value) {
    tare_error err;
    if (tare_option_set(o, name, value, &err) != TARE_OK)
        fail_msg("%s = %s: %s", name, value, err.what);
}

static void refuse(tare_options *o, const char *name, const char *value) {
    tare_error err;
    if (tare_option_set(o, name, value, &err) != TARE_ERR_ARG) fail_msg("%s = %s", name, value);
    assert_true(err.what[0] && strlen(err.field) < sizeof err.field);
    assert_int_equal(tare_option_set(o, name, value, NULL), TARE_ERR_ARG);
}

static void convert(void **state) {
    (void)state;
    tare_options *o = make(TARE_VERB_CONVERT);
    const tare_convert_options *c = tare_options_convert(o);
    char value[] = "q8_0";
    set(o, "type", value);
    char rule[] = "a=b=q4_k";
    set(o, "tensor_type", rule);
    set(o, "tensor-type", "output=f16");
    memset(rule, 'x', sizeof rule - 1);
    set(o, "shard_size", "4G");
    set(o, "endian", "big");
    set(o, "quality", "best");
    set(o, "verify", "true");
    set(o, "threads", "7");
    set(o, "align", "4294967295");
    set(o, "compat", "mantle");
    set(o, "dedup", "none");
    set(o, "clip", "-1.5:2e3");
    set(o, "outlier_threshold", "5.5");
    set(o, "outliers", "0.1%");
    set(o, "effort", "full");
    assert_int_equal(c->type->id, TARE_ENCODING_Q8_0);
    assert_int_equal(c->n_rules, 2);
    assert_string_equal(c->rules[0].pattern, "a=b");
    assert_int_equal(c->rules[0].encoding->id, TARE_ENCODING_Q4_K);
    assert_string_equal(c->rules[1].pattern, "output");
    assert_int_equal(c->shard_size, 4000000000u);
    assert_int_equal(c->order, TARE_ORDER_BIG);
    assert_int_equal(c->quality, TARE_QUALITY_BEST);
    assert_true(c->verify && !c->output->force && !c->keep_split);
    assert_int_equal(c->context->threads, 7);
    assert_int_equal(c->alignment, UINT32_MAX);
    assert_int_equal(c->mcf->compat, TARE_COMPAT_MANTLE);
    assert_int_equal(c->mcf->dedup, TARE_DEDUP_NONE);
    assert_true(c->mcf->has_clip && c->mcf->clip_min == -1.5f && c->mcf->clip_max == 2000.0f);
    assert_true(c->infq->outlier_threshold == 5.5f && c->infq->outlier_share == 0.001);
    assert_int_equal(c->wcodec->effort, TARE_EFFORT_FULL);
    assert_null(c->mix);
    assert_null(tare_options_pack(o));
    assert_null(tare_options_unpack(o));
    set(o, "type", "");
    set(o, "clip", "");
    assert_null(c->type);
    assert_false(c->mcf->has_clip);
    tare_options_free(o);
}

static void others(void **state) {
    (void)state;
    tare_options *o = make(TARE_VERB_QUANTIZE);
    set(o, "mix", "q4_k_m");
    set(o, "pure", "true");
    set(o, "output_tensor_type", "q6_k");
    assert_string_equal(tare_options_convert(o)->mix->mix->name, "Q4_K_M");
    assert_true(tare_options_convert(o)->mix->is_pure);
    assert_int_equal(tare_options_convert(o)->mix->output->id, TARE_ENCODING_Q6_K);
    refuse(o, "mix", "Q9");
    assert_null(tare_options_target(o));
    set(o, "target_size", "7.5G");
    assert_int_equal(tare_options_target(o)->file_bytes, 7500000000u);
    set(o, "target_size", "0");
    assert_null(tare_options_target(o));
    set(o, "target_bpw", "4.25");
    set(o, "target_damage", "0.5");
    assert_true(tare_options_target(o)->bits_per_weight == 4.25);
    assert_true(tare_options_target(o)->damage == 0.5);
    const tare_fit_options *fit = tare_options_fit(o);
    set(o, "types", "q4_k,q8_0");
    set(o, "sensitivity", "a.weight 2\n");
    refuse(o, "types", "q4_k,,q8_0");
    refuse(o, "types", "q4_k,q9_k");
    tare_error err;
    assert_int_equal(tare_option_set(o, "types", "bf16,w4a16", &err), TARE_ERR_ARG);
    assert_non_null(strstr(err.what, "scheme of packed weights"));
    assert_int_equal(fit->n_types, 2);
    assert_int_equal(fit->types[1]->id, TARE_ENCODING_Q8_0);
    assert_int_equal(fit->sensitivities.len, 11);
    set(o, "types", "");
    set(o, "sensitivity", "");
    assert_true(fit->n_types == 0 && !fit->types && fit->sensitivities.len == 0);
    tare_options_free(o);
    o = make(TARE_VERB_CONVERT);
    assert_true(!tare_options_fit(o) && !tare_options_target(o));
    tare_options_free(o);
    o = make(TARE_VERB_PACK);
    tare_pack_options *p = tare_options_pack(o);
    set(o, "mode", "structured");
    set(o, "segment", "64Ki");
    assert_null(p->lossy);
    set(o, "target_bpw", "3.5");
    assert_true(p->lossy && p->lossy->target_bpw == 3.5);
    set(o, "sensitivity", "a.weight 2");
    set(o, "dry_run", "true");
    assert_true(p->output->dry_run && p->lossy->sensitivities.len == 10);
    set(o, "target_bpw", "0");
    assert_null(p->lossy);
    set(o, "exclude", "*.pt");
    set(o, "exclude", "runs/");
    set(o, "directory", "here");
    set(o, "for_gpu", "true");
    assert_int_equal(p->mode, TARE_CODED_STRUCTURED);
    assert_int_equal(p->log2_segment, 16);
    assert_int_equal(p->n_exclude, 2);
    assert_string_equal(p->exclude[1], "runs/");
    assert_string_equal(p->directory, "here");
    assert_true(p->is_for_gpu);
    refuse(o, "segment", "65537");
    refuse(o, "segment", "128Mi");
    assert_int_equal(p->log2_segment, 16);
    refuse(o, "mix", "Q4_K_M"); /* of another verb */
    tare_options_free(o);
    o = make(TARE_VERB_UNPACK);
    set(o, "planes", "0");
    assert_true(tare_options_unpack(o)->is_coarse);
    set(o, "planes", "");
    assert_false(tare_options_unpack(o)->is_coarse);
    tare_options_free(o);
}

/* What the table says is the default changes nothing, and every row is complete. */
static void table(void **state) {
    (void)state;
    for (int verb = 0; verb <= TARE_VERB_UNPACK; verb++) {
        tare_option_info info = tare_option_info_default();
        tare_options *o = make((tare_verb)verb);
        const tare_convert_options *c = tare_options_convert(o);
        const tare_pack_options *p = tare_options_pack(o);
        const tare_unpack_options *u = tare_options_unpack(o);
        const void *at = c ? (const void *)c : p ? (const void *)p : (const void *)u;
        const size_t size = c ? sizeof *c : p ? sizeof *p : sizeof *u;
        uint8_t before[512];
        assert_true(size <= sizeof before);
        memcpy(before, at, size);
        size_t n = 0;
        for (; tare_option_at(&info, (tare_verb)verb, n); n++) {
            assert_true(info.help[0] && info.name[0]);
            assert_int_equal(info.choices != NULL, info.kind == TARE_OPTION_CHOICE);
            if (!info.is_list) set(o, info.name, info.default_value);
            if (info.kind != TARE_OPTION_TEXT && !info.is_list)
                refuse(o, info.name, "\x01 nonsense");
        }
        assert_true(n > 5);
        assert_memory_equal(before, at, size);
        tare_options_free(o);
    }
}

static void hostile(void **state) {
    (void)state;
    static char long_text[100001];
    memset(long_text, '9', sizeof long_text - 1);
    tare_options *o = make(TARE_VERB_CONVERT), *none;
    tare_error err;
    const char *const numbers[] = {"",     "-1",         "+1",  " 1",     "1 ",
                                   "0x10", "4294967296", "1e3", long_text};
    const char *const sizes[] = {"",          "G",     "1.",   "1.5", "4X",  "-4G",
                                 "20000000T", "1KiBB", "1ki5", "1 G", ".5G", long_text};
    const char *const reals[] = {"",      "nan", "inf", "1e999", "-1",     "1,5",
                                 "0x1p3", " 1",  "1 ",  "[1]",   long_text};
    const char *const rules[] = {"", "=q8_0", "a", "a=", "a=nothing", "=", long_text};
    const char *const ranges[] = {"1", ":", "1:", ":1", "1:2:3", "1:nan", "1e39:2e39"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) refuse(o, "threads", numbers[i]);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) refuse(o, "shard_size", sizes[i]);
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        refuse(o, "outlier_threshold", reals[i]);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) refuse(o, "tensor_type", rules[i]);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) refuse(o, "clip", ranges[i]);
    refuse(o, "outlier_threshold", "1e39");
    const char *const shares[] = {"0", "0%", "%", "1.1", "101%", "6", "-1%", "0.1%%", "0.1 %"};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) refuse(o, "outliers", shares[i]);
    set(o, "outliers", "0.25");
    assert_true(tare_options_convert(o)->infq->outlier_share == 0.25);
    set(o, "outlier_threshold", "0");
    assert_true(isinf(tare_options_convert(o)->infq->outlier_threshold));
    refuse(o, "verify", "yes");
    refuse(o, "type", "unknown");
    refuse(o, "", "1");
    refuse(o, "thread", "1");
    refuse(o, "threadss", "1");
    refuse(o, long_text, "1");
    refuse(o, "\xff\n\x1b[31m", "1");
    assert_int_equal(tare_option_set(o, "\x1b", "1", &err), TARE_ERR_ARG);
    assert_null(strchr(err.field, '\x1b'));
    assert_int_equal(tare_option_set(NULL, "threads", "1", &err), TARE_ERR_ARG);
    assert_int_equal(tare_option_set(o, NULL, "1", &err), TARE_ERR_ARG);
    assert_int_equal(tare_option_set(o, "threads", NULL, &err), TARE_ERR_ARG);
    assert_int_equal(tare_options_convert(o)->n_rules, 0);
    set(o, "to", long_text);
    assert_string_equal(tare_options_convert(o)->to, long_text);
    assert_int_equal(tare_options_new(&none, (tare_verb)9, NULL, &err), TARE_ERR_ARG);
    assert_null(none);
    tare_options_free(o);
    tare_options_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convert),
        cmocka_unit_test(others),
        cmocka_unit_test(table),
        cmocka_unit_test(hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
