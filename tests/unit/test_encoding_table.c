/* SPDX-License-Identifier: MIT
 *
 * Guards against a wrong row in the table of number formats: a block size that is off by two moves
 * every tensor after it, and a member with the wrong width breaks byte order only. The expected
 * numbers are written here a second time, from the formats' own descriptions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <tare/encoding.h>

typedef struct expected_row {
    tare_encoding_id id;
    uint32_t block, unit, unit_bytes;
    const char *members; /* "width x count" of every member, in order */
} expected_row;

static const expected_row expected[] = {
    {TARE_ENCODING_F64, 1, 1, 8, "8x1"},
    {TARE_ENCODING_F32, 1, 1, 4, "4x1"},
    {TARE_ENCODING_F16, 1, 1, 2, "2x1"},
    {TARE_ENCODING_BF16, 1, 1, 2, "2x1"},
    {TARE_ENCODING_F8_E4M3, 1, 1, 1, "1x1"},
    {TARE_ENCODING_F8_E5M2, 1, 1, 1, "1x1"},
    {TARE_ENCODING_F8_E4M3FNUZ, 1, 1, 1, "1x1"},
    {TARE_ENCODING_F8_E5M2FNUZ, 1, 1, 1, "1x1"},
    {TARE_ENCODING_F8_E8M0, 1, 1, 1, "1x1"},
    {TARE_ENCODING_F6_E2M3, 1, 4, 3, "1x3"},
    {TARE_ENCODING_F6_E3M2, 1, 4, 3, "1x3"},
    {TARE_ENCODING_F4, 1, 2, 1, "1x1"},
    {TARE_ENCODING_C64, 1, 1, 8, "4x2"},
    {TARE_ENCODING_BOOL, 1, 1, 1, "1x1"},
    {TARE_ENCODING_I8, 1, 1, 1, "1x1"},
    {TARE_ENCODING_U8, 1, 1, 1, "1x1"},
    {TARE_ENCODING_I16, 1, 1, 2, "2x1"},
    {TARE_ENCODING_U16, 1, 1, 2, "2x1"},
    {TARE_ENCODING_I32, 1, 1, 4, "4x1"},
    {TARE_ENCODING_U32, 1, 1, 4, "4x1"},
    {TARE_ENCODING_I64, 1, 1, 8, "8x1"},
    {TARE_ENCODING_U64, 1, 1, 8, "8x1"},
    {TARE_ENCODING_Q4_0, 32, 32, 18, "2x1 1x16"},
    {TARE_ENCODING_Q4_1, 32, 32, 20, "2x1 2x1 1x16"},
    {TARE_ENCODING_Q5_0, 32, 32, 22, "2x1 4x1 1x16"},
    {TARE_ENCODING_Q5_1, 32, 32, 24, "2x1 2x1 4x1 1x16"},
    {TARE_ENCODING_Q8_0, 32, 32, 34, "2x1 1x32"},
    {TARE_ENCODING_Q8_1, 32, 32, 36, "2x1 2x1 1x32"},
    {TARE_ENCODING_Q2_K, 256, 256, 84, "1x16 1x64 2x1 2x1"},
    {TARE_ENCODING_Q3_K, 256, 256, 110, "1x32 1x64 1x12 2x1"},
    {TARE_ENCODING_Q4_K, 256, 256, 144, "2x1 2x1 1x12 1x128"},
    {TARE_ENCODING_Q5_K, 256, 256, 176, "2x1 2x1 1x12 1x32 1x128"},
    {TARE_ENCODING_Q6_K, 256, 256, 210, "1x128 1x64 1x16 2x1"},
    {TARE_ENCODING_Q8_K, 256, 256, 292, "4x1 1x256 2x16"},
    {TARE_ENCODING_IQ2_XXS, 256, 256, 66, "2x1 2x32"},
    {TARE_ENCODING_IQ2_XS, 256, 256, 74, "2x1 2x32 1x8"},
    {TARE_ENCODING_IQ2_S, 256, 256, 82, "2x1 1x32 1x32 1x8 1x8"},
    {TARE_ENCODING_IQ3_XXS, 256, 256, 98, "2x1 1x64 4x8"},
    {TARE_ENCODING_IQ3_S, 256, 256, 110, "2x1 1x64 1x8 1x32 1x4"},
    {TARE_ENCODING_IQ1_S, 256, 256, 50, "2x1 1x32 2x8"},
    {TARE_ENCODING_IQ1_M, 256, 256, 56, "1x32 1x16 2x4"},
    {TARE_ENCODING_IQ4_NL, 32, 32, 18, "2x1 1x16"},
    {TARE_ENCODING_IQ4_XS, 256, 256, 136, "2x1 2x1 1x4 1x128"},
    {TARE_ENCODING_TQ1_0, 256, 256, 54, "1x48 1x4 2x1"},
    {TARE_ENCODING_TQ2_0, 256, 256, 66, "1x64 2x1"},
    {TARE_ENCODING_MXFP4, 32, 32, 17, "1x1 1x16"},
    {TARE_ENCODING_NVFP4, 64, 64, 36, "1x4 1x32"},
    {TARE_ENCODING_Q1_0, 128, 128, 18, "2x1 1x16"},
    {TARE_ENCODING_Q2_0, 64, 64, 18, "2x1 1x16"},
};

