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
    " \"scaled\": null, \"blocks\": [{\"attention\": {\"n\": 2}}, {\"attention\": {\"n\": null}}],"
    " \"limit\": [0.5, Infinity], \"odd\": NaN, \"tagged\": {\"__float__\": \"-Infinity\"},"
    " \"layers_enum\": \"3,4,5\", \"sparsity\": [0.95, 0.0], \"tied\": false}";

static const char *const defaults[] = {"kind = at(kinds, layer)", "doubled = 2 * hidden", NULL};

static tare_status try_at(tare_llama_value *v, const char *formula, double layer, tare_error *err) {
    const tare_llama_binding bindings[] = {{"layer", layer}, {NULL, 0}};
    tare_llama_config config = {.defaults = defaults};
    tare_arena arena;
    tare_arena_init(&arena, NULL);
    assert_int_equal(tare_json_tree(&config.root, tare_str_of(config_json), &arena, NULL), TARE_OK);
    const tare_status status = tare_llama_formula(v, tare_str_of(formula), &config, bindings, err);
    v->tree = NULL; /* the tree goes; its texts are static */
    tare_arena_free(&arena);
    return status;
}

static tare_llama_value compute(const char *formula, double layer) {
    tare_llama_value v;
    assert_int_equal(try_at(&v, formula, layer, NULL), TARE_OK);
    return v;
}

static tare_status attempt(const char *formula, tare_error *err) {
    tare_llama_value v;
    return try_at(&v, formula, 1, err);
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
        {"leading(kinds, 'm', 'a/attention m/mamba')", 0, 1},
        {"len(pattern)", 0, 4},
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
        {"scaled | true", 0, false},
        {"nosuch | scaled | true", 0, false},
        {"nosuch | true", 0, true},
        {"is_null('scaled')", 0, true},
        {"is_null('nosuch')", 0, false},
        {"is_null('tied')", 0, false},
        {"word(kind, 'mamba attention/full') == 'attention'", 1, true},
        {"word(kind, 'ssm/mamba attention') == 'ssm'", 0, true},
        {"word(at(pattern, layer), 'M/mamba -/mlp E */attention') == '*'", 2, true},
        {"in('a', kinds, 'm/mamba a/attention')", 0, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tare_llama_value v = compute(rows[i].formula, rows[i].layer);
        assert_int_equal(v.kind, TARE_LLAMA_BOOL);
        assert_int_equal(v.number != 0, rows[i].holds);
    }
}

static void test_absent(void **state) {
    (void)state;
    static const char *const formulas[] = {"nosuch",         "2 * nosuch",         "at(kinds, 5)",
                                           "number(nosuch)", "at(pattern, -1)",    "hidden / 0",
                                           "if(false, 1)",   "word(nosuch, 'a b')"};
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
        assert_int_equal(compute(formulas[i], 0).kind, TARE_LLAMA_ABSENT);
}

/* A text that is none of the words names its member, whatever default asked for it. */
static void test_words(void **state) {
    (void)state;
    static const struct {
        const char *formula, *member;
    } rows[] = {
        {"word(kind, 'mamba') == 'mamba'", "kinds: 'attention'"},
        {"in('mamba', kinds, 'mamba full_attention')", "kinds: 'attention'"},
        {"leading(kinds, 'mamba', 'mamba')", "kinds: 'attention'"},
        {"if(true, 1, word(layers_enum, '3'))", "layers_enum: '3,4,5'"},
        {"number(pattern)", "pattern: 'M-*E'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tare_error err = {0};
        assert_int_equal(attempt(rows[i].formula, &err), TARE_ERR_UNSUPPORTED);
        assert_string_equal(err.field, rows[i].member);
        assert_string_equal(err.item_name, "config.json");
    }
}

/* Nor is a number or a list one of them. */
static void test_no_words(void **state) {
    (void)state;
    static const struct {
        const char *formula, *member;
    } rows[] = {
        {"word(hidden, 'wide narrow')", "hidden"},
        {"hidden == 'wide'", "hidden"},
        {"word(kinds, 'mamba')", "kinds"},
        {"if('wide' == kinds, 1, 2)", "kinds"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tare_error err = {0};
        assert_int_equal(attempt(rows[i].formula, &err), TARE_ERR_CORRUPT);
        assert_string_equal(err.field, rows[i].member);
    }
    assert_true(compute("word(tied, 'all some')", 0).number == 0);
}

/* What no key needs may be anything; what one needs must be a number that it can have. */
static void test_not_finite(void **state) {
    (void)state;
    static const struct {
        const char *formula, *member; /* NULL: it is not needed */
    } rows[] = {
        {"odd", "odd"},
        {"nosuch | odd", "odd"},
        {"2 * (hidden + tagged)", "tagged"},
        {"at(limit, 1)", "limit"},
        {"largest(limit)", "limit"},
        {"max(hidden, odd)", "odd"},
        {"floor(odd)", "odd"},
        {"if(odd, 1, 2)", "odd"},
        {"odd < 5", "odd"},
        {"in(odd, limit)", "odd"},
        {"in(hidden, limit)", "limit"},
        {"leading(limit, 0.5)", "limit"},
        {"if(in(3, limit), 1, 2)", "limit"},
        {"hidden | odd", NULL},
        {"finite(odd, 1) < 5", NULL},
        {"finite(at(limit, 1), 1) + finite(hidden, 1)", NULL},
        {"hidden | 2 * odd", NULL},
        {"at(limit, 0)", NULL},
        {"has(odd)", NULL},
        {"len(limit)", NULL},
        {"if(true, 1, odd)", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tare_llama_binding none[] = {{NULL, 0}};
        tare_llama_config config = {.defaults = defaults};
        tare_llama_value v;
        tare_error err = {.status = TARE_OK};
        tare_arena arena;
        tare_arena_init(&arena, NULL);
        assert_int_equal(tare_json_tree(&config.root, tare_str_of(config_json), &arena, NULL),
                         TARE_OK);
        tare_status status =
            tare_llama_formula(&v, tare_str_of(rows[i].formula), &config, none, &err);
        assert_int_equal(status, rows[i].member ? TARE_ERR_CORRUPT : TARE_OK);
        if (rows[i].member) assert_string_equal(err.field, rows[i].member);
        tare_arena_free(&arena);
    }
}

/* torch's icdf of these two, the only ones that models use. */
static void test_probit(void **state) {
    (void)state;
    assert_true(fabs(compute("probit(at(sparsity, layer))", 0).number - 1.6448536) < 1e-6);
    assert_true(compute("probit(at(sparsity, layer))", 1).number == (double)-INFINITY);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),  cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_absent),   cmocka_unit_test(test_words),
        cmocka_unit_test(test_no_words), cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_probit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
