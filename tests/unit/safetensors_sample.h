/* SPDX-License-Identifier: MIT
 *
 * Safetensors files put together in memory, for the tests of the driver. */
#ifndef TARE_TESTS_SAFETENSORS_SAMPLE_H
#define TARE_TESTS_SAFETENSORS_SAMPLE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tare/tare.h>

#include "base/bytes.h"
#include "base/str.h"
#include "support/memory_source.h"

typedef struct sample {
    uint8_t *bytes;
    size_t size;
} sample;

/* A file of this header text and of n_data bytes 0, 1, 2, ... */
static inline sample sample_of_text(tare_str header, size_t n_data) {
    sample s = {malloc(8 + header.len + n_data + 1), 8 + header.len + n_data};
    tare_store_le64(s.bytes, header.len);
    memcpy(s.bytes + 8, header.ptr, header.len);
    for (size_t i = 0; i < n_data; i++) s.bytes[8 + header.len + i] = (uint8_t)i;
    return s;
}

static inline sample sample_of(const char *header, size_t n_data) {
    return sample_of_text(tare_str_of(header), n_data);
}

static inline tare_status open_bytes(tare_model **m, const void *bytes, size_t size,
                                     tare_report *report, tare_error *err) {
    tare_source source = memory_source(bytes, size);
    tare_open_options options = tare_open_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    context.report = report;
    options.format = "safetensors";
    return tare_model_open(m, &source, &options, err);
}

#endif
