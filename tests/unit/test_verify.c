/* SPDX-License-Identifier: MIT
 *
 * Guards against NaN, Inf, impossible scales and codes that a deep check does not see, or sees at
 * the wrong byte; against alarms where nothing is wrong; and against findings whose order or number
 * depends on threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <tare/encoding.h>
#include <tare/inspect.h>
#include <tare/model.h>
#include <tare/private/synth.h>

#include "base/bytes.h"
#include "made_model.h"
#include "ops/inspect/bad_patterns.h"

#define ROWS 5

static tare_report *verify(const tare_model *m, unsigned threads) {
    tare_context o = tare_context_default();
    o.report = tare_report_new();
    o.threads = threads;
    assert_non_null(o.report);
    assert_int_equal(tare_verify_data(m, &o, NULL), TARE_OK);
    return o.report;
}

static void expect(const tare_report *r, size_t i, const char *code, int64_t item, uint64_t offset,
                   const char *text) {
    const tare_finding *f = tare_report_at(r, i);
    assert_non_null(f);
    assert_string_equal(f->code, code);
    assert_int_equal(f->item, item);
    assert_int_equal(f->offset, offset);
    assert_true(tare_str_is(f->text, text));
}

/* A pattern that is no number, where it lies in a unit, and what it must be called; with its
 * neighbour, the largest pattern that is one. */
typedef struct plant {
    tare_encoding_id encoding;
    uint32_t plane;
    uint32_t at; /* byte of the unit */
    uint32_t width;
    uint64_t bad;
    const char *code;
    uint64_t good;
} plant;

