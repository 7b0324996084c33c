/* SPDX-License-Identifier: MIT
 *
 * A file of a format in memory: whole, cut at every byte, with each byte changed. A test includes it after
 * cmocka.h. */
#ifndef TARE_TESTS_BROKEN_H
#define TARE_TESTS_BROKEN_H

#include <tare/model.h>

static inline tare_status open_bytes(tare_model **m, const char *format, const uint8_t *bytes,
                                     size_t size, tare_error *err) {
    tare_source source = tare_source_default();
    tare_open_options options = tare_open_options_default();
    source.kind = TARE_SOURCE_MEMORY;
    source.memory = bytes;
    source.n_bytes = size;
    options.format = format;
    return tare_model_open(m, &source, &options, err);
}

static inline tare_model *open_whole(const char *format, const uint8_t *bytes, size_t size) {
    tare_model *m;
    tare_error err;
    if (open_bytes(&m, format, bytes, size, &err) != TARE_OK) fail_msg("%s", err.what);
    return m;
}

/* Whether it opens; what does can be read, and what does not says why. */
static inline bool try_bytes(const char *format, const uint8_t *bytes, size_t size) {
    tare_model *m;
    tare_error err;
    uint8_t room[4096];
    if (open_bytes(&m, format, bytes, size, &err) != TARE_OK) {
        assert_null(m);
        assert_non_null(err.what);
        return false;
    }
    for (size_t i = 0; i < tare_model_summarize(m)->n_tensors; i++) {
        const tare_tensor *t = tare_model_tensor(m, i);
        const size_t n = t->size_bytes < sizeof room ? (size_t)t->size_bytes : sizeof room;
        if (n) assert_int_equal(tare_tensor_read(room, m, i, 0, 0, n, NULL), TARE_OK);
    }
    tare_model_free(m);
    return true;
}

static inline void check_cuts(const char *format, const uint8_t *bytes, size_t size) {
    for (size_t n = 0; n < size; n++) assert_false(try_bytes(format, bytes, n));
}

/* Each byte in turn becomes all others, or a few. */
static inline void check_changes(const char *format, uint8_t *bytes, size_t size, bool all) {
    static const uint8_t few[] = {0xff, 0x80, 0x01, 0x08, 0x55};
    for (size_t i = 0; i < size; i++)
        for (unsigned k = 0; k < (all ? 255u : sizeof few); k++) {
            const uint8_t change = all ? (uint8_t)(k + 1) : few[k];
            bytes[i] ^= change;
            try_bytes(format, bytes, size);
            bytes[i] ^= change;
        }
}

#endif
