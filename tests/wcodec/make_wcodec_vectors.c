/* SPDX-License-Identifier: MIT
 *
 * make_wcodec_vectors FOLDER: writes the test vectors of .wcodec, small files of every mode, item
 * and predictor, and EXPECTED, the digests of what they decode to. The files in the tree stay as
 * they are, for what a released version wrote must be read for ever; this program says how they
 * came about, and makes new ones when the specification grows. An encoder that chooses otherwise
 * makes other bytes of the same layers: EXPECTED stays, which a test holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "encode_layer.h"

enum { MAX_LAYERS = 16, MAX_REGION = 1 << 17 };

typedef struct maker {
    const char *folder;
    FILE *expected;
    tare_arena arena;
    tare_buffer out;
    tare_wcodec_index index;
    tare_wcodec_layer layers[MAX_LAYERS];
    tare_wcodec_plane planes[MAX_LAYERS][TARE_WCODEC_MAX_PLANES];
    tare_wc_options options[TARE_WCODEC_MAX_PLANES];
    uint8_t *regions[MAX_LAYERS][TARE_WCODEC_MAX_REGIONS];
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
        .n_regions = 1,
        .dims = {n_values},
        .region_bytes = {n_bytes},
        .name = {name, strlen(name)},
        .encoding = {encoding ? encoding : "", encoding ? strlen(encoding) : 0},
        .planes = m->planes[m->index.n_layers],
    };
    uint8_t *bytes = calloc(MAX_REGION, 1);
    if (!bytes || n_bytes > MAX_REGION) fail("memory");
    m->regions[m->index.n_layers][0] = bytes;
    m->index.n_layers++;
    return bytes;
}

static tare_wc_options *add_plane(maker *m, uint8_t item, uint32_t stride, uint32_t offset,
                                  uint32_t width) {
    tare_wcodec_layer *l = &m->layers[m->index.n_layers - 1];
    tare_wc_options *o = &m->options[l->n_planes];
    l->planes[l->n_planes++] = (tare_wcodec_plane){
        .shape = {item, 14, false},
        .scale_plane = TARE_WCODEC_NO_SCALES,
        .stride = stride,
        .offset = offset,
        .width = width,
    };
    *o = TARE_WC_OPTIONS_DEFAULT;
    o->is_full = true;
    return o;
}

static tare_wcodec_source source_of(const maker *m, tare_reader readers[TARE_WCODEC_MAX_REGIONS],
                                    uint32_t layer) {
    tare_wcodec_source s = {{0}, {0}};
    for (unsigned r = 0; r < m->layers[layer].n_regions; r++) {
        tare_reader_memory(&readers[r], m->regions[layer][r], m->layers[layer].region_bytes[r],
                           "vector");
        s.readers[r] = &readers[r];
    }
    return s;
}

/* Encodes the layer begun last; `base`: the maker whose layer of the same number it refers to. */
static void end_layer(maker *m, const maker *base) {
    uint32_t i = m->index.n_layers - 1;
    tare_wcodec_layer *l = &m->layers[i];
    tare_reader own_readers[TARE_WCODEC_MAX_REGIONS], base_readers[TARE_WCODEC_MAX_REGIONS];
    tare_wcodec_source own = source_of(m, own_readers, i), other;
    tare_error err;
    if (base) other = source_of(base, base_readers, i);
    l->base = base != NULL;
    l->offset = m->out.size;
    if (encode_layer(&m->out, l, &own, base ? &other : NULL, m->options, &m->arena, &err) !=
        TARE_OK)
        fail(err.what);
}

static void print_digest(maker *m, const uint8_t *bytes, size_t n, tare_str name, int region) {
    tare_sha256 h;
    uint8_t digest[32];
    char hex[65];
    if (tare_sha256_init(&h, NULL) != TARE_OK) fail("SHA-256");
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
        const tare_wcodec_file *file = &m->index.files[f];
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
    tare_store_le16(out->data + 10, 1);
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
        for (unsigned r = 0; r < m->layers[i].n_regions; r++)
            print_digest(m, m->regions[i][r], (size_t)m->layers[i].region_bytes[r],
                         m->layers[i].name, (int)r);
    print_files(m);
    tare_buffer_free(&m->out);
}

