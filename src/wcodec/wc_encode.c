/* SPDX-License-Identifier: MIT
 *
 * The second pass: each segment in the mode that needs fewest bytes. Modes are tried from the
 * fastest to decode on, and a later one must be smaller; tiles, which take longest, by 1 %. */
#include "wcodec/wc_encode.h"

#include "wcodec/wc_head.h"
#include "wcodec/wc_scheme.h"
#include "wcodec/wc_screen.h"
#include "wcodec/wc_zstd.h"

/* One segment and the best form so far, which lies at the end of the output buffer. */
typedef struct choice {
    const tare_wc_scheme *scheme;
    const uint8_t *bytes;
    uint32_t n_bytes, stored; /* stored: 0, none yet */
    uint32_t total;           /* with whatever else the stream needs for it */
    bool is_alone;            /* in its stream: the head is its own */
    uint8_t *best, *trial;    /* room for the largest stored size each */
    tare_wc_segment header;
    tare_wc_scratch *scratch;
} choice;

static bool may_use(const choice *c, tare_coded_mode mode) {
    tare_coded_mode wish = c->scheme->options.mode;
    if (mode == TARE_CODED_ZSTD && c->scheme->options.no_zstd) return wish == mode;
    return wish == TARE_CODED_SMALLEST || wish == mode;
}

/* What a stream needs besides segments of a mode. */
static tare_wc_head head_for(const tare_wc_scheme *scheme, uint8_t mode) {
    tare_wc_head head = scheme->head;
    if (mode != TARE_CODED_DIRECT) head.n_rules = head.n_t64 = 0;
    if (mode != TARE_CODED_STRUCTURED) head.n_contexts = 0;
    if (mode == TARE_CODED_DIRECT)
        head.n_t16 = scheme->n_direct_t16;
    else if (mode != TARE_CODED_STRUCTURED) /* whose tables have their numbers */
        head.n_t16 = 0;
    return head;
}

/* The trial is complete but for its header. Takes it if it is smaller than `limit`. */
static void offer(choice *c, const tare_wc_segment *header, uint32_t stored, uint64_t limit) {
    uint32_t total = stored;
    if (c->is_alone) {
        const tare_wc_head head = head_for(c->scheme, header->mode);
        total += tare_wc_head_bytes(&head);
    }
    if (c->stored && total >= limit) return;
    uint8_t *swap = c->best;
    c->best = c->trial;
    c->trial = swap;
    c->stored = stored;
    c->total = total;
    c->header = *header;
}

/* ---- modes ----------------------------------------------------------------------------------- */

static bool try_constant(choice *c, const uint8_t *values, tare_coded_predictor predictor) {
    uint8_t value_bits = c->scheme->head.shape.value_bits;
    uint32_t width = value_bits == 16 ? 2 : value_bits == 6 ? 3 : 1;
    bool is_big_endian = c->scheme->head.shape.is_big_endian;
    for (uint32_t i = width; i < c->n_bytes; i++)
        if (values[i] != values[i - width]) return false;
    /* For packed scales, bytes and values are the same if all are 0. */
    if (c->scheme->head.shape.is_scales && (values[0] | values[1] | values[2])) return false;
    tare_wc_segment s = {.mode = TARE_CODED_CONSTANT, .predictor = (uint8_t)predictor};
    for (uint32_t i = 0; i < width; i++) s.pattern[i] = values[is_big_endian ? width - 1 - i : i];
    memset(c->trial + TARE_WC_SEGMENT_HEADER, 0, TARE_CODED_UNIT - TARE_WC_SEGMENT_HEADER);
    offer(c, &s, TARE_CODED_UNIT, c->total);
    return true;
}

static tare_status try_direct(choice *c, const uint8_t *values, tare_coded_predictor predictor) {
    unsigned i = predictor != TARE_CODED_NO_PREDICTOR;
    tare_wc_segment s = {.mode = TARE_CODED_DIRECT, .predictor = (uint8_t)predictor};
    uint8_t value_bits = c->scheme->head.shape.value_bits;
    tare_status status;
    uint32_t stored;
    if (!c->scheme->has_direct[i] || tare_wc_values_of(value_bits, c->n_bytes) > TARE_WC_MAX_VALUES)
        return TARE_OK;
    if (tare_wc_direct_encode(c->trial, &stored, &s, &c->scheme->direct[i], value_bits, values,
                              c->n_bytes, c->scratch, &status))
        offer(c, &s, stored, c->total);
    return status;
}

static void write_raw(choice *c) {
    tare_wc_segment s = {.mode = TARE_CODED_RAW};
    uint32_t end = TARE_WC_SEGMENT_HEADER + c->n_bytes, stored = tare_wc_align(end);
    if (c->stored && stored > c->total) return;
    memcpy(c->trial + TARE_WC_SEGMENT_HEADER, c->bytes, c->n_bytes);
    memset(c->trial + end, 0, stored - end);
    offer(c, &s, stored, UINT64_MAX);
}

static tare_status try_zstd(choice *c, tare_error *err) {
    const tare_wc_options *o = &c->scheme->options;
    uint8_t *room = c->trial + TARE_WC_SEGMENT_HEADER;
    size_t room_size = tare_wc_max_stored(c->n_bytes) - TARE_WC_SEGMENT_HEADER;
    bool is_forced = o->mode == TARE_CODED_ZSTD;
    if (!is_forced && !o->is_repetitive && !c->scheme->is_surprised &&
        !(o->is_full ? tare_wc_may_repeat(c->bytes, c->n_bytes, c->total, room, room_size)
                     : tare_wc_has_runs(c->bytes, c->n_bytes)))
        return TARE_OK;
    size_t n;
    TARE_TRY(
        tare_wc_zstd_pack(&n, room, room_size, c->bytes, c->n_bytes, o->is_full ? 19 : 3, err));
    if (!n) return TARE_OK; /* it does not shrink */
    tare_wc_segment s = {.mode = TARE_CODED_ZSTD, .size_a = (uint32_t)n};
    uint32_t end = TARE_WC_SEGMENT_HEADER + s.size_a, stored = tare_wc_align(end);
    memset(c->trial + end, 0, stored - end);
    offer(c, &s, stored, c->total);
    return TARE_OK;
}

