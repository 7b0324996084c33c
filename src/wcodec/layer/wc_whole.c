/* SPDX-License-Identifier: MIT */
#include "wcodec/layer/wc_whole.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/hash.h"

enum { CRC_BYTES = 4, WORD_BITS = 64 };

struct tare_wc_whole {
    const tare_allocator *allocator;
    const tare_wc_layer *layer;
    uint64_t n_words;
    uint64_t first[TARE_CODED_MAX_STREAMS]; /* number of a stream's first segment in the layer */
    uint64_t
        n_after[TARE_CODED_MAX_STREAMS]; /* bytes that the CRC is over, after the stream's own */
    _Atomic uint32_t crc;                /* of the heads, and of the segments so far */
    _Atomic uint64_t n_left;
    _Atomic bool is_wrong;
    _Atomic uint64_t decoded[]; /* a bit for each segment */
};

static size_t size_of(uint64_t n_words) {
    return sizeof(tare_wc_whole) + (size_t)n_words * sizeof(uint64_t);
}

tare_wc_whole *tare_wc_whole_new(const tare_wc_layer *l, const uint32_t *head_crcs,
                                 const tare_allocator *allocator) {
    uint64_t n = 0, n_after = 0;
    uint32_t crc = 0;
    for (unsigned i = 0; i < l->n_streams; i++) n += l->streams[i].n_segments;
    const uint64_t n_words = n / WORD_BITS + 1;
    tare_wc_whole *w = tare_alloc(allocator, size_of(n_words));
    if (!w) return NULL;
    w->allocator = allocator;
    w->layer = l;
    w->n_words = n_words;
    atomic_init(&w->n_left, n);
    atomic_init(&w->is_wrong, false);
    for (uint64_t i = 0; i < n_words; i++) atomic_init(&w->decoded[i], 0);
    for (unsigned i = l->n_streams; i-- > 0;) {
        const tare_coded_stream *p = &l->streams[i];
        w->first[i] = n -= p->n_segments;
        w->n_after[i] = n_after;
        n_after += CRC_BYTES * p->n_segments;
        crc ^= tare_crc32_part(head_crcs[i], n_after);
        n_after += p->head_bytes;
    }
    atomic_init(&w->crc, crc);
    return w;
}

void tare_wc_whole_free(tare_wc_whole *w) {
    if (w) tare_free(w->allocator, w, size_of(w->n_words));
}

/* Whether it was not noted before. */
static bool mark(tare_wc_whole *w, uint64_t number) {
    const uint64_t bit = UINT64_C(1) << number % WORD_BITS;
    _Atomic uint64_t *word = &w->decoded[number / WORD_BITS];
    return !(atomic_load_explicit(word, memory_order_relaxed) & bit) &&
           !(atomic_fetch_or(word, bit) & bit);
}

tare_status tare_wc_whole_note(tare_wc_whole *w, unsigned stream, uint64_t segment, uint32_t crc,
                               tare_error *err) {
    if (mark(w, w->first[stream] + segment)) {
        const uint64_t n_behind = w->layer->streams[stream].n_segments - 1 - segment;
        uint8_t bytes[CRC_BYTES];
        tare_store_le32(bytes, crc);
        atomic_fetch_xor(&w->crc, tare_crc32_part(tare_crc32(0, bytes, sizeof bytes),
                                                  w->n_after[stream] + CRC_BYTES * n_behind));
        if (atomic_fetch_sub(&w->n_left, 1) == 1 && atomic_load(&w->crc) != w->layer->crc)
            atomic_store(&w->is_wrong, true);
    }
    if (!atomic_load_explicit(&w->is_wrong, memory_order_relaxed)) return TARE_OK;
    return tare_fail_at(err, TARE_ERR_CHECKSUM, w->layer->offset,
                        "layer: CRC-32 is not that of its heads and segments: some are not where "
                        "they belong");
}
