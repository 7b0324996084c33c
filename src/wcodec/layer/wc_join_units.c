/* SPDX-License-Identifier: MIT
 *
 * Joined streams: which there can be, and their units to and from a region. */
#include "wcodec/layer/wc_join_units.h"

#include <string.h>

#include "base/arith.h"
#include "wcodec/wc_kernels.h"

tare_status tare_wc_check_join(const tare_wc_stream *p, uint64_t at, tare_error *err) {
    const tare_wc_join *w = &p->join;
    uint64_t record = at == TARE_NO_OFFSET ? at : at + TARE_WC_STREAM_RECORD;
    if (p->shape.value_bits != 6)
        return tare_fail_at(err, TARE_ERR_CORRUPT, at, "plane: a joined one has values of 6 bits");
    if (!tare_wc_join_is_good(w))
        return tare_fail_at(err, TARE_ERR_CORRUPT, record,
                            "join: bits, number of values or no permutation");
    if (p->width != tare_wc_join_low_bytes(w))
        return tare_fail_at(err, TARE_ERR_CORRUPT, at, "join: not the width of its nibbles");
    uint32_t n_high = tare_wc_join_high_bytes(w);
    if (n_high > p->stride || p->high_offset > p->stride - n_high)
        return tare_fail_at(err, TARE_ERR_CORRUPT, record, "join: its bytes are not within a unit");
    return TARE_OK;
}

/* One unit that is too long to be read with what lies between its runs. */
static tare_status join_far(uint8_t *dst, const tare_wc_stream *p, const tare_reader *reader,
                            uint64_t unit, tare_error *err) {
    uint8_t low[TARE_WC_JOIN_VALUES / 2], high[TARE_WC_JOIN_VALUES / 4];
    TARE_TRY(tare_reader_read(reader, unit + p->offset, low, p->width, err));
    TARE_TRY(tare_reader_read(reader, unit + p->high_offset, high,
                              tare_wc_join_high_bytes(&p->join), err));
    tare_wc_kernels_get()->join(dst, low, high, 1, 0, &p->join);
    return TARE_OK;
}

tare_status tare_wc_join_units(uint8_t *dst, const tare_wc_stream *p, const tare_wc_source *source,
                               uint64_t first, uint64_t n, tare_error *err) {
    enum { CHUNK = 1 << 15 };
    const tare_reader *reader = source->readers[p->region];
    const uint32_t n_high = tare_wc_join_high_bytes(&p->join);
    const uint64_t begin = tare_min_u64(p->offset, p->high_offset);
    const uint64_t end = tare_max_u64(p->offset + p->width, p->high_offset + n_high);
    const uint64_t unit_bytes = tare_wc_unit_bytes(p);
    uint64_t at = source->starts[p->region] + first / unit_bytes * p->stride;
    uint8_t chunk[CHUNK];
    for (uint64_t left = n / unit_bytes, n_units; left; left -= n_units) {
        if (p->stride > CHUNK) {
            n_units = 1;
            TARE_TRY(join_far(dst, p, reader, at, err));
        } else {
            n_units = tare_min_u64(left, CHUNK / p->stride);
            size_t span = (size_t)((n_units - 1) * p->stride + (end - begin));
            const uint8_t *units;
            TARE_TRY(tare_reader_view(&units, reader, at + begin, chunk, span, err));
            tare_wc_kernels_get()->join(dst, units + (p->offset - begin),
                                        units + (p->high_offset - begin), (size_t)n_units,
                                        p->stride, &p->join);
        }
        dst += n_units * unit_bytes;
        at += n_units * p->stride;
    }
    return TARE_OK;
}

/* The part visible in a window of n bytes that belong at byte `to` of the region. */
static void put_shown(const tare_wc_window *t, const uint8_t *bytes, uint64_t to, uint64_t n) {
    uint64_t low = tare_max_u64(to, t->offset), high = tare_min_u64(to + n, t->offset + t->n);
    if (low < high) memcpy(t->dst + (low - t->offset), bytes + (low - to), (size_t)(high - low));
}

static void separate_part(const tare_wc_window *t, const tare_wc_stream *p,
                          const tare_wc_separator *by, const uint8_t *bytes, uint64_t unit) {
    uint8_t low[TARE_WC_JOIN_VALUES / 2], high[TARE_WC_JOIN_VALUES / 4];
    tare_wc_kernels_get()->separate(low, high, bytes, 1, 0, by);
    put_shown(t, low, unit * p->stride + p->offset, p->width);
    put_shown(t, high, unit * p->stride + p->high_offset, tare_wc_join_high_bytes(&p->join));
}

void tare_wc_separate_units(const tare_wc_window *t, const tare_wc_stream *p,
                            const tare_wc_separator *separator, const uint8_t *bytes,
                            uint64_t first, uint64_t end) {
    tare_wc_separator own;
    if (!separator) {
        tare_wc_kernels_get()->prepare(&own, &p->join);
        separator = &own;
    }
    const uint64_t unit_bytes = tare_wc_unit_bytes(p);
    uint64_t unit = first / unit_bytes, past = end / unit_bytes;
    uint64_t whole = tare_max_u64(unit, tare_ceil_div_u64(t->offset, p->stride));
    uint64_t whole_past = tare_min_u64(past, (t->offset + t->n) / p->stride);
    for (; unit < past; unit++, bytes += unit_bytes) {
        if (unit != whole || whole >= whole_past) {
            separate_part(t, p, separator, bytes, unit);
            continue;
        }
        uint8_t *to = t->dst + (unit * p->stride - t->offset);
        uint64_t n = whole_past - whole;
        tare_wc_kernels_get()->separate(to + p->offset, to + p->high_offset, bytes, (size_t)n,
                                        p->stride, separator);
        unit += n - 1;
        bytes += (n - 1) * unit_bytes;
    }
}
