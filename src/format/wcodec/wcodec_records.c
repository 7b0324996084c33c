/* SPDX-License-Identifier: MIT */
#include "format/wcodec/wcodec_records.h"

#include <string.h>

#include "base/arith.h"
#include "wcodec/wc_zstd.h"

enum {
    LEVEL = 9,
    /* What may come of a frame in any case, and for its bytes: what is read takes memory, which few bytes
     * must not. */
    FREE = 1 << 16,
    FREE_RECORDS = 1 << 10,
    MOST_TIMES = 64,
    RECORD_LEAST = 4,
};

static bool is_much(uint64_t size, uint32_t n_records, size_t frame) {
    return size > FREE + (uint64_t)frame * MOST_TIMES ||
           n_records > FREE_RECORDS + frame / RECORD_LEAST;
}

size_t tare_wcodec_records_pack(tare_buffer *out, size_t at, uint32_t n_records) {
    const size_t n = out->size - at;
    size_t size = 0;
    if (out->failed || n < 2) return 0;
    uint8_t *frame = tare_alloc(out->allocator, n);
    const tare_status status =
        frame ? tare_wc_zstd_pack(&size, frame, n - 1, out->data + at, n, LEVEL, NULL)
              : TARE_ERR_NOMEM;
    out->failed |= status == TARE_ERR_NOMEM;
    const bool is_packed = status == TARE_OK && size && !is_much(n, n_records, size);
    if (is_packed) {
        memcpy(out->data + at, frame, size);
        out->size = at + size;
    }
    tare_free(out->allocator, frame, n);
    return is_packed ? n : 0;
}

tare_status tare_wcodec_records_unpack(uint8_t **out, uint64_t size, uint32_t n_records,
                                       const uint8_t *frame, size_t n, uint64_t at,
                                       const tare_limits *limits, const tare_allocator *allocator,
                                       tare_error *err) {
    size_t room;
    *out = NULL;
    if (size > limits->metadata_bytes || !tare_size_of_u64(size, &room))
        return tare_fail_at(err, TARE_ERR_LIMIT, at,
                            "records of layers: unpacked, more bytes than metadata may have");
    if (is_much(size, n_records, n))
        return tare_fail_at(err, TARE_ERR_CORRUPT, at,
                            "records of layers: unpacked, more than 64 times their bytes, or more "
                            "records than one for 4 bytes");
    if (!tare_wc_zstd_is_frame(frame, n))
        return tare_fail_at(err, TARE_ERR_CORRUPT, at, "records of layers: not one zstd frame");
    *out = tare_alloc(allocator, room);
    if (!*out) return tare_fail(err, TARE_ERR_NOMEM, "index");
    if (tare_wc_zstd_unpack(*out, room, frame, n)) return TARE_OK;
    tare_free(allocator, *out, room);
    *out = NULL;
    return tare_fail_at(err, TARE_ERR_CORRUPT, at,
                        "records of layers: the zstd frame is damaged, or not of their size");
}
