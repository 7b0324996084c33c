/* SPDX-License-Identifier: MIT
 *
 * Guards against a computed model that is not the same on every system, at every thread count and
 * for every range of reads; and against shapes that are not LLaMA's. The digests are pinned: they
 * were computed independently, in Python, from the description in the sources. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <tare/private/synth.h>
#include <tare/tare.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/str.h"
#include "unit/scarce_memory.h"

static tare_model *open_synth(const char *spec) {
    tare_model *m;
    tare_error err;
    if (tare_synth_open(&m, spec, NULL, &err) != TARE_OK) fail_msg("%s: %s", spec, err.what);
    return m;
}

static void digest_hex(char hex[65], const tare_model *m, unsigned threads) {
    tare_context o = tare_context_default();
    tare_digest digest;
    o.threads = threads;
    assert_int_equal(tare_model_digest(NULL, &digest, m, &o, NULL), TARE_OK);
    tare_hex(hex, digest.bytes, 32);
}

static void digests_are_pinned(void **state) {
    (void)state;
    static const char *const pinned[][2] = {
        {"llama-tiny", "810c1573e48f9f5d38fb581f65f3df581df4e80d2a835162af9d43512486da84"},
        {"llama-tiny:normal:0", "810c1573e48f9f5d38fb581f65f3df581df4e80d2a835162af9d43512486da84"},
        {"llama-tiny:normal:7", "3c71cee0789d20c05fd2f064be6016e7b9dc71d99350a4d321bac3fd85dbbd0f"},
        {"llama-tiny:t5", "b368681aba2334a142660302bae244e0b6f2c544064fab08dad7437d3298cf2c"},
        {"llama-tiny:outliers", "a5bac275e46aa9b1fb8a35786b55f6cc59cfddcb72ea4757b422a05454116d7e"},
        {"llama-tiny:bf16", "b45d91a9407e844397d8040c3568be03adcc5758c66ff9382c8441a170532b54"},
    };
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++) {
        char hex[65];
        tare_model *m = open_synth(pinned[i][0]);
        for (unsigned threads = 1; threads <= 5; threads += 2) {
            digest_hex(hex, m, threads);
            assert_string_equal(hex, pinned[i][1]);
        }
        tare_model_free(m);
    }
}

static void shapes_are_those_of_llama(void **state) {
    (void)state;
    static const struct {
        const char *name;
        size_t n_tensors;
        uint64_t n_parameters;
        uint64_t params[7]; /* vocabulary, context, width, heads, kv, layers, ffn */
    } expected[] = {
        {"llama-tiny", 21, 1836288, {512, 512, 256, 4, 2, 2, 768}},
        {"llama-chat", 39, 3410176, {512, 512, 256, 4, 2, 4, 768}},
        {"llama-44m", 12, 44046336, {2048, 2048, 2048, 16, 4, 1, 4096}},
        {"llama-300m", 165, 296784896, {32000, 2048, 1024, 16, 16, 18, 2816}},
        {"llama-1b", 201, 1100048384, {32000, 2048, 2048, 32, 4, 22, 5632}},
        {"llama-8b", 291, 8030261248, {128256, 8192, 4096, 32, 8, 32, 14336}},
    };
    size_t i;
    for (i = 0; tare_synth_shape(i); i++) {
        tare_model *m = open_synth(expected[i].name);
        const tare_model_summary *summary = tare_model_summarize(m);
        assert_string_equal(tare_synth_shape(i), expected[i].name);
        assert_string_equal(summary->format, "synth");
        assert_int_equal(summary->n_tensors, expected[i].n_tensors);
        assert_int_equal(summary->n_parameters, expected[i].n_parameters);
        assert_int_equal(summary->tensor_bytes, 4 * expected[i].n_parameters);
        for (int p = TARE_PARAM_VOCAB_SIZE; p <= TARE_PARAM_FEED_FORWARD_LENGTH; p++) {
            uint64_t value;
            assert_true(tare_model_param(&value, m, (tare_param)p));
            assert_int_equal(value, expected[i].params[p]);
        }
        assert_true(tare_str_is(tare_model_architecture(m), "llama"));
        assert_true(tare_model_find_tensor(m, TARE_STR("model.layers.0.mlp.down_proj.weight")) > 0);
        for (size_t t = 0; t < summary->n_tensors; t++)
            assert_int_equal(tare_model_tensor(m, t)->cols % 256, 0);
        tare_model_free(m);
    }
    assert_int_equal(i, sizeof expected / sizeof *expected);
}

