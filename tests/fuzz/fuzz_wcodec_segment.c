/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: the head of a plane and a segment of any bytes, in every mode, are refused or
 * decoded within the memory given, and to the same bytes at every CPU level.
 *
 * Input: a byte of choices (bits 0-1 the width, bit 2 big-endian, bit 3 a base, bit 4 scales), the
 * decoded size (u16), the size of the head in units of 64 (one byte), the head, the segment. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cpu.h"
#include "fuzz_check.h"
#include "wcodec/wc_head.h"
#include "wcodec/wc_segment.h"

enum { PREFIX = 4, FENCE = 0x5a };

static const uint8_t items[4] = {4, 6, 8, 16};

/* A size that whole values fill. */
static uint32_t whole_bytes(uint8_t value_bits, uint32_t n) {
    uint32_t unit = value_bits == 16 ? 2 : value_bits == 6 ? 3 : 1;
    return n / unit * unit + unit;
}

/* Decodes at the CPU level in force; dst has a fence after its end. */
static tare_status decode(uint8_t *dst, tare_wc_piece piece, unsigned groups) {
    tare_wc_scratch scratch;
    tare_error err;
    unsigned failed;
    tare_wc_scratch_init(&scratch, NULL);
    memset(dst, 0, piece.n_bytes);
    dst[piece.n_bytes] = FENCE;
    piece.dst = dst;
    tare_status status = tare_wc_decode(&piece, 1, groups, &scratch, &failed, &err);
    FUZZ_CHECK(dst[piece.n_bytes] == FENCE);
    FUZZ_CHECK(status == TARE_OK || (err.what && err.what[0]));
    tare_wc_scratch_free(&scratch);
    return status;
}

static void check_levels(tare_wc_piece piece, unsigned groups) {
    const unsigned all = tare_cpu_mask_detect();
    uint8_t *first = malloc(piece.n_bytes + 1), *again = malloc(piece.n_bytes + 1);
    FUZZ_CHECK(first && again);
    tare_cpu_mask_limit(TARE_CPU_NONE);
    tare_status status = decode(first, piece, groups);
    for (unsigned mask = TARE_CPU_AVX2; mask <= all; mask = mask << 1 | 1) {
        tare_cpu_mask_limit(mask);
        FUZZ_CHECK(decode(again, piece, groups) == status);
        if (status == TARE_OK || status == TARE_ERR_CHECKSUM)
            FUZZ_CHECK(memcmp(first, again, piece.n_bytes) == 0);
    }
    tare_cpu_mask_limit(all);
    free(first);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < PREFIX) return 0;
    tare_wc_shape shape = {.value_bits = items[data[0] & 3], .log2_segment = 20};
    shape.is_big_endian = (data[0] & 7) == 7;
    shape.is_scales = (data[0] & 7) == 5;
    uint32_t n_bytes = whole_bytes(shape.value_bits, tare_load_le16(data + 1));
    if (shape.is_scales) n_bytes = n_bytes / 12 * 12;
    size_t n_head = (size_t)data[3] * TARE_CODED_UNIT;
    if (size < PREFIX + n_head) return 0;
    size_t stored = (size - PREFIX - n_head) / TARE_CODED_UNIT * TARE_CODED_UNIT;
    if (stored == 0) return 0;
    tare_arena arena;
    tare_cursor c;
    tare_error err;
    tare_wc_head *head;
    tare_arena_init(&arena, NULL);
    tare_cursor_init(&c, data + PREFIX, n_head, 0);
    uint8_t *bytes = calloc(1, stored + TARE_WC_READ_AHEAD), *base = calloc(2, n_bytes + 2);
    FUZZ_CHECK(bytes && base);
    memcpy(bytes, data + PREFIX + n_head, stored);
    for (uint32_t i = 0; i < n_bytes; i++) base[i] = (uint8_t)(i * 7);
    if (tare_wc_head_read(&head, &shape, &c, &arena, &err) == TARE_OK) {
        const tare_wc_reference reference = {
            .bytes = base,
            .own_scales = data[0] & 16 ? base : NULL,
            .base_scales = base + 1,
            .values_per_scale = 3,
            .scale_form = data[0] & 32 ? 2 : 1,
        };
        const tare_wc_piece piece = {
            .head = head,
            .bytes = bytes,
            .stored = (uint32_t)stored,
            .present = (uint32_t)stored,
            .n_bytes = n_bytes,
            .reference = data[0] & 8 ? &reference : NULL,
        };
        check_levels(piece, data[0] & 64 ? 1 : TARE_WC_ALL_GROUPS);
    }
    free(bytes);
    free(base);
    tare_arena_free(&arena);
    return 0;
}
