/* SPDX-License-Identifier: MIT
 *
 * Packs models into .wcodec files for tests: tensors cut into planes of several widths and short
 * segments, all other bytes of the files as they are, with or without file records. For cmocka
 * tests, which include cmocka.h before this. */
#ifndef TESTS_UNIT_WCODEC_BUILD_H
#define TESTS_UNIT_WCODEC_BUILD_H

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "format/wcodec/wcodec_index.h"
#include "model/catalog.h"
#include "wcodec/encode_layer.h"

enum { BUILD_FILES = 8, BUILD_LAYERS = 1024 };

typedef struct wcodec_build {
    tare_arena arena;
    tare_buffer out;
    tare_wcodec_index index;
    tare_wcodec_layer layers[BUILD_LAYERS];
} wcodec_build;

/* A range of a file that is of a layer. */
typedef struct build_piece {
    uint64_t at;
    tare_packed_range range;
} build_piece;

static inline void build_start(wcodec_build *b) {
    memset(b, 0, sizeof *b);
    tare_arena_init(&b->arena, NULL);
    tare_buffer_init(&b->out, NULL);
    tare_buffer_put_zeros(&b->out, TARE_WCODEC_HEADER);
    b->index.layers = b->layers;
}

static inline void build_stream(tare_wcodec_layer *l, unsigned region, uint8_t value_bits,
                                uint32_t stride, uint32_t offset, uint32_t width) {
    l->coded.streams[l->coded.n_streams++].field = (tare_coded_field){.region = (uint8_t)region,
                                                                      .value_bits = value_bits,
                                                                      .log2_segment = 14,
                                                                      .stride = stride,
                                                                      .offset = offset,
                                                                      .width = width};
}

/* Cuts a region by what its size allows: bytes; 16-bit numbers; a head of 2 and 16 bytes of
 * nibbles; the four bytes of F32. */
static inline void build_cut(tare_wcodec_layer *l, unsigned region) {
    uint64_t n = l->coded.region_bytes[region];
    if (n == 0) return;
    if (n % 18 == 0) {
        build_stream(l, region, 16, 18, 0, 2);
        build_stream(l, region, 4, 18, 2, 16);
    } else if (n % 4 == 0 && n % 8) {
        build_stream(l, region, 16, 4, 2, 2);
        build_stream(l, region, 8, 4, 1, 1);
        build_stream(l, region, 8, 4, 0, 1);
    } else {
        build_stream(l, region, n % 2 ? 8 : 16, n % 2 ? 1 : 2, 0, n % 2 ? 1 : 2);
    }
}

/* A layer over bytes of readers, encoded at once. */
static inline void build_layer(wcodec_build *b, tare_wcodec_layer layer,
                               const tare_wc_source *source) {
    tare_error err;
    assert_true(b->index.n_layers < BUILD_LAYERS);
    tare_wcodec_layer *l = &b->layers[b->index.n_layers++];
    *l = layer;
    l->coded.offset = b->out.size;
    l->coded.streams = TARE_NEW_ARRAY(&b->arena, tare_coded_stream, TARE_CODED_MAX_STREAMS);
    assert_non_null(l->coded.streams);
    for (unsigned r = 0; r < l->coded.n_regions; r++) build_cut(l, r);
    assert_int_equal(encode_layer(&b->out, &l->coded, source, NULL, false, &b->arena, &err),
                     TARE_OK);
    if (!l->coded.size) l->coded.offset = TARE_WCODEC_HEADER;
}

static inline void build_bytes(wcodec_build *b, tare_wcodec_kind kind, const char *name,
                               const void *bytes, size_t n) {
    tare_reader reader;
    tare_reader_memory(&reader, bytes, n, name);
    tare_wc_source source = {{&reader}, {0}};
    tare_wcodec_layer l = {.kind = (uint8_t)kind,
                           .coded.n_regions = 1,
                           .coded.region_bytes = {n},
                           .name = {name, strlen(name)}};
    build_layer(b, l, &source);
}