/* Every form's values are those of its law, and a norm's lie around 1. */
static void tensors_have_plausible_values(void **state) {
    (void)state;
    for (size_t form = 0; tare_synth_values(form); form++) {
        char spec[64];
        snprintf(spec, sizeof spec, "llama-tiny:%s", tare_synth_values(form));
        tare_model *m = open_synth(spec);
        const tare_tensor *t;
        for (size_t i = 0; (t = tare_model_tensor(m, i)) != NULL; i++) {
            float *v = malloc((size_t)t->n_elements * sizeof *v);
            double sum = 0, squares = 0;
            assert_non_null(v);
            assert_int_equal(tare_tensor_rows_f32(v, m, i, 0, t->n_rows, NULL), TARE_OK);
            for (size_t k = 0; k < t->n_elements; k++) {
                sum += (double)v[k];
                squares += (double)v[k] * (double)v[k];
            }
            double n = (double)t->n_elements, mean = sum / n, variance = squares / n - mean * mean;
            bool is_norm = t->n_dims == 1, has_outliers = form == 2 && !is_norm;
            assert_true(is_norm ? mean > 0.97 && mean < 1.03 : mean > -0.001 && mean < 0.001);
            /* two channels of 256 raised 8 to 20 times: 1.5 to 4.1 times the variance and more */
            double low = is_norm ? 0.04 : 0.01, high = is_norm ? 0.13 : 0.035;
            assert_true(variance > low * low * (has_outliers ? 1.4 : 1));
            assert_true(variance < high * high * (has_outliers ? 4.2 : 1));
            free(v);
        }
        tare_model_free(m);
    }
}

static void bf16_is_the_normal_form_rounded(void **state) {
    (void)state;
    tare_model *wide = open_synth("llama-tiny:normal:3"), *narrow = open_synth("llama-tiny:bf16:3");
    const tare_tensor *t;
    float a[256];
    uint8_t b[512];
    for (size_t i = 0; (t = tare_model_tensor(narrow, i)) != NULL; i++) {
        assert_int_equal(t->encoding->id, TARE_ENCODING_BF16);
        assert_int_equal(tare_tensor_read(a, wide, i, 0, 0, sizeof a, NULL), TARE_OK);
        assert_int_equal(tare_tensor_read(b, narrow, i, 0, 0, sizeof b, NULL), TARE_OK);
        for (size_t k = 0; k < 256; k++) {
            /* the reference: nearest of the two neighbours, ties to the even one */
            uint32_t bits = tare_load_le32((uint8_t *)a + 4 * k), rest = bits & 0xffff;
            uint32_t up = rest > 0x8000 || (rest == 0x8000 && (bits >> 16 & 1));
            assert_int_equal(tare_load_le16(b + 2 * k), (bits >> 16) + up);
        }
    }
    tare_model_free(wide);
    tare_model_free(narrow);
}

static void bad_specs_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "llama",
        "llama-tiny:",
        "llama-tiny:gauss",
        "llama-tiny:normal:",
        "llama-tiny:normal:-1",
        "llama-tiny:normal:1x",
        "llama-tiny:normal:18446744073709551616",
        "llama-tiny:normal:1:2",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tare_model *m = (tare_model *)&i;
        tare_error err;
        assert_int_equal(tare_synth_open(&m, bad[i], NULL, &err), TARE_ERR_ARG);
        assert_null(m);
        assert_non_null(err.what);
    }
    tare_model_free(open_synth("llama-tiny:normal:18446744073709551615"));
}

/* Each allocation fails once; nothing leaks, nothing crashes. */
static void running_out_of_memory_is_an_error(void **state) {
    (void)state;
    tare_status s = TARE_ERR_NOMEM;
    for (size_t k = 0; s != TARE_OK; k++) {
        scarce_memory f = {.left = (long)k};
        tare_allocator a = scarce_allocator(&f);
        tare_open_options o = tare_open_options_default();
        tare_context context = tare_context_default();
        o.context = &context;
        tare_model *m;
        context.allocator = &a;
        s = tare_synth_open(&m, "llama-tiny:outliers", &o, NULL);
        assert_true(s == TARE_OK || s == TARE_ERR_NOMEM);
        tare_model_free(m);
        assert_int_equal(f.in_use, 0);
        assert_true(k < 1000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_pinned),
        cmocka_unit_test(shapes_are_those_of_llama),
        cmocka_unit_test(tensors_have_plausible_values),
        cmocka_unit_test(bf16_is_the_normal_form_rounded),
        cmocka_unit_test(bad_specs_are_refused),
        cmocka_unit_test(running_out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
