/* SPDX-License-Identifier: MIT
 *
 * Codes of packed weights as the numbers that they stand for, row by row of the weight, wherever
 * they lie. */
#include <math.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "quantized/weight.h"

enum { AT_ONCE = 1024 }; /* codes that are unpacked at once */

const uint8_t tare_weight_awq_order[8] = {0, 4, 1, 5, 2, 6, 3, 7};

typedef struct reading {
    const tare_weight *w;
    const tare_model *stored;
    float value[256]; /* of a code */
    uint8_t *bytes;   /* room */
    size_t size;
    tare_error *err;
} reading;

/* ---- bits -------------------------------------------------------------------------------------- */

void tare_weight_unpack(uint8_t *out, const uint8_t *bytes, uint64_t at, uint64_t n,
                        uint32_t bits) {
    const uint32_t mask = (1u << bits) - 1;
    if (bits == 8) {
        memcpy(out, bytes + at, (size_t)n);
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t bit = (at + i) * bits;
        const uint32_t shift = bit % 8;
        uint32_t v = bytes[bit / 8] >> shift;
        if (shift + bits > 8) v |= (uint32_t)bytes[bit / 8 + 1] << (8 - shift);
        out[i] = (uint8_t)(v & mask);
    }
}

/* GPTQModel's planes: of 32 codes the words of the low 4 bits (2, if there are 3), then those of the
 * next 2, then those of the last one. */
static void unpack_planar(uint8_t *out, const uint8_t *bytes, uint32_t bits) {
    uint8_t plane[32];
    memset(out, 0, 32);
    for (uint32_t at = 0; at < bits;) {
        const uint32_t left = bits - at, low = bits == 3 ? 2 : 4;
        const uint32_t width = at == 0 ? (bits < low ? bits : low) : left >= 2 ? 2 : 1;
        tare_weight_unpack(plane, bytes + 4 * at, 0, 32, width);
        for (int i = 0; i < 32; i++) out[i] |= (uint8_t)(plane[i] << at);
        at += width;
    }
}

uint8_t tare_weight_planar_code(const uint8_t *bytes, uint64_t at, uint32_t bits) {
    uint8_t codes[32];
    unpack_planar(codes, bytes + at / 32 * 4 * bits, bits);
    return codes[at % 32];
}

/* ---- values ------------------------------------------------------------------------------------ */

float tare_weight_e2m1(uint32_t code) {
    static const float size[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    return code & 8 ? -size[code & 7] : size[code & 7];
}

static float e2m3(uint32_t code) {
    const uint32_t exponent = code >> 3 & 3, mantissa = code & 7;
    const float size = exponent == 0 ? (float)mantissa / 8
                                     : (1 + (float)mantissa / 8) * (float)(1u << (exponent - 1));
    return code & 32 ? -size : size;
}

float tare_weight_e4m3(uint32_t code) {
    const uint32_t exponent = code >> 3 & 15, mantissa = code & 7;
    float size = exponent == 0 ? (float)mantissa * 0x1p-9f
                               : ldexpf(1 + (float)mantissa / 8, (int)exponent - 7);
    if ((code & 127) == 127) size = tare_f32_of_bits(UINT32_C(0x7fc00000));
    return code & 128 ? -size : size;
}

static float value_of(const tare_weight *w, uint32_t code) {
    const int32_t top = 1 << (w->bits - 1);
    switch (w->value) {
    case TARE_VALUE_SIGNED:
        return (float)((int32_t)code >= top ? (int32_t)code - 2 * top : (int32_t)code);
    case TARE_VALUE_E4M3:
        return tare_weight_e4m3(code);
    case TARE_VALUE_E2M1:
        return tare_weight_e2m1(code);
    case TARE_VALUE_E2M3:
        return e2m3(code);
    case TARE_VALUE_QUARTERS:
        return (code & 8 ? -0.25f : 0.25f) * (float)(code & 7);
    default:
        return (float)code - w->middle;
    }
}

static tare_status read_table(reading *r, uint32_t n) {
    const int64_t part = r->w->parts[TARE_PART_TABLE];
    TARE_TRY(tare_tensor_values_f32(r->value, r->stored, (size_t)part, 0, n, r->err));
    for (uint32_t c = 0; c < n; c++)
        if (!isfinite(r->value[c]))
            return tare_fail_tensor(r->err, TARE_ERR_CORRUPT, &r->stored->catalog.tensors[part],
                                    (size_t)part, "codes stand for what is not a number");
    return TARE_OK;
}

static tare_status make_values(reading *r) {
    const tare_weight *w = r->w;
    const uint32_t n = 1u << w->bits;
    if (w->value == TARE_VALUE_TABLE) return read_table(r, n);
    for (uint32_t c = 0; c < n; c++) r->value[c] = value_of(w, c);
    return TARE_OK;
}

static tare_status read_bytes(reading *r, uint64_t from, uint64_t n) {
    return tare_weight_bytes(r->bytes, r->w, r->stored, TARE_PART_CODES, from, n, r->err);
}

/* n dense codes of r->bytes, from code `at` on. */
static void put_dense(float *out, const reading *r, const uint8_t *bytes, uint64_t at, uint64_t n) {
    uint8_t codes[AT_ONCE];
    while (n > 0) {
        const uint64_t take = tare_min_u64(n, AT_ONCE);
        tare_weight_unpack(codes, bytes, at, take, r->w->bits);
        for (uint64_t i = 0; i < take; i++) out[i] = r->value[codes[i]];
        out += take;
        at += take;
        n -= take;
    }
}

/* The same of codes of 4 bits, the first of a byte in its high half. */
static void put_high_first(float *out, const reading *r, uint64_t at, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        const uint8_t byte = r->bytes[(at + i) / 2];
        out[i] = r->value[(at + i) % 2 ? byte & 15 : byte >> 4];
    }
}

