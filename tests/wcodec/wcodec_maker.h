/* SPDX-License-Identifier: MIT
 *
 * Files of test vectors: layers of random numbers, encoded, written, and what they decode to. */
#ifndef TARE_TEST_WCODEC_MAKER_H
#define TARE_TEST_WCODEC_MAKER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "encode_layer.h"
#include "format/wcodec/wcodec_index.h"

enum { MAX_LAYERS = 16, MAX_REGION = 1 << 17 };

typedef struct maker {
    const char *folder;
    FILE *expected;
    tare_arena arena;
    tare_buffer out;
    tare_wcodec_index index;
    tare_wcodec_layer layers[MAX_LAYERS];
    tare_coded_stream streams[MAX_LAYERS][TARE_CODED_MAX_STREAMS];
    uint8_t *regions[MAX_LAYERS][TARE_CODED_MAX_REGIONS];
    uint64_t first_seed, seed;
    bool is_later; /* files are of the next minor version */
} maker;

static _Noreturn void fail(const char *what) {
    fprintf(stderr, "make_wcodec_vectors: %s\n", what);
    exit(1);
}

static uint32_t next(maker *m) {
    m->seed = m->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(m->seed >> 33);
}

/* About normal, standard deviation 100. */
static int normal(maker *m) {
    int sum = 0;
    for (unsigned i = 0; i < 12; i++) sum += (int)(next(m) % 346);
    return sum - 2070;
}

/* A byte of two small numbers, the low one drawn first. */
static uint8_t two_normals(maker *m, int divisor) {
    int low = normal(m) / divisor & 15, high = normal(m) / divisor & 15;
    return (uint8_t)(low | high << 4);
}

/* ---- a file ---------------------------------------------------------------------------------- */

/* Each has random numbers of its own, so that one more layer changes no other file. */
static void begin(maker *m) {
    m->seed = m->first_seed;
    tare_buffer_init(&m->out, NULL);
    tare_buffer_put_zeros(&m->out, TARE_WCODEC_HEADER);
    m->index = (tare_wcodec_index){
        .tile_rows = 16, .tile_cols = 16, .layers = m->layers, .zstd_version = 10504};
}

/* A layer of one dimension, with n_bytes of region 0 to be filled in. */
static uint8_t *add_layer(maker *m, const char *name, const char *encoding, uint64_t n_values,
                          uint32_t n_bytes) {
    tare_wcodec_layer *l = &m->layers[m->index.n_layers];
    *l = (tare_wcodec_layer){
        .kind = encoding ? TARE_WCODEC_TENSOR : TARE_WCODEC_BYTES,
        .n_dims = encoding ? 1 : 0,
        .coded.n_regions = 1,
        .dims = {n_values},
        .coded.region_bytes = {n_bytes},
        .name = {name, strlen(name)},
        .encoding = {encoding ? encoding : "", encoding ? strlen(encoding) : 0},
        .coded.streams = m->streams[m->index.n_layers],
    };
    uint8_t *bytes = calloc(MAX_REGION, 1);
    if (!bytes || n_bytes > MAX_REGION) fail("memory");
    m->regions[m->index.n_layers][0] = bytes;
    m->index.n_layers++;
    return bytes;
}

static tare_coded_field *add_stream(maker *m, uint8_t value_bits, uint32_t stride, uint32_t offset,
                                    uint32_t width) {
    tare_wcodec_layer *l = &m->layers[m->index.n_layers - 1];
    tare_coded_field *f = &l->coded.streams[l->coded.n_streams++].field;
    *f = (tare_coded_field){.value_bits = value_bits,
                            .log2_segment = 14,
                            .stride = stride,
                            .offset = offset,
                            .width = width};
    return f;
}

static tare_wc_source source_of(const maker *m, tare_reader readers[TARE_CODED_MAX_REGIONS],
                                uint32_t layer) {
    tare_wc_source s = {{0}, {0}};
    for (unsigned r = 0; r < m->layers[layer].coded.n_regions; r++) {
        tare_reader_memory(&readers[r], m->regions[layer][r],
                           m->layers[layer].coded.region_bytes[r], "vector");
        s.readers[r] = &readers[r];
    }
    return s;
}

/* Encodes the layer begun last; `base`: the maker whose layer of the same number it refers to. */
static void end_layer(maker *m, const maker *base) {
    uint32_t i = m->index.n_layers - 1;
    tare_wcodec_layer *l = &m->layers[i];
    tare_reader own_readers[TARE_CODED_MAX_REGIONS], base_readers[TARE_CODED_MAX_REGIONS];
    tare_wc_source own = source_of(m, own_readers, i), other;
    tare_error err;
    if (base) other = source_of(base, base_readers, i);
    l->base = base != NULL;
    l->coded.offset = m->out.size;
    if (encode_layer(&m->out, &l->coded, &own, base ? &other : NULL, true, &m->arena, &err) !=
        TARE_OK)
        fail(err.what);
    if (!l->coded.size) l->coded.offset = TARE_WCODEC_HEADER; /* as layers without data have it */
}

