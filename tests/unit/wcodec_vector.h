/* SPDX-License-Identifier: MIT
 *
 * The test vectors of .wcodec, read: tests/wcodec/vectors. */
#ifndef TARE_TESTS_UNIT_WCODEC_VECTOR_H
#define TARE_TESTS_UNIT_WCODEC_VECTOR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "format/wcodec/wcodec_index.h"

typedef struct vector {
    uint8_t *bytes;
    size_t size;
    tare_arena arena;
    tare_reader reader;
    tare_wcodec_index index;
} vector;

/* An argument of a test names another one. */
static const char *vector_folder = WCODEC_VECTORS;

/* The caller frees. */
static inline uint8_t *vector_read(const char *name, size_t *size) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", vector_folder, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    uint8_t *bytes = calloc(1, 1 << 20);
    assert_non_null(bytes);
    *size = fread(bytes, 1, 1 << 20, f);
    fclose(f);
    return bytes;
}

/* What is in o->bytes; the arena is to be freed in any case. */
static inline tare_status vector_open(vector *o, tare_error *err) {
    const tare_limits limits = tare_limits_default();
    uint64_t offset, size;
    tare_arena_init(&o->arena, NULL);
    tare_reader_memory(&o->reader, o->bytes, o->size, "vector");
    if (o->size < TARE_WCODEC_HEADER) return TARE_ERR_TRUNCATED;
    tare_status status = tare_wcodec_find_index(&offset, &size, o->bytes, o->size, &limits, err);
    if (status == TARE_OK)
        status = tare_wcodec_index_read(&o->index, o->bytes, o->bytes + offset, offset, size,
                                        &limits, &o->arena, err);
    return status;
}

#endif
