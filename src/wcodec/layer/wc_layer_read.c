/* SPDX-License-Identifier: MIT
 *
 * Reading regions: the segments asked for are decoded, several side by side, and spread over the
 * units of their region. In a region with several streams the one with the most bytes comes last:
 * each run of its units is merged with the units of the other streams, which were decoded before,
 * so that a unit is written while it is in the cache. A segment that is only partly requested goes
 * through the cache of segments, so that reading a tensor row by row decodes it once. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "wcodec/layer/wc_gather.h"
#include "wcodec/layer/wc_spread.h"
#include "wcodec/wc_head.h"

enum {
    ROOM_MOST = 8 << 20, /* stored and decoded bytes of the segments of a batch, unless of one */
};

/* Decoded bytes of the streams beside the largest one of a region. */
typedef struct companion {
    const tare_coded_stream *stream;
    const uint8_t *bytes;
    uint64_t first, end; /* of the stream */
} companion;

typedef struct companions {
    companion of[TARE_CODED_MAX_STREAMS];
    unsigned n;
    tare_wc_separator separator; /* of the largest stream, if it is joined */
} companions;

typedef struct slot {
    const tare_coded_stream *stream;
    unsigned number; /* of the stream */
    uint64_t segment;
    uint64_t from, to;  /* bytes of the stream that are wanted of it */
    uint64_t start;     /* its first byte in the stream */
    tare_cached *place; /* in the cache, to be filled; NULL: it is not kept */
    const tare_wc_window *target;
    const companions *beside; /* data for the same units; NULL: none */
} slot;

/* Segments that are decoded together, from one stream or several. */
typedef struct batch {
    const tare_wc_opened *opened;
    const tare_wc_window *target;
    const companions *beside;
    tare_wc_scratch *scratch;
    uint8_t *room; /* for what is stored, and decoded to be spread */
    size_t room_size, used;
    size_t room_asked; /* what all segments to be read need, or ROOM_MOST */
    unsigned n;
    tare_wc_piece pieces[TARE_WC_SIDE_BY_SIDE];
    slot slots[TARE_WC_SIDE_BY_SIDE];
    bool is_base_at_fault; /* the last failure is not damage in this container */
    tare_error *err;
} batch;

/* ---- handing out ------------------------------------------------------------------------------ */

/* Bytes first .. end - 1 of a slot's stream, together with the other streams' bytes in the same
 * units. */
static void scatter_units(const tare_wc_window *to, const slot *s, const uint8_t *bytes,
                          uint64_t first, uint64_t end) {
    const uint64_t unit_bytes = tare_wc_unit_bytes(s->stream);
    const uint64_t unit = first / unit_bytes, past = tare_ceil_div_u64(end, unit_bytes);
    for (unsigned i = 0; s->beside && i < s->beside->n; i++) {
        const companion *o = &s->beside->of[i];
        const uint64_t n = tare_wc_unit_bytes(o->stream);
        const uint64_t from = tare_max_u64(unit * n, o->first),
                       to_end = tare_min_u64(past * n, o->end);
        if (from < to_end)
            tare_wc_scatter(to, o->stream, NULL, o->bytes + (from - o->first), from, to_end);
    }
    tare_wc_scatter(to, s->stream, s->beside ? &s->beside->separator : NULL, bytes, first, end);
}

/* A few units at a time, so that they stay in the first-level cache until they are complete. */
static void place_units(const slot *s, const uint8_t *bytes, uint64_t first, uint64_t end) {
    enum { RUN = 1 << 15 };
    const uint64_t units = tare_max_u64(RUN / s->stream->field.stride, 1);
    const uint64_t run = units * tare_wc_unit_bytes(s->stream);
    for (uint64_t at = first, next; at < end; bytes += next - at, at = next) {
        next = tare_min_u64((at / run + 1) * run, end);
        scatter_units(s->target, s, bytes, at, next);
    }
}

