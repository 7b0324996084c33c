/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: the head of a stream and a segment of any bytes have one verdict, and one result, by
 * the library and by the emulated kernels of libtare_cuda.
 *
 * Input: a byte of choices (bits 0-1 the width, bit 2 big-endian or packed scales, bit 3 a base,
 * bit 4 units with room between them, bit 5 joined), the decoded size (u16), the size of the head
 * in units of 64 (one byte), the head, the segment. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "cuda/cuda_runner.h"
#include "fuzz_check.h"

enum { PREFIX = 4, ROOM = 5, UNIT = 64, LAYER = 128 };

static const uint8_t items[4] = {4, 6, 8, 16};

static tare_coded_field field_of(uint8_t choices) {
    tare_coded_field f = {.value_bits = items[choices & 3], .log2_segment = 20};
    bool is_six = f.value_bits == 6;
    f.is_packed_scales = is_six && choices & 4;
    f.is_big_endian = f.value_bits == 16 && choices & 4;
    f.width = f.is_packed_scales ? 12 : is_six ? 3 : f.value_bits == 16 ? 2 : 1;
    f.stride = f.width;
    if (choices & 16) f.stride += ROOM, f.offset = 1;
    if (is_six && !f.is_packed_scales && choices & 32) {
        f.join = (tare_coded_join){16, 2, 5, {1, 2, 3, 4, 0}};
        f.width = 16, f.offset = 0, f.stride = 24;
    }
    return f;
}

/* Fields that cover the units: the one that is tested, then what is before and after it. */
static unsigned cover(tare_coded_field fields[3], uint8_t choices) {
    unsigned n = 1;
    fields[0] = field_of(choices);
    uint32_t end = fields[0].offset + fields[0].width, stride = fields[0].stride;
    if (fields[0].join.high_bits) end = stride;
    if (fields[0].offset)
        fields[n++] =
            (tare_coded_field){.value_bits = 8, .log2_segment = 20, .stride = stride, .width = 1};
    if (end < stride)
        fields[n++] = (tare_coded_field){.value_bits = 8,
                                         .log2_segment = 20,
                                         .stride = stride,
                                         .offset = end,
                                         .width = stride - end};
    return n;
}

static void compare(const tare_coded_layer *layer, const uint8_t *base) {
    tare_coded_options o = tare_coded_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    const void *bases[1] = {base};
    const cuda_how how = {.streams = 1};
    cuda_counts counts;
    tare_coded *coded;
    size_t n = (size_t)layer->region_bytes[0], n_stream = (size_t)layer->streams[0].n_bytes;
    context.threads = 1;
    if (tare_coded_open(&coded, layer, base ? bases : NULL, NULL, NULL) != TARE_OK) return;
    uint8_t *own = calloc(1, n + 1), *whole = calloc(1, n + 1), *stream = malloc(n_stream + 1);
    FUZZ_CHECK(own && whole && stream);
    tare_status meant = tare_coded_decode_segments(stream, coded, 0, 0, 1, &o, NULL);
    tare_status found = cuda_decode(&own, coded, base ? bases : NULL, &how, &counts, NULL, NULL);
    /* Without a base the library says so before it looks at the parts of a segment. */
    FUZZ_CHECK(meant == found || (meant == TARE_ERR_ARG && found != TARE_OK));
    tare_status all = tare_coded_decode_region(whole, coded, 0, 0, n, &o, NULL);
    const tare_coded_field *f = &layer->streams[0].field;
    for (size_t i = 0; all == TARE_OK && i < n; i++) {
        size_t at = i % f->stride;
        bool is_ours = at >= f->offset && at - f->offset < f->width;
        if (f->join.high_bits) is_ours |= at >= f->join.high_offset;
        FUZZ_CHECK(own[i] == (is_ours ? whole[i] : 0));
    }
    free(own);
    free(whole);
    free(stream);
    tare_coded_free(coded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tare_coded_field fields[3] = {{0}};
    tare_coded_stream streams[3];
    uint32_t sizes[3] = {0, 1, 1};
    memset(streams, 0, sizeof streams);
    if (size < PREFIX) return 0;
    size_t n_head = (size_t)data[3] * UNIT;
    if (size < PREFIX + n_head + UNIT) return 0;
    size_t stored = (size - PREFIX - n_head) / UNIT * UNIT;
    unsigned n_fields = cover(fields, data[0]);
    uint32_t n_units = tare_load_le16(data + 1) / fields[0].stride + 1;
    /* The other streams are CONSTANT: a header each, with its CRC wrong or not. */
    size_t end = n_head + stored + (n_fields - 1) * UNIT,
           n_data = (end + LAYER - 1) / LAYER * LAYER;
    uint8_t *bytes = calloc(1, n_data), *checked = calloc(1, n_head + 12);
    FUZZ_CHECK(bytes && checked);
    memcpy(bytes, data + PREFIX, n_head + stored);
    memcpy(checked, bytes, n_head);
    memcpy(checked + n_head, bytes + n_head + 4, 4);
    sizes[0] = (uint32_t)(stored / UNIT);
    for (unsigned i = 0; i < n_fields; i++) {
        streams[i] = (tare_coded_stream){.field = fields[i], .n_segments = 1, .sizes = &sizes[i]};
        size_t n = (size_t)n_units * fields[i].width;
        streams[i].n_bytes = fields[i].join.high_bits ? n / 2 * 3 : n;
        if (!i) continue;
        uint8_t *segment = bytes + n_head + stored + (i - 1) * UNIT, *zeros = calloc(1, n);
        FUZZ_CHECK(zeros);
        segment[0] = 1;
        tare_store_le32(segment + 4, tare_crc32(0, zeros, n));
        memcpy(checked + n_head + 4 * i, segment + 4, 4);
        free(zeros);
    }
    streams[0].head_bytes = (uint32_t)n_head;
    const tare_coded_layer layer = {.data = bytes,
                                    .size = n_data,
                                    .crc = tare_crc32(0, checked, n_head + 4 * n_fields),
                                    .n_regions = 1,
                                    .n_streams = n_fields,
                                    .region_bytes = {(uint64_t)n_units * fields[0].stride},
                                    .streams = streams};
    uint8_t *base = calloc(1, (size_t)layer.region_bytes[0]);
    FUZZ_CHECK(base);
    for (size_t i = 0; i < layer.region_bytes[0]; i++) base[i] = (uint8_t)(i * 7);
    compare(&layer, data[0] & 8 ? base : NULL);
    free(base);
    free(bytes);
    free(checked);
    return 0;
}
