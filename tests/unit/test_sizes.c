/* SPDX-License-Identifier: MIT
 *
 * Guards against: a struct of a caller who knows fewer or more members than the library that is
 * written beyond its end, or read where it was never set; what tells numbers apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <tare/private/bench.h>
#include <tare/tare.h>

#include "base/status.h"

static void functions_set_up_structs(void **state) {
    (void)state;
    tare_source source;
    memset(&source, 0xA5, sizeof source);
    tare_source_init(&source, sizeof source);
    assert_int_equal(source.kind, TARE_SOURCE_PATH);
    assert_int_equal(source.fd, -1);
    assert_null(source.read_many);
    assert_int_equal(tare_tensor_part_default().layer, -1);
    assert_int_equal(tare_limits_default().shards, 65535);
    assert_int_equal(tare_bench_default().size, sizeof(tare_bench));
    tare_convert_options convert;
    tare_convert_options_init(&convert, sizeof convert);
    assert_int_equal(convert.size, sizeof convert);
    assert_int_equal(convert.order, TARE_ORDER_KEEP);
    assert_null(convert.context);
    tare_gguf_name name; /* its texts are "", and each program has its own */
    tare_gguf_name_init(&name, sizeof name);
    assert_int_equal(name.size, sizeof name);
    assert_string_equal(name.sidecar.ptr, "");
    assert_string_equal(name.type.ptr, "");
    assert_int_equal(name.n_shards, 0);
}

/* A caller's struct with bytes after it that nobody may touch. */
typedef struct fenced {
    tare_pack_summary s;
    char fence[8];
} fenced;

static void smaller_and_larger_structs_are_filled(void **state) {
    const tare_pack_summary ours = {sizeof ours, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    const size_t known = offsetof(tare_pack_summary, n_shared);
    char larger[sizeof ours + 16];
    size_t size = sizeof larger;
    fenced f;
    (void)state;
    memset(&f, 0xEE, sizeof f);
    tare_pack_summary_init(&f.s, known);
    assert_int_equal(f.s.size, known);
    tare_result_write(&f.s, &ours, sizeof ours);
    assert_int_equal(f.s.size, known);
    assert_int_equal(f.s.n_files, 1);
    assert_int_equal(f.s.n_tensors, 2);
    assert_memory_equal((char *)&f + known, "\xEE\xEE\xEE\xEE\xEE\xEE\xEE\xEE", 8);
    memset(larger, 0xEE, sizeof larger);
    memcpy(larger, &size, sizeof size);
    tare_result_write(larger, &ours, sizeof ours);
    assert_memory_equal(larger, &size, sizeof size);
    assert_memory_equal(larger + sizeof size, (const char *)&ours + sizeof size,
                        sizeof ours - sizeof size);
    for (size_t i = sizeof ours; i < sizeof larger; i++) assert_int_equal(larger[i], 0);
}

static void a_result_without_a_size_is_refused(void **state) {
    const tare_source none = {.size = sizeof(tare_source), .kind = TARE_SOURCE_MEMORY, .fd = -1};
    tare_unpack_result result;
    tare_error err;
    (void)state;
    memset(&result, 0, sizeof result);
    assert_int_equal(tare_unpack(&result, "out", &none, NULL, &err), TARE_ERR_ARG);
    assert_string_equal(err.what, "result: size is not set");
    memset(&result, 0xA5, sizeof result);
    assert_int_equal(tare_unpack(&result, "out", &none, NULL, &err), TARE_ERR_ARG);
}

static void check_number(tare_encoding_id id, uint32_t plane, tare_number_kind kind, unsigned bits,
                         bool is_signed) {
    const tare_number n = tare_plane_number(tare_encoding_get(id), plane);
    assert_int_equal(n.kind, kind);
    assert_int_equal(n.bits, bits);
    assert_int_equal(n.is_signed, is_signed);
}

static void planes_tell_their_numbers(void **state) {
    (void)state;
    check_number(TARE_ENCODING_BF16, 0, TARE_NUMBER_FLOAT, 16, true);
    check_number(TARE_ENCODING_F64, 0, TARE_NUMBER_FLOAT, 64, true);
    check_number(TARE_ENCODING_F8_E4M3, 0, TARE_NUMBER_FLOAT, 8, true);
    check_number(TARE_ENCODING_F8_E8M0, 0, TARE_NUMBER_FLOAT, 8, false);
    check_number(TARE_ENCODING_F6_E2M3, 0, TARE_NUMBER_FLOAT, 6, true);
    check_number(TARE_ENCODING_F4, 0, TARE_NUMBER_FLOAT, 4, true);
    check_number(TARE_ENCODING_C64, 0, TARE_NUMBER_COMPLEX, 64, true);
    check_number(TARE_ENCODING_BOOL, 0, TARE_NUMBER_BOOL, 8, false);
    check_number(TARE_ENCODING_I32, 0, TARE_NUMBER_INTEGER, 32, true);
    check_number(TARE_ENCODING_U32, 0, TARE_NUMBER_INTEGER, 32, false);
    check_number(TARE_ENCODING_U64, 0, TARE_NUMBER_INTEGER, 64, false);
    check_number(TARE_ENCODING_Q4_K, 0, TARE_NUMBER_MIXED, 0, false);
    check_number(TARE_ENCODING_UNKNOWN, 0, TARE_NUMBER_MIXED, 0, false);
    check_number(TARE_ENCODING_F32, 1, TARE_NUMBER_MIXED, 0, false);
    check_number(TARE_ENCODING_INT8_ROWWISE, 0, TARE_NUMBER_INTEGER, 8, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_set_up_structs),
        cmocka_unit_test(smaller_and_larger_structs_are_filled),
        cmocka_unit_test(a_result_without_a_size_is_refused),
        cmocka_unit_test(planes_tell_their_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