/* `n` decoded bytes of a slot from byte `from` of its segment on, as far as they are wanted. */
static void spread_taken(void *ctx, const uint8_t *bytes, uint32_t from, uint32_t n) {
    const slot *s = ctx;
    const uint64_t at = s->start + from;
    const uint64_t first = tare_max_u64(at, s->from), end = tare_min_u64(at + n, s->to);
    if (first >= end) return;
    place_units(s, bytes + (first - at), first, end);
}

/* Where a segment's first byte goes if all its bytes are contiguous there and inside the target. */
static uint8_t *place_of(const batch *b, const slot *s, uint32_t n_bytes) {
    bool is_whole = s->from == s->start && s->to == s->start + n_bytes;
    bool is_run = !b->target->n || s->stream->field.width == s->stream->field.stride;
    if (!is_whole || !is_run || s->start < b->target->offset) return NULL;
    if (b->target->n && s->start + n_bytes > b->target->offset + b->target->n) return NULL;
    return b->target->dst + (s->start - b->target->offset);
}

/* ---- decoding -------------------------------------------------------------------------------- */

/* Both models' scales of a segment; its own scales are read in full, as they were when it was
 * predicted. */
static tare_status read_scales(tare_wc_scale_runs *scales, uint8_t *room, batch *b, unsigned stream,
                               uint64_t first, uint64_t n) {
    const tare_wc_layer *l = b->opened->layer;
    tare_wc_scratch scratch; /* that of the batch is in use */
    tare_wc_scratch_init(&scratch, b->scratch->allocator);
    const tare_wc_window to = {.dst = room, .offset = first};
    tare_wc_opened whole = *b->opened;
    if (whole.groups < TARE_WC_ALL_GROUPS) {
        whole.groups = TARE_WC_ALL_GROUPS;
        whole.cache = NULL; /* what it keeps is coarse */
    }
    tare_status status =
        tare_wc_read_stream(&to, &whole, stream, first, first + n, &scratch, b->err);
    tare_wc_scratch_free(&scratch);
    TARE_TRY(status);
    status = tare_wc_gather(room + n, &l->streams[stream], b->opened->base, first, n, b->err);
    b->is_base_at_fault = status != TARE_OK;
    *scales = (tare_wc_scale_runs){room, room + n};
    return status;
}

static tare_status decode_with_reference(batch *b, tare_wc_piece *piece, const slot *s) {
    const tare_allocator *allocator = b->scratch->allocator;
    const tare_wc_layer *l = b->opened->layer;
    tare_wc_scale_runs scales = {0};
    tare_wc_reference reference;
    uint64_t first, n = 0;
    unsigned failed;
    if (!l->has_base)
        return tare_fail_at(b->err, TARE_ERR_CORRUPT, piece->offset + 1,
                            "segment: predicted in a layer without base");
    if (!b->opened->base)
        return tare_fail_at(b->err, TARE_ERR_ARG, piece->offset, "segment: needs the base model");
    bool has_scales = piece->header.predictor == TARE_CODED_REF_SCALED &&
                      tare_wc_scale_span(&first, &n, l, s->number, s->segment);
    size_t size = piece->n_bytes + (has_scales ? 2 * (size_t)n : 0);
    uint8_t *room = tare_alloc(allocator, size);
    if (!room) return tare_fail(b->err, TARE_ERR_NOMEM, "segment");
    tare_status status = TARE_OK;
    if (has_scales)
        status = read_scales(&scales, room + piece->n_bytes, b, s->stream->field.scale_stream - 1u,
                             first, n);
    if (status == TARE_OK) {
        status = tare_wc_load_reference(&reference, room, l, s->number, s->segment, b->opened->base,
                                        &scales, b->err);
        b->is_base_at_fault = status != TARE_OK;
    }
    piece->reference = &reference;
    if (status == TARE_OK)
        status = tare_wc_decode(piece, 1, b->opened->groups, b->scratch, &failed, b->err);
    tare_free(allocator, room, size);
    return status;
}

