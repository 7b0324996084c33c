/* SPDX-License-Identifier: MIT
 *
 * Guards against number formats that drift from ggml's: ggml-types.gguf was written by ggml itself
 * and holds, for each type T, what it encodes from `source` (plain.T) and what it decodes from that
 * (decoded.T; from weighted.T where there is no plain.T). Our encoders must give the same bytes and
 * our decoders the same floats. The file is ggml 0.21.0's, which encoded IQ1_M
 * otherwise (docs/ENCODINGS.md): that encoder is asked for. The few lines that find a tensor in the file believe it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/cpu.h"
#include "encoding/kernels.h"

static uint8_t *file;
static const uint8_t *data_section;

static const uint8_t *skip_string(const uint8_t *p) {
    return p + 8 + tare_load_le64(p);
}

/* Where tensor `name` lies, NULL if there is none; also finds the data section. */
static const uint8_t *find(const char *name) {
    uint64_t n_tensors = tare_load_le64(file + 8), n_keys = tare_load_le64(file + 16), found = 0;
    const uint8_t *p = file + 24;
    bool is_found = false;
    for (uint64_t i = 0; i < n_keys; i++) {
        p = skip_string(p);
        assert_int_equal(tare_load_le32(p), 8); /* all its keys are strings */
        p = skip_string(p + 4);
    }
    for (uint64_t i = 0; i < n_tensors; i++) {
        uint64_t length = tare_load_le64(p);
        bool is_it = length == strlen(name) && memcmp(p + 8, name, strlen(name)) == 0;
        p = skip_string(p);
        p += 4 + 8 * (size_t)tare_load_le32(p) + 4;
        if (is_it) found = tare_load_le64(p);
        is_found |= is_it;
        p += 8;
    }
    data_section = file + ((size_t)(p - file) + 31) / 32 * 32;
    return is_found ? data_section + found : NULL;
}

enum { ROWS = 8, COLS = 1024, COUNT = ROWS * COLS };

/* Floats of the file in the machine's byte order. */
static void take_floats(float *to, const uint8_t *from, size_t n) {
    for (size_t i = 0; i < n; i++) to[i] = tare_f32_of_bits(tare_load_le32(from + 4 * i));
}

static const uint8_t *find_of(const char *prefix, const char *type) {
    char name[64];
    snprintf(name, sizeof name, "%s.%s", prefix, type);
    return find(name);
}

static void check_type(const tare_kernels *k, const tare_encoding *e, const char *type) {
    float *source = malloc(sizeof(float) * COUNT), *floats = malloc(sizeof(float) * COUNT);
    assert_non_null(source);
    assert_non_null(floats);
    const uint8_t *from = find("source"), *decoded = find_of("decoded", type);
    const uint8_t *plain = find_of("plain", type), *stored = plain;
    if (!stored) stored = find_of("weighted", type);
    assert_non_null(from);
    assert_non_null(decoded);
    assert_non_null(stored);
    take_floats(source, from, COUNT);
    const tare_encode_fn older = k->encode_older[e->id];
    if (k->encode[e->id] && plain) {
        size_t size = COUNT / e->planes[0].unit * e->planes[0].unit_bytes;
        uint8_t *bytes = malloc(size);
        assert_non_null(bytes);
        tare_rows_mut rows = {{bytes}, ROWS, COLS};
        (older ? older : k->encode[e->id])(&rows, source, NULL);
        assert_memory_equal(bytes, plain, size);
        free(bytes);
    }
    if (k->encode_weighted[e->id] && find_of("weighted", type)) {
        size_t size = COUNT / e->planes[0].unit * e->planes[0].unit_bytes;
        uint8_t *bytes = malloc(size);
        float importance[COLS];
        assert_non_null(bytes);
        take_floats(importance, find("imatrix"), COLS);
        tare_rows_mut rows = {{bytes}, ROWS, COLS};
        tare_encode_params params = {.size = sizeof(tare_encode_params), .importance = importance};
        (older ? older : k->encode_weighted[e->id])(&rows, source, &params);
        assert_memory_equal(bytes, find_of("weighted", type), size);
        free(bytes);
    }
    if (k->decode[e->id]) {
        tare_rows rows = {{stored}, ROWS, COLS};
        k->decode[e->id](floats, &rows);
        take_floats(source, decoded, COUNT);
        assert_memory_equal(floats, source, sizeof(float) * COUNT);
    }
    free(source);
    free(floats);
}

/* ggml writes the K of its k-quants as a capital. */
static void check_level(unsigned mask) {
    static const char *const types[] = {
        "f16",   "bf16",   "q4_0",   "q4_1",    "q5_0",   "q5_1",  "q8_0",    "q2_K",  "q3_K",
        "q4_K",  "q5_K",   "q6_K",   "iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs", "iq3_s", "iq1_s",
        "iq1_m", "iq4_nl", "iq4_xs", "tq1_0",   "tq2_0",  "mxfp4", "nvfp4",   "q1_0",  "q2_0"};
    tare_kernels kernels;
    tare_kernels_init(&kernels, mask);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        const tare_encoding *e = tare_encoding_find((tare_str){types[i], strlen(types[i])});
        assert_non_null(e);
        print_message("%s\n", types[i]);
        check_type(&kernels, e, types[i]);
    }
}

static void test_scalar(void **state) {
    (void)state;
    if (!file) skip();
    check_level(TARE_CPU_NONE);
}

static void test_kernels_of_this_machine(void **state) {
    (void)state;
    if (!file) skip();
    check_level(tare_cpu_mask_detect());
}

static int set_up(void **state) {
    (void)state;
    const char *folder = getenv("TARE_TEST_DATA");
    char path[4096];
    FILE *f = NULL;
    if (folder && snprintf(path, sizeof path, "%s/ggml-types.gguf", folder) < (int)sizeof path)
        f = fopen(path, "rb");
    if (!f) {
        print_message("SKIP 2 tests: no ggml-types.gguf in the folder TARE_TEST_DATA names\n");
        return 0;
    }
    enum { SIZE = 1144000 };
    file = malloc(SIZE);
    size_t n = file ? fread(file, 1, SIZE, f) : 0;
    fclose(f);
    return n == SIZE && memcmp(file, "GGUF", 4) == 0 ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    free(file);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalar),
        cmocka_unit_test(test_kernels_of_this_machine),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
