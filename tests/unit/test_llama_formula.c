/* SPDX-License-Identifier: MIT
 *
 * Formulas over config.json must read lists, texts and members as their architectures mean them, and
 * be absent where a part of them is. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "llama/formula.h"

static const char config_json[] =
    "{\"hidden\": 64, \"heads\": 4, \"pattern\": \"M-*E\", \"kinds\": [\"mamba\", \"attention\"],"
    " \"blocks\": [{\"attention\": {\"n\": 2}}, {\"attention\": {\"n\": null}}],"
    " \"layers_enum\": \"3,4,5\", \"sparsity\": [0.95, 0.0], \"tied\": false}";

static const char *const defaults[] = {"kind = at(kinds, layer)", "doubled = 2 * hidden", NULL};

static tare_llama_value compute(const char *formula, double layer) {
    const tare_llama_binding bindings[] = {{"layer", layer}, {NULL, 0}};
    tare_llama_config config = {.defaults = defaults};
    tare_llama_value v;
    tare_arena arena;
    tare_arena_init(&arena, NULL);
    assert_int_equal(tare_llama_json_read(&config.root, tare_str_of(config_json), &arena, NULL),
                     TARE_OK);
    assert_int_equal(tare_llama_formula(&v, tare_str_of(formula), &config, bindings, NULL),
                     TARE_OK);
    v.tree = NULL; /* the tree goes; its texts are static */
    tare_arena_free(&arena);
    return v;
}

static void test_numbers(void **state) {
    (void)state;
    static const struct {
        const char *formula;
        double layer, result;
    } rows[] = {
        {"hidden / heads", 0, 16},
        {"nosuch | hidden", 0, 64},
        {"doubled", 0, 128},
        {"number(layers_enum)", 0, 3},
        {"round(2.5)", 0, 2},
        {"at(blocks, layer, 'attention.n')", 0, 2},
        {"len(kinds)", 0, 2},
        {"leading(kinds, 'mamba')", 0, 1},
        {"floor(hidden * 3.5 / 32) * 32", 0, 224},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tare_llama_value v = compute(rows[i].formula, rows[i].layer);
        assert_int_equal(v.kind, TARE_LLAMA_NUMBER);
        assert_true(v.number == rows[i].result);
    }
}

static void test_conditions(void **state) {
    (void)state;
    static const struct {
        const char *formula;
        double layer;
        bool holds;
    } rows[] = {
        {"at(pattern, layer) == '*'", 2, true},
        {"at(pattern, layer) == '*'", 3, false},
        {"at(pattern, layer) == 'M'", 9, false},
        {"in('mamba', kinds)", 0, true},
        {"in('conv', kinds)", 0, false},
        {"kind == 'attention'", 1, true},
        {"kind == 'attention'", 0, false},
        {"has(at(blocks, layer, 'attention.n'))", 1, false},
        {"if(tied | true, true, false)", 0, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tare_llama_value v = compute(rows[i].formula, rows[i].layer);
        assert_int_equal(v.kind, TARE_LLAMA_BOOL);
        assert_int_equal(v.number != 0, rows[i].holds);
    }
}

static void test_absent(void **state) {
    (void)state;
    static const char *const formulas[] = {"nosuch",         "2 * nosuch",      "at(kinds, 5)",
                                           "number(nosuch)", "number(pattern)", "at(pattern, -1)",
                                           "hidden / 0",     "if(false, 1)"};
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
        assert_int_equal(compute(formulas[i], 0).kind, TARE_LLAMA_ABSENT);
}

/* torch's icdf of these two, the only ones that models use. */
static void test_probit(void **state) {
    (void)state;
    assert_true(fabs(compute("probit(at(sparsity, layer))", 0).number - 1.6448536) < 1e-6);
    assert_true(compute("probit(at(sparsity, layer))", 1).number == (double)-INFINITY);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_probit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
