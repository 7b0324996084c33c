/* SPDX-License-Identifier: MIT
 *
 * A plane through the codec and back, for tests: as a container would hold it, without one. */
#ifndef TARE_TEST_WC_PLANE_H
#define TARE_TEST_WC_PLANE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wcodec/wc_encode.h"
#include "wcodec/wc_head.h"

typedef struct wc_plane {
    tare_wc_shape shape;
    tare_buffer head, segments;
    uint32_t n_segments, offsets[4096]; /* n_segments + 1 of them */
    uint32_t n_bytes, segment_bytes;
} wc_plane;

static inline uint32_t wc_piece_bytes(const wc_plane *p, uint32_t i) {
    uint32_t at = i * p->segment_bytes;
    return p->n_bytes - at < p->segment_bytes ? p->n_bytes - at : p->segment_bytes;
}

/* The reference of segment i, from that of the plane. */
static inline tare_wc_reference wc_reference_at(const wc_plane *p, const tare_wc_reference *whole,
                                                uint32_t i) {
    tare_wc_reference r = *whole;
    r.bytes += (size_t)i * p->segment_bytes;
    r.first_value = (uint64_t)i << p->shape.log2_segment;
    if (r.own_scales) {
        r.own_scales += 2 * (r.first_value / r.values_per_scale);
        r.base_scales += 2 * (r.first_value / r.values_per_scale);
    }
    return r;
}

static inline void wc_encode(wc_plane *p, const tare_wc_shape *shape,
                             const tare_wc_options *options, const uint8_t *bytes, uint32_t n_bytes,
                             const tare_wc_reference *reference) {
    tare_wc_scratch scratch;
    tare_wc_scheme *scheme;
    tare_error err;
    tare_wc_scratch_init(&scratch, NULL);
    *p = (wc_plane){.shape = *shape, .n_bytes = n_bytes};
    p->segment_bytes =
        (uint32_t)tare_wc_bytes_of(shape->value_bits, UINT64_C(1) << shape->log2_segment);
    p->n_segments = (n_bytes + p->segment_bytes - 1) / p->segment_bytes;
    tare_buffer_init(&p->head, NULL);
    tare_buffer_init(&p->segments, NULL);
    tare_wc_tally *tally = tare_wc_tally_new(shape, options, reference != NULL, NULL);
    tare_wc_tally *second = tare_wc_tally_new(shape, options, reference != NULL, NULL);
    for (uint32_t i = 0; i < p->n_segments; i++) {
        tare_wc_reference r = {0};
        if (reference) r = wc_reference_at(p, reference, i);
        assert_int_equal(
            tare_wc_tally_add(i % 2 ? second : tally, bytes + (size_t)i * p->segment_bytes,
                              wc_piece_bytes(p, i), reference ? &r : NULL, &scratch, &err),
            TARE_OK);
    }
    tare_wc_tally_merge(tally, second);
    assert_int_equal(tare_wc_scheme_new(&scheme, tally, &err), TARE_OK);
    tare_wc_head_write(&p->head, tare_wc_scheme_head(scheme));
    for (uint32_t i = 0; i < p->n_segments; i++) {
        tare_wc_reference r = {0};
        if (reference) r = wc_reference_at(p, reference, i);
        assert_int_equal(
            tare_wc_encode_segment(&p->segments, scheme, bytes + (size_t)i * p->segment_bytes,
                                   wc_piece_bytes(p, i), reference ? &r : NULL, &scratch, &err),
            TARE_OK);
        p->offsets[i + 1] = (uint32_t)p->segments.size;
    }
    tare_buffer_put_zeros(&p->segments, TARE_WC_READ_AHEAD);
    tare_wc_scheme_free(scheme);
    tare_wc_tally_free(tally);
    tare_wc_tally_free(second);
    tare_wc_scratch_free(&scratch);
}

static inline void wc_free(wc_plane *p) {
    tare_buffer_free(&p->head);
    tare_buffer_free(&p->segments);
}

/* Decodes all of the plane into dst, up to four segments at a time. */
static inline tare_status wc_decode(uint8_t *dst, const wc_plane *p,
                                    const tare_wc_reference *reference, unsigned groups,
                                    tare_error *err) {
    tare_arena arena;
    tare_wc_scratch scratch;
    tare_wc_head *head;
    tare_cursor c;
    unsigned failed;
    tare_arena_init(&arena, NULL);
    tare_wc_scratch_init(&scratch, NULL);
    tare_cursor_init(&c, p->head.data, p->head.size, 0);
    tare_status status = tare_wc_head_read(&head, &p->shape, &c, &arena, err);
    for (uint32_t i = 0; status == TARE_OK && i < p->n_segments; i += TARE_WC_SIDE_BY_SIDE) {
        tare_wc_piece pieces[TARE_WC_SIDE_BY_SIDE];
        tare_wc_reference references[TARE_WC_SIDE_BY_SIDE];
        unsigned n = 0;
        for (; n < TARE_WC_SIDE_BY_SIDE && i + n < p->n_segments; n++) {
            if (reference) references[n] = wc_reference_at(p, reference, i + n);
            pieces[n] = (tare_wc_piece){
                .head = head,
                .bytes = p->segments.data + p->offsets[i + n],
                .stored = p->offsets[i + n + 1] - p->offsets[i + n],
                .present = p->offsets[i + n + 1] - p->offsets[i + n],
                .offset = p->offsets[i + n],
                .dst = dst + (size_t)(i + n) * p->segment_bytes,
                .n_bytes = wc_piece_bytes(p, i + n),
                .reference = reference ? &references[n] : NULL,
            };
        }
        status = tare_wc_decode(pieces, n, groups, &scratch, &failed, err);
    }
    tare_wc_scratch_free(&scratch);
    tare_arena_free(&arena);
    return status;
}

/* Mode and predictor of a segment. */
static inline tare_coded_mode wc_mode(const wc_plane *p, uint32_t i) {
    return (tare_coded_mode)(p->segments.data[p->offsets[i]] + 1);
}
static inline uint8_t wc_predictor(const wc_plane *p, uint32_t i) {
    return p->segments.data[p->offsets[i] + 1];
}

#endif