#define F16_PLANTS(id, at_)                                                                        \
    {TARE_ENCODING_##id, 0, at_, 2, 0x7c00, "data.scale", 0x7bff},                                 \
        {TARE_ENCODING_##id, 0, at_, 2, 0xfc00, "data.scale", 0xfbff}, {                           \
        TARE_ENCODING_##id, 0, at_, 2, 0x7e01, "data.scale", 0x03ff                                \
    }

static const plant plants[] = {
    {TARE_ENCODING_F64, 0, 0, 8, UINT64_C(0x7ff0000000000000), "data.inf",
     UINT64_C(0x7fefffffffffffff)},
    {TARE_ENCODING_F64, 0, 0, 8, UINT64_C(0xfff0000000000001), "data.nan",
     UINT64_C(0x800fffffffffffff)},
    {TARE_ENCODING_F32, 0, 0, 4, 0x7f800000, "data.inf", 0x7f7fffff},
    {TARE_ENCODING_F32, 0, 0, 4, 0xff800000, "data.inf", 0xff7fffff},
    {TARE_ENCODING_F32, 0, 0, 4, 0x7f800001, "data.nan", 0x807fffff},
    {TARE_ENCODING_F16, 0, 0, 2, 0xfc00, "data.inf", 0xfbff},
    {TARE_ENCODING_F16, 0, 0, 2, 0x7dff, "data.nan", 0x03ff},
    {TARE_ENCODING_BF16, 0, 0, 2, 0x7f80, "data.inf", 0x7f7f},
    {TARE_ENCODING_BF16, 0, 0, 2, 0xffc0, "data.nan", 0xff7f},
    {TARE_ENCODING_F8_E4M3, 0, 0, 1, 0x7f, "data.nan", 0x7e},
    {TARE_ENCODING_F8_E4M3, 0, 0, 1, 0xff, "data.nan", 0xfe},
    {TARE_ENCODING_F8_E5M2, 0, 0, 1, 0x7c, "data.inf", 0x7b},
    {TARE_ENCODING_F8_E5M2, 0, 0, 1, 0xfd, "data.nan", 0xfb},
    {TARE_ENCODING_F8_E4M3FNUZ, 0, 0, 1, 0x80, "data.nan", 0x7f},
    {TARE_ENCODING_F8_E5M2FNUZ, 0, 0, 1, 0x80, "data.nan", 0xff},
    {TARE_ENCODING_F8_E8M0, 0, 0, 1, 0xff, "data.nan", 0xfe},
    {TARE_ENCODING_C64, 0, 0, 4, 0x7f800000, "data.inf", 0x7f7fffff},
    {TARE_ENCODING_C64, 0, 4, 4, 0x7fc00000, "data.nan", 0x7f7fffff},
    {TARE_ENCODING_BOOL, 0, 0, 1, 2, "data.code", 1},
    {TARE_ENCODING_BOOL, 0, 0, 1, 0x80, "data.code", 0},
    F16_PLANTS(Q4_0, 0),
    F16_PLANTS(Q4_1, 0),
    F16_PLANTS(Q4_1, 2),
    F16_PLANTS(Q5_0, 0),
    F16_PLANTS(Q5_1, 0),
    F16_PLANTS(Q5_1, 2),
    F16_PLANTS(Q8_0, 0),
    F16_PLANTS(Q8_1, 0),
    F16_PLANTS(Q8_1, 2),
    F16_PLANTS(Q2_K, 80),
    F16_PLANTS(Q2_K, 82),
    F16_PLANTS(Q3_K, 108),
    F16_PLANTS(Q4_K, 0),
    F16_PLANTS(Q4_K, 2),
    F16_PLANTS(Q5_K, 0),
    F16_PLANTS(Q5_K, 2),
    F16_PLANTS(Q6_K, 208),
    {TARE_ENCODING_Q8_K, 0, 0, 4, 0x7f800000, "data.scale", 0x7f7fffff},
    F16_PLANTS(IQ2_XXS, 0),
    F16_PLANTS(IQ2_XS, 0),
    F16_PLANTS(IQ2_S, 0),
    F16_PLANTS(IQ3_XXS, 0),
    F16_PLANTS(IQ3_S, 0),
    F16_PLANTS(IQ1_S, 0),
    /* f16 0x7c00 in top nibbles, lowest first: 0, 0, c, 7; the rest of the words is set too */
    {TARE_ENCODING_IQ1_M, 0, 48, 8, UINT64_C(0x7fffcfff0fff0fff), "data.scale",
     UINT64_C(0x7fffbfffffffffff)},
    {TARE_ENCODING_IQ1_M, 0, 48, 8, UINT64_C(0xf000f000f000f000), "data.scale",
     UINT64_C(0x6fffffffffffffff)},
    F16_PLANTS(IQ4_NL, 0),
    F16_PLANTS(IQ4_XS, 0),
    F16_PLANTS(TQ1_0, 52),
    F16_PLANTS(TQ2_0, 64),
    {TARE_ENCODING_MXFP4, 0, 0, 1, 0xff, "data.scale", 0xfe},
    {TARE_ENCODING_NVFP4, 0, 0, 1, 0x7f, "data.scale", 0x7e},
    {TARE_ENCODING_NVFP4, 0, 3, 1, 0xff, "data.scale", 0xfe},
    F16_PLANTS(Q1_0, 0),
    F16_PLANTS(Q2_0, 0),
    F16_PLANTS(Q8, 0),
    F16_PLANTS(Q4, 0),
    F16_PLANTS(K6, 0),
    F16_PLANTS(K4, 0),
    F16_PLANTS(K3, 0),
    F16_PLANTS(K2, 0),
    {TARE_ENCODING_K6, 1, 0, 1, 0x40, "data.code", 0x3f},
    {TARE_ENCODING_K4, 1, 0, 1, 0x80, "data.code", 0x3f},
    {TARE_ENCODING_K3, 1, 0, 1, 0xff, "data.code", 0x3f},
    {TARE_ENCODING_K2, 1, 0, 1, 0x40, "data.code", 0x00},
    {TARE_ENCODING_MCF_INT8, 0, 0, 4, 0x7f800000, "data.scale", 0x7f7fffff},
    {TARE_ENCODING_MCF_INT4, 0, 0, 4, 0xffc00000, "data.scale", 0x7f7fffff},
    {TARE_ENCODING_MCF_INT8_ZERO, 0, 0, 4, 0x7f800000, "data.scale", 0x7f7fffff},
    {TARE_ENCODING_MCF_INT8_ZERO, 1, 0, 4, 0x7f800001, "data.scale", 0x7f7fffff},
    {TARE_ENCODING_MCF_INT4_ZERO, 0, 0, 4, 0xff800000, "data.scale", 0x7f7fffff},
    {TARE_ENCODING_MCF_INT4_ZERO, 1, 0, 4, 0x7f800000, "data.scale", 0x7f7fffff},
    {TARE_ENCODING_INT8_ROWWISE, 1, 0, 2, 0x7c00, "data.scale", 0x7bff},
    {TARE_ENCODING_INT8_ROWWISE, 1, 0, 2, 0x7e01, "data.scale", 0x03ff},
    {TARE_ENCODING_INT4_ROWWISE, 1, 0, 2, 0xfc00, "data.scale", 0xfbff},
};

static void put(uint8_t *at, uint64_t bits, uint32_t width, bool is_big_endian) {
    for (uint32_t i = 0; i < width; i++)
        at[is_big_endian ? width - 1 - i : i] = (uint8_t)(bits >> 8 * i);
}

/* One bad pattern among good ones, in the first, a middle and the last unit; both byte orders. */
static void plant_one(const plant *p, bool is_big_endian) {
    const tare_encoding *e = tare_encoding_get(p->encoding);
    const uint64_t dims[2] = {ROWS, 3 * (uint64_t)e->block};
    const uint32_t unit = e->planes[p->plane].unit_bytes;
    uint64_t sizes[TARE_MAX_PLANES], total = 0, before = 7;
    assert_int_equal(tare_encoding_sizes(sizes, e, dims, 2, NULL), TARE_OK);
    for (uint32_t i = 0; i < e->n_planes; i++) total += sizes[i];
    for (uint32_t i = 0; i < p->plane; i++) before += sizes[i];
    const uint32_t n_units = (uint32_t)(sizes[p->plane] / unit);
    for (uint32_t bad = 0; bad<n_units; bad += n_units> 1 ? n_units / 2 : 1) {
        made_model made;
        made_begin(&made, (size_t)(7 + total), 1, 7);
        uint8_t *bytes = made_add(&made, TARE_STR("t"), p->encoding, dims, 2) + before - 7;
        for (uint32_t i = 0; i < n_units; i++)
            put(bytes + i * unit + p->at, i == bad ? p->bad : p->good, p->width, is_big_endian);
        tare_model *m = made_finish(&made, is_big_endian, NULL, 0);
        tare_report *r = verify(m, 1);
        if (tare_report_count(r) != 1 || strcmp(tare_report_at(r, 0)->code, p->code) ||
            tare_report_at(r, 0)->offset != before + (uint64_t)bad * unit + p->at)
            fail_msg("%s: %zu findings, %s at %d instead of %s at %u", e->name,
                     tare_report_count(r), tare_report_count(r) ? tare_report_at(r, 0)->code : "",
                     tare_report_count(r) ? (int)tare_report_at(r, 0)->offset : -1, p->code,
                     (unsigned)before + bad * unit + p->at);
        assert_int_equal(tare_report_at(r, 0)->level, TARE_LEVEL_ERROR);
        assert_int_equal(tare_report_at(r, 0)->text.ptr[0], '1');
        tare_report_free(r);
        made_free(&made);
    }
}

static void each_bad_pattern_is_found_at_its_byte(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) {
        plant_one(&plants[i], false);
        /* the words of IQ1_M are swapped one by one: the pattern is written as if little-endian */
        if (plants[i].encoding != TARE_ENCODING_IQ1_M) plant_one(&plants[i], true);
    }
}