static void drop(maker *m) {
    for (uint32_t i = 0; i < m->index.n_layers; i++)
        for (unsigned r = 0; r < m->layers[i].n_regions; r++) free(m->regions[i][r]);
}

/* ---- the vectors ----------------------------------------------------------------------------- */

/* One layer for each mode. */
static void modes(maker *m) {
    static const char *const names[] = {"raw", "constant", "zstd", "direct", "structured"};
    begin(m);
    for (int mode = 0; mode < TARE_WC_MODE_COUNT; mode++) {
        uint32_t n = 1800;
        uint8_t *b = add_layer(m, names[mode], "i8", n, n);
        for (uint32_t i = 0; i < n; i++) {
            int v = normal(m) / 24;
            if (mode == TARE_WC_CONSTANT) v = -3;
            if (mode == TARE_WC_ZSTD) v = (int)(i % 61 * 7);
            if (mode == TARE_WC_STRUCTURED) v = (int)(i % 50 * 2 + i / 50 * 3) + v / 4 - 70;
            b[i] = (uint8_t)v;
        }
        tare_wc_options *o = add_plane(m, 8, 1, 0, 1);
        o->forced = mode;
        o->width = 50;
        o->is_signed = true;
        end_layer(m, NULL);
    }
    end(m, "modes.wcodec", NULL);
    drop(m);
}

/* Values of a few bits, most of them 0 or 1 and a few so rare that they are patches. */
static void rare(maker *m, uint8_t item) {
    uint32_t n = 20004, n_bytes = n * item / 8;
    uint8_t *b = add_layer(m, item == 4 ? "rare nibbles" : "rare sixes", "f4", n, n_bytes);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = i % 2999 == 70 ? next(m) % 16 : next(m) % 16 == 0, bit = i * item;
        for (unsigned j = 0; j < item; j++, bit++)
            b[bit / 8] = (uint8_t)(b[bit / 8] | (v >> j & 1) << bit % 8);
    }
    add_plane(m, item, item == 6 ? 3 : 1, 0, item == 6 ? 3 : 1)->forced = TARE_WC_DIRECT;
    end_layer(m, NULL);
}

