/* SPDX-License-Identifier: MIT
 *
 * Builds GGUF files byte by byte for tests: header, keys, tensor records, data; right or wrong. */
#ifndef TARE_UNIT_GGUF_BUILD_H
#define TARE_UNIT_GGUF_BUILD_H

#include <string.h>

#include <tare/tare.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/str.h"
#include "support/memory_source.h"

typedef struct gguf_build {
    tare_buffer b;
    uint32_t version;
    bool is_big_endian;
    uint64_t n_tensors, n_keys;
    uint64_t running; /* offset of the next tensor in the data section */
    uint32_t alignment;
} gguf_build;

static inline void build_length(gguf_build *g, uint64_t n) {
    if (g->version == 1)
        tare_buffer_put_u32(&g->b, (uint32_t)n, g->is_big_endian);
    else
        tare_buffer_put_u64(&g->b, n, g->is_big_endian);
}

static inline void build_u32(gguf_build *g, uint32_t v) {
    tare_buffer_put_u32(&g->b, v, g->is_big_endian);
}

static inline void build_u64(gguf_build *g, uint64_t v) {
    tare_buffer_put_u64(&g->b, v, g->is_big_endian);
}

static inline void build_str(gguf_build *g, const char *s) {
    build_length(g, strlen(s));
    tare_buffer_put_text(&g->b, s);
}

/* Counts are filled in by build_end. */
static inline void build_begin(gguf_build *g, uint32_t version, bool is_big_endian) {
    *g = (gguf_build){.version = version, .is_big_endian = is_big_endian, .alignment = 32};
    tare_buffer_init(&g->b, NULL);
    tare_buffer_put_text(&g->b, "GGUF");
    build_u32(g, version);
    build_length(g, 0);
    build_length(g, 0);
}

/* A key and the type of its value, which the caller puts next. */
static inline void build_key(gguf_build *g, const char *key, uint32_t type) {
    build_str(g, key);
    build_u32(g, type);
    g->n_keys++;
}

/* Head of an array value; the elements follow. */
static inline void build_array(gguf_build *g, uint32_t type, uint64_t count) {
    build_u32(g, type);
    build_length(g, count);
}

static inline void build_key_str(gguf_build *g, const char *key, const char *value) {
    build_key(g, key, 8);
    build_str(g, value);
}

static inline void build_key_u32(gguf_build *g, const char *key, uint32_t value) {
    build_key(g, key, 4);
    build_u32(g, value);
    if (strcmp(key, "general.alignment") == 0) g->alignment = value;
}

/* A record of a tensor that takes `size` bytes at the next free place. dims: fastest first. */
static inline void build_tensor(gguf_build *g, const char *name, uint32_t n_dims,
                                const uint64_t *dims, uint32_t type, uint64_t size) {
    build_str(g, name);
    build_u32(g, n_dims);
    for (uint32_t d = 0; d < n_dims; d++) build_length(g, dims[d]);
    build_u32(g, type);
    build_u64(g, g->running);
    g->running += (size + g->alignment - 1) / g->alignment * g->alignment;
    g->n_tensors++;
}

/* Counts, padding, and a data section whose byte i is i * 7 + 1. */
static inline void build_end(gguf_build *g) {
    size_t at = g->version == 1 ? 12 : 16;
    if (g->version == 1) {
        tare_store_u32(g->b.data + 8, (uint32_t)g->n_tensors, g->is_big_endian);
        tare_store_u32(g->b.data + at, (uint32_t)g->n_keys, g->is_big_endian);
    } else {
        tare_store_u64(g->b.data + 8, g->n_tensors, g->is_big_endian);
        tare_store_u64(g->b.data + at, g->n_keys, g->is_big_endian);
    }
    while (g->b.size % g->alignment) tare_buffer_put_u8(&g->b, 0);
    for (uint64_t i = 0; i < g->running; i++) tare_buffer_put_u8(&g->b, (uint8_t)(i * 7 + 1));
}

static inline tare_status build_open(tare_model **m, const gguf_build *g, tare_report *report,
                                     tare_error *err) {
    tare_source source = memory_source(g->b.data, g->b.size);
    tare_open_options options = tare_open_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    context.report = report;
    return tare_model_open(m, &source, &options, err);
}

#endif
