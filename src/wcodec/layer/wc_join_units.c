/* SPDX-License-Identifier: MIT
 *
 * Joined streams: which there can be, and their units to and from a region. */
#include "wcodec/layer/wc_join_units.h"

#include <string.h>

#include "base/arith.h"
#include "wcodec/wc_kernels.h"

tare_status tare_wc_check_join(const tare_coded_stream *p, uint64_t at, tare_error *err) {
    const tare_coded_join *w = &p->field.join;
    uint64_t record = at == TARE_NO_OFFSET ? at : at + TARE_WC_STREAM_RECORD;
    if (p->field.value_bits != 6)
        return tare_fail_at(err, TARE_ERR_CORRUPT, at, "stream: a joined one has values of 6 bits");
    if (!tare_wc_join_is_good(w))
        return tare_fail_at(err, TARE_ERR_CORRUPT, record,
                            "join: bits, number of values or no permutation");
    if (p->field.width != tare_wc_join_low_bytes(w))
        return tare_fail_at(err, TARE_ERR_CORRUPT, at, "join: not the width of its nibbles");
    uint32_t n_high = tare_wc_join_high_bytes(w);
    if (n_high > p->field.stride || p->field.join.high_offset > p->field.stride - n_high)
        return tare_fail_at(err, TARE_ERR_CORRUPT, record, "join: its bytes are not within a unit");
    return TARE_OK;
}

/* One unit that is too long to be read with what lies between its runs. */
static tare_status join_far(uint8_t *dst, const tare_coded_stream *p, const tare_reader *reader,
                            uint64_t unit, tare_error *err) {
    uint8_t low[TARE_WC_JOIN_VALUES / 2], high[TARE_WC_JOIN_VALUES / 4];
    TARE_TRY(tare_reader_read(reader, unit + p->field.offset, low, p->field.width, err));
    TARE_TRY(tare_reader_read(reader, unit + p->field.join.high_offset, high,
                              tare_wc_join_high_bytes(&p->field.join), err));
    tare_wc_kernels_get()->join(dst, low, high, 1, 0, &p->field.join);
    return TARE_OK;
}

tare_status tare_wc_join_units(uint8_t *dst, const tare_coded_stream *p,
                               const tare_wc_source *source, uint64_t first, uint64_t n,
                               tare_error *err) {
    enum { CHUNK = 1 << 15 };
    const tare_reader *reader = source->readers[p->field.region];
    const uint32_t n_high = tare_wc_join_high_bytes(&p->field.join);
    const uint64_t begin = tare_min_u64(p->field.offset, p->field.join.high_offset);
    const uint64_t end =
        tare_max_u64(p->field.offset + p->field.width, p->field.join.high_offset + n_high);
    const uint64_t unit_bytes = tare_wc_unit_bytes(p);
    uint64_t at = source->starts[p->field.region] + first / unit_bytes * p->field.stride;
    uint8_t chunk[CHUNK];
    for (uint64_t left = n / unit_bytes, n_units; left; left -= n_units) {
        if (p->field.stride > CHUNK) {
            n_units = 1;
            TARE_TRY(join_far(dst, p, reader, at, err));
        } else {
            n_units = tare_min_u64(left, CHUNK / p->field.stride);
            size_t span = (size_t)((n_units - 1) * p->field.stride + (end - begin));
            const uint8_t *units;
            TARE_TRY(tare_reader_view(&units, reader, at + begin, chunk, span, err));
            tare_wc_kernels_get()->join(dst, units + (p->field.offset - begin),
                                        units + (p->field.join.high_offset - begin),
                                        (size_t)n_units, p->field.stride, &p->field.join);
        }
        dst += n_units * unit_bytes;
        at += n_units * p->field.stride;
    }
    return TARE_OK;
}

/* The part visible in a window of n bytes that belong at byte `to` of the region. */
static void put_shown(const tare_wc_window *t, const uint8_t *bytes, uint64_t to, uint64_t n) {
    uint64_t low = tare_max_u64(to, t->offset), high = tare_min_u64(to + n, t->offset + t->n);
    if (low < high) memcpy(t->dst + (low - t->offset), bytes + (low - to), (size_t)(high - low));
}

static void separate_part(const tare_wc_window *t, const tare_coded_stream *p,
                          const tare_wc_separator *by, const uint8_t *bytes, uint64_t unit) {
    uint8_t low[TARE_WC_JOIN_VALUES / 2], high[TARE_WC_JOIN_VALUES / 4];
    tare_wc_kernels_get()->separate(low, high, bytes, 1, 0, by);
    put_shown(t, low, unit * p->field.stride + p->field.offset, p->field.width);
    put_shown(t, high, unit * p->field.stride + p->field.join.high_offset,
              tare_wc_join_high_bytes(&p->field.join));
}

void tare_wc_separate_units(const tare_wc_window *t, const tare_coded_stream *p,
                            const tare_wc_separator *separator, const uint8_t *bytes,
                            uint64_t first, uint64_t end) {
    tare_wc_separator own;
    if (!separator) {
        tare_wc_kernels_get()->prepare(&own, &p->field.join);
        separator = &own;
    }
    const uint64_t unit_bytes = tare_wc_unit_bytes(p);
    uint64_t unit = first / unit_bytes, past = end / unit_bytes;
    uint64_t whole = tare_max_u64(unit, tare_ceil_div_u64(t->offset, p->field.stride));
    uint64_t whole_past = tare_min_u64(past, (t->offset + t->n) / p->field.stride);
    for (; unit < past; unit++, bytes += unit_bytes) {
        if (unit != whole || whole >= whole_past) {
            separate_part(t, p, separator, bytes, unit);
            continue;
        }
        uint8_t *to = t->dst + (unit * p->field.stride - t->offset);
        uint64_t n = whole_past - whole;
        tare_wc_kernels_get()->separate(to + p->field.offset, to + p->field.join.high_offset, bytes,
                                        (size_t)n, p->field.stride, separator);
        unit += n - 1;
        bytes += (n - 1) * unit_bytes;
    }
}