/* Every encoding with a scale or floats is in the list above. */
static void no_encoding_is_forgotten(void **state) {
    (void)state;
    for (int id = 1; id < TARE_ENCODING_COUNT; id++) {
        const tare_encoding *e = tare_encoding_get((tare_encoding_id)id);
        tare_pattern_site sites[TARE_MAX_PATTERNS];
        size_t n_sites = tare_patterns_of(sites, e), n_planted = 0;
        for (size_t s = 0; s < n_sites; s++) {
            /* what lists hold: infq-outliers-* of the malformed corpus */
            bool is_planted = e->planes[sites[s].plane].scope == TARE_PLANE_LIST;
            for (size_t i = 0; i < sizeof plants / sizeof *plants; i++)
                is_planted |= plants[i].encoding == e->id && plants[i].at == sites[s].offset &&
                              plants[i].plane == sites[s].plane;
            n_planted += is_planted;
        }
        /* NVFP4: the first and the last of four scales */
        assert_int_equal(n_planted, e->id == TARE_ENCODING_NVFP4 ? 2 : n_sites);
        bool is_all_finite = e->kind == TARE_KIND_INTEGER && e->id != TARE_ENCODING_BOOL;
        is_all_finite |=
            e->is_bit_packed && e->n_planes == 1; /* F4, F6: every pattern is a number */
        assert_int_equal(n_sites == 0, is_all_finite);
    }
}