static tare_status try_tiles(choice *c) {
    const tare_wc_head *head = &c->scheme->head;
    tare_wc_sketch sketch;
    tare_wc_segment s = {.mode = TARE_CODED_STRUCTURED};
    tare_status status;
    uint32_t stored;
    if (!c->scheme->has_tiles) return TARE_OK;
    if (!tare_wc_promising_sketch(&sketch, &head->shape, &c->scheme->options, c->bytes, c->n_bytes,
                                  c->scratch, &status))
        return status;
    if (tare_wc_structured_encode(c->trial, &stored, &s, head, c->scheme->inverses16, &sketch,
                                  c->n_bytes, c->scratch, &status))
        offer(c, &s, stored, c->total - c->total / 100);
    return status;
}

/* ---- the segment ----------------------------------------------------------------------------- */

static tare_status try_all(choice *c, const tare_wc_reference *reference, tare_error *err) {
    const tare_wc_shape *shape = &c->scheme->head.shape;
    const tare_coded_predictor predictors[] = {TARE_CODED_NO_PREDICTOR,
                                               tare_wc_predictor_of(reference)};
    for (unsigned i = 0; i <= (reference != NULL); i++) {
        const uint8_t *values =
            tare_wc_prepare(c->bytes, c->n_bytes, shape, reference, predictors[i], c->scratch);
        if (!values) return TARE_ERR_NOMEM;
        bool is_constant =
            may_use(c, TARE_CODED_CONSTANT) && try_constant(c, values, predictors[i]);
        if (is_constant) return TARE_OK;
        if (may_use(c, TARE_CODED_DIRECT)) TARE_TRY(try_direct(c, values, predictors[i]));
    }
    if (may_use(c, TARE_CODED_STRUCTURED)) TARE_TRY(try_tiles(c));
    if (may_use(c, TARE_CODED_ZSTD)) TARE_TRY(try_zstd(c, err));
    /* RAW is as good as a mode that saves nothing, and faster. */
    if (c->scheme->options.mode == TARE_CODED_SMALLEST || !c->stored) write_raw(c);
    return TARE_OK;
}

/* The best of the chosen forms, which lies in `place` (room for the largest stored size; NULL: none)
 * or in the scratch memory. */
static tare_status choose(choice *c, uint8_t *place, const tare_wc_reference *reference,
                          tare_error *err) {
    size_t room = tare_wc_max_stored(c->n_bytes);
    c->best = tare_wc_scratch_take(c->scratch, TARE_WC_ENCODE_BEST, place ? room : 2 * room);
    if (!c->best) return tare_fail(err, TARE_ERR_NOMEM, "segment");
    c->trial = place ? place : c->best + room;
    tare_status status = try_all(c, reference, err);
    if (status == TARE_ERR_NOMEM) return tare_fail(err, status, "segment");
    if (status != TARE_OK) return status;
    c->header.crc = tare_wc_kernels_get()->crc32(0, c->bytes, c->n_bytes);
    tare_wc_segment_write(c->best, &c->header);
    return TARE_OK;
}

tare_status tare_wc_encode_segment(tare_buffer *out, const tare_wc_scheme *scheme,
                                   const uint8_t *bytes, uint32_t n_bytes,
                                   const tare_wc_reference *reference, tare_wc_scratch *scratch,
                                   tare_error *err) {
    choice c = {.scheme = scheme, .bytes = bytes, .n_bytes = n_bytes, .scratch = scratch};
    const size_t before = out->size;
    uint8_t *place = tare_buffer_extend(out, tare_wc_max_stored(n_bytes));
    if (!place) return tare_buffer_status(out, err);
    tare_status status = choose(&c, place, reference, err);
    if (status == TARE_OK && c.best != place) memcpy(place, c.best, c.stored);
    out->size = before + (status == TARE_OK ? c.stored : 0);
    return status;
}

tare_status tare_wc_encode_alone(tare_buffer *out, uint32_t *head_bytes,
                                 const tare_wc_scheme *scheme, const uint8_t *bytes,
                                 uint32_t n_bytes, const tare_wc_reference *reference,
                                 tare_wc_scratch *scratch, tare_error *err) {
    choice c = {
        .scheme = scheme, .bytes = bytes, .n_bytes = n_bytes, .scratch = scratch, .is_alone = true};
    TARE_TRY(choose(&c, NULL, reference, err));
    const tare_wc_head head = head_for(scheme, c.header.mode);
    *head_bytes = tare_wc_head_bytes(&head);
    tare_wc_head_write(out, &head);
    tare_buffer_put(out, c.best, c.stored);
    return tare_buffer_status(out, err);
}

uint8_t tare_wc_suggest_log2(uint64_t n_values, double bits) {
    /* States and header are 288 bytes: 0.06 to 0.15 % of so many values. */
    uint8_t log2 = bits >= 9 ? 18 : bits >= 5 ? 19 : 20;
    while (log2 > TARE_WC_MIN_LOG2 && UINT64_C(1) << (log2 - 1) >= n_values) log2--;
    return log2;
}