/* Decodes pieces: those without a predictor together. */
static tare_status decode(batch *b, unsigned first, unsigned end) {
    tare_wc_piece together[TARE_WC_SIDE_BY_SIDE];
    unsigned n = 0, failed;
    for (unsigned i = first; i < end; i++) {
        tare_wc_piece *piece = &b->pieces[i];
        if (!piece->head)
            return tare_fail_at(b->err, TARE_ERR_CORRUPT,
                                b->opened->layer->offset + b->slots[i].stream->position,
                                "head of a stream: it is damaged");
        TARE_TRY(tare_wc_read_header(piece, b->err));
        TARE_TRY(tare_wc_check_place(piece, &b->opened->layer->records[b->slots[i].number],
                                     b->slots[i].segment, b->err));
        if (piece->header.predictor == TARE_CODED_NO_PREDICTOR)
            together[n++] = *piece;
        else
            TARE_TRY(decode_with_reference(b, piece, &b->slots[i]));
    }
    if (!n) return TARE_OK;
    return tare_wc_decode(together, n, b->opened->groups, b->scratch, &failed, b->err);
}

/* Decodes each piece separately; what cannot be decoded is reported and becomes zeros. */
static tare_status decode_what_is_sound(batch *b) {
    const tare_wc_watch *watch = b->opened->watch;
    tare_error *told = b->err, fault = TARE_ERROR_NONE;
    tare_status status = TARE_OK;
    b->err = &fault;
    for (unsigned i = 0; i < b->n && status == TARE_OK; i++) {
        status = decode(b, i, i + 1);
        if (!tare_status_is_loss(status) || b->is_base_at_fault) continue;
        status = TARE_OK;
        memset(b->pieces[i].dst, 0, b->pieces[i].n_bytes);
        const tare_wc_taker *taker = &b->pieces[i].taker;
        if (taker->take) taker->take(taker->ctx, b->pieces[i].dst, 0, b->pieces[i].n_bytes);
        if (b->pieces[i].head) /* else it was reported when the layer was opened */
            watch->lost(watch->ctx, b->opened->number, b->slots[i].number, b->slots[i].segment,
                        &fault);
    }
    b->err = told;
    if (status != TARE_OK && told) *told = fault;
    return status;
}

/* Says which segment a fault is in. */
static void name_segment(const batch *b) {
    for (unsigned i = 0; b->err && i < b->n; i++) {
        const tare_wc_piece *piece = &b->pieces[i];
        if (b->err->offset - piece->offset >= piece->stored) continue; /* before it, too */
        char segment[40];
        snprintf(segment, sizeof segment, "segments[%" PRIu64 "]", b->slots[i].segment);
        tare_error_field(b->err, "streams", b->slots[i].number, segment, NULL);
    }
}

/* Of the batch, which is decoded: whether all of the layer now is, and its CRC is another. */
static tare_status note_decoded(const batch *b) {
    for (unsigned i = 0; b->opened->whole && i < b->n; i++)
        TARE_TRY(tare_wc_whole_note(b->opened->whole, b->slots[i].number, b->slots[i].segment,
                                    b->pieces[i].header.crc, b->err));
    return TARE_OK;
}

/* Decodes the batch and hands out the result; after a failure no thread is left waiting. */
static tare_status flush(batch *b) {
    tare_status status = decode(b, 0, b->n);
    const tare_wc_watch *watch = b->opened->watch;
    bool may_lose = watch && watch->lost && !b->is_base_at_fault;
    if (may_lose && tare_status_is_loss(status)) status = decode_what_is_sound(b);
    if (tare_status_is_loss(status) && !b->is_base_at_fault) name_segment(b);
    if (status == TARE_OK) status = note_decoded(b);
    for (unsigned i = 0; i < b->n; i++) {
        slot *s = &b->slots[i];
        tare_wc_piece *piece = &b->pieces[i];
        if (!s->place) continue;
        if (status == TARE_OK) {
            spread_taken(s, piece->dst, 0, piece->n_bytes);
            tare_cache_fill(b->opened->cache, s->place, piece->dst, piece->n_bytes);
            tare_cache_release(b->opened->cache, s->place);
        } else {
            tare_free(b->scratch->allocator, piece->dst, piece->n_bytes);
            tare_cache_fail(b->opened->cache, s->place);
        }
    }
    b->n = 0;
    b->used = 0;
    return status;
}