/* Every width of values, rules with maps and patches, both byte orders. */
static void items(maker *m) {
    begin(m);
    uint8_t *b = add_layer(m, "nibbles", "f4", 5000, 2500);
    for (uint32_t i = 0; i < 2500; i++)
        b[i] = (uint8_t)((normal(m) / 120 & 15) | (normal(m) / 120 & 15) * 16);
    add_plane(m, 4, 1, 0, 1)->forced = TARE_WC_DIRECT;
    end_layer(m, NULL);
    rare(m, 4);
    rare(m, 6);
    b = add_layer(m, "sixes", "f6_e2m3", 4000, 3000);
    for (uint32_t i = 0; i < 1000; i++)
        for (unsigned j = 0, v = 0; j < 4; j++) {
            v |= (unsigned)(normal(m) / 40 & 63) << 6 * j;
            for (unsigned k = 0; j == 3 && k < 3; k++) b[3 * i + k] = (uint8_t)(v >> 8 * k);
        }
    add_plane(m, 6, 3, 0, 3)->forced = TARE_WC_DIRECT;
    end_layer(m, NULL);
    b = add_layer(m, "bytes with a map", "i8", 8000, 8000);
    for (uint32_t i = 0; i < 8000; i++)
        b[i] = (uint8_t)(i % 400 ? normal(m) / 80 : (int)(next(m) & 255));
    add_plane(m, 8, 1, 0, 1)->forced = TARE_WC_DIRECT;
    end_layer(m, NULL);
    b = add_layer(m, "8-bit floats", "f8_e4m3", 3000, 3000);
    for (uint32_t i = 0; i < 3000; i++)
        b[i] = (uint8_t)((int)(next(m) & 128) + 60 + normal(m) / 20);
    add_plane(m, 8, 1, 0, 1)->forced = TARE_WC_DIRECT;
    end_layer(m, NULL);
    for (unsigned big = 0; big < 2; big++) {
        b = add_layer(m, big ? "bf16, big-endian" : "bf16", "bf16", 20000, 40000);
        m->layers[m->index.n_layers - 1].is_big_endian = big;
        for (uint32_t i = 0; i < 20000; i++) {
            uint32_t bits = tare_f32_bits((float)normal(m) / 4096 + (float)normal(m) / 1000000);
            if (i % 777 == 5) bits = next(m) << 1; /* what no top stands for */
            tare_store_u16(b + 2 * i, (uint16_t)(bits >> 16), big);
        }
        add_plane(m, 16, 2, 0, 2)->forced = TARE_WC_DIRECT;
        m->planes[m->index.n_layers - 1][0].shape.is_big_endian = big;
        end_layer(m, NULL);
    }
    b = add_layer(m, "blocks of a scale and 32 nibbles", "q4_0", 6400, 3600);
    for (uint32_t i = 0; i < 3600; i++)
        b[i] = (uint8_t)(i % 18 == 0   ? next(m)
                         : i % 18 == 1 ? 32 + next(m) % 4
                                       : (unsigned)(8 + normal(m) / 90) % 16 +
                                             (unsigned)(8 + normal(m) / 90) % 16 * 16);
    add_plane(m, 16, 18, 0, 2)->forced = TARE_WC_DIRECT;
    add_plane(m, 4, 18, 2, 16)->forced = TARE_WC_DIRECT;
    end_layer(m, NULL);
    add_layer(m, "nothing", "f32", 0, 0);
    end_layer(m, NULL);
    end(m, "items.wcodec", NULL);
    drop(m);
}

/* Rows of different scale: tables by class; more than one segment. */
static void classes(maker *m) {
    begin(m);
    for (unsigned small = 0; small < 2; small++) {
        uint32_t n = small ? 12000 : 20000;
        uint8_t *b =
            add_layer(m, small ? "nibbles" : "bytes", small ? "f4" : "i8", small ? 2 * n : n, n);
        for (uint32_t i = 0; i < n; i++) {
            int row = (int)(i / 512 % 3);
            b[i] = (uint8_t)(normal(m) / (row == 0 ? 4 : row == 1 ? 20 : 90));
            if (small)
                b[i] = (uint8_t)((normal(m) / (row ? 250 : 60) & 15) |
                                 (normal(m) / (row ? 250 : 60) & 15) * 16);
        }
        add_plane(m, small ? 4 : 8, 1, 0, 1)->forced = TARE_WC_DIRECT;
        end_layer(m, NULL);
    }
    end(m, "classes.wcodec", NULL);
    drop(m);
}

/* All shapes of tiles, widths of values, signed and not. */
static void tiles(maker *m) {
    static const struct {
        const char *name;
        uint8_t item;
        uint32_t width, rows;
        bool is_signed;
    } forms[] = {{"square", 8, 48, 37, true}, {"narrow", 8, 8, 150, true},
                 {"flat", 8, 300, 8, false},  {"a row", 8, 1800, 1, true},
                 {"sixes", 6, 32, 48, false}, {"nibbles", 4, 40, 32, true},
                 {"waves", 8, 64, 32, true}};
    begin(m);
    for (unsigned f = 0; f < sizeof forms / sizeof forms[0]; f++) {
        uint32_t n = forms[f].width * forms[f].rows, n_bytes = n * forms[f].item / 8;
        uint8_t *b = add_layer(m, forms[f].name, "i8", n, n_bytes);
        for (uint32_t i = 0; i < n; i++) {
            int x = (int)(i % forms[f].width), y = (int)(i / forms[f].width);
            int v = (x * x / 20 + y * 3) % 160 - 80 + normal(m) / 120;
            if (f == 6) v = (x * (1 + y / 8) % 16 < 8 ? 60 : -60) + normal(m) / 100;
            if (f == 3) v = x / 8 % 25 * (x / 8 % 25) / 6;
            unsigned bits = (unsigned)v >> (forms[f].item == 8 ? 0 : 8 - forms[f].item);
            bits &= (1u << forms[f].item) - 1;
            for (unsigned j = 0; j < forms[f].item; j++) {
                uint32_t at = i * forms[f].item + j;
                b[at / 8] = (uint8_t)(b[at / 8] | (bits >> j & 1) << at % 8);
            }
        }
        tare_wc_options *o =
            add_plane(m, forms[f].item, forms[f].item == 6 ? 3 : 1, 0, forms[f].item == 6 ? 3 : 1);
        o->forced = TARE_WC_STRUCTURED;
        o->width = forms[f].width;
        o->is_signed = forms[f].is_signed;
        end_layer(m, NULL);
    }
    end(m, "tiles.wcodec", NULL);
    drop(m);
}

