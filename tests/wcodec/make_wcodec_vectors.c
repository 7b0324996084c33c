/* SPDX-License-Identifier: MIT
 *
 * make_wcodec_vectors FOLDER: writes the test vectors of .wcodec, small files of every mode, width
 * and predictor, and EXPECTED, the digests of what they decode to. The files in the tree stay as
 * they are, for what a released version wrote must be read for ever; this program says how they
 * came about, and makes new ones when the specification grows. An encoder that chooses otherwise
 * makes other bytes of the same layers: EXPECTED stays, which a test holds. */
#include "wcodec_maker.h"

/* ---- the vectors ----------------------------------------------------------------------------- */

/* One layer for each mode. */
static void modes(maker *m) {
    static const char *const names[] = {"raw", "constant", "zstd", "direct", "structured"};
    begin(m);
    for (int mode = TARE_CODED_RAW; mode <= TARE_CODED_STRUCTURED; mode++) {
        uint32_t n = 1800;
        uint8_t *b = add_layer(m, names[mode - 1], "i8", n, n);
        for (uint32_t i = 0; i < n; i++) {
            int v = normal(m) / 24;
            if (mode == TARE_CODED_CONSTANT) v = -3;
            if (mode == TARE_CODED_ZSTD) v = (int)(i % 61 * 7);
            if (mode == TARE_CODED_STRUCTURED) v = (int)(i % 50 * 2 + i / 50 * 3) + v / 4 - 70;
            b[i] = (uint8_t)v;
        }
        tare_coded_field *o = add_stream(m, 8, 1, 0, 1);
        o->mode = (uint8_t)mode;
        o->row = 50;
        o->is_signed = true;
        end_layer(m, NULL);
    }
    end(m, "modes.wcodec", NULL);
    drop(m);
}

/* Values of a few bits, most of them 0 or 1 and a few so rare that they are patches. */
static void rare(maker *m, uint8_t value_bits) {
    uint32_t n = 20004, n_bytes = n * value_bits / 8;
    uint8_t *b = add_layer(m, value_bits == 4 ? "rare nibbles" : "rare sixes", "f4", n, n_bytes);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = i % 2999 == 70 ? next(m) % 16 : next(m) % 16 == 0, bit = i * value_bits;
        for (unsigned j = 0; j < value_bits; j++, bit++)
            b[bit / 8] = (uint8_t)(b[bit / 8] | (v >> j & 1) << bit % 8);
    }
    add_stream(m, value_bits, value_bits == 6 ? 3 : 1, 0, value_bits == 6 ? 3 : 1)->mode =
        TARE_CODED_DIRECT;
    end_layer(m, NULL);
}

/* Every width of values, rules with maps and patches, both byte orders. */
static void items(maker *m) {
    begin(m);
    uint8_t *b = add_layer(m, "nibbles", "f4", 5000, 2500);
    for (uint32_t i = 0; i < 2500; i++) b[i] = two_normals(m, 120);
    add_stream(m, 4, 1, 0, 1)->mode = TARE_CODED_DIRECT;
    end_layer(m, NULL);
    rare(m, 4);
    rare(m, 6);
    b = add_layer(m, "sixes", "f6_e2m3", 4000, 3000);
    for (uint32_t i = 0; i < 1000; i++)
        for (unsigned j = 0, v = 0; j < 4; j++) {
            v |= (unsigned)(normal(m) / 40 & 63) << 6 * j;
            for (unsigned k = 0; j == 3 && k < 3; k++) b[3 * i + k] = (uint8_t)(v >> 8 * k);
        }
    add_stream(m, 6, 3, 0, 3)->mode = TARE_CODED_DIRECT;
    end_layer(m, NULL);
    b = add_layer(m, "bytes with a map", "i8", 8000, 8000);
    for (uint32_t i = 0; i < 8000; i++)
        b[i] = (uint8_t)(i % 400 ? normal(m) / 80 : (int)(next(m) & 255));
    add_stream(m, 8, 1, 0, 1)->mode = TARE_CODED_DIRECT;
    end_layer(m, NULL);
    b = add_layer(m, "8-bit floats", "f8_e4m3", 3000, 3000);
    for (uint32_t i = 0; i < 3000; i++) {
        int size = 60 + normal(m) / 20;
        b[i] = (uint8_t)((int)(next(m) & 128) + size);
    }
    add_stream(m, 8, 1, 0, 1)->mode = TARE_CODED_DIRECT;
    end_layer(m, NULL);
    for (unsigned big = 0; big < 2; big++) {
        b = add_layer(m, big ? "bf16, big-endian" : "bf16", "bf16", 20000, 40000);
        m->layers[m->index.n_layers - 1].is_big_endian = big;
        for (uint32_t i = 0; i < 20000; i++) {
            float coarse = (float)normal(m) / 4096, fine = (float)normal(m) / 1000000;
            uint32_t bits = tare_f32_bits(coarse + fine);
            if (i % 777 == 5) bits = next(m) << 1; /* what no top stands for */
            tare_store_u16(b + 2 * i, (uint16_t)(bits >> 16), big);
        }
        add_stream(m, 16, 2, 0, 2)->mode = TARE_CODED_DIRECT;
        m->streams[m->index.n_layers - 1][0].field.is_big_endian = big;
        end_layer(m, NULL);
    }
    b = add_layer(m, "blocks of a scale and 32 nibbles", "q4_0", 6400, 3600);
    for (uint32_t i = 0; i < 3600; i++)
        b[i] = (uint8_t)(i % 18 == 0   ? next(m)
                         : i % 18 == 1 ? 32 + next(m) % 4
                                       : two_normals(m, 90) ^ 0x88u); /* around 8 */
    add_stream(m, 16, 18, 0, 2)->mode = TARE_CODED_DIRECT;
    add_stream(m, 4, 18, 2, 16)->mode = TARE_CODED_DIRECT;
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
            if (small) b[i] = two_normals(m, row ? 250 : 60);
        }
        add_stream(m, small ? 4 : 8, 1, 0, 1)->mode = TARE_CODED_DIRECT;
        end_layer(m, NULL);
    }
    end(m, "classes.wcodec", NULL);
    drop(m);
}