/* Bytes that are decoded in place: a little ahead. */
static tare_wc_destination in_place(const slot *s, const uint8_t *dst) {
    enum { AHEAD = 4096 };
    return (tare_wc_destination){dst + AHEAD, TARE_WC_CLASS_RUN / 8 * s->stream->field.value_bits};
}

/* Where units of a slot's stream are put together, if all of its segment's are in the window. */
static tare_wc_destination destination_of(const batch *b, const slot *s, uint32_t n_bytes) {
    const uint64_t unit_bytes = tare_wc_unit_bytes(s->stream), stride = s->stream->field.stride;
    const uint64_t at = s->start / unit_bytes * stride, n = n_bytes / unit_bytes * stride;
    const tare_wc_window *t = b->target;
    if (!b->beside || at < t->offset || at + n > t->offset + t->n) return (tare_wc_destination){0};
    const uint64_t block =
        TARE_WC_CLASS_RUN / 8 * s->stream->field.value_bits * stride / unit_bytes;
    return (tare_wc_destination){t->dst + (at - t->offset),
                                 (uint32_t)tare_min_u64(block, UINT32_MAX)};
}

/* ---- gathering a batch ----------------------------------------------------------------------- */

/* Room for a segment as it is stored. */
static size_t room_of(uint32_t stored) {
    return tare_wc_align(stored + TARE_WC_READ_AHEAD);
}

/* At most what the segments of stream bytes first .. end - 1 take, and at most ROOM_MOST: a few
 * bytes of scales should not cost megabytes. */
static size_t room_to_ask(const tare_coded_stream *p, uint64_t first, uint64_t end) {
    uint64_t whole = p->segment_bytes;
    size_t room = 0;
    for (uint64_t s = first / whole; s * whole < end && room < ROOM_MOST; s++)
        room += room_of(p->sizes[s] * TARE_CODED_UNIT) + tare_wc_segment_bytes(p, s);
    return (size_t)tare_min_u64(room, ROOM_MOST);
}

/* For all streams of a window. */
static size_t ask_room(const tare_wc_layer *l, unsigned region, const tare_wc_window *window) {
    size_t room = 0;
    for (unsigned i = 0; i < l->n_streams; i++) {
        uint64_t first, end;
        if (l->streams[i].field.region != region) continue;
        tare_wc_stream_span(&first, &end, &l->streams[i], window);
        room += room_to_ask(&l->streams[i], first, end);
    }
    return (size_t)tare_min_u64(room, ROOM_MOST);
}

/* Room in the batch, which is emptied for it if need be. */
static tare_status take_room(batch *b, size_t n, uint8_t **out) {
    if (b->used + n > b->room_size) TARE_TRY(flush(b));
    if (n > b->room_size) {
        b->room_size = (size_t)tare_max_u64(n, b->room_asked);
        b->room = tare_wc_scratch_take(b->scratch, TARE_WC_DECODE_STORED, b->room_size);
        if (!b->room) return tare_fail(b->err, TARE_ERR_NOMEM, "segment");
    }
    *out = b->room + b->used;
    b->used += n;
    return TARE_OK;
}

/* Reads what a coarse reading needs of a segment. */
static tare_status read_coarse(const batch *b, tare_wc_piece *piece, uint8_t *bytes) {
    const tare_reader *file = b->opened->file;
    piece->present = TARE_WC_SEGMENT_HEADER;
    TARE_TRY(tare_reader_read(file, piece->offset, bytes, piece->present, b->err));
    uint32_t had = piece->present, n;
    TARE_TRY(tare_wc_coarse_bytes(&n, piece, b->opened->groups, b->err));
    piece->present = n;
    const tare_wc_watch *watch = b->opened->watch;
    if (n < piece->stored && watch && watch->coarse) watch->coarse(watch->ctx, b->opened->number);
    return tare_reader_read(file, piece->offset + had, bytes + had, n - had, b->err);
}

