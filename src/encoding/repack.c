/* SPDX-License-Identifier: MIT
 *
 * ggml's Q8_0 and Q4_0 and MCF's q8 and q4: one f16 scale for 32 codes in all of them. ggml keeps
 * scale and codes together, takes every code, stores those of 4 bits above 8 and puts element j +
 * 16 beside element j; MCF keeps them apart, leaves the most negative code out and puts neighbours
 * into one byte. */
#include "encoding/repack.h"

#include <string.h>

#include "encoding/scalar.h"

enum { BLOCK = 32, HALF = 16 };

static bool q8_allows(const uint8_t *codes) {
    bool is_bad = false;
    for (int j = 0; j < BLOCK; j++) is_bad |= codes[j] == 0x80;
    return !is_bad;
}
static bool q4_allows(const uint8_t *codes) {
    bool is_bad = false;
    for (int j = 0; j < HALF; j++) is_bad |= (codes[j] & 15) == 0 || codes[j] >> 4 == 0;
    return !is_bad;
}

static void keep_bytes(uint8_t *dst, const uint8_t *src) {
    memcpy(dst, src, BLOCK);
}
/* Nibble j of 32, where neighbours share a byte. */
static uint8_t near_nibble(const uint8_t *codes, int j) {
    return codes[j / 2] >> (j % 2 * 4) & 15;
}
/* Nibble j of 32, where j and j + 16 share a byte. */
static uint8_t far_nibble(const uint8_t *codes, int j) {
    return codes[j % HALF] >> (j / HALF * 4) & 15;
}
/* Adding 8 and wrapping is turning the sign bit over, both ways. */
static void to_far(uint8_t *dst, const uint8_t *src) {
    for (int j = 0; j < HALF; j++)
        dst[j] = (uint8_t)((near_nibble(src, j) ^ 8) | (near_nibble(src, j + HALF) ^ 8) << 4);
}
static void to_near(uint8_t *dst, const uint8_t *src) {
    for (int j = 0; j < HALF; j++)
        dst[j] = (uint8_t)((far_nibble(src, 2 * j) ^ 8) | (far_nibble(src, 2 * j + 1) ^ 8) << 4);
}

typedef struct pair {
    tare_encoding_id from, to;
    size_t code_bytes;
    bool joins;                           /* planes into blocks */
    bool (*allows)(const uint8_t *codes); /* of a block; NULL: all */
    void (*move)(uint8_t *dst, const uint8_t *src);
} pair;

static const pair pairs[] = {
    {TARE_ENCODING_Q8_0, TARE_ENCODING_Q8, 32, false, q8_allows, keep_bytes},
    {TARE_ENCODING_Q4_0, TARE_ENCODING_Q4, 16, false, q4_allows, to_near},
    {TARE_ENCODING_Q8, TARE_ENCODING_Q8_0, 32, true, NULL, keep_bytes},
    {TARE_ENCODING_Q4, TARE_ENCODING_Q4_0, 16, true, NULL, to_far},
};

static const pair *find(const tare_encoding *from) {
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].from == from->id) return &pairs[i];
    return NULL;
}

const tare_encoding *tare_repack_of(const tare_encoding *from) {
    const pair *p = find(from);
    return p ? tare_encoding_get(p->to) : NULL;
}

bool tare_repack_allows(const tare_encoding *from, const tare_rows *rows) {
    const pair *p = find(from);
    size_t n = tare_rows_count(rows) / BLOCK;
    for (size_t b = 0; p->allows && b < n; b++)
        if (!p->allows(rows->planes[0] + b * (2 + p->code_bytes) + 2)) return false;
    return true;
}

void tare_repack_rows(const tare_rows_mut *dst, const tare_encoding *from, const tare_rows *src) {
    const pair *p = find(from);
    size_t n = tare_rows_count(src) / BLOCK, block_bytes = 2 + p->code_bytes;
    for (size_t b = 0; b < n; b++) {
        if (p->joins) {
            uint8_t *block = dst->planes[0] + b * block_bytes;
            memcpy(block, src->planes[0] + b * 2, 2);
            p->move(block + 2, src->planes[1] + b * p->code_bytes);
        } else {
            const uint8_t *block = src->planes[0] + b * block_bytes;
            memcpy(dst->planes[0] + b * 2, block, 2);
            p->move(dst->planes[1] + b * p->code_bytes, block + 2);
        }
    }
}
