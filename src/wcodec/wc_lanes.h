/* SPDX-License-Identifier: MIT
 *
 * The 64 lanes, symbol by symbol: what the scalar decoders and encoders are built from
 * (docs/wcodec.md, 7). Lane 2i is A(i), lane 2i + 1 is B(i), so symbol j of a step belongs to lane
 * j, and even lanes read stream 0, odd ones stream 1. */
#ifndef TARE_WCODEC_LANES_H
#define TARE_WCODEC_LANES_H

#include "base/bytes.h"
#include "wcodec/wc_table.h"

typedef struct tare_wc_lanes {
    uint32_t x[TARE_WC_LANES];
    const uint8_t *words[2]; /* the next word of each stream */
    uint32_t left[2];        /* words */
    bool has_run_out;        /* a word was needed past the end; 0 was used */
} tare_wc_lanes;

/* 256 bytes of states, then the words of both streams. */
void tare_wc_lanes_init(tare_wc_lanes *l, const uint8_t *states, uint32_t n_a, uint32_t n_b);
/* Whether the states are as encoders leave them: at the beginning, at the end. */
bool tare_wc_lanes_can_begin(const tare_wc_lanes *l);
bool tare_wc_lanes_have_ended(const tare_wc_lanes *l);

/* One symbol of lane `lane`. Any state gives some symbol of the alphabet. */
static inline uint8_t tare_wc_lanes_take(tare_wc_lanes *l, unsigned lane, const tare_wc_table *t) {
    uint32_t x = l->x[lane], slot = x & 0xffff;
    uint32_t b = slot & (t->alphabet - 1u), r = slot >> t->log2_alphabet;
    /* If the bucket has one symbol, both halves hold it. */
    const tare_wc_half *half = &t->half[b][slot >> 8 >= t->thr[b]];
    x = half->freq * (x >> 16) + r + (uint32_t)half->adj;
    if (x < 0x10000) {
        unsigned stream = lane & 1;
        uint32_t word = 0;
        if (l->left[stream]) {
            word = tare_load_le16(l->words[stream]);
            l->words[stream] += 2;
            l->left[stream]--;
        } else {
            l->has_run_out = true;
        }
        x = x << 16 | word;
    }
    l->x[lane] = x;
    return (uint8_t)half->symbol;
}

/* An encoder: symbols are put in reverse order, words grow downwards from the end of a buffer that
 * has room for one word a symbol, and a few more that are written tentatively. */
enum { TARE_WC_SPARE_WORDS = 8 }; /* of each stream */

typedef struct tare_wc_put {
    uint32_t x[TARE_WC_LANES];
    uint8_t *words[2]; /* the newest word of each stream */
    uint8_t *ends[2];
} tare_wc_put;

void tare_wc_put_init(tare_wc_put *p, uint8_t *end_a, uint8_t *end_b);

/* Puts a symbol into a state; returns the newest word of its stream, which was at `words`. No
 * branch depends on the symbol: a word is always stored, and counts where it was due. */
static inline uint8_t *tare_wc_put_one(uint32_t *state, uint8_t *words, uint8_t symbol,
                                       const tare_wc_inverse *v) {
    uint32_t x = *state, f = v->table->freq[symbol], is_due = x >> 16 >= f;
    tare_store_le16(words - 2, (uint16_t)x);
    x >>= is_due << 4;
    uint32_t g = 8u - v->table->log2_alphabet, units = x >> g;
    uint32_t q = (uint32_t)((uint64_t)units * v->reciprocal[symbol] >> (31 + v->log2[symbol]));
    *state = q << 16 | tare_wc_slot(v, symbol, x - q * f);
    return words - 2 * is_due;
}

static inline void tare_wc_put_symbol(tare_wc_put *p, unsigned lane, uint8_t symbol,
                                      const tare_wc_inverse *v) {
    uint8_t **words = &p->words[lane & 1];
    *words = tare_wc_put_one(&p->x[lane], *words, symbol, v);
}

/* Bytes of states and words; writes them to dst, states first. */
static inline uint32_t tare_wc_put_words(const tare_wc_put *p, unsigned stream) {
    return (uint32_t)(p->ends[stream] - p->words[stream]) / 2;
}
uint8_t *tare_wc_put_write(const tare_wc_put *p, uint8_t *dst);

#endif