static tare_status read_stored(const batch *b, tare_wc_piece *piece, uint8_t *bytes) {
    const tare_wc_opened *o = b->opened;
    tare_status status = TARE_OK;
    piece->bytes = bytes;
    if (o->groups < TARE_WC_ALL_GROUPS && piece->head) status = read_coarse(b, piece, bytes);
    bool is_lost = o->watch && o->watch->lost && tare_status_is_loss(status);
    if (!piece->present || is_lost) {
        piece->present = piece->stored;
        status = tare_reader_read(o->file, piece->offset, bytes, piece->stored, b->err);
        is_lost = o->watch && o->watch->lost && tare_status_is_loss(status);
    }
    if (is_lost && status != TARE_OK) { /* decoding finds no segment in zeros */
        memset(bytes, 0, piece->stored);
        piece->has_header = false;
        status = TARE_OK;
    }
    memset(bytes + piece->present, 0, TARE_WC_READ_AHEAD);
    return status;
}

/* A segment in caller-provided memory is decoded in place, unless it ends too close to the end of
 * that memory. (Not in a mapped file, which may change while it is read.) NULL: it must be read. */
static const uint8_t *lent_bytes(const batch *b, uint64_t position, uint32_t stored) {
    const tare_reader *file = b->opened->file;
    bool is_lent = file->map && !file->owns_map && b->opened->groups == TARE_WC_ALL_GROUPS;
    if (!is_lent || position > file->size) return NULL;
    return file->size - position < stored + TARE_WC_READ_AHEAD ? NULL : file->map + position;
}

/* Adds a segment to the batch. */
static tare_status add(batch *b, slot s, uint64_t position) {
    uint32_t n_bytes = tare_wc_segment_bytes(s.stream, s.segment);
    uint32_t stored = s.stream->sizes[s.segment] * TARE_CODED_UNIT;
    uint8_t *dst = s.place ? tare_alloc(b->scratch->allocator, n_bytes) : place_of(b, &s, n_bytes);
    bool needs_room = !dst && !s.place;
    tare_status status = TARE_OK;
    uint8_t *bytes = NULL;
    if (!dst && s.place) status = tare_fail(b->err, TARE_ERR_NOMEM, "segment");
    const uint8_t *lent = lent_bytes(b, position, stored);
    size_t room = lent ? 0 : room_of(stored), all_room = room + (needs_room ? n_bytes : 0);
    if (status == TARE_OK && all_room) status = take_room(b, all_room, &bytes);
    if (needs_room && bytes) dst = bytes + room;
    tare_wc_piece *piece = &b->pieces[b->n];
    *piece = (tare_wc_piece){.head = b->opened->heads[s.number],
                             .bytes = lent,
                             .stored = stored,
                             .present = lent ? stored : 0,
                             .offset = position,
                             .dst = dst,
                             .n_bytes = n_bytes};
    if (status == TARE_OK && !lent) status = read_stored(b, piece, bytes);
    if (status == TARE_OK) {
        if (needs_room) {
            piece->taker = (tare_wc_taker){spread_taken, &b->slots[b->n]};
            piece->destination = destination_of(b, &s, n_bytes);
        } else {
            piece->destination = in_place(&s, dst);
        }
        b->slots[b->n++] = s;
        return b->n == TARE_WC_SIDE_BY_SIDE ? flush(b) : TARE_OK;
    }
    if (s.place) {
        if (dst) tare_free(b->scratch->allocator, dst, n_bytes);
        tare_cache_fail(b->opened->cache, s.place);
    }
    return status;
}

