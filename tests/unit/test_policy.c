/* SPDX-License-Identifier: MIT
 *
 * Guards against policies that demand less than they say: a member that is not known, given twice or
 * of another kind is an error with its place, and each breach is a finding that names the tensor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <tare/private/synth.h>
#include <tare/tare.h>

static tare_model *model; /* 21 tensors of F32 */

/* Holds the model against a policy: the codes of what was found, one after the other. */
static tare_status judge(char *codes, size_t size, const char *policy, tare_error *err) {
    tare_context context = tare_context_default();
    context.report = tare_report_new();
    *codes = '\0';
    const tare_status status =
        tare_policy_check(model, (tare_str){policy, strlen(policy)}, &context, err);
    const tare_finding *f;
    for (size_t i = 0; (f = tare_report_at(context.report, i)) != NULL; i++) {
        assert_int_equal(f->level, TARE_LEVEL_ERROR);
        if (!strstr(codes, f->code)) strncat(codes, f->code, size - strlen(codes) - 1);
    }
    tare_report_free(context.report);
    return status;
}

static const struct {
    const char *policy, *codes;
} judged[] = {
    {"{}", ""},
    {"{\"types\": [\"f32\"], \"no_nan\": true, \"license\": false}", ""},
    {"{\"types\": [\"bf16\", \"q4_k\"]}", "policy.types"},
    {"{\"license\": true}", "policy.license"},
    {"{\"license\": [\"mit\"]}", "policy.license"},
    {"{\"chat_template\": true}", "policy.chat-template"},
    {"{\"tensor_names\": \"^(model\\\\.|lm_head)\"}", ""},
    {"{\"tensor_names\": \"^model\\\\.\"}", "policy.tensor-names"},
    {"{\"max_size\": \"8M\"}", ""},
    {"{\"types\": [\"f16\"], \"license\": true}", "policy.typespolicy.license"},
};

static const struct {
    const char *policy;
    uint64_t offset;
} refused[] = {
    {"[]", 0},
    {"{\"type\": [\"f32\"]}", 9},
    {"{\"types\": \"f32\"}", 10},
    {"{\"types\": []}", 10},
    {"{\"types\": [\"f33\"]}", 11},
    {"{\"types\": [\"unknown\"]}", 11},
    {"{\"no_nan\": 1}", 11},
    {"{\"license\": \"mit\"}", 12},
    {"{\"license\": [\"mit\", 1]}", 20},
    {"{\"max_size\": \"8 giga\"}", 13},
    {"{\"max_size\": -1}", 13},
    {"{\"no_nan\": true, \"no_nan\": true}", 27},
};

static void breaches_are_findings(void **state) {
    char codes[256];
    tare_error err;
    (void)state;
    for (size_t i = 0; i < sizeof judged / sizeof *judged; i++) {
        assert_int_equal(judge(codes, sizeof codes, judged[i].policy, &err), TARE_OK);
        assert_string_equal(codes, judged[i].codes);
    }
}

static void faults_of_a_policy_are_errors(void **state) {
    char codes[256];
    tare_error err;
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_int_equal(judge(codes, sizeof codes, refused[i].policy, &err), TARE_ERR_ARG);
        assert_int_equal(err.offset, refused[i].offset);
        assert_string_equal(codes, "");
    }
    assert_int_equal(judge(codes, sizeof codes, "{\"tensor_names\": \"(\"}", &err), TARE_ERR_ARG);
    assert_int_equal(judge(codes, sizeof codes, "{", &err), TARE_ERR_CORRUPT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(breaches_are_findings),
        cmocka_unit_test(faults_of_a_policy_are_errors),
    };
    tare_error err;
    if (tare_synth_open(&model, "llama-tiny", NULL, &err) != TARE_OK) return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tare_model_free(model);
    return failed;
}
