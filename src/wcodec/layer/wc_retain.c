/* SPDX-License-Identifier: MIT */
#include "wcodec/layer/wc_retain.h"

#include "base/arith.h"
#include "wcodec/wc_kernels.h"

enum { CHUNK = 1 << 15, MOST_RETAINED = 8 << 20, PART = 3 /* of a unit */ };

static bool may_retain(const tare_wc_layer_job *job, const tare_coded_stream *p) {
    return p->n_bytes && !p->field.join.high_bits && p->field.stride <= CHUNK &&
           p->field.width <= p->field.stride / PART &&
           !tare_reader_borrow(job->own.readers[p->field.region], job->own.starts[p->field.region],
                               1);
}

uint32_t tare_wc_streams_to_retain(const tare_wc_layer_job *job) {
    const tare_wc_layer *l = job->layer;
    uint64_t n = 0;
    uint32_t streams = 0;
    if (job->base) return 0; /* its bytes are read with those of the base */
    for (unsigned i = 0; i < l->n_streams; i++) {
        const tare_coded_stream *p = &l->streams[i];
        if (!may_retain(job, p) || n + p->n_bytes > MOST_RETAINED) continue;
        n += p->n_bytes;
        streams |= UINT32_C(1) << i;
    }
    return streams;
}

/* n units of a region, from `unit` on, to the streams of it that are retained. */
static void take_units(uint8_t *const *dst, uint32_t streams, const tare_wc_layer *l,
                       unsigned region, const uint8_t *units, uint64_t unit, uint64_t n) {
    for (unsigned i = 0; i < l->n_streams; i++) {
        const tare_coded_stream *p = &l->streams[i];
        if (!(streams >> i & 1) || p->field.region != region) continue;
        tare_wc_kernels_get()->copy_units(dst[i] + unit * p->field.width, p->field.width,
                                          units + p->field.offset, p->field.stride, (size_t)n,
                                          p->field.width);
    }
}

/* The bytes of a unit of a region of which streams are retained; 0: none are. */
static uint32_t stride_of(uint32_t streams, const tare_wc_layer *l, unsigned region) {
    for (unsigned i = 0; i < l->n_streams; i++)
        if (streams >> i & 1 && l->streams[i].field.region == region)
            return l->streams[i].field.stride;
    return 0;
}

tare_status tare_wc_retain_streams(uint8_t *const dst[TARE_CODED_MAX_STREAMS], uint32_t streams,
                                   const tare_wc_layer_job *job, tare_error *err) {
    const tare_wc_layer *l = job->layer;
    uint8_t chunk[CHUNK];
    for (unsigned r = 0; r < l->n_regions; r++) {
        const uint32_t stride = stride_of(streams, l, r);
        const uint64_t n_units = stride ? l->region_bytes[r] / stride : 0;
        for (uint64_t unit = 0, n; unit < n_units; unit += n) {
            n = tare_min_u64(n_units - unit, CHUNK / stride);
            TARE_TRY(tare_reader_read(job->own.readers[r], job->own.starts[r] + unit * stride,
                                      chunk, (size_t)(n * stride), err));
            take_units(dst, streams, l, r, chunk, unit, n);
        }
    }
    return TARE_OK;
}
