/* SPDX-License-Identifier: MIT
 *
 * Guards against: an INFQ manifest cut anywhere that opens, or is refused without a place; a spoilt
 * byte of one that crashes a reader; outliers that decode differently where only a part of a tensor
 * is asked for, where records lie in another order, or in the second reading of a tensor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <tare/tare.h>

#include "base/bytes.h"
#include "support/visit.h"
#include "unit/temp_folder.h"

enum { ROWS = 300, COLS = 701, RECORDS = 9000 };

static const char small[] =
    "{\"version\": 1, \"endianness\": \"LE\", \"x\": [1, {}], \"tensors\": [{\"name\": "
    "\"a\\u00e9\","
    " \"dtype\": \"int8_rowwise\", \"rows\": 2, \"cols\": 3, \"block\": 64, \"scale_dtype\": "
    "\"fp16\", \"layout\": \"rowmajor_blocked\", \"data_file\": \"w.bin\", \"offset_data\": 0, "
    "\"offset_scales\": 6, \"outliers\": {\"data_file\": \"o.bin\", \"offset\": 0, \"count\": 1, "
    "\"align\": 64}, \"shape\": [2, 1, 3]}], \"adapters\": []}";

static tare_status open_cut(tare_model **m, const char *text, size_t n, tare_error *err) {
    write_temp("manifest.json", text, n);
    tare_open_options options = tare_open_options_default();
    options.format = "infq";
    return tare_open_path(m, temp_folder, &options, err);
}

static void write_small(void) {
    static const uint8_t weights[10] = {1, 2, 3, 4, 5, 6, 0, 0x3c, 0, 0x3c};
    static const uint8_t record[8] = {1, 0, 0, 0, 2, 0, 0, 0x40};
    write_temp("w.bin", weights, sizeof weights);
    write_temp("o.bin", record, sizeof record);
}

static void every_cut_is_told(void **state) {
    (void)state;
    const size_t whole = sizeof small - 1;
    write_small();
    for (size_t n = 0; n <= whole; n++) {
        tare_model *m;
        tare_error err;
        tare_status status = open_cut(&m, small, n, &err);
        if (n == whole) {
            assert_int_equal(status, TARE_OK);
            assert_int_equal(visit_model(m), TARE_OK);
            tare_model_free(m);
        } else if (status == TARE_OK || err.offset > n) {
            fail_msg("cut at %zu: %d at %d", n, (int)status, (int)err.offset);
        }
    }
}

static void every_spoilt_byte_ends_well(void **state) {
    (void)state;
    char text[sizeof small];
    write_small();
    for (size_t i = 0; i < sizeof small - 1; i++) {
        for (int bit = 0; bit < 8; bit++) {
            tare_model *m;
            tare_error err;
            memcpy(text, small, sizeof small);
            text[i] = (char)(text[i] ^ 1 << bit);
            if (open_cut(&m, text, sizeof small - 1, &err) == TARE_OK) {
                visit_model(m);
                tare_model_free(m);
            } else if (!err.what || !err.what[0]) {
                fail_msg("byte %zu, bit %d: no words", i, bit);
            }
        }
    }
}

/* ---- outliers -------------------------------------------------------------------------------- */

static tare_model *open_large(const uint8_t *records) {
    char text[1024];
    tare_model *m;
    tare_error err;
    write_temp("o.bin", records, RECORDS * 8);
    int n =
        snprintf(text, sizeof text,
                 "{\"version\":1,\"endianness\":\"LE\",\"tensors\":[{\"name\":\"t\",\"dtype\":"
                 "\"int8_rowwise\",\"rows\":%d,\"cols\":%d,\"block\":64,\"scale_dtype\":\"fp16\","
                 "\"layout\":\"rowmajor_blocked\",\"data_file\":\"w.bin\",\"offset_data\":0,"
                 "\"offset_scales\":%d,\"outliers\":{\"data_file\":\"o.bin\",\"offset\":0}}]}",
                 ROWS, COLS, ROWS * COLS);
    if (open_cut(&m, text, (size_t)n, &err) != TARE_OK) fail_msg("%s", err.what);
    return m;
}

static void put_record(uint8_t *at, uint32_t element, uint16_t value) {
    tare_store_le32(at, element / COLS);
    tare_store_le16(at + 4, (uint16_t)(element % COLS));
    tare_store_le16(at + 6, value);
}

/* Every 23rd element is 2, all others are 0; the rows are asked for as `step` at a time. */
static void check_rows(const tare_model *m, uint64_t step) {
    static float values[ROWS * COLS];
    for (uint64_t first = 0; first < ROWS; first += step) {
        const uint64_t n = first + step < ROWS ? step : ROWS - first;
        assert_int_equal(tare_tensor_rows_f32(values, m, 0, first, n, NULL), TARE_OK);
        for (uint64_t i = 0; i < n * COLS; i++) {
            const uint64_t element = first * COLS + i;
            const bool is_there = element % 23 == 0 && element / 23 < RECORDS;
            if (values[i] != (is_there ? 2.0F : 0.0F))
                fail_msg("element %d is %g", (int)element, (double)values[i]);
        }
    }
    static uint16_t halves[ROWS * COLS];
    assert_int_equal(tare_tensor_rows_as(halves, TARE_ENCODING_F16, m, 0, 0, ROWS, NULL), TARE_OK);
    for (uint64_t i = 0; i < ROWS * COLS; i++)
        assert_int_equal(halves[i], i % 23 == 0 && i / 23 < RECORDS ? 0x4000 : 0);
}

static void records_apply_in_any_order_and_part(void **state) {
    (void)state;
    static uint8_t weights[ROWS * COLS + 2 * ROWS], records[8 * RECORDS];
    write_temp("w.bin", weights, sizeof weights);
    for (uint32_t order = 0; order < 3; order++) {
        for (uint32_t i = 0; i < RECORDS; i++) {
            uint32_t at = order == 0 ? i : order == 1 ? RECORDS - 1 - i : i * 7 % RECORDS;
            put_record(records + 8 * at, i * 23, 0x4000);
        }
        tare_model *m = open_large(records);
        check_rows(m, ROWS);
        check_rows(m, 1);
        check_rows(m, 47);
        tare_model_free(m);
    }
}

static void a_record_about_no_element_is_corrupt(void **state) {
    (void)state;
    static uint8_t weights[ROWS * COLS + 2 * ROWS], records[8 * RECORDS];
    float row[COLS];
    tare_error err;
    write_temp("w.bin", weights, sizeof weights);
    for (uint32_t i = 0; i < RECORDS; i++) put_record(records + 8 * i, i * 23, 0x4000);
    tare_store_le32(records + 8 * 5000, ROWS);
    tare_model *m = open_large(records);
    /* whatever part is asked for, and every time */
    for (uint64_t first = 0; first < 3; first++) {
        assert_int_equal(tare_tensor_rows_f32(row, m, 0, first, 1, &err), TARE_ERR_CORRUPT);
        assert_int_equal(err.offset, 8 * 5000);
        assert_non_null(strstr(err.file, "o.bin"));
        assert_int_equal(err.item, 0);
    }
    tare_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cut_is_told),
        cmocka_unit_test(every_spoilt_byte_ends_well),
        cmocka_unit_test(records_apply_in_any_order_and_part),
        cmocka_unit_test(a_record_about_no_element_is_corrupt),
    };
    return cmocka_run_group_tests(tests, make_temp_folder, remove_temp_folder);
}