/* Formats whose planes lie apart: "unit:bytes" of each, '.' for one of the whole tensor, '-' for
 * one of each row. */
static const struct {
    tare_encoding_id id;
    unsigned block;
    const char *planes;
} apart[] = {
    {TARE_ENCODING_Q8, 32, "32:2 32:32"},
    {TARE_ENCODING_Q4, 32, "32:2 32:16"},
    {TARE_ENCODING_K6, 256, "256:2 32:1 32:24"},
    {TARE_ENCODING_K4, 256, "256:2 32:1 32:16"},
    {TARE_ENCODING_K3, 256, "256:2 32:1 32:12"},
    {TARE_ENCODING_K2, 256, "256:2 32:1 32:8"},
    {TARE_ENCODING_MCF_INT8, 1, ".:4 1:1"},
    {TARE_ENCODING_MCF_INT4, 1, ".:4 2:1"},
    {TARE_ENCODING_MCF_INT8_ZERO, 1, ".:4 .:4 1:1"},
    {TARE_ENCODING_MCF_INT4_ZERO, 1, ".:4 .:4 2:1"},
    {TARE_ENCODING_INT8_ROWWISE, 1, "1:1 -:2 *:8"},
    {TARE_ENCODING_INT4_ROWWISE, 1, "2:1 -:2 *:8"},
};

static unsigned field_width(uint8_t type) {
    static const unsigned widths[] = {1, 1, 2, 2, 4, 8, 2, 2, 4, 8, 1, 1};
    assert_true(type < sizeof widths / sizeof widths[0]);
    return widths[type];
}

static void test_rows(void **state) {
    (void)state;
    bool seen[TARE_ENCODING_COUNT] = {[TARE_ENCODING_UNKNOWN] = true};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const tare_encoding *e = tare_encoding_get(expected[i].id);
        assert_non_null(e);
        assert_int_equal(e->id, expected[i].id);
        assert_int_equal(e->block, expected[i].block);
        assert_int_equal(e->n_planes, 1);
        assert_int_equal(e->planes[0].unit, expected[i].unit);
        assert_int_equal(e->planes[0].unit_bytes, expected[i].unit_bytes);
        assert_int_equal(e->planes[0].scope, TARE_PLANE_ELEMENTS);
        assert_non_null(e->planes[0].name);
        seen[e->id] = true;
    }
    for (size_t i = 0; i < sizeof apart / sizeof apart[0]; i++) seen[apart[i].id] = true;
    for (int id = 0; id < TARE_ENCODING_COUNT; id++) assert_true(seen[id]);
}

static void test_members_tile_the_unit(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const tare_encoding *e = tare_encoding_get(expected[i].id);
        char members[80] = "";
        uint32_t end = 0;
        for (uint32_t f = 0; f < e->n_fields; f++) {
            const tare_field *field = &e->fields[f];
            unsigned width = field_width(field->type);
            assert_int_equal(field->plane, 0);
            assert_int_equal(field->offset, end);
            assert_true(field->count > 0);
            assert_non_null(field->name);
            end += width * field->count;
            size_t at = strlen(members);
            snprintf(members + at, sizeof members - at, "%s%ux%u", f ? " " : "", width,
                     field->count);
        }
        assert_int_equal(end, e->planes[0].unit_bytes);
        assert_string_equal(members, expected[i].members);
    }
}

