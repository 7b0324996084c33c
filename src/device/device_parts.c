/* SPDX-License-Identifier: MIT
 *
 * Parsing all headers of a layer. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "device/device_parts.h"

static size_t list_size(uint64_t n) {
    return (size_t)(n ? n : 1) * sizeof(tare_coded_segment);
}

tare_status tare_device_parts_open(tare_device_parts *p, const tare_coded *coded, tare_error *err) {
    *p = (tare_device_parts){.coded = coded, .layer = tare_coded_describe(coded)};
    for (unsigned i = 0; i < p->layer->n_streams; i++) {
        const uint64_t n = p->layer->streams[i].n_segments;
        p->heads[i] = tare_coded_stream_head(coded, i);
        tare_coded_segment *list = tare_alloc(NULL, list_size(n));
        p->segments[i] = list;
        if (!list) return tare_fail(err, TARE_ERR_NOMEM, "segments");
        for (uint64_t s = 0; s < n; s++) {
            tare_coded_segment_init(&list[s], sizeof list[s]);
            TARE_TRY(tare_coded_parse_segment(&list[s], coded, i, s, err));
            p->refers_to_base |= list[s].predictor != TARE_CODED_NO_PREDICTOR;
        }
    }
    return TARE_OK;
}

void tare_device_parts_close(tare_device_parts *p) {
    for (unsigned i = 0; p->layer && i < p->layer->n_streams; i++)
        tare_free(NULL, p->segments[i], list_size(p->layer->streams[i].n_segments));
    *p = (tare_device_parts){0};
}

tare_cuda_layer tare_device_parts_layer(const tare_device_parts *p) {
    return (tare_cuda_layer){p->layer, p->heads, (const tare_coded_segment *const *)p->segments, 0};
}

tare_status tare_device_parts_decode(uint8_t *dst, const tare_device_parts *p, unsigned stream,
                                     uint64_t segment, tare_error *err) {
    tare_coded_options o = tare_coded_options_default();
    const tare_context context = {.size = sizeof context, .threads = 1};
    o.context = &context;
    return tare_coded_decode_segments(dst, p->coded, stream, segment, 1, &o, err);
}
