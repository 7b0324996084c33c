/* SPDX-License-Identifier: MIT
 *
 * Guards against: records of layers that do not come back from their frame; a frame of few bytes of
 * which more come than a reader may hold; records that are larger packed than they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "format/wcodec/wcodec_records.h"

enum { N = 20000, BEFORE = 5 };

/* Lines that differ in a number, behind other bytes. */
static void make(tare_buffer *b) {
    tare_buffer_init(b, NULL);
    tare_buffer_put_zeros(b, BEFORE);
    for (unsigned i = 0; b->size < N + BEFORE; i++)
        tare_buffer_printf(b, "record %u of a layer;", i * 7919u % 1000u);
}

static void test_back(void **state) {
    const tare_limits limits = tare_limits_default();
    tare_buffer whole, packed;
    uint8_t *got;
    (void)state;
    make(&whole);
    make(&packed);
    const size_t n = whole.size - BEFORE;
    assert_int_equal(tare_wcodec_records_pack(&packed, BEFORE, 1), n);
    assert_true(packed.size - BEFORE < n / 4 && packed.size - BEFORE > n / 64);
    assert_memory_equal(packed.data, whole.data, BEFORE);
    assert_int_equal(tare_wcodec_records_unpack(&got, n, 1, packed.data + BEFORE,
                                                packed.size - BEFORE, 0, &limits, NULL, NULL),
                     TARE_OK);
    assert_memory_equal(got, whole.data + BEFORE, n);
    tare_free(NULL, got, n);
    tare_buffer_free(&whole);
    tare_buffer_free(&packed);
}

/* What a reader may hold is a limit of what is unpacked. */
static void test_limit(void **state) {
    tare_limits limits = tare_limits_default();
    tare_error err = TARE_ERROR_NONE;
    tare_buffer packed;
    uint8_t *got;
    (void)state;
    make(&packed);
    const size_t n = tare_wcodec_records_pack(&packed, 0, 1);
    limits.metadata_bytes = n - 1;
    assert_int_equal(
        tare_wcodec_records_unpack(&got, n, 1, packed.data, packed.size, 192, &limits, NULL, &err),
        TARE_ERR_LIMIT);
    assert_int_equal(err.offset, 192);
    limits.metadata_bytes = n;
    for (size_t lost = 1; lost < packed.size; lost += 97)
        assert_int_equal(tare_wcodec_records_unpack(&got, n, 1, packed.data, packed.size - lost,
                                                    192, &limits, NULL, NULL),
                         TARE_ERR_CORRUPT);
    tare_buffer_free(&packed);
}

/* A record takes far more memory than the bytes it may come of. */
static void test_count(void **state) {
    const tare_limits limits = tare_limits_default();
    tare_buffer packed;
    uint8_t *got;
    (void)state;
    make(&packed);
    const size_t n = tare_wcodec_records_pack(&packed, 0, 1);
    const uint32_t most = 1024 + (uint32_t)packed.size / 4;
    assert_int_equal(tare_wcodec_records_unpack(&got, n, most + 1, packed.data, packed.size, 0,
                                                &limits, NULL, NULL),
                     TARE_ERR_CORRUPT);
    assert_int_equal(
        tare_wcodec_records_unpack(&got, n, most, packed.data, packed.size, 0, &limits, NULL, NULL),
        TARE_OK);
    tare_free(NULL, got, n);
    tare_buffer_free(&packed);
    make(&packed);
    assert_int_equal(tare_wcodec_records_pack(&packed, 0, most + 1), 0);
    assert_int_equal(tare_wcodec_records_pack(&packed, 0, most), n);
    tare_buffer_free(&packed);
}

/* Bytes that do not shrink stay, and so do those that shrink beyond what a reader takes. */
static void test_stays(void **state) {
    tare_buffer b;
    uint32_t x = 1;
    (void)state;
    tare_buffer_init(&b, NULL);
    for (unsigned i = 0; i < N; i++) {
        x = x * 1664525 + 1013904223;
        tare_buffer_put_u8(&b, (uint8_t)(x >> 24));
    }
    assert_int_equal(tare_wcodec_records_pack(&b, 0, 1), 0);
    assert_int_equal(b.size, N);
    assert_int_equal(tare_wcodec_records_pack(&b, N, 1), 0);
    b.size = 0;
    tare_buffer_put_zeros(&b, 1 << 20);
    assert_int_equal(tare_wcodec_records_pack(&b, 0, 1), 0);
    assert_int_equal(b.size, 1 << 20);
    assert_int_equal(b.data[0], 0);
    tare_buffer_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_back),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_count),
        cmocka_unit_test(test_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
