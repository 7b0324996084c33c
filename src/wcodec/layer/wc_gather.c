/* SPDX-License-Identifier: MIT
 *
 * Stream bytes from regions, and what segments are predicted from. */
#include "wcodec/layer/wc_gather.h"

#include <string.h>

#include "base/arith.h"
#include "wcodec/layer/wc_join_units.h"
#include "wcodec/layer/wc_spread.h"
#include "wcodec/wc_scales.h"

/* Bytes first .. end - 1 of a stream, which begin inside a unit or end in it, or are whole units;
 * `units`: what the reader has from the stream's bytes of the first unit on. */
static void gather_units(uint8_t *dst, const tare_coded_stream *p, const uint8_t *units,
                         uint64_t first, uint64_t end) {
    const uint64_t skip = first % p->field.width,
                   head = skip ? tare_min_u64(p->field.width - skip, end - first) : 0;
    memcpy(dst, units + skip, (size_t)head);
    first += head;
    dst += head;
    units += head ? p->field.stride : 0;
    const uint64_t n = (end - first) / p->field.width;
    tare_wc_kernels_get()->copy_units(dst, p->field.width, units, p->field.stride, (size_t)n,
                                      p->field.width);
    memcpy(dst + n * p->field.width, units + n * p->field.stride,
           (size_t)((end - first) % p->field.width));
}

tare_status tare_wc_gather(uint8_t *dst, const tare_coded_stream *p, const tare_wc_source *source,
                           uint64_t first, uint64_t n, tare_error *err) {
    enum { CHUNK = 1 << 15 };
    const tare_reader *reader = source->readers[p->field.region];
    if (p->field.join.high_bits) return tare_wc_join_units(dst, p, source, first, n, err);
    uint8_t chunk[CHUNK];
    for (uint64_t at = first, end = first + n, next; at < end; dst += next - at, at = next) {
        const uint64_t unit = at / p->field.width, skip = at % p->field.width;
        const uint64_t from =
            source->starts[p->field.region] + unit * p->field.stride + p->field.offset;
        if (p->field.width == p->field.stride || p->field.stride > CHUNK) {
            next = p->field.width == p->field.stride
                       ? end
                       : tare_min_u64((unit + 1) * p->field.width, end);
            TARE_TRY(tare_reader_read(reader, from + skip, dst, (size_t)(next - at), err));
            continue;
        }
        next = tare_min_u64((unit + CHUNK / p->field.stride) * p->field.width, end);
        const uint64_t n_units = tare_ceil_div_u64(next, p->field.width) - unit;
        const uint8_t *units;
        TARE_TRY(tare_reader_view(&units, reader, from, chunk,
                                  (size_t)((n_units - 1) * p->field.stride + p->field.width), err));
        gather_units(dst, p, units, at, next);
    }
    return TARE_OK;
}

tare_status tare_wc_load_reference(tare_wc_reference *out, uint8_t *room, const tare_wc_layer *l,
                                   unsigned stream, uint64_t segment, const tare_wc_source *base,
                                   const tare_wc_scale_runs *scales, tare_error *err) {
    const tare_coded_stream *p = &l->streams[stream];
    uint32_t n_bytes = tare_wc_segment_bytes(p, segment);
    *out = (tare_wc_reference){
        .bytes = room,
        .first_value = segment << p->field.log2_segment,
        .values_per_scale = p->field.values_per_scale,
        .scale_form = p->field.scale_form,
    };
    uint64_t first = segment * p->segment_bytes;
    TARE_TRY(tare_wc_gather(room, p, base, first, n_bytes, err));
    if (!scales->own) return TARE_OK;
    out->own_scales = scales->own;
    out->base_scales = scales->base;
    out->scales_are_big_endian = l->streams[p->field.scale_stream - 1].field.is_big_endian;
    return TARE_OK;
}

bool tare_wc_scale_span(uint64_t *first, uint64_t *n, const tare_wc_layer *l, unsigned stream,
                        uint64_t segment) {
    const tare_coded_stream *p = &l->streams[stream];
    if (!p->field.scale_stream || p->field.value_bits != 8) return false;
    uint64_t value = segment << p->field.log2_segment;
    uint64_t last = value + tare_wc_segment_bytes(p, segment) - 1;
    *first = value / p->field.values_per_scale * 2;
    *n = (last / p->field.values_per_scale + 1) * 2 - *first;
    return *first + *n <= l->streams[p->field.scale_stream - 1].n_bytes;
}

_Static_assert(TARE_WC_SCALES_STEP == (int)TARE_WC_SCALES_UNIT * TARE_WC_SCALES_GROUP,
               "a group of units");

void tare_wc_unpack_scales(uint8_t *dst, const uint8_t *src, uint32_t n) {
    tare_wc_scales_unpack(dst, src, n);
}
