/* SPDX-License-Identifier: MIT
 *
 * MessagePack: the first byte says the kind, and the length or how many bytes of it follow. */
#include <string.h>

#include "base/bytes.h"
#include "format/flax/flax.h"

static uint64_t big_endian(const uint8_t *p, unsigned n) {
    uint64_t value = 0;
    for (unsigned i = 0; i < n; i++) value = value << 8 | p[i];
    return value;
}

/* Bytes 0xc0 to 0xdf: kind, and bytes of the number that follows (of EXT: of its length). */
static const struct {
    tare_msgpack_kind kind;
    uint8_t bytes;
} rows[32] = {
    {TARE_MSGPACK_NIL, 0},      {TARE_MSGPACK_NIL, 0} /* never used: refused */,
    {TARE_MSGPACK_BOOL, 0},     {TARE_MSGPACK_BOOL, 0},
    {TARE_MSGPACK_BYTES, 1},    {TARE_MSGPACK_BYTES, 2},
    {TARE_MSGPACK_BYTES, 4},    {TARE_MSGPACK_EXT, 1},
    {TARE_MSGPACK_EXT, 2},      {TARE_MSGPACK_EXT, 4},
    {TARE_MSGPACK_FLOAT, 4},    {TARE_MSGPACK_FLOAT, 8},
    {TARE_MSGPACK_UNSIGNED, 1}, {TARE_MSGPACK_UNSIGNED, 2},
    {TARE_MSGPACK_UNSIGNED, 4}, {TARE_MSGPACK_UNSIGNED, 8},
    {TARE_MSGPACK_INT, 1},      {TARE_MSGPACK_INT, 2},
    {TARE_MSGPACK_INT, 4},      {TARE_MSGPACK_INT, 8},
    {TARE_MSGPACK_EXT, 0},      {TARE_MSGPACK_EXT, 0},
    {TARE_MSGPACK_EXT, 0},      {TARE_MSGPACK_EXT, 0},
    {TARE_MSGPACK_EXT, 0},      {TARE_MSGPACK_TEXT, 1},
    {TARE_MSGPACK_TEXT, 2},     {TARE_MSGPACK_TEXT, 4},
    {TARE_MSGPACK_LIST, 2},     {TARE_MSGPACK_LIST, 4},
    {TARE_MSGPACK_MAP, 2},      {TARE_MSGPACK_MAP, 4},
};

/* The kinds whose length, or value, is in the first byte. False: it is none of them. */
static bool short_form(tare_msgpack *v, uint8_t first) {
    if (first < 0x80 || first >= 0xe0) {
        v->kind = TARE_MSGPACK_INT;
        v->as.i = (int8_t)first;
    } else if (first < 0xc0) {
        v->kind = first < 0x90   ? TARE_MSGPACK_MAP
                  : first < 0xa0 ? TARE_MSGPACK_LIST
                                 : TARE_MSGPACK_TEXT;
        v->n = first & (v->kind == TARE_MSGPACK_TEXT ? 0x1fu : 0x0fu);
    } else {
        return false;
    }
    return true;
}

static void put_number(tare_msgpack *v, uint64_t bits, unsigned bytes) {
    const unsigned shift = 64 - 8 * bytes;
    float narrow;
    const uint32_t low = (uint32_t)bits;
    switch (v->kind) {
    case TARE_MSGPACK_INT:
        v->as.i = (int64_t)(bits << shift) >> shift;
        return;
    case TARE_MSGPACK_UNSIGNED:
        if (bits <= INT64_MAX) v->kind = TARE_MSGPACK_INT;
        v->as.u = bits;
        return;
    case TARE_MSGPACK_FLOAT:
        memcpy(&narrow, &low, sizeof narrow);
        if (bytes == 4)
            v->as.f = (double)narrow;
        else
            memcpy(&v->as.f, &bits, sizeof v->as.f);
        return;
    default:
        v->n = bits;
    }
}

static tare_status take(uint8_t *out, unsigned n, const tare_reader *r, uint64_t *at, uint64_t end,
                        tare_error *err) {
    if (*at > end || n > end - *at)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, *at,
                            "MessagePack: the file ends inside a value");
    TARE_TRY(tare_reader_read(r, *at, out, n, err));
    *at += n;
    return TARE_OK;
}

static tare_status long_form(tare_msgpack *v, uint8_t first, const tare_reader *r, uint64_t *at,
                             uint64_t end, tare_error *err) {
    uint8_t bytes[8] = {0}, type;
    const unsigned n = rows[first - 0xc0].bytes;
    if (first == 0xc1)
        return tare_fail_at(err, TARE_ERR_CORRUPT, v->offset,
                            "MessagePack: a byte that stands for no type");
    v->kind = rows[first - 0xc0].kind;
    if (v->kind == TARE_MSGPACK_BOOL) v->as.i = first & 1;
    TARE_TRY(take(bytes, n, r, at, end, err));
    if (n) put_number(v, big_endian(bytes, n), n);
    if (v->kind != TARE_MSGPACK_EXT) return TARE_OK;
    if (!n) v->n = UINT64_C(1) << (first - 0xd4);
    TARE_TRY(take(&type, 1, r, at, end, err));
    v->as.i = (int8_t)type;
    return TARE_OK;
}

tare_status tare_msgpack_next(tare_msgpack *v, const tare_reader *r, uint64_t *at, uint64_t end,
                              tare_error *err) {
    uint8_t first;
    *v = (tare_msgpack){.offset = *at};
    TARE_TRY(take(&first, 1, r, at, end, err));
    if (!short_form(v, first)) TARE_TRY(long_form(v, first, r, at, end, err));
    v->payload = *at;
    /* A value is a byte at least. */
    const uint64_t least = v->kind == TARE_MSGPACK_MAP ? 2 * v->n : v->n;
    if (least > end - *at)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, v->offset,
                            "MessagePack: the file ends inside a value");
    const bool has_bytes = v->kind == TARE_MSGPACK_TEXT || v->kind == TARE_MSGPACK_BYTES ||
                           v->kind == TARE_MSGPACK_EXT;
    if (has_bytes) *at += v->n;
    return TARE_OK;
}
