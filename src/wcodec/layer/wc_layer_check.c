/* SPDX-License-Identifier: MIT
 *
 * What must hold for the streams of a layer, whether a file or a caller describes them
 * (docs/wcodec.md, 4.2). */
#include "base/arith.h"
#include "wcodec/layer/wc_join_units.h"
#include "wcodec/wc_head.h"
#include "wcodec/wc_scales.h"

/* 8 + 16 rules with maps (4 + 128) + 64 tables (128) + 64 tables (32) + 398 contexts: 12758. */
enum { MAX_HEAD = 12800 };

/* The record is at offset `at`, the fault n bytes further on; streams described by callers have no
 * offset. */
static tare_status refuse(tare_error *err, uint64_t at, unsigned n, const char *what) {
    return tare_fail_at(err, TARE_ERR_CORRUPT, at == TARE_NO_OFFSET ? at : at + n, what);
}

tare_status tare_wc_check_stream(const tare_wc_layer *l, unsigned i, uint64_t at, tare_error *err) {
    const tare_coded_stream *p = &l->streams[i];
    const tare_coded_field *f = &p->field;
    const tare_wc_shape shape = tare_wc_shape_of(f);
    uint8_t value_bits = f->value_bits;
    tare_status status = tare_wc_shape_check(&shape, err);
    if (status != TARE_OK) {
        if (err && at != TARE_NO_OFFSET) err->offset = at + 1;
        return status;
    }
    if (f->region >= l->n_regions) return refuse(err, at, 0, "stream: region: the layer has fewer");
    if (!f->stride || !f->width || f->width > f->stride || f->offset > f->stride - f->width)
        return refuse(err, at, 4, "stream: its bytes are not within a unit");
    if ((value_bits == 16 && f->width % 2) ||
        (value_bits == 6 && !f->join.high_bits && f->width % 3) ||
        (f->is_packed_scales && (f->join.high_bits || f->width != TARE_WC_SCALES_UNIT)))
        return refuse(err, at, 12, "stream: width is not a whole number of values");
    if (f->join.high_bits) TARE_TRY(tare_wc_check_join(p, at, err));
    if (p->head_bytes % TARE_CODED_UNIT || p->head_bytes > MAX_HEAD)
        return refuse(err, at, 24,
                      "stream: size of the head: expected a multiple of 64, at most 12,800");
    if (!f->scale_stream) {
        if (f->scale_form || f->values_per_scale)
            return refuse(err, at, 16, "stream: scales: a form or number without a stream of them");
    } else if (f->scale_stream > i || l->streams[f->scale_stream - 1].field.value_bits != 16 ||
               f->scale_form < 1 || f->scale_form > 2 || !f->values_per_scale) {
        return refuse(
            err, at, 16,
            "stream: scales: expected an earlier stream of 16-bit values, form 1 or 2, at "
            "least one value each");
    }
    if (l->region_bytes[f->region] % f->stride)
        return refuse(err, at, 4, "stream: the region is not a whole number of units");
    uint64_t n_bytes = l->region_bytes[f->region] / f->stride * tare_wc_unit_bytes(p);
    if (tare_min_u64(tare_wc_whole_bytes(&shape), n_bytes) > TARE_WC_MAX_BYTES)
        return refuse(err, at, 2, "stream: its segments are too large");
    return TARE_OK;
}

/* A stream's bytes of a unit: one run, or two. */
typedef struct run {
    uint64_t begin, end;
} run;

static unsigned runs_of(run runs[2], const tare_coded_stream *p) {
    runs[0] = (run){p->field.offset, (uint64_t)p->field.offset + p->field.width};
    if (!p->field.join.high_bits) return 1;
    runs[1] = (run){p->field.join.high_offset,
                    (uint64_t)p->field.join.high_offset + tare_wc_join_high_bytes(&p->field.join)};
    return 2;
}

static bool overlap(const tare_coded_stream *p, const tare_coded_stream *q) {
    run of_p[2], of_q[2];
    unsigned n = runs_of(of_p, p), m = runs_of(of_q, q);
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = p == q ? i + 1 : 0; j < m; j++)
            if (of_p[i].begin < of_q[j].end && of_q[j].begin < of_p[i].end) return true;
    return false;
}

tare_status tare_wc_check_cover(const tare_wc_layer *l, uint64_t at, tare_error *err) {
    for (unsigned region = 0; region < l->n_regions; region++) {
        uint64_t covered = 0, stride = 0;
        for (unsigned i = 0; i < l->n_streams; i++) {
            const tare_coded_stream *p = &l->streams[i];
            if (p->field.region != region) continue;
            if (stride && p->field.stride != stride)
                return refuse(err, at, 0, "streams of a region: their strides differ");
            stride = p->field.stride;
            covered += p->field.width;
            if (p->field.join.high_bits) covered += tare_wc_join_high_bytes(&p->field.join);
            for (unsigned j = 0; j <= i; j++)
                if (l->streams[j].field.region == region && overlap(p, &l->streams[j]))
                    return refuse(err, at, 0, "streams of a region: they overlap");
        }
        if (covered != stride || (!stride && l->region_bytes[region]))
            return refuse(err, at, 0, "streams of a region: they do not cover it");
    }
    return TARE_OK;
}