static void test_planes_apart(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof apart / sizeof apart[0]; i++) {
        const tare_encoding *e = tare_encoding_get(apart[i].id);
        char planes[80] = "";
        assert_int_equal(e->block, apart[i].block);
        assert_true(e->is_edge_padded);
        for (uint32_t p = 0, f = 0; p < e->n_planes; p++) {
            uint32_t end = 0;
            size_t at = strlen(planes);
            char unit[16] = ".";
            if (e->planes[p].scope == TARE_PLANE_ROW) unit[0] = '-';
            if (e->planes[p].scope == TARE_PLANE_LIST) unit[0] = '*';
            if (e->planes[p].scope == TARE_PLANE_ELEMENTS)
                snprintf(unit, sizeof unit, "%u", e->planes[p].unit);
            snprintf(planes + at, sizeof planes - at, "%s%s:%u", p ? " " : "", unit,
                     e->planes[p].unit_bytes);
            for (; f < e->n_fields && e->fields[f].plane == p; f++) {
                assert_int_equal(e->fields[f].offset, end);
                end += field_width(e->fields[f].type) * e->fields[f].count;
            }
            assert_int_equal(end, e->planes[p].unit_bytes);
            if (p + 1 == e->n_planes) assert_int_equal(f, e->n_fields);
        }
        assert_string_equal(planes, apart[i].planes);
    }
}