/* The same of codes that do not cross the borders of words. */
static void put_in_words(float *out, const reading *r, uint64_t n) {
    const tare_weight *w = r->w;
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t word = tare_load_le32(r->bytes + i / w->per_word * 4);
        const uint32_t shift = (uint32_t)(i % w->per_word) * w->bits;
        out[i] = r->value[word >> shift & ((1u << w->bits) - 1)];
    }
}

/* ---- codes of rows that lie one after the other ------------------------------------------------ */

uint64_t tare_weight_stored_row(const tare_weight *w, uint64_t row) {
    return row * w->step + w->first;
}

static tare_status rows(float *out, reading *r, uint64_t first, uint64_t n) {
    const tare_weight *w = r->w;
    if (w->value == TARE_VALUE_OF_PART)
        return tare_tensor_values_f32(out, r->stored, (size_t)w->parts[TARE_PART_CODES],
                                      first * w->cols, n * w->cols, r->err);
    for (uint64_t i = 0; i < n; i++, out += w->cols) {
        TARE_TRY(read_bytes(r, tare_weight_stored_row(w, first + i) * w->line, w->line));
        if (w->high_first)
            put_high_first(out, r, 0, w->cols);
        else if (w->per_word)
            put_in_words(out, r, w->cols);
        else
            put_dense(out, r, r->bytes, 0, w->cols);
    }
    return TARE_OK;
}

static tare_status run(float *out, reading *r, uint64_t first, uint64_t n) {
    const uint64_t at = first * r->w->cols, end = at + n * r->w->cols;
    TARE_TRY(read_bytes(r, at / 2, tare_ceil_div_u64(end, 2) - at / 2));
    put_high_first(out, r, at % 2, end - at);
    return TARE_OK;
}

/* An even row is the low half of the bytes. */
static tare_status two_rows(float *out, reading *r, uint64_t first, uint64_t n) {
    const uint64_t cols = r->w->cols;
    for (uint64_t row = first; row < first + n; row++) {
        TARE_TRY(read_bytes(r, row / 2 * cols, cols));
        for (uint64_t i = 0; i < cols; i++) *out++ = r->value[r->bytes[i] >> (row % 2 * 4) & 15];
    }
    return TARE_OK;
}

/* ---- layers ------------------------------------------------------------------------------------ */

static void put_layer(float *out, const reading *r, uint64_t n, uint32_t shift) {
    const tare_weight *w = r->w;
    const uint32_t mask = (1u << w->bits) - 1;
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t word = w->word_bytes == 4 ? tare_load_le32(r->bytes + 4 * i) : r->bytes[i];
        out[i] = r->value[word >> shift & mask];
    }
}

static tare_status layers(float *out, reading *r, uint64_t first, uint64_t n) {
    const tare_weight *w = r->w;
    const uint64_t length =
        r->stored->catalog.tensors[w->parts[TARE_PART_CODES]].size_bytes / w->word_bytes;
    const uint64_t end = (first + n) * w->cols;
    for (uint64_t at = first * w->cols; at < end;) {
        const uint64_t layer = at / length, take = tare_min_u64(length - at % length, end - at);
        const uint64_t place = w->high_first ? w->n_layers - 1 - layer : layer;
        TARE_TRY(read_bytes(r, at % length * w->word_bytes, take * w->word_bytes));
        put_layer(out, r, take, (uint32_t)place * w->bits);
        out += take;
        at += take;
    }
    return TARE_OK;
}

/* ---- codes of a transposed weight -------------------------------------------------------------- */