/* Steps of trellises, with patches where no step leads. */
static void trellis(maker *m) {
    begin(m);
    for (unsigned states = 8; states <= 32; states += 24) {
        uint32_t n = 5000;
        uint8_t t[64] = {0}, *b = add_layer(m, states == 8 ? "8 states" : "32 states", "i8", n, n);
        for (uint32_t i = 0; i < n; i++) {
            int c = normal(m) / 40, v = 4 * c + 1;
            uint8_t *s = &t[i % 64];
            unsigned f = states == 8 ? 5 : 18, e = states == 8 ? 2 : 4, odd = (unsigned)c & 1;
            b[i] = (uint8_t)(*s & 1 ? -v : v);
            *s = (uint8_t)(*s >> 1 ^ (*s & 1 ? f : 0) ^ ((odd ^ *s) & 1 ? e : 0));
        }
        for (uint32_t i = 4900; i < n; i += 9) b[i] = 2;
        add_plane(m, 8, 1, 0, 1)->trellis = (uint8_t)states;
        end_layer(m, NULL);
    }
    end(m, "trellis.wcodec", NULL);
    drop(m);
}

/* A base model, and one tuned from it. */
static void fill_base(maker *m, const maker *base) {
    static const uint8_t item_of[] = {16, 8, 4, 6, 8};
    static const char *const names[] = {"bf16", "i8", "nibbles", "sixes", "same"};
    for (unsigned i = 0; i < 5; i++) {
        uint32_t n = 6000;
        uint8_t item = item_of[i], *b = add_layer(m, names[i], "i8", n * 8 / item, n);
        for (uint32_t j = 0; j < n; j++) {
            b[j] = (uint8_t)(normal(m) / 8);
            if (i == 0 && j % 2)
                tare_store_le16(b + j - 1, (uint16_t)(tare_f32_bits((float)normal(m) / 999) >> 16));
        }
        if (base) {
            memcpy(b, base->regions[i][0], n);
            for (uint32_t j = 0; i < 4 && j < n; j += 2) b[j] = (uint8_t)(b[j] + next(m) % 3);
        }
        add_plane(m, item,
                  item == 16  ? 2
                  : item == 6 ? 3
                              : 1,
                  0,
                  item == 16  ? 2
                  : item == 6 ? 3
                              : 1);
        end_layer(m, base);
    }
    /* Codes with a scale for each row of 100, in two regions. */
    uint8_t *codes = add_layer(m, "rows", "int8_rowwise", 6000, 6000);
    tare_wcodec_layer *l = &m->layers[m->index.n_layers - 1];
    uint8_t *scales = calloc(MAX_REGION, 1);
    if (!scales) fail("memory");
    m->regions[m->index.n_layers - 1][1] = scales;
    l->n_regions = 2;
    l->region_bytes[1] = 120;
    for (uint32_t j = 0; j < 6000; j++) codes[j] = (uint8_t)(normal(m) / 12);
    for (uint32_t j = 0; j < 60; j++) tare_store_le16(scales + 2 * j, (uint16_t)(0x2c00 + j * 8));
    if (base) {
        for (uint32_t j = 0; j < 60; j++)
            tare_store_le16(scales + 2 * j, (uint16_t)(0x2c00 + j * 8 - (j < 50 ? 160 : 0x2c00)));
        for (uint32_t j = 0; j < 6000; j++)
            codes[j] = (uint8_t)(int)((float)(int8_t)base->regions[5][0][j] * 1.17f +
                                      (float)(next(m) % 3));
    }
    add_plane(m, 16, 2, 0, 2);
    l->planes[0].region = 1;
    add_plane(m, 8, 1, 0, 1);
    l->planes[1].scale_plane = 0;
    l->planes[1].scale_form = 1;
    l->planes[1].values_per_scale = 100;
    end_layer(m, base);
}

