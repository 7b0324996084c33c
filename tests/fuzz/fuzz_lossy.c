/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: the input is the tare.lossy record of a model with two tensors of int8_rowwise and
 * one of I16.
 * Whatever it says, it is refused with a reason, or all numbers can be read, by pieces the same as
 * at once. */
#include <string.h>
#include <tare/build.h>

#include "fuzz_check.h"
#include "model/lossy_record.h"

enum { ROWS = 4, COLS = 6, N = ROWS * COLS };

static void add_tensor(tare_builder *b, const char *name, tare_encoding_id type,
                       const uint8_t *planes) {
    const uint64_t dims[2] = {ROWS, COLS};
    tare_build_tensor t = tare_build_tensor_default();
    t.name = (tare_str){name, strlen(name)};
    t.encoding = tare_encoding_get(type);
    t.dims = dims;
    t.n_dims = 2;
    t.planes[0] = planes;
    if (type == TARE_ENCODING_INT8_ROWWISE) t.planes[1] = planes + N;
    FUZZ_CHECK(tare_builder_add_tensor(b, &t, NULL) == TARE_OK);
}

static tare_model *make(tare_str record) {
    static uint8_t planes[2 * N + 2 * ROWS];
    const tare_value v = {.type = TARE_VALUE_STRING, .as.s = record};
    tare_builder *b;
    tare_model *m;
    for (unsigned i = 0; i < sizeof planes; i++) planes[i] = (uint8_t)(i * 37);
    FUZZ_CHECK(tare_builder_new(&b, NULL, NULL) == TARE_OK);
    add_tensor(b, "a", TARE_ENCODING_INT8_ROWWISE, planes);
    add_tensor(b, "b", TARE_ENCODING_INT8_ROWWISE, planes);
    add_tensor(b, "c", TARE_ENCODING_I16, planes);
    FUZZ_CHECK(tare_builder_add_key(b, TARE_KEYS_MODEL,
                                    (tare_str){TARE_LOSSY_KEY, strlen(TARE_LOSSY_KEY)}, &v,
                                    NULL) == TARE_OK);
    return tare_builder_finish(&m, b, NULL) == TARE_OK ? m : NULL;
}

static void read_tensor(const tare_model *m, size_t i) {
    uint8_t all[4 * N], part[4 * N];
    const tare_tensor *t = &m->catalog.tensors[i];
    if (t->encoding->n_planes != 1) return;
    const size_t size = (size_t)t->size_bytes;
    FUZZ_CHECK(size <= sizeof all);
    FUZZ_CHECK(tare_tensor_read(all, m, i, 0, 0, size, NULL) == TARE_OK);
    for (size_t at = 0; at < size; at += 7) {
        const size_t n = size - at < 7 ? size - at : 7;
        FUZZ_CHECK(tare_tensor_read(part, m, i, 0, at, n, NULL) == TARE_OK);
        FUZZ_CHECK(memcmp(part, all + at, n) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tare_error err = TARE_ERROR_NONE;
    if (size > 65536) return 0;
    tare_model *m = make((tare_str){(const char *)data, size});
    if (!m) return 0;
    const tare_status status = tare_lossy_restore(m, &err);
    FUZZ_CHECK(status == TARE_OK || (err.what && err.what[0]));
    for (size_t i = 0; status == TARE_OK && i < m->catalog.n_tensors; i++) read_tensor(m, i);
    tare_model_free(m);
    return 0;
}