static void print_digest(maker *m, const uint8_t *bytes, size_t n, tare_str name, int region) {
    tare_sha256 h;
    uint8_t digest[32];
    char hex[65];
    tare_sha256_init(&h);
    tare_sha256_update(&h, bytes, n);
    tare_sha256_final(&h, digest);
    tare_hex(hex, digest, 32);
    fprintf(m->expected, "%s  %.*s", hex, (int)name.len, name.ptr);
    if (region >= 0) fprintf(m->expected, ":%d", region);
    fprintf(m->expected, "\n");
}

static void print_files(maker *m) {
    for (uint32_t f = 0; f < m->index.n_files; f++) {
        tare_buffer all;
        tare_buffer_init(&all, NULL);
        const tare_packed_file *file = &m->index.files[f];
        for (uint32_t i = 0; i < file->n_ranges; i++)
            tare_buffer_put(&all,
                            m->regions[file->ranges[i].layer][file->ranges[i].region] +
                                file->ranges[i].offset,
                            (size_t)file->ranges[i].length);
        print_digest(m, all.data, all.size, file->name, -1);
        tare_buffer_free(&all);
    }
}

/* Records as a later minor version may have them: more at their ends than this one knows. */
static void lengthen(tare_buffer *out, const uint8_t *run, uint64_t size) {
    static const uint8_t more[] = {0xF5, 1, 2, 3, 4};
    for (uint64_t at = 0; at < size;) {
        uint32_t n = tare_load_le32(run + at);
        tare_buffer_put(out, run + at, n);
        if (!out->failed) tare_store_le32(out->data + out->size - n, n + (uint32_t)sizeof more);
        tare_buffer_put(out, more, sizeof more);
        at += n;
    }
}

/* The file whose bytes are in `out`, of the next minor version. */
static void make_later(tare_buffer *out) {
    uint64_t offset = tare_load_le64(out->data + 51), old = tare_load_le64(out->data + 72), at = 64;
    uint8_t *index = malloc((size_t)old + TARE_WCODEC_FOOTER);
    if (!index) fail("memory");
    memcpy(index, out->data + offset, (size_t)old + TARE_WCODEC_FOOTER);
    out->size = (size_t)offset;
    tare_buffer_put(out, index, 64);
    for (unsigned run = 0; run < 3; run++) {
        uint64_t start = out->size, size = tare_load_le64(index + 16 + 8 * run);
        lengthen(out, index + at, size);
        if (out->failed) fail("memory");
        tare_store_le64(out->data + offset + 16 + 8 * run, out->size - start);
        at += size;
    }
    uint64_t size = out->size - offset;
    tare_buffer_put(out, index + old, TARE_WCODEC_FOOTER);
    free(index);
    if (out->failed) fail("memory");
    uint8_t *footer = out->data + offset + size;
    tare_store_le16(out->data + 10, 3);
    tare_store_le64(out->data + 64, out->size);
    tare_store_le64(out->data + 72, size);
    tare_store_le64(footer + 8, size);
    uint32_t crc = tare_crc32(0, out->data, TARE_WCODEC_HEADER);
    tare_store_le32(footer + 16, tare_crc32(crc, out->data + offset, (size_t)size));
}

static void end(maker *m, const char *name, const char *base) {
    uint8_t header[TARE_WCODEC_HEADER];
    char path[4096];
    tare_error err;
    /* Test vectors are known by name: any digest does, and a base's must be found again. */
    memset(m->index.digest, (int)strlen(name), sizeof m->index.digest);
    tare_wcodec_index_write(&m->out, header, &m->index, m->out.size);
    if (tare_buffer_status(&m->out, &err) != TARE_OK) fail(err.what);
    memcpy(m->out.data, header, sizeof header);
    if (m->is_later) make_later(&m->out);
    snprintf(path, sizeof path, "%s/%s", m->folder, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(m->out.data, 1, m->out.size, f) != m->out.size || fclose(f)) fail(path);
    fprintf(m->expected, "file %s%s%s\n", name, base ? " " : "", base ? base : "");
    for (uint32_t i = 0; i < m->index.n_layers; i++)
        for (unsigned r = 0; r < m->layers[i].coded.n_regions; r++)
            print_digest(m, m->regions[i][r], (size_t)m->layers[i].coded.region_bytes[r],
                         m->layers[i].name, (int)r);
    print_files(m);
    tare_buffer_free(&m->out);
}

static void drop(maker *m) {
    for (uint32_t i = 0; i < m->index.n_layers; i++)
        for (unsigned r = 0; r < m->layers[i].coded.n_regions; r++) free(m->regions[i][r]);
}

#endif