/* A segment that is only partly needed: taken from the cache, or decoded into it. */
static tare_status take_part(batch *b, slot *s, uint64_t position) {
    tare_cache *cache = b->opened->cache;
    tare_cache_key key = {b->opened->number << 8 | s->number, s->segment};
    tare_cached *kept;
    tare_cache_state state = tare_cache_take(&kept, cache, key, b->n == 0);
    if (state == TARE_CACHE_BUSY) {
        TARE_TRY(flush(b)); /* a thread with a value to make must not wait */
        state = tare_cache_take(&kept, cache, key, true);
    }
    if (state == TARE_CACHE_NO_MEMORY) return tare_fail(b->err, TARE_ERR_NOMEM, "segment");
    if (state == TARE_CACHE_TO_MAKE) {
        s->place = kept;
        return add(b, *s, position);
    }
    const uint8_t *bytes = kept->value;
    spread_taken(s, bytes, 0, tare_wc_segment_bytes(s->stream, s->segment));
    tare_cache_release(cache, kept);
    return TARE_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

uint64_t tare_wc_segment_position(const tare_wc_opened *o, unsigned stream, uint64_t segment) {
    uint64_t at = o->places[stream][segment / TARE_WC_PLACES];
    for (uint64_t s = segment / TARE_WC_PLACES * TARE_WC_PLACES; s < segment; s++)
        at += (uint64_t)o->layer->streams[stream].sizes[s] * TARE_CODED_UNIT;
    return at;
}

/* Adds the segments of a stream that bytes first .. end - 1 lie in. */
static tare_status walk(batch *b, unsigned stream, uint64_t first, uint64_t end) {
    const tare_coded_stream *p = &b->opened->layer->streams[stream];
    uint64_t whole = p->segment_bytes;
    if (first >= end) return TARE_OK;
    /* Decoding it may read scales: these must not be still pending in the batch. */
    if (p->field.scale_stream && b->n) TARE_TRY(flush(b));
    uint64_t segment = first / whole,
             position = tare_wc_segment_position(b->opened, stream, segment);
    for (; segment * whole < end; segment++) {
        slot s = {.stream = p,
                  .number = stream,
                  .segment = segment,
                  .start = segment * whole,
                  .target = b->target,
                  .beside = b->beside};
        uint64_t stop = s.start + tare_wc_segment_bytes(p, segment);
        s.from = tare_max_u64(s.start, first);
        s.to = tare_min_u64(stop, end);
        bool is_whole = s.from == s.start && s.to == stop;
        TARE_TRY(is_whole || !b->opened->cache ? add(b, s, position) : take_part(b, &s, position));
        position += (uint64_t)p->sizes[segment] * TARE_CODED_UNIT;
    }
    return TARE_OK;
}

/* The last of what was added. */
static tare_status finish(batch *b, tare_status status) {
    if (status == TARE_OK) return b->n ? flush(b) : TARE_OK;
    b->err = NULL; /* others wait for what the batch holds; the first failure is reported */
    if (b->n) flush(b);
    return status;
}

tare_status tare_wc_read_stream(const tare_wc_window *to, const tare_wc_opened *o, unsigned stream,
                                uint64_t first, uint64_t end, tare_wc_scratch *scratch,
                                tare_error *err) {
    batch b = {.opened = o,
               .target = to,
               .scratch = scratch,
               .room_asked = room_to_ask(&o->layer->streams[stream], first, end),
               .err = err};
    return finish(&b, walk(&b, stream, first, end));
}

void tare_wc_stream_span(uint64_t *first, uint64_t *end, const tare_coded_stream *p,
                         const tare_wc_window *window) {
    *first = window->offset / p->field.stride * tare_wc_unit_bytes(p);
    *end = tare_ceil_div_u64(window->offset + window->n, p->field.stride) * tare_wc_unit_bytes(p);
    if (p->field.width != p->field.stride) return;
    *first = window->offset;
    *end = window->offset + window->n;
}

/* ---- regions --------------------------------------------------------------------------------- */

/* The stream with the most bytes in a unit. */
static unsigned main_stream(const tare_wc_layer *l, unsigned region) {
    unsigned main = 0;
    uint64_t most = 0;
    for (unsigned i = 0; i < l->n_streams; i++) {
        const uint64_t n = tare_wc_unit_bytes(&l->streams[i]);
        if (l->streams[i].field.region != region || n <= most) continue;
        most = n;
        main = i;
    }
    return main;
}

uint64_t tare_wc_region_step(const tare_wc_layer *l, unsigned region, uint64_t most) {
    enum { BESIDE_MOST = 2 << 20 };
    const unsigned main = main_stream(l, region);
    const tare_coded_stream *p = &l->streams[main];
    uint64_t others = 0;
    for (unsigned i = 0; i < l->n_streams; i++)
        if (i != main && l->streams[i].field.region == region)
            others += tare_wc_unit_bytes(&l->streams[i]);
    uint64_t units = most / p->field.stride;
    if (others) units = tare_min_u64(units, BESIDE_MOST / others);
    const uint64_t whole = TARE_WC_SIDE_BY_SIDE * p->segment_bytes / tare_wc_unit_bytes(p);
    return tare_max_u64(units / tare_max_u64(whole, 1), 1) * tare_max_u64(whole, 1) *
           p->field.stride;
}

/* Decodes the other streams' bytes in the window. */
static tare_status read_beside(companions *out, batch *b, unsigned region, unsigned main) {
    const tare_wc_layer *l = b->opened->layer;
    tare_wc_window runs[TARE_CODED_MAX_STREAMS];
    const tare_wc_window *window = b->target;
    size_t room = 0;
    out->n = 0;
    for (unsigned i = 0; i < l->n_streams; i++) {
        const tare_coded_stream *p = &l->streams[i];
        companion *o = &out->of[out->n];
        if (p->field.region != region || i == main) continue;
        o->stream = p;
        tare_wc_stream_span(&o->first, &o->end, p, window);
        runs[out->n++] = (tare_wc_window){.offset = o->first};
        room += (size_t)(o->end - o->first);
    }
    uint8_t *at = tare_wc_scratch_take(b->scratch, TARE_WC_DECODE_BESIDE, room);
    if (!at) return tare_fail(b->err, TARE_ERR_NOMEM, "segment");
    for (unsigned i = 0; i < out->n; i++) {
        companion *o = &out->of[i];
        o->bytes = runs[i].dst = at;
        at += o->end - o->first;
        b->target = &runs[i];
        TARE_TRY(walk(b, (unsigned)(o->stream - l->streams), o->first, o->end));
    }
    if (b->n) TARE_TRY(flush(b));
    b->target = window;
    return TARE_OK;
}

static tare_status read_window(batch *b, unsigned region, unsigned main) {
    const tare_wc_layer *l = b->opened->layer;
    uint64_t first, end;
    companions beside;
    b->beside = NULL;
    TARE_TRY(read_beside(&beside, b, region, main));
    b->beside = &beside;
    if (l->streams[main].field.join.high_bits)
        tare_wc_kernels_get()->prepare(&beside.separator, &l->streams[main].field.join);
    tare_wc_stream_span(&first, &end, &l->streams[main], b->target);
    TARE_TRY(walk(b, main, first, end));
    return b->n ? flush(b) : TARE_OK;
}

tare_status tare_wc_read_region(uint8_t *dst, const tare_wc_opened *o, unsigned region,
                                uint64_t offset, size_t n, tare_wc_scratch *scratch,
                                tare_error *err) {
    enum { MOST = 32 << 20 };
    const tare_wc_layer *l = o->layer;
    const unsigned main = main_stream(l, region);
    const uint64_t step = l->n_streams ? tare_wc_region_step(l, region, MOST) : 1;
    batch b = {.opened = o, .scratch = scratch, .err = err};
    tare_status status = TARE_OK;
    for (uint64_t at = offset, end = offset + n, next; at < end && status == TARE_OK; at = next) {
        next = tare_min_u64((at / step + 1) * step, end);
        const tare_wc_window window = {dst + (at - offset), at, next - at};
        b.target = &window;
        b.room_asked = ask_room(l, region, &window);
        status = finish(&b, read_window(&b, region, main));
    }
    return status;
}