static void test_names_and_numbers(void **state) {
    (void)state;
#define CHECK_ROW(ID, number, text)                                                                \
    assert_int_equal(TARE_ENCODING_##ID, number);                                                  \
    assert_string_equal(tare_encoding_get(TARE_ENCODING_##ID)->name, text);                        \
    assert_int_equal(tare_encoding_find((tare_str){text, sizeof(text) - 1})->id, number);
    TARE_ENCODING_LIST(CHECK_ROW)
#undef CHECK_ROW
    assert_null(tare_encoding_get(TARE_ENCODING_COUNT));
    assert_null(tare_encoding_get((tare_encoding_id)-1));
}

static tare_encoding_id find(const char *name) {
    const tare_encoding *e = tare_encoding_find((tare_str){name, strlen(name)});
    return e ? e->id : TARE_ENCODING_COUNT;
}

static void test_find_takes_any_case_and_other_names(void **state) {
    (void)state;
    assert_int_equal(find("Q4_K"), TARE_ENCODING_Q4_K);
    assert_int_equal(find("q4_0"), TARE_ENCODING_Q4_0);
    assert_int_equal(find("F8_E4M3"), TARE_ENCODING_F8_E4M3);
    assert_int_equal(find("FP16"), TARE_ENCODING_F16);
    assert_int_equal(find("half"), TARE_ENCODING_F16);
    assert_int_equal(find("Float32"), TARE_ENCODING_F32);
    assert_int_equal(find("bfloat16"), TARE_ENCODING_BF16);
    assert_int_equal(find("float8_e4m3fn"), TARE_ENCODING_F8_E4M3);
    assert_int_equal(find("complex64"), TARE_ENCODING_C64);
    assert_int_equal(find("int64"), TARE_ENCODING_I64);
    assert_int_equal(find(""), TARE_ENCODING_COUNT);
    assert_int_equal(find("q4"), TARE_ENCODING_Q4);
    assert_int_equal(find("q5"), TARE_ENCODING_COUNT);
    assert_int_equal(find("q4_00"), TARE_ENCODING_COUNT);
    assert_int_equal(find("q4_k_m"), TARE_ENCODING_COUNT); /* a mix, not an encoding */
}

static tare_status size_of(tare_encoding_id id, uint32_t n, const uint64_t *dims, uint64_t *bytes) {
    tare_error err;
    tare_status status = tare_encoding_sizes(bytes, tare_encoding_get(id), dims, n, &err);
    if (status != TARE_OK) {
        assert_int_equal(err.status, status);
        assert_non_null(err.what);
        assert_int_equal(tare_encoding_sizes(bytes, tare_encoding_get(id), dims, n, NULL), status);
    }
    return status;
}
#define SIZE_OF(id, bytes, ...)                                                                    \
    size_of(TARE_ENCODING_##id, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t),        \
            (const uint64_t[]){__VA_ARGS__}, bytes)

static void test_sizes(void **state) {
    (void)state;
    uint64_t n = 0;
    assert_int_equal(size_of(TARE_ENCODING_F32, 0, NULL, &n), TARE_OK);
    assert_int_equal(n, 4);
    assert_int_equal(SIZE_OF(BF16, &n, 3, 5, 7), TARE_OK);
    assert_int_equal(n, 210);
    assert_int_equal(SIZE_OF(Q4_0, &n, 2, 64), TARE_OK);
    assert_int_equal(n, 2 * 2 * 18);
    assert_int_equal(SIZE_OF(Q6_K, &n, 5, 0), TARE_OK);
    assert_int_equal(n, 0);
    assert_int_equal(SIZE_OF(F64, &n, 0, 5), TARE_OK);
    assert_int_equal(n, 0);
    /* A row holds whole blocks, whatever the number of elements. */
    assert_int_equal(SIZE_OF(Q4_0, &n, 32, 31), TARE_ERR_CORRUPT);
    assert_int_equal(size_of(TARE_ENCODING_Q4_0, 0, NULL, &n), TARE_ERR_CORRUPT);
    /* Packed bits run on across rows. */
    assert_int_equal(SIZE_OF(F4, &n, 2, 3), TARE_OK);
    assert_int_equal(n, 3);
    assert_int_equal(SIZE_OF(F4, &n, 3, 3), TARE_ERR_CORRUPT);
    assert_int_equal(SIZE_OF(F6_E2M3, &n, 2, 2), TARE_OK);
    assert_int_equal(n, 3);
    assert_int_equal(SIZE_OF(F6_E3M2, &n, 2, 5), TARE_ERR_CORRUPT);
    assert_int_equal(size_of(TARE_ENCODING_F4, 0, NULL, &n), TARE_ERR_CORRUPT);
    /* Planes that lie apart have a size each; what does not fill a block or byte is padded. */
    uint64_t planes[TARE_MAX_PLANES];
    assert_int_equal(SIZE_OF(K3, planes, 3, 257), TARE_OK);
    assert_int_equal(planes[0], 3 * 2 * 2);
    assert_int_equal(planes[1], 3 * 9);
    assert_int_equal(planes[2], 3 * 9 * 12);
    assert_int_equal(SIZE_OF(MCF_INT4_ZERO, planes, 3, 3), TARE_OK);
    assert_int_equal(planes[0], 4);
    assert_int_equal(planes[1], 4);
    assert_int_equal(planes[2], 5);
    assert_int_equal(SIZE_OF(INT4_ROWWISE, planes, 2, 3, 5), TARE_OK); /* bytes belong to a row */
    assert_int_equal(planes[0], 6 * 3);
    assert_int_equal(planes[1], 6 * 2);
    /* Products are checked at every step. */
    assert_int_equal(SIZE_OF(U8, &n, UINT64_C(1) << 32, UINT64_C(1) << 32), TARE_ERR_LIMIT);
    assert_int_equal(SIZE_OF(U8, &n, UINT64_C(1) << 32, UINT64_C(1) << 32, 0), TARE_ERR_LIMIT);
    assert_int_equal(SIZE_OF(F64, &n, UINT64_C(1) << 61), TARE_ERR_LIMIT);
    assert_int_equal(SIZE_OF(U8, &n, UINT64_MAX), TARE_OK);
    assert_int_equal(n, UINT64_MAX);
    assert_int_equal(size_of(TARE_ENCODING_UNKNOWN, 0, NULL, &n), TARE_ERR_UNSUPPORTED);
}

static void test_bits(void **state) {
    (void)state;
    assert_true(tare_encoding_bits(tare_encoding_get(TARE_ENCODING_Q4_0)) == 4.5);
    assert_true(tare_encoding_bits(tare_encoding_get(TARE_ENCODING_Q2_K)) == 2.625);
    assert_true(tare_encoding_bits(tare_encoding_get(TARE_ENCODING_F4)) == 4);
    assert_true(tare_encoding_bits(tare_encoding_get(TARE_ENCODING_F6_E3M2)) == 6);
    assert_true(tare_encoding_bits(tare_encoding_get(TARE_ENCODING_C64)) == 64);
    assert_true(tare_encoding_bits(tare_encoding_get(TARE_ENCODING_UNKNOWN)) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_members_tile_the_unit),
        cmocka_unit_test(test_planes_apart),
        cmocka_unit_test(test_names_and_numbers),
        cmocka_unit_test(test_find_takes_any_case_and_other_names),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
