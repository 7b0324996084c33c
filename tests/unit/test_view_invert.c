/* SPDX-License-Identifier: MIT
 *
 * Views backwards: what operations take of a source and where it lies in their result, turned round,
 * must lead every element back; several views of one source must share it out without a gap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "llama/program.h"

/* Runs a program on a source of these dimensions; the view in *out. */
static void run(tare_llama_share *share, const char *program, const uint64_t *dims, uint32_t n_dims,
                uint64_t *n_result) {
    const tare_json_node root = {.type = TARE_JSON_OBJECT};
    tare_llama_config config = {.root = &root};
    tare_llama_draft draft = {.source = 0};
    const tare_piece_view *view;
    tare_arena arena;
    uint64_t n_source;
    tare_arena_init(&arena, NULL);
    assert_true(tare_llama_shape_init(&draft.shape, dims, n_dims));
    n_source = tare_llama_shape_elements(&draft.shape);
    assert_int_equal(tare_llama_program_run(&draft, program, &config, NULL), TARE_OK);
    *n_result = tare_llama_shape_elements(&draft.shape);
    assert_true(tare_llama_shape_finish(&view, &draft.shape, n_source, &arena));
    const tare_llama_place place = {.n = *n_result, .turn = *n_result};
    assert_true(tare_llama_view_invert(share, view, n_source, &place));
    /* every element: source -> result by the inverse, result -> source by the view */
    for (uint64_t k = 0; k < *n_result; k++) {
        uint64_t in_source = k / share->n * share->turn + share->begin + k % share->n;
        uint64_t in_result = share->view.offset, rest = k, back;
        for (uint32_t a = share->view.n_axes; a-- > 0;) {
            in_result += rest % share->view.axes[a].extent * share->view.axes[a].stride;
            rest /= share->view.axes[a].extent;
        }
        assert_true(in_result < *n_result);
        back = view ? view->offset : 0;
        rest = in_result;
        for (uint32_t a = view ? view->n_axes : 0; a-- > 0;) {
            back += rest % view->axes[a].extent * view->axes[a].stride;
            rest /= view->axes[a].extent;
        }
        if (!view) back = in_result;
        assert_int_equal(back, in_source);
    }
    tare_arena_free(&arena);
}

static void test_whole(void **state) {
    (void)state;
    static const char *const programs[] = {"",        "heads(2)",         "swap(0, 1)",
                                           "view(0)", "view(3, 2, 0, 4)", "swap(0, 2)",
                                           "squeeze", "tile(0, 2, 3, 2)", "swap(1, 2) heads(3)"};
    const uint64_t dims[] = {12, 5, 4};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        tare_llama_share share;
        uint64_t n;
        run(&share, programs[i], dims, 3, &n);
        assert_int_equal(n, 240);
        assert_int_equal(share.turn, 240);
        assert_int_equal(share.n, 240);
    }
}

/* Queries, keys and values of three groups; every second row; both halves of rows. */
static void test_shares(void **state) {
    (void)state;
    static const char *const sets[][3] = {
        {"view(3, 4, 2, 5) rows(1, 0, 2) view(0, 5)", "view(3, 4, 2, 5) rows(1, 2, 1) view(0, 5)",
         "view(3, 4, 2, 5) rows(1, 3, 1) view(0, 5)"},
        {"even(0)", "odd(0)", NULL},
        {"view(24, 5, 1) swap(0, 1) even(1)", "view(24, 5, 1) swap(0, 1) odd(1)", NULL},
        {"rows(0, 0, 10) swap(0, 1)", "rows(0, 10, 14) heads(7)", NULL}};
    const uint64_t dims[] = {24, 5};
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        uint64_t sum = 0, turn = 0;
        for (size_t i = 0; i < 3 && sets[s][i]; i++) {
            tare_llama_share share;
            uint64_t n;
            run(&share, sets[s][i], dims, 2, &n);
            assert_int_equal(share.begin, sum);
            assert_true(i == 0 || share.turn == turn);
            turn = share.turn;
            sum += share.n;
        }
        assert_int_equal(sum, turn);
    }
}