/* 32 columns at once, whose codes are whole words of each row. */
static tare_status down(float *out, reading *r, uint64_t first, uint64_t n) {
    const tare_weight *w = r->w;
    const size_t wide = w->word_bytes;
    uint8_t stream[32 + 8], codes[32];
    for (uint64_t i = 0; i < w->cols; i += 32) {
        const uint64_t here = tare_min_u64(32, w->cols - i);
        const uint64_t words = tare_ceil_div_u64(here * w->bits, 8 * wide);
        const uint64_t word = i / 8 * w->bits / wide;
        for (uint64_t k = 0; k < words; k++)
            TARE_TRY(tare_weight_bytes(r->bytes + k * n * wide, w, r->stored, TARE_PART_CODES,
                                       ((word + k) * w->n_rows + first) * wide, n * wide, r->err));
        for (uint64_t row = 0; row < n; row++) {
            for (uint64_t k = 0; k < words; k++)
                memcpy(stream + k * wide, r->bytes + (k * n + row) * wide, wide);
            if (w->is_planar)
                unpack_planar(codes, stream, w->bits);
            else
                tare_weight_unpack(codes, stream, 0, here, w->bits);
            for (uint64_t k = 0; k < here; k++) out[row * w->cols + i + k] = r->value[codes[k]];
        }
    }
    return TARE_OK;
}

static tare_status across(float *out, reading *r, uint64_t first, uint64_t n) {
    const tare_weight *w = r->w;
    const uint64_t line = w->n_rows / 8, word = first / 8;
    const uint64_t n_words = tare_ceil_div_u64(first + n, 8) - word;
    for (uint64_t i = 0; i < w->cols; i++) {
        TARE_TRY(read_bytes(r, (i * line + word) * 4, n_words * 4));
        for (uint64_t row = 0; row < n; row++) {
            const uint64_t at = first + row - word * 8;
            const uint32_t k = w->awq_order ? tare_weight_awq_order[at % 8] : (uint32_t)(at % 8);
            const uint32_t bits = tare_load_le32(r->bytes + at / 8 * 4);
            out[row * w->cols + i] = r->value[bits >> (4 * k) & 15];
        }
    }
    return TARE_OK;
}

/* Four rows of 64 columns are 64 words of 16 bits: the columns of each 32 are taken in the order of
 * the threads that use them, and the codes follow each other row by row. */
static tare_status tiles(float *out, reading *r, uint64_t first, uint64_t n) {
    const tare_weight *w = r->w;
    for (uint64_t row = first; row < first + n; row++) {
        TARE_TRY(read_bytes(r, row / 4 * w->cols * 2, w->cols * 2));
        for (uint64_t i = 0; i < w->cols; i++) {
            const uint64_t c = i % 32, place = c / 2 % 4 * 8 + c % 2 * 4 + c / 8;
            const uint64_t at = row % 4 * 64 + i % 64 / 32 * 32 + place;
            const uint32_t word = tare_load_le16(r->bytes + 2 * (i / 64 * 64 + at / 4));
            *out++ = r->value[word >> (at % 4 * 4) & 15];
        }
    }
    return TARE_OK;
}

/* ---- all --------------------------------------------------------------------------------------- */

/* Bytes of codes that are in memory at once. */
static uint64_t room(const tare_weight *w, uint64_t n) {
    switch (w->order) {
    case TARE_ORDER_RUN:
        return n * w->cols / 2 + 2;
    case TARE_ORDER_LAYERS:
        return n * w->cols * w->word_bytes;
    case TARE_ORDER_DOWN:
        return n * (4 * (uint64_t)w->bits + 8);
    case TARE_ORDER_ACROSS:
        return (n + 16) / 2 + 8;
    case TARE_ORDER_TILES:
        return 2 * w->cols;
    case TARE_ORDER_TWO_ROWS:
        return w->cols;
    default:
        return w->line + 1;
    }
}

tare_status tare_weight_codes(float *out, const tare_weight *w, const tare_model *stored,
                              uint64_t first, uint64_t n, tare_error *err) {
    static tare_status (*const orders[])(float *out, reading *r, uint64_t first, uint64_t n) = {
        [TARE_ORDER_ROWS] = rows,         [TARE_ORDER_RUN] = run,   [TARE_ORDER_LAYERS] = layers,
        [TARE_ORDER_TWO_ROWS] = two_rows, [TARE_ORDER_DOWN] = down, [TARE_ORDER_ACROSS] = across,
        [TARE_ORDER_TILES] = tiles,
    };
    reading r = {.w = w, .stored = stored, .err = err};
    if (w->value != TARE_VALUE_OF_PART) TARE_TRY(make_values(&r));
    if (!tare_size_of_u64(room(w, n), &r.size))
        return tare_fail(err, TARE_ERR_LIMIT, "packed weight");
    r.bytes = tare_alloc(stored->allocator, r.size);
    if (!r.bytes) return tare_fail(err, TARE_ERR_NOMEM, "packed weight");
    const tare_status status = orders[w->order](out, &r, first, n);
    tare_free(stored->allocator, r.bytes, r.size);
    return status;
}