static inline void build_tensors(wcodec_build *b, const tare_model *m) {
    for (size_t i = 0; i < m->catalog.n_tensors; i++) {
        const tare_tensor *t = tare_model_stored(m, i);
        tare_wc_source source = {{0}, {0}};
        tare_wcodec_layer l = {.kind = TARE_WCODEC_TENSOR,
                               .n_dims = (uint8_t)t->n_dims,
                               .coded.n_regions = (uint8_t)t->encoding->n_planes,
                               .is_big_endian =
                                   m->catalog.layout && m->catalog.layout->is_big_endian,
                               .name = t->name,
                               .encoding = tare_str_of(t->encoding->name)};
        memcpy(l.dims, t->dims, t->n_dims * sizeof *l.dims);
        for (unsigned r = 0; r < l.coded.n_regions; r++) {
            l.coded.region_bytes[r] = t->planes[r].size;
            source.readers[r] = &m->files[t->planes[r].file].reader;
            source.starts[r] = t->planes[r].offset;
        }
        build_layer(b, l, &source);
    }
}

static inline int build_by_place(const void *a, const void *b) {
    const build_piece *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

/* The file records of a model whose tensors are the first layers: what is no tensor of file i goes
 * to a layer of its own. `names` are what the files are called. */
static inline void build_file(wcodec_build *b, const tare_model *m, uint32_t file,
                              const char *name) {
    const tare_reader *reader = &m->files[file].reader;
    build_piece *pieces = calloc(2 * BUILD_LAYERS, sizeof *pieces);
    size_t n = 0, n_tensors;
    uint64_t at = 0, n_rest = 0;
    uint8_t *rest = malloc((size_t)reader->size + 1);
    assert_true(pieces && rest);
    for (size_t i = 0; i < m->catalog.n_tensors; i++) {
        const tare_tensor *t = tare_model_stored(m, i);
        for (unsigned r = 0; r < t->encoding->n_planes; r++)
            if (t->planes[r].file == file && t->planes[r].size)
                pieces[n++] = (build_piece){t->planes[r].offset,
                                            {(uint32_t)i, (uint8_t)r, 0, t->planes[r].size}};
    }
    n_tensors = n;
    qsort(pieces, n, sizeof *pieces, build_by_place);
    for (size_t i = 0; i <= n_tensors; i++) {
        uint64_t end = i < n_tensors ? pieces[i].at : reader->size;
        if (end > at) {
            pieces[n++] = (build_piece){at, {b->index.n_layers, 0, n_rest, end - at}};
            assert_int_equal(tare_reader_read(reader, at, rest + n_rest, (size_t)(end - at), NULL),
                             TARE_OK);
            n_rest += end - at;
        }
        if (i < n_tensors) at = pieces[i].at + pieces[i].range.length;
    }
    qsort(pieces, n, sizeof *pieces, build_by_place);
    build_bytes(b, TARE_WCODEC_BYTES, name, rest, (size_t)n_rest);
    tare_packed_file *f = &b->index.files[b->index.n_files++];
    *f = (tare_packed_file){.name = tare_str_of(name),
                            .size = reader->size,
                            .n_ranges = (uint32_t)n,
                            .ranges = TARE_NEW_ARRAY(&b->arena, tare_packed_range, n)};
    for (size_t i = 0; i < n; i++) f->ranges[i] = pieces[i].range;
    free(pieces);
    free(rest);
}

/* The whole container, in memory; free it. */
static inline uint8_t *build_end(wcodec_build *b, size_t *size) {
    uint8_t header[TARE_WCODEC_HEADER], *bytes;
    tare_wcodec_index_write(&b->out, header, &b->index, b->out.size);
    assert_int_equal(tare_buffer_status(&b->out, NULL), TARE_OK);
    memcpy(b->out.data, header, sizeof header);
    *size = b->out.size;
    bytes = malloc(*size);
    assert_non_null(bytes);
    memcpy(bytes, b->out.data, *size);
    tare_buffer_free(&b->out);
    tare_arena_free(&b->arena);
    return bytes;
}

/* Packs all files of an opened model; form 1: one file, 2: a directory. Free the bytes. */
static inline uint8_t *build_packed(const tare_model *m, unsigned form, size_t *size) {
    static wcodec_build b;
    static tare_packed_file files[BUILD_FILES];
    build_start(&b);
    b.index.files_form = (uint8_t)form;
    b.index.files = files;
    memcpy(b.index.digest, "of a model packed by a test.....", 32);
    build_tensors(&b, m);
    for (uint32_t i = 0; i < m->n_files; i++) {
        const char *slash = strrchr(m->files[i].name, '/');
        assert_true(i < BUILD_FILES);
        build_file(&b, m, i, slash ? slash + 1 : m->files[i].name);
    }
    return build_end(&b, size);
}

#endif