/* Many in one tensor are one finding of each kind, with their number. */
static void oddities_are_counted(void **state) {
    (void)state;
    const uint64_t dims[1] = {100000};
    made_model made;
    made_begin(&made, 400000, 1, 0);
    uint8_t *bytes = made_add(&made, TARE_STR("t"), TARE_ENCODING_F32, dims, 1);
    for (size_t i = 11; i < 100000; i += 3) tare_store_le32(bytes + 4 * i, 0x7fc00000);
    tare_store_le32(bytes + 4 * 99999, 0xff800000);
    tare_store_le32(bytes + 4 * 5001, 0x7f800000);
    tare_report *r = verify(made_finish(&made, false, NULL, 0), 1);
    assert_int_equal(tare_report_count(r), 2);
    /* 33330 from 11 on in steps of 3; 5001 and 99999 are no such place */
    expect(r, 0, "data.nan", 0, 44, "33330 values are not numbers");
    expect(r, 1, "data.inf", 0, 20004, "2 values are infinite");
    tare_report_free(r);
    made_free(&made);
}

/* Also where nothing but oddities is to be seen, and in every piece of a tensor that is read in
 * several. */
static void all_of_a_long_tensor_is_looked_at(void **state) {
    (void)state;
    enum { N = (5 << 20) / 2 };
    const uint64_t dims[2] = {1, N};
    made_model made;
    made_begin(&made, N, 1, 0);
    uint8_t *bytes = made_add(&made, TARE_STR("t"), TARE_ENCODING_BOOL, dims, 2);
    memset(bytes, 2, N);
    tare_report *r = verify(made_finish(&made, false, NULL, 0), 1);
    assert_int_equal(tare_report_count(r), 1);
    expect(r, 0, "data.code", 0, 0, "2621440 values are outside their range");
    tare_report_free(r);
    memset(bytes, 1, N);
    bytes[N - 1] = 3;
    r = verify(made.model, 1);
    expect(r, 0, "data.code", 0, N - 1, "1 value is outside its range");
    tare_report_free(r);
    made_free(&made);
}

/* Findings come in the order of the tensors whatever thread finds them; padding comes last. */
static void order_does_not_depend_on_threads(void **state) {
    (void)state;
    enum { N = 60 };
    made_model made;
    tare_filler fillers[2];
    made_begin(&made, 200000, N, 8);
    for (uint64_t i = 0; i < N; i++) {
        char name[8];
        uint64_t dims[1] = {1 + i * 37 % 500};
        snprintf(name, sizeof name, "t%d", (int)i);
        uint8_t *bytes = made_add(&made, tare_str_of(name), TARE_ENCODING_F32, dims, 1);
        tare_store_le32(bytes, 0x7fc00000);
    }
    const uint64_t second = made.model->catalog.tensors[1].planes[0].offset - 8;
    fillers[0] = (tare_filler){0, 0, 8};
    fillers[1] = (tare_filler){0, second, 8};
    made.bytes[3] = 1;
    made.bytes[second + 6] = made.bytes[second + 7] = 0xff;
    tare_model *m = made_finish(&made, false, fillers, 2);
    for (unsigned threads = 1; threads <= 8; threads *= 2) {
        tare_report *r = verify(m, threads);
        assert_int_equal(tare_report_count(r), N + 2);
        for (size_t i = 0; i < N; i++)
            expect(r, i, "data.nan", (int64_t)i, m->catalog.tensors[i].planes[0].offset,
                   "1 value is not a number");
        expect(r, N, "data.padding", -1, 3, "1 of 8 bytes outside all tensors is not zero");
        expect(r, N + 1, "data.padding", -1, second + 6,
               "2 of 8 bytes outside all tensors are not zero");
        assert_int_equal(tare_report_at(r, N)->level, TARE_LEVEL_WARNING);
        tare_report_free(r);
    }
    made_free(&made);
}