/* All shapes of tiles, widths of values, signed and not. */
static void tiles(maker *m) {
    static const struct {
        const char *name;
        uint8_t value_bits;
        uint32_t width, rows;
        bool is_signed;
    } forms[] = {{"square", 8, 48, 37, true}, {"narrow", 8, 8, 150, true},
                 {"flat", 8, 300, 8, false},  {"a row", 8, 1800, 1, true},
                 {"sixes", 6, 32, 48, false}, {"nibbles", 4, 40, 32, true},
                 {"waves", 8, 64, 32, true}};
    begin(m);
    for (unsigned f = 0; f < sizeof forms / sizeof forms[0]; f++) {
        uint32_t n = forms[f].width * forms[f].rows, n_bytes = n * forms[f].value_bits / 8;
        uint8_t *b = add_layer(m, forms[f].name, "i8", n, n_bytes);
        for (uint32_t i = 0; i < n; i++) {
            int x = (int)(i % forms[f].width), y = (int)(i / forms[f].width);
            int v = (x * x / 20 + y * 3) % 160 - 80 + normal(m) / 120;
            if (f == 6) v = (x * (1 + y / 8) % 16 < 8 ? 60 : -60) + normal(m) / 100;
            if (f == 3) v = x / 8 % 25 * (x / 8 % 25) / 6;
            unsigned bits = (unsigned)v >> (forms[f].value_bits == 8 ? 0 : 8 - forms[f].value_bits);
            bits &= (1u << forms[f].value_bits) - 1;
            for (unsigned j = 0; j < forms[f].value_bits; j++) {
                uint32_t at = i * forms[f].value_bits + j;
                b[at / 8] = (uint8_t)(b[at / 8] | (bits >> j & 1) << at % 8);
            }
        }
        tare_coded_field *o = add_stream(m, forms[f].value_bits, forms[f].value_bits == 6 ? 3 : 1,
                                         0, forms[f].value_bits == 6 ? 3 : 1);
        o->mode = TARE_CODED_STRUCTURED;
        o->row = forms[f].width;
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
        add_stream(m, 8, 1, 0, 1)->trellis = (uint8_t)states;
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
        uint8_t value_bits = item_of[i], *b = add_layer(m, names[i], "i8", n * 8 / value_bits, n);
        for (uint32_t j = 0; j < n; j++) {
            b[j] = (uint8_t)(normal(m) / 8);
            if (i == 0 && j % 2)
                tare_store_le16(b + j - 1, (uint16_t)(tare_f32_bits((float)normal(m) / 999) >> 16));
        }
        if (base) {
            memcpy(b, base->regions[i][0], n);
            for (uint32_t j = 0; i < 4 && j < n; j += 2) b[j] = (uint8_t)(b[j] + next(m) % 3);
        }
        add_stream(m, value_bits,
                   value_bits == 16  ? 2
                   : value_bits == 6 ? 3
                                     : 1,
                   0,
                   value_bits == 16  ? 2
                   : value_bits == 6 ? 3
                                     : 1);
        end_layer(m, base);
    }
    /* Codes with a scale for each row of 100, in two regions. */
    uint8_t *codes = add_layer(m, "rows", "int8_rowwise", 6000, 6000);
    tare_wcodec_layer *l = &m->layers[m->index.n_layers - 1];
    uint8_t *scales = calloc(MAX_REGION, 1);
    if (!scales) fail("memory");
    m->regions[m->index.n_layers - 1][1] = scales;
    l->coded.n_regions = 2;
    l->coded.region_bytes[1] = 120;
    for (uint32_t j = 0; j < 6000; j++) codes[j] = (uint8_t)(normal(m) / 12);
    for (uint32_t j = 0; j < 60; j++) tare_store_le16(scales + 2 * j, (uint16_t)(0x2c00 + j * 8));
    if (base) {
        for (uint32_t j = 0; j < 60; j++)
            tare_store_le16(scales + 2 * j, (uint16_t)(0x2c00 + j * 8 - (j < 50 ? 160 : 0x2c00)));
        for (uint32_t j = 0; j < 6000; j++)
            codes[j] = (uint8_t)(int)((float)(int8_t)base->regions[5][0][j] * 1.17f +
                                      (float)(next(m) % 3));
    }
    add_stream(m, 16, 2, 0, 2);
    l->coded.streams[0].field.region = 1;
    add_stream(m, 8, 1, 0, 1);
    l->coded.streams[1].field.scale_stream = 1;
    l->coded.streams[1].field.scale_form = 1;
    l->coded.streams[1].field.values_per_scale = 100;
    end_layer(m, base);
}