static void tuned(maker *m, maker *base) {
    static tare_wcodec_base record = {.hint = {"base.wcodec", 11}};
    begin(base);
    fill_base(base, NULL);
    end(base, "base.wcodec", NULL);
    begin(m);
    m->index.n_bases = 1;
    m->index.bases = &record;
    memcpy(record.digest, base->index.digest, sizeof record.digest);
    fill_base(m, base);
    end(m, "tuned.wcodec", "base.wcodec");
    drop(m);
    drop(base);
}

/* Two files of tensors and what lies between them; equal tensors stored once. */
static void files(maker *m, const char *name) {
    static tare_wcodec_range first[] = {
        {0, 0, 0, 200}, {1, 0, 0, 700}, {0, 0, 200, 31}, {2, 0, 0, 700}, {0, 0, 231, 169}};
    static tare_wcodec_range second[] = {{1, 0, 350, 350}, {0, 0, 10, 20}, {1, 0, 0, 1}};
    static tare_wcodec_file list[] = {{{"model-1.bin", 11}, 1800, 5, first},
                                      {{"sub/model-2.bin", 15}, 371, 3, second}};
    begin(m);
    uint8_t *b = add_layer(m, "model-1.bin", NULL, 0, 400);
    for (uint32_t i = 0; i < 400; i++) b[i] = (uint8_t) "{\"header\": [1, 2, 3]} "[i % 22];
    add_plane(m, 8, 1, 0, 1)->is_repetitive = true;
    m->planes[0][0].shape.log2_segment = 22;
    end_layer(m, NULL);
    for (unsigned t = 0; t < 2; t++) {
        uint8_t *w = add_layer(m, t ? "twin" : "weight", "i8", 700, 700);
        for (uint32_t i = 0; i < 700; i++)
            w[i] = (uint8_t)(t ? m->regions[1][0][i] : normal(m) / 30);
        if (t == 0) {
            add_plane(m, 8, 1, 0, 1);
            end_layer(m, NULL);
            continue;
        }
        tare_wcodec_layer *l = &m->layers[m->index.n_layers - 1];
        *l = m->layers[1];
        l->name = (tare_str){"twin", 4};
    }
    m->index.files = list;
    m->index.n_files = 2;
    m->index.files_form = 2;
    end(m, name, NULL);
    drop(m);
}

/* Codes in blocks of 32, the largest of which is 127 or -127: form EDGE. */
static void edges(maker *m) {
    begin(m);
    uint32_t n = 200;
    uint8_t *b = add_layer(m, "blocks of a scale and 32 codes", "q8_0", 32 * n, 34 * n);
    for (uint32_t i = 0; i < n; i++) {
        uint8_t *block = b + (size_t)34 * i;
        int x[32], most = 1;
        for (unsigned j = 0; j < 32; j++) {
            x[j] = normal(m) * 8;
            if (abs(x[j]) > most) most = abs(x[j]);
        }
        tare_store_le16(block, (uint16_t)(0x2000 + next(m) % 512));
        for (unsigned j = 0; j < 32; j++) block[2 + j] = (uint8_t)(x[j] * 127 / most);
        if (i % 50 == 7) block[2] = 0x80; /* beyond the edge */
    }
    add_plane(m, 16, 34, 0, 2);
    add_plane(m, 8, 34, 2, 32)->forced = TARE_WC_DIRECT;
    end_layer(m, NULL);
    end(m, "edges.wcodec", NULL);
    drop(m);
}