/* What follows the padding of the last tensor is reported while opening, as what it is. */
static void the_tail_is_no_padding(void **state) {
    (void)state;
    const uint64_t dims[1] = {5};
    const tare_filler tail = {0, 40, 60};
    for (uint64_t at = 40; at < 100; at++) {
        made_model made;
        made_begin(&made, 100, 1, 20);
        made_add(&made, TARE_STR("t"), TARE_ENCODING_F32, dims, 1);
        made.bytes[at] = 1;
        tare_model *m = made_finish(&made, false, &tail, 1);
        made.layout.alignment = 32;
        tare_report *r = verify(m, 1);
        assert_int_equal(tare_report_count(r), at < 64);
        if (at < 64)
            expect(r, 0, "data.padding", -1, at, "1 of 24 bytes outside all tensors is not zero");
        tare_report_free(r);
        made_free(&made);
    }
}

/* What is there of a tensor that was cut short is looked at; what is not is no failure here. */
static void a_cut_file_is_read_as_far_as_it_goes(void **state) {
    (void)state;
    const uint64_t dims[2] = {4, 64};
    for (uint64_t size = 0; size < 4 * 2 * 34; size++) {
        made_model made;
        made_begin(&made, 4 * 2 * 34, 1, 0);
        uint8_t *bytes = made_add(&made, TARE_STR("t"), TARE_ENCODING_Q8_0, dims, 2);
        tare_store_le16(bytes + 34, 0x7c00);
        tare_store_le16(bytes + 5 * 34, 0x7c00);
        tare_model *m = made_finish(&made, false, NULL, 0);
        m->files[0].reader.size = size;
        tare_report *r = verify(m, 1);
        assert_int_equal(tare_report_count(r), size >= 2 * 34);
        if (size >= 2 * 34)
            expect(r, 0, "data.scale", 0, 34,
                   size >= 6 * 34 ? "2 scales are not finite numbers"
                                  : "1 scale is not a finite number");
        tare_report_free(r);
        made_free(&made);
    }
}

static bool stop_at_once(void *ctx, uint64_t done, uint64_t total) {
    (void)ctx;
    assert_true(done <= total);
    return true;
}

static void it_can_be_stopped(void **state) {
    (void)state;
    tare_model *m;
    tare_error err;
    assert_int_equal(tare_synth_open(&m, "llama-300m", NULL, NULL), TARE_OK);
    for (unsigned threads = 1; threads <= 2; threads++) {
        tare_context o = tare_context_default();
        o.threads = threads;
        o.progress = stop_at_once;
        assert_int_equal(tare_verify_data(m, &o, &err), TARE_ERR_CANCELLED);
        assert_int_equal(tare_model_digest(NULL, NULL, m, &o, &err), TARE_ERR_CANCELLED);
    }
    tare_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_bad_pattern_is_found_at_its_byte),
        cmocka_unit_test(no_encoding_is_forgotten),
        cmocka_unit_test(oddities_are_counted),
        cmocka_unit_test(all_of_a_long_tensor_is_looked_at),
        cmocka_unit_test(order_does_not_depend_on_threads),
        cmocka_unit_test(the_tail_is_no_padding),
        cmocka_unit_test(a_cut_file_is_read_as_far_as_it_goes),
        cmocka_unit_test(it_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