static void tuned(maker *m, maker *base) {
    static tare_packed_base record = {.hint = {"base.wcodec", 11}};
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
    static tare_packed_range first[] = {
        {0, 0, 0, 200}, {1, 0, 0, 700}, {0, 0, 200, 31}, {2, 0, 0, 700}, {0, 0, 231, 169}};
    static tare_packed_range second[] = {{1, 0, 350, 350}, {0, 0, 10, 20}, {1, 0, 0, 1}};
    static tare_packed_file list[] = {
        {.name = {"model-1.bin", 11}, .size = 1800, .n_ranges = 5, .ranges = first},
        {.name = {"sub/model-2.bin", 15}, .size = 371, .n_ranges = 3, .ranges = second}};
    begin(m);
    uint8_t *b = add_layer(m, "model-1.bin", NULL, 0, 400);
    for (uint32_t i = 0; i < 400; i++) b[i] = (uint8_t) "{\"header\": [1, 2, 3]} "[i % 22];
    add_stream(m, 8, 1, 0, 1)->is_repetitive = true;
    m->streams[0][0].field.log2_segment = 22;
    end_layer(m, NULL);
    for (unsigned t = 0; t < 2; t++) {
        uint8_t *w = add_layer(m, t ? "twin" : "weight", "i8", 700, 700);
        for (uint32_t i = 0; i < 700; i++)
            w[i] = (uint8_t)(t ? m->regions[1][0][i] : normal(m) / 30);
        if (t == 0) {
            add_stream(m, 8, 1, 0, 1);
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
    add_stream(m, 16, 34, 0, 2);
    add_stream(m, 8, 34, 2, 32)->mode = TARE_CODED_DIRECT;
    end_layer(m, NULL);
    end(m, "edges.wcodec", NULL);
    drop(m);
}

/* Nibbles and high bits of the same values: as the formats have them, and in any order. */
static void joined(maker *m) {
    static const struct {
        const char *name;
        uint32_t stride, low, high;
        tare_coded_join join;
    } forms[] = {{"q5_0", 22, 6, 2, {0, 1, 5, {4, 0, 1, 2, 3}}},
                 {"q5_1", 24, 8, 4, {0, 1, 5, {4, 0, 1, 2, 3}}},
                 {"q3_k", 110, 32, 0, {0, 2, 7, {0, 2, 3, 4, 5, 6, 1}}},
                 {"q5_k", 176, 48, 16, {0, 1, 8, {0, 3, 4, 5, 6, 7, 1, 2}}},
                 {"q6_k", 210, 0, 128, {0, 2, 8, {1, 2, 3, 4, 5, 6, 0, 7}}},
                 {"iq4_xs", 136, 4, 2, {0, 2, 3, {0, 1, 2}}},
                 {"any order", 800, 44, 560, {0, 1, 10, {7, 3, 9, 0, 5, 2, 8, 1, 4, 6}}},
                 {"another", 20, 4, 0, {0, 2, 4, {3, 1, 0, 2}}}};
    begin(m);
    for (unsigned i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const tare_coded_join *w = &forms[i].join;
        uint32_t n_low = tare_wc_join_low_bytes(w), n_high = tare_wc_join_high_bytes(w);
        uint32_t stride = forms[i].stride, n = (i % 4 ? 6000u : 15000u) / stride * stride;
        uint8_t *b = add_layer(m, forms[i].name, "u8", n, n);
        for (uint32_t j = 0; j < n; j++) {
            int v = j % stride / 4 % 2 ? 50 + normal(m) / 8 : normal(m) / 3;
            b[j] = (uint8_t)(v + v / 7 * 16);
        }
        tare_coded_field *o = add_stream(m, 6, stride, forms[i].low, n_low);
        o->mode = i == 1 ? TARE_CODED_RAW : i == 5 ? TARE_CODED_SMALLEST : TARE_CODED_DIRECT;
        o->join = *w;
        o->join.high_offset = forms[i].high;
        /* What lies before, between and after them. */
        uint32_t ends[] = {
            0, forms[i].low, forms[i].low + n_low, forms[i].high, forms[i].high + n_high, stride};
        if (forms[i].high < forms[i].low)
            for (unsigned k = 1; k < 3; k++) {
                uint32_t swap = ends[k];
                ends[k] = ends[k + 2];
                ends[k + 2] = swap;
            }
        for (unsigned k = 0; k < 6; k += 2)
            if (ends[k] < ends[k + 1]) add_stream(m, 8, stride, ends[k], ends[k + 1] - ends[k]);
        end_layer(m, NULL);
    }
    end(m, "joined.wcodec", NULL);
    drop(m);
}

/* Scales and minima of 6 bits as Q4_K has them; less than a group of units, and more. */
static void scales(maker *m) {
    begin(m);
    for (unsigned i = 0; i < 3; i++) {
        uint32_t n = i ? 800 : 20;
        uint8_t *b = add_layer(m, i == 0 ? "few" : i == 1 ? "many" : "raw", "u8", 16 * n, 16 * n);
        for (uint32_t u = 0; u < n; u++, b += 16) {
            unsigned v[16];
            for (unsigned j = 0; j < 16; j++)
                v[j] = (unsigned)(25 + (int)j / 8 * 20 + normal(m) / 50);
            for (unsigned j = 0; j < 4; j++) {
                b[j] = (uint8_t)next(m);
                b[4 + j] = (uint8_t)((v[j] & 63) | (v[4 + j] >> 4 & 3) << 6);
                b[8 + j] = (uint8_t)((v[8 + j] & 63) | (v[12 + j] >> 4 & 3) << 6);
                b[12 + j] = (uint8_t)((v[4 + j] & 15) | (v[12 + j] & 15) << 4);
            }
        }
        add_stream(m, 8, 16, 0, 4);
        add_stream(m, 6, 16, 4, 12)->mode = i == 2 ? TARE_CODED_RAW : TARE_CODED_DIRECT;
        m->streams[m->index.n_layers - 1][1].field.is_packed_scales = true;
        end_layer(m, NULL);
    }
    end(m, "scales.wcodec", NULL);
    drop(m);
}

/* ---- derived layers -------------------------------------------------------------------------- */

static const tare_encoding *type_of(const void *ctx, uint32_t layer) {
    return tare_encoding_find(((const maker *)ctx)->layers[layer].encoding);
}

static tare_status read_numbers(uint8_t *out, const void *ctx, const tare_composition *of,
                                uint32_t layer, uint64_t first, uint64_t n, tare_error *err) {
    const size_t width = type_of(ctx, layer)->planes[0].unit_bytes;
    (void)of, (void)err;
    memcpy(out, ((const maker *)ctx)->regions[layer][0] + first * width, (size_t)n * width);
    return TARE_OK;
}

/* A layer that is what the encoder makes of these pieces, but for a byte of every `other` ones. */
static void add_derived(maker *m, const char *name, const char *encoding,
                        const tare_composition *of, unsigned other) {
    static uint8_t made[MAX_REGION], stored[MAX_REGION];
    static float values[MAX_REGION / 4];
    const tare_piece_sources from = {.ctx = m, .type = type_of, .read = read_numbers};
    const tare_encoding *e = tare_encoding_find((tare_str){encoding, strlen(encoding)});
    const uint64_t n = of->pieces[of->n_pieces - 1].end;
    const size_t size = (size_t)(n / e->planes[0].unit * e->planes[0].unit_bytes);
    const tare_rows numbers = {.planes = {stored}, .n_rows = 1, .cols = n};
    tare_rows_mut rows = {.planes = {made}, .n_rows = 1, .cols = n};
    tare_reader own, reference;
    tare_error err;
    if (tare_pieces_read(stored, of, &from, 0, (size_t)n * of->encoding->planes[0].unit_bytes,
                         &err) != TARE_OK ||
        tare_decode_rows(values, of->encoding, &numbers, &err) != TARE_OK ||
        tare_encode_rows(&rows, e, values, NULL, &err) != TARE_OK)
        fail(err.what);
    uint8_t *bytes = add_layer(m, name, encoding, n, (uint32_t)size);
    memcpy(bytes, made, size);
    for (size_t i = 100; other && i < size; i += other) bytes[i] ^= 9;
    add_stream(m, 8, 1, 0, 1);
    tare_wcodec_layer *l = &m->layers[m->index.n_layers - 1];
    tare_reader_memory(&own, bytes, size, "vector");
    tare_reader_memory(&reference, made, size, "vector");
    const tare_wc_source s = {.readers = {&own}}, base = {.readers = {&reference}};
    l->coded.offset = m->out.size;
    if (encode_layer(&m->out, &l->coded, &s, &base, true, &m->arena, &err) != TARE_OK)
        fail(err.what);
    l->derived = (tare_wcodec_derivation){.is_set = true, .version = 1, .pieces = of};
}

/* Pieces: rows that change places, what is stacked with zeros between and has something added, columns
 * that become rows and are multiplied, a part of what is made itself. */
static void pieces(maker *m, const char *file) {
    static const tare_piece_view permuted = {0, 4, {{2, 512}, {4, 64}, {2, 256}, {64, 1}}};
    static const tare_piece_view turned = {0, 2, {{64, 1}, {16, 64}}};
    static const tare_piece_view part = {512, 1, {{512, 1}}};
    static const tare_piece rows[] = {{.end = 1024, .view = &permuted}};
    static const tare_piece stack[] = {
        {.end = 1024},
        {.end = 1536, .source = TARE_PIECE_ZEROS},
        {.end = 2048, .source = 1, .arithmetic = TARE_PIECE_ADD, .constant = 1}};
    static const tare_piece columns[] = {
        {.end = 1024, .view = &turned, .arithmetic = TARE_PIECE_MUL, .constant = 0.375f}};
    static const tare_piece half[] = {{.end = 512, .view = &part, .source = 2}};
    const tare_encoding *bf16 = tare_encoding_get(TARE_ENCODING_BF16);
    const tare_composition of[] = {{rows, 1, bf16},
                                   {stack, 3, tare_encoding_get(TARE_ENCODING_F32)},
                                   {columns, 1, bf16},
                                   {half, 1, bf16}};
    begin(m);
    uint8_t *bytes = add_layer(m, "rows", "bf16", 1024, 2048);
    for (unsigned i = 0; i < 1024; i++)
        tare_store_le16(bytes + 2 * i, (uint16_t)(tare_f32_bits((float)normal(m) / 64) >> 16));
    add_stream(m, 16, 2, 0, 2);
    end_layer(m, NULL);
    bytes = add_layer(m, "halves", "f16", 512, 1024);
    for (unsigned i = 0; i < 512; i++) tare_store_le16(bytes + 2 * i, (uint16_t)(0x3800 + i));
    add_stream(m, 16, 2, 0, 2);
    end_layer(m, NULL);
    add_derived(m, "permuted", "bf16", &of[0], 0);
    add_derived(m, "stacked", "f32", &of[1], 0);
    add_derived(m, "turned", "q8_0", &of[2], 400);
    add_derived(m, "part", "q4_0", &of[3], 0);
    end(m, file, NULL);
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
    joined(&m);
    scales(&m);
    pieces(&m, "pieces.wcodec");  /* in the tree, of version 1.4: */
    pieces(&m, "records.wcodec"); /* records of layers are packed since */
    tare_arena_free(&m.arena);
    tare_arena_free(&base.arena);
    return fclose(m.expected) != 0;
}