/* Nibbles and high bits of the same values: as the formats have them, and in any order. */
static void woven(maker *m) {
    static const struct {
        const char *name;
        uint32_t stride, low, high;
        tare_wc_weave weave;
    } forms[] = {{"q5_0", 22, 6, 2, {1, 5, {4, 0, 1, 2, 3}}},
                 {"q5_1", 24, 8, 4, {1, 5, {4, 0, 1, 2, 3}}},
                 {"q3_k", 110, 32, 0, {2, 7, {0, 2, 3, 4, 5, 6, 1}}},
                 {"q5_k", 176, 48, 16, {1, 8, {0, 3, 4, 5, 6, 7, 1, 2}}},
                 {"q6_k", 210, 0, 128, {2, 8, {1, 2, 3, 4, 5, 6, 0, 7}}},
                 {"iq4_xs", 136, 4, 2, {2, 3, {0, 1, 2}}},
                 {"any order", 800, 44, 560, {1, 10, {7, 3, 9, 0, 5, 2, 8, 1, 4, 6}}},
                 {"another", 20, 4, 0, {2, 4, {3, 1, 0, 2}}}};
    begin(m);
    for (unsigned i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const tare_wc_weave *w = &forms[i].weave;
        uint32_t n_low = tare_wc_weave_low_bytes(w), n_high = tare_wc_weave_high_bytes(w);
        uint32_t stride = forms[i].stride, n = (i % 4 ? 6000u : 15000u) / stride * stride;
        uint8_t *b = add_layer(m, forms[i].name, "u8", n, n);
        for (uint32_t j = 0; j < n; j++) {
            int v = j % stride / 4 % 2 ? 50 + normal(m) / 8 : normal(m) / 3;
            b[j] = (uint8_t)(v + v / 7 * 16);
        }
        tare_wc_options *o = add_plane(m, 6, stride, forms[i].low, n_low);
        tare_wcodec_plane *p = &m->layers[m->index.n_layers - 1].planes[0];
        o->forced = i == 1 ? TARE_WC_RAW : i == 5 ? -1 : TARE_WC_DIRECT;
        p->high_offset = forms[i].high;
        p->weave = *w;
        /* What lies before, between and behind them. */
        uint32_t ends[] = {
            0, forms[i].low, forms[i].low + n_low, forms[i].high, forms[i].high + n_high, stride};
        if (forms[i].high < forms[i].low)
            for (unsigned k = 1; k < 3; k++) {
                uint32_t swap = ends[k];
                ends[k] = ends[k + 2];
                ends[k + 2] = swap;
            }
        for (unsigned k = 0; k < 6; k += 2)
            if (ends[k] < ends[k + 1]) add_plane(m, 8, stride, ends[k], ends[k + 1] - ends[k]);
        end_layer(m, NULL);
    }
    end(m, "woven.wcodec", NULL);
    drop(m);
}

int main(int argc, char **argv) {
    static maker m, base;
    char path[4096];
    if (argc != 2) fail("one folder, please");
    snprintf(path, sizeof path, "%s/EXPECTED", argv[1]);
    m.folder = base.folder = argv[1];
    m.expected = base.expected = fopen(path, "w");
    if (!m.expected) fail(path);
    m.first_seed = 1;
    base.first_seed = 2;
    tare_arena_init(&m.arena, NULL);
    tare_arena_init(&base.arena, NULL);
    modes(&m);
    items(&m);
    classes(&m);
    tiles(&m);
    trellis(&m);
    tuned(&m, &base);
    files(&m, "files.wcodec");
    m.is_later = true;
    files(&m, "later.wcodec");
    m.is_later = false;
    edges(&m);
    woven(&m);
    tare_arena_free(&m.arena);
    tare_arena_free(&base.arena);
    return fclose(m.expected) != 0;
}