/* Axes that leave gaps at two strides are no runs of one length. */
static void test_gaps(void **state) {
    (void)state;
    const tare_piece_view twice = {0, 2, {{3, 20}, {2, 5}}}, beyond = {90, 1, {{20, 1}}};
    const tare_llama_place place = {.n = 20, .turn = 20};
    tare_llama_share share;
    assert_false(tare_llama_view_invert(&share, &twice, 100, &place));
    assert_false(tare_llama_view_invert(&share, &beyond, 100, &place));
}

/* The last 5 rows of each of 3 heads before the first 3, as they take turns in the result. */
static void test_turns(void **state) {
    (void)state;
    static const char *const programs[] = {"view(3, 8, 5) rows(1, 3, 5) turns(0, 2)",
                                           "view(3, 8, 5) rows(1, 0, 3) turns(1, 2)"};
    static const tare_llama_place places[] = {{0, 25, 40}, {25, 15, 40}};
    const uint64_t dims[] = {24, 5};
    bool is_there[120] = {false};
    for (size_t i = 0; i < 2; i++) {
        const tare_json_node root = {.type = TARE_JSON_OBJECT};
        tare_llama_config config = {.root = &root};
        tare_llama_draft draft = {.source = 0};
        tare_llama_share share;
        const tare_piece_view *view;
        tare_arena arena;
        tare_arena_init(&arena, NULL);
        assert_true(tare_llama_shape_init(&draft.shape, dims, 2));
        assert_int_equal(tare_llama_program_run(&draft, programs[i], &config, NULL), TARE_OK);
        assert_int_equal(draft.joint, TARE_LLAMA_TURNS);
        assert_true(tare_llama_shape_finish(&view, &draft.shape, 120, &arena));
        assert_true(tare_llama_view_invert(&share, view, 120, &places[i]));
        for (uint64_t k = 0; k < 3 * places[i].n; k++) {
            uint64_t in_source = k / share.n * share.turn + share.begin + k % share.n;
            uint64_t row = in_source / 5 % 8, in_result = share.view.offset, rest = k;
            for (uint32_t a = share.view.n_axes; a-- > 0;) {
                in_result += rest % share.view.axes[a].extent * share.view.axes[a].stride;
                rest /= share.view.axes[a].extent;
            }
            uint64_t to = row >= 3 ? row - 3 : row + 5;
            assert_int_equal(in_result, in_source / 40 * 40 + to * 5 + in_source % 5);
            assert_false(is_there[in_source]);
            is_there[in_source] = true;
        }
        tare_arena_free(&arena);
    }
}

/* A row that is repeated has no inverse: the copies might differ. */
static void test_repeated(void **state) {
    (void)state;
    const tare_piece_view view = {0, 2, {{4, 0}, {8, 1}}};
    const tare_llama_place place = {.n = 32, .turn = 32};
    tare_llama_share share;
    assert_false(tare_llama_view_invert(&share, &view, 32, &place));
}

static void test_arithmetic(void **state) {
    (void)state;
    static const struct {
        tare_piece_arithmetic does, undoes;
        float constant, second, undoing;
    } rows[] = {{TARE_PIECE_ADD, TARE_PIECE_ADD, 1, 0, -1},
                {TARE_PIECE_MUL, TARE_PIECE_DIV, 8, 0, 8},
                {TARE_PIECE_MUL_TWICE, TARE_PIECE_DIV, 8, 2, 16},
                {TARE_PIECE_NEG_EXP, TARE_PIECE_LOG_NEG, 0, 0, 0},
                {TARE_PIECE_EXP, TARE_PIECE_LOG, 0, 0, 0},
                {TARE_PIECE_LOG, TARE_PIECE_EXP, 0, 0, 0},
                {TARE_PIECE_AS_IS, TARE_PIECE_AS_IS, 0, 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tare_piece piece = {
            .arithmetic = rows[i].does, .constant = rows[i].constant, .second = rows[i].second};
        float constant;
        assert_int_equal(tare_llama_undo(&piece, &constant), rows[i].undoes);
        assert_true(constant == rows[i].undoing);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),    cmocka_unit_test(test_shares),
        cmocka_unit_test(test_gaps),     cmocka_unit_test(test_turns),
        cmocka_unit_test(test_repeated), cmocka_unit_test(test_arithmetic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
